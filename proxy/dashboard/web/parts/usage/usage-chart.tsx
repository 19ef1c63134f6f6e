/** A chart of usage over time by the largest groups, in the measure that the reader has chosen. */
import type { UsageSeries } from "../../../../../shared/api/usage-report.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { BarChart } from "../bar-chart.js";
import { formatOf, MeasureFilter, useMeasure } from "./usage-days.js";

interface UsageChartProps {
  readonly series: UsageSeries;
  /** The address that a day's bar links to. */
  readonly dayHref?: (day: string) => string;
}

export function UsageChart({ series, dayHref }: UsageChartProps) {
  const measure = useMeasure();
  const field = ({ cost: "total_cost", tokens: "total_tokens", requests: "requests" } as const)[
    measure
  ];
  const { step, times, groups } = series;
  return (
    <BarChart
      title={texts.over[step]}
      note={<MeasureFilter />}
      times={step === "day" ? times : times.map((time) => time.slice(0, 16).replace("T", " "))}
      parts={groups.map(({ key, name, ...figures }) => ({
        name: name ?? key,
        values: figures[field],
        ...(key === "other" ? { colour: "--part-7" } : {}),
      }))}
      format={formatOf(measure)}
      hrefOf={step === "hour" || dayHref === undefined ? null : (i) => dayHref(times[i]!)}
    />
  );
}
