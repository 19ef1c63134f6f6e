/** Usage by day, as a chart of what the reader has chosen. */
import type { UsageGroup, UsageTotals } from "../../../../../shared/api/usage-report.js";
import { daySeries, type Measure } from "../../logic/day-series.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { useApp } from "../app.js";
import { FilterSelect } from "../lists/filters.js";
import { Card } from "../page.js";
import { DayBars } from "./day-bars.js";

interface UsageDaysProps {
  readonly usage: UsageTotals;
  readonly groups: readonly UsageGroup[];
}

export function UsageDays({ usage, groups }: UsageDaysProps) {
  const asked = useApp().router.place.value.query.get("measure");
  const measure: Measure = asked === "tokens" || asked === "requests" ? asked : "cost";
  return (
    <Card
      title={texts.perDay}
      note={
        <FilterSelect
          name="measure"
          label={texts.measure}
          options={[
            ["", texts.measures.cost],
            ["tokens", texts.measures.tokens],
            ["requests", texts.measures.requests],
          ]}
        />
      }
    >
      <DayBars days={daySeries(usage, groups)} measure={measure} />
    </Card>
  );
}
