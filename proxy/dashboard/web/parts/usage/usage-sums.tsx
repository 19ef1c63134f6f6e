/** The sums of a span of days, in a few figures. */
import type { UsageTotals } from "../../../../../shared/api/usage-report.js";
import { Figures } from "./figures.js";
import { usageFigures } from "./usage-figures.js";

export function UsageSums({ usage }: { readonly usage: UsageTotals }) {
  return <Figures figures={usageFigures(usage)} />;
}
