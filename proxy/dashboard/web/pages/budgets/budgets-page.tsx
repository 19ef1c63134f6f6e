/** A page that is still to come. */
import { PageHead } from "../../parts/page.js";

export function BudgetsPage() {
  return <PageHead title="Budgets" />;
}
