/** The sums of a period as figures. Sums of 0 are left out, except where 0 is news. */
import type { UnknownUsage, UsageTotals } from "../../../../../shared/api/usage-report.js";
import { daysBetween } from "../../../../../shared/time.js";
import { formatChange, formatCount, formatMoney, formatShort } from "../../logic/numbers.js";
import { usageTexts } from "../../texts/usage-texts.js";

const texts = usageTexts.totals;

type ComparedFigure = `total_${"cost" | "requests" | "input_tokens" | "output_tokens"}`;

export interface Figure {
  readonly label: string;
  readonly value: string;
  /** Compared with the period before. */
  readonly change?: string;
  readonly note?: string;
}

/** `before`: the period to compare with, if it is known. */
export function usageFigures(usage: UsageTotals, before?: UsageTotals): readonly Figure[] {
  const change = (field: ComparedFigure) => ({
    ...(before === undefined ? {} : { change: formatChange(usage[field], before[field]) }),
  });
  const saved = usage.rewrite_tokens_saved;
  const cached = usage.cached_input_tokens;
  const reasoning = usage.reasoning_tokens ?? 0;
  const unknown = usage.unknown_calls ?? 0;
  return [
    {
      label: texts.cost,
      value: formatMoney(usage.total_cost),
      ...change("total_cost"),
      note:
        usage.unpriced_requests > 0
          ? texts.unpriced(formatCount(usage.unpriced_requests))
          : texts.allPriced,
    },
    {
      label: texts.requests,
      value: formatShort(usage.total_requests),
      ...change("total_requests"),
      note:
        before === undefined
          ? windowOf(usage)
          : usageTexts.compared(windowOf(usage), daysIn(before)),
    },
    {
      label: texts.input,
      value: formatShort(usage.total_input_tokens),
      ...change("total_input_tokens"),
      ...(cached > 0 ? { note: texts.cached(formatShort(cached)) } : {}),
    },
    {
      label: texts.output,
      value: formatShort(usage.total_output_tokens),
      ...change("total_output_tokens"),
      ...(reasoning > 0 ? { note: texts.reasoning(formatShort(reasoning)) } : {}),
    },
    ...(saved > 0 ? [{ label: texts.saved, value: formatShort(saved) }] : []),
    ...(unknown > 0
      ? [{ label: texts.unknown, value: formatCount(unknown), note: unknownUsageText(usage) }]
      : []),
  ];
}

function windowOf({ start_date, end_date, start, end }: UsageTotals): string {
  const minute = (moment: string): string => moment.slice(0, 16).replace("T", " ");
  return start === undefined || end === undefined
    ? usageTexts.window(start_date, end_date)
    : usageTexts.window(minute(start), minute(end));
}

/** Null for a range with times. */
function daysIn({ start_date, end_date, start }: UsageTotals): number | null {
  return start === undefined ? daysBetween(start_date, end_date).length : null;
}

/** The most that calls of unknown usage may have used. */
export function unknownUsageText({
  unknown_tokens_at_most: tokens = 0,
  unknown_cost_at_most: cost = 0,
}: UnknownUsage): string {
  return usageTexts.atMost(formatShort(tokens), formatMoney(cost));
}
