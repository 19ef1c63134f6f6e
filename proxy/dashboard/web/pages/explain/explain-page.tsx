/** A page that is still to come. */
import { PageHead } from "../../parts/page.js";

export function ExplainPage() {
  return <PageHead title="Explain" />;
}
