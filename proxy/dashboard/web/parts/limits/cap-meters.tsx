/** A rule's caps on tokens and cost, each with a bar. */
import { type CapUse, formatOf } from "../../logic/used-share.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { Meter } from "../meter.js";

export function CapMeters({ uses }: { readonly uses: readonly CapUse[] }) {
  if (uses.length === 0) return null;
  return (
    <span class="meters">
      {uses.map(({ kind, used, cap }) => (
        <Meter
          key={kind}
          used={used}
          cap={cap}
          format={formatOf(kind)}
          {...(withUnit.has(kind) ? { unit: shellTexts.units[kind] } : {})}
        />
      ))}
    </span>
  );
}

/** The kinds whose unit is shown. The others show theirs in the number or in the column's head. */
const withUnit: ReadonlySet<CapUse["kind"]> = new Set([
  "input_tokens",
  "output_tokens",
  "tool_calls",
  "enqueued_tokens",
]);

/** The caps of a template. Its children have the counts. */
export function CapList({ uses }: { readonly uses: readonly CapUse[] }) {
  return (
    <>
      {uses.map(({ kind, cap }) => `${formatOf(kind)(cap)} ${shellTexts.units[kind]}`).join(", ")}
    </>
  );
}
