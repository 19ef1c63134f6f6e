/**
 * A bar chart over time, stacked if there are several parts, and a table with the same numbers.
 * Times are in UTC.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { axisLabels, axisTop } from "../logic/day-series.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";
import { Icon } from "./icon.js";
import { Card } from "./page.js";
import { Table } from "./table.js";

export interface ChartPart {
  readonly name: string;
  /** One value for each time. */
  readonly values: readonly number[];
  /** A colour of the design tokens; by default each part gets the next one. */
  readonly colour?: string;
}

interface BarChartProps {
  readonly title: string;
  /** A note in the chart's head. */
  readonly note?: ComponentChildren;
  /** The time of each bar, as shown; ascending. */
  readonly times: readonly string[];
  /** From bottom to top. */
  readonly parts: readonly ChartPart[];
  readonly format: (value: number) => string;
  /** The address that a bar links to; null for none. */
  readonly hrefOf?: ((index: number) => string) | null;
}

export function BarChart({ title, note, ...chart }: BarChartProps) {
  const [isTable, setTable] = useState(false);
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const { parts } = chart;
  const pointed = pointedAt === null || pointedAt >= chart.times.length ? null : pointedAt;
  return (
    <Card title={title} note={note}>
      <div class="chart">
        <div class="chart-head">
          <span class="soft small" aria-live="polite">
            {pointed === null ? shellTexts.chart.hint : wordsOf(chart, pointed)}
          </span>
          <button type="button" class="button ghost" onClick={() => setTable(!isTable)}>
            <Icon name={isTable ? "usage" : "table"} />
            {isTable ? shellTexts.chart.show : shellTexts.chart.showTable}
          </button>
        </div>
        {isTable ? (
          <ChartTable title={title} {...chart} />
        ) : (
          <>
            <Bars title={title} {...chart} pointed={pointed} onPoint={setPointedAt} />
            {parts.length > 1 && (
              <ul class="legend small soft">
                {parts.map((part, i) => (
                  <li key={part.name}>
                    <span style={{ background: colourOf(part, i) }} />
                    <bdi>{part.name}</bdi>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </div>
    </Card>
  );
}

type Chart = Omit<BarChartProps, "note">;

interface BarsProps extends Chart {
  /** The bar that is pointed at; null for none. */
  readonly pointed: number | null;
  readonly onPoint: (index: number | null) => void;
}

function Bars({ title, times, parts, format, hrefOf = null, pointed, onPoint }: BarsProps) {
  const { router } = useApp();
  const last = times.length - 1;
  const top = axisTop(Math.max(0, ...times.map((_, i) => sumAt(parts, i))));
  const openPointed = (): void => {
    if (pointed !== null && hrefOf !== null) router.go(hrefOf(pointed));
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Enter") openPointed();
    if (step === 0) return;
    event.preventDefault();
    onPoint(Math.min(last, Math.max(0, (pointed ?? (step > 0 ? -1 : times.length)) + step)));
  };
  return (
    <div class="bars">
      <div class="bars-axis soft small" aria-hidden="true">
        <span>{format(top)}</span>
        <span>{format(top / 2)}</span>
        <span>0</span>
      </div>
      <div
        class={hrefOf === null ? "bars-plot" : "bars-plot leads"}
        role="img"
        aria-label={shellTexts.chart.label(title, times.length)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: so that the keyboard reaches it
        tabIndex={0}
        onKeyDown={onKey}
        onClick={openPointed}
        onBlur={() => onPoint(null)}
        onPointerLeave={() => onPoint(null)}
      >
        {times.map((time, i) => (
          <div
            key={time}
            class={i === pointed ? "bar pointed" : "bar"}
            onPointerEnter={() => onPoint(i)}
          >
            {parts
              .map(
                (part, partIndex) =>
                  part.values[i]! > 0 && (
                    <div
                      key={part.name}
                      style={{
                        height: `${(part.values[i]! / top) * 100}%`,
                        background: colourOf(part, partIndex),
                      }}
                    />
                  ),
              )
              .reverse()}
          </div>
        ))}
      </div>
      <div class="bars-days soft small" aria-hidden="true">
        {axisLabels(times).map((label, i, all) => (
          <span key={label}>{i === all.length - 1 ? `${label} ${shellTexts.utc}` : label}</span>
        ))}
      </div>
    </div>
  );
}

function ChartTable({ title, times, parts, format, hrefOf = null }: Chart) {
  const rows = times.map((time, index) => ({ time, index })).reverse();
  const number = (name: string, valueAt: (index: number) => number) => ({
    key: name,
    head: name,
    kind: "number" as const,
    sortBy: ({ index }: { readonly index: number }) => valueAt(index),
    cell: ({ index }: { readonly index: number }) => format(valueAt(index)),
  });
  return (
    <Table
      caption={title}
      rows={rows}
      keyOf={({ time }) => time}
      columns={[
        {
          key: "time",
          head: shellTexts.time,
          kind: "lead",
          sortBy: ({ index }) => index,
          cell: ({ time, index }) => (hrefOf === null ? time : <a href={hrefOf(index)}>{time}</a>),
        },
        ...parts.map(({ name, values }) => number(name, (index) => values[index]!)),
        ...(parts.length > 1 ? [number(shellTexts.chart.all, (index) => sumAt(parts, index))] : []),
      ]}
    />
  );
}

function sumAt(parts: readonly ChartPart[], index: number): number {
  return parts.reduce((sum, { values }) => sum + values[index]!, 0);
}

function wordsOf({ times, parts, format }: Omit<Chart, "title">, index: number): string {
  const used = parts.filter(({ values }) => values[index]! > 0);
  const each = used.map(({ name, values }) => `${name} ${format(values[index]!)}`);
  const all = `${times[index]}: ${format(sumAt(parts, index))}`;
  return parts.length > 1 && used.length > 0 ? `${all} (${each.join(", ")})` : all;
}

function colourOf({ colour }: ChartPart, index: number): string {
  return `var(${colour ?? `--part-${index}`})`;
}
