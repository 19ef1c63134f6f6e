/** The sums of a span of days, in four figures. */
import type { UsageTotals } from "../../../../../shared/api/usage-report.js";
import { formatCount, formatMoney, formatShort } from "../../logic/numbers.js";
import { usageTexts } from "../../texts/usage-texts.js";
import { Figures } from "./figures.js";

const texts = usageTexts.totals;

export function UsageSums({ usage }: { readonly usage: UsageTotals }) {
  const saved = usage.rewrite_tokens_saved;
  const cached = usage.cached_input_tokens;
  const reasoning = usage.reasoning_tokens ?? 0;
  return (
    <Figures
      figures={[
        {
          label: texts.cost,
          value: formatMoney(usage.total_cost),
          note:
            usage.unpriced_requests > 0
              ? texts.unpriced(formatCount(usage.unpriced_requests))
              : texts.allPriced,
        },
        {
          label: texts.requests,
          value: formatShort(usage.total_requests),
          note: usageTexts.window(usage.start_date, usage.end_date),
        },
        {
          label: texts.input,
          value: formatShort(usage.total_input_tokens),
          ...(cached > 0 ? { note: texts.cached(formatShort(cached)) } : {}),
        },
        {
          label: texts.output,
          value: formatShort(usage.total_output_tokens),
          ...(reasoning > 0 ? { note: texts.reasoning(formatShort(reasoning)) } : {}),
        },
        ...(saved > 0 ? [{ label: texts.saved, value: formatShort(saved) }] : []),
      ]}
    />
  );
}
