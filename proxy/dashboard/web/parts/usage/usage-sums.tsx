/** The sums of a period, in a few figures. */
import type { UsageTotals } from "../../../../../shared/api/usage-report.js";
import { type Figure, usageFigures } from "./usage-figures.js";

interface UsageSumsProps {
  readonly usage: UsageTotals;
  /** The period to compare with. */
  readonly before?: UsageTotals | undefined;
}

export function UsageSums({ usage, before }: UsageSumsProps) {
  return <Figures figures={usageFigures(usage, before)} />;
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="card figures">
      {figures.map(({ label, value, change = "", note }) => (
        <div class="figure" key={label}>
          <dt>{label}</dt>
          <dd>
            <span>
              <strong>{value}</strong>
              {change !== "" && <span class="change soft"> {change}</span>}
            </span>
            {note !== undefined && <span class="soft small">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
