/** A chart of usage by day, in the measure that the reader has chosen. */

import type { UsageGroup, UsageTotals } from "../../../../../shared/api/usage-report.js";
import { daySeries, type Measure } from "../../logic/day-series.js";
import { formatMoney, formatShort } from "../../logic/numbers.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { useApp } from "../app.js";
import { BarChart } from "../bar-chart.js";
import { FilterSelect } from "../lists/filters.js";

interface UsageDaysProps {
  readonly usage: UsageTotals;
  readonly groups: readonly UsageGroup[];
}

export function UsageDays({ usage, groups }: UsageDaysProps) {
  const measure = useMeasure();
  const days = daySeries(usage, groups);
  return (
    <BarChart
      title={texts.over.day}
      note={<MeasureFilter />}
      times={days.map(({ day }) => day)}
      parts={[{ name: texts.measures[measure], values: days.map((day) => day[measure]) }]}
      format={formatOf(measure)}
    />
  );
}

/** The measure in the address. */
export function useMeasure(): Measure {
  const measure = useApp().router.place.value.query.get("measure");
  return measure === "tokens" || measure === "requests" ? measure : "cost";
}

export function MeasureFilter() {
  return (
    <FilterSelect
      name="measure"
      label={texts.measure}
      options={[
        ["", texts.measures.cost],
        ["tokens", texts.measures.tokens],
        ["requests", texts.measures.requests],
      ]}
    />
  );
}

export function formatOf(measure: Measure): (value: number) => string {
  return measure === "cost" ? formatMoney : formatShort;
}
