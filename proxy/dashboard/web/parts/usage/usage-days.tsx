/** Usage by day, as a chart of what the reader has chosen. */

import { useState } from "preact/hooks";
import type { UsageGroup, UsageTotals } from "../../../../../shared/api/usage-report.js";
import { axisTop, type Day, daySeries, type Measure } from "../../logic/day-series.js";
import { formatCount, formatMoney, formatShort } from "../../logic/numbers.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { useApp } from "../app.js";
import { Icon } from "../icon.js";
import { FilterSelect } from "../lists/filters.js";
import { Card } from "../page.js";
import { Table } from "../table.js";

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

interface DayBarsProps {
  readonly days: readonly Day[];
  readonly measure: Measure;
}

function DayBars({ days, measure }: DayBarsProps) {
  const [isTable, setTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const pointed = at === null ? undefined : days[at];
  return (
    <div class="chart">
      <div class="chart-head">
        <span class="soft small" aria-live="polite">
          {pointed === undefined ? texts.chartHint : wordsOf(pointed)}
        </span>
        <button type="button" class="button ghost" onClick={() => setTable(!isTable)}>
          <Icon name={isTable ? "usage" : "table"} />
          {isTable ? shellTexts.showChart : shellTexts.showTable}
        </button>
      </div>
      {isTable ? <DayTable days={days} /> : <Bars {...{ days, measure, at, onPoint: setAt }} />}
    </div>
  );
}

interface BarsProps extends DayBarsProps {
  readonly at: number | null;
  readonly onPoint: (at: number | null) => void;
}

function Bars({ days, measure, at, onPoint }: BarsProps) {
  const top = axisTop(Math.max(0, ...days.map((day) => day[measure])));
  const last = days.length - 1;
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    onPoint(Math.min(last, Math.max(0, (at ?? (step > 0 ? -1 : days.length)) + step)));
  };
  return (
    <div class="bars">
      <div class="bars-axis soft small" aria-hidden="true">
        <span>{format(measure, top)}</span>
        <span>{format(measure, top / 2)}</span>
        <span>0</span>
      </div>
      <div
        class="bars-plot"
        role="img"
        aria-label={texts.chartLabel(texts.measures[measure], days.length)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: so that the keyboard reaches it
        tabIndex={0}
        onKeyDown={onKey}
        onBlur={() => onPoint(null)}
        onPointerLeave={() => onPoint(null)}
      >
        {days.map((day, index) => (
          <div
            key={day.day}
            class={index === at ? "bar pointed" : "bar"}
            onPointerEnter={() => onPoint(index)}
          >
            <div style={{ height: `${(day[measure] / top) * 100}%` }} />
          </div>
        ))}
      </div>
      <div class="bars-days soft small" aria-hidden="true">
        <span>{days[0]?.day}</span>
        <span>
          {days[last]?.day} {texts.utc}
        </span>
      </div>
    </div>
  );
}

function DayTable({ days }: { readonly days: readonly Day[] }) {
  return (
    <Table
      caption={texts.daysCaption}
      rows={days.toReversed()}
      keyOf={({ day }) => day}
      columns={[
        { key: "day", head: texts.columns.day, kind: "lead", cell: ({ day }) => day },
        {
          key: "requests",
          head: texts.measures.requests,
          kind: "number",
          cell: ({ requests }) => formatCount(requests),
        },
        {
          key: "tokens",
          head: texts.measures.tokens,
          kind: "number",
          cell: ({ tokens }) => formatCount(tokens),
        },
        {
          key: "cost",
          head: texts.measures.cost,
          kind: "number",
          cell: ({ cost }) => formatMoney(cost),
        },
      ]}
    />
  );
}

function wordsOf({ day, requests, tokens, cost }: Day): string {
  return texts.onDay(day, formatCount(requests), formatCount(tokens), formatMoney(cost));
}

function format(measure: Measure, value: number): string {
  return measure === "cost" ? formatMoney(value) : formatShort(value);
}
