/** The sums of a span of days, in a few figures. */
import type { UsageTotals } from "../../../../../shared/api/usage-report.js";
import { type Figure, usageFigures } from "./usage-figures.js";

export function UsageSums({ usage }: { readonly usage: UsageTotals }) {
  return <Figures figures={usageFigures(usage)} />;
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="card figures">
      {figures.map(({ label, value, note }) => (
        <div class="figure" key={label}>
          <dt>{label}</dt>
          <dd>
            <strong>{value}</strong>
            {note !== undefined && <span class="soft small">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
