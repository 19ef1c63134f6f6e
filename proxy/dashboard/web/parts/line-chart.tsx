/**
 * Lines over time, drawn by uPlot, which is loaded when a chart is first shown; and the same
 * numbers as a table. Times are UTC, as everywhere.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type UPlot from "uplot";
import { formatShort, formatTime } from "../logic/numbers.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";
import { Table } from "./table.js";

export interface ChartLine {
  readonly name: string;
  /** One for each time; null leaves a gap. */
  readonly values: readonly (number | null)[];
  /** `first`: in the accent's colour; `second`: dashed, so that colour isn't all. */
  readonly look: "first" | "second";
}

interface LineChartProps {
  readonly title: string;
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  /** In the head of the chart. */
  readonly actions?: ComponentChildren;
}

export function LineChart(props: LineChartProps) {
  const [isTable, setTable] = useState(false);
  const { title, lines, actions } = props;
  return (
    <section class="card">
      <div class="card-head">
        <h2>{title}</h2>
        <ul class="line-legend small soft">
          {lines.map(({ name, look }) => (
            <li key={name}>
              <span class={look === "first" ? "line-swatch" : "line-swatch dashed"} />
              {name}
            </li>
          ))}
          {actions !== undefined && <li>{actions}</li>}
          <li>
            <button type="button" class="link" onClick={() => setTable(!isTable)}>
              {isTable ? shellTexts.showChart : shellTexts.showTable}
            </button>
          </li>
        </ul>
      </div>
      <div class="line-chart">{isTable ? <ChartTable {...props} /> : <Plot {...props} />}</div>
    </section>
  );
}

function ChartTable({ title, times, lines }: LineChartProps) {
  const rows = times.map((time, i) => ({ time, i })).reverse();
  return (
    <Table
      caption={title}
      rows={rows}
      keyOf={({ time }) => String(time)}
      columns={[
        {
          key: "time",
          head: shellTexts.time,
          kind: "lead",
          cell: ({ time }) => formatTime(new Date(time).toISOString()),
        },
        ...lines.map(({ name, values }) => ({
          key: name,
          head: name,
          kind: "number" as const,
          cell: ({ i }: { readonly i: number }): ComponentChildren => {
            const value = values[i];
            return typeof value === "number" ? formatShort(value) : "–";
          },
        })),
      ]}
    />
  );
}

const height = 190;
/** A line of two points would be a wall. */
const leastSeconds = 60;

function Plot({ title, times, lines }: LineChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const { preferences } = useApp();
  const theme = preferences.theme.value;
  const latest = useRef<UPlot.AlignedData>([[]]);
  latest.current = [times.map((ms) => ms / 1000), ...lines.map(({ values }) => [...values])];
  const looks = lines.map(({ look }) => look).join(" ");
  useEffect(() => {
    let isWanted = true;
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const draw = async (): Promise<void> => {
      const { default: Plotter } = await import("uplot");
      if (!isWanted || frame.current === null) return;
      plot.current?.destroy();
      const options = optionsFor(frame.current, { looks, utc: Plotter.tzDate });
      plot.current = new Plotter(options, latest.current, frame.current);
    };
    const resize = new ResizeObserver(() => {
      if (frame.current !== null)
        plot.current?.setSize({ width: frame.current.clientWidth, height });
    });
    void draw();
    if (frame.current !== null) resize.observe(frame.current);
    const redraw = (): void => void draw();
    scheme.addEventListener("change", redraw);
    return () => {
      isWanted = false;
      scheme.removeEventListener("change", redraw);
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, looks]);
  useEffect(() => plot.current?.setData(latest.current), [times]);
  return <div ref={frame} class="line-frame" role="img" aria-label={title} />;
}

interface Drawing {
  readonly looks: string;
  readonly utc: typeof UPlot.tzDate;
}

function optionsFor(frame: HTMLElement, { looks, utc }: Drawing): UPlot.Options {
  const colour = (name: string): string => resolvedColour(frame, name);
  const axis: UPlot.Axis = {
    stroke: colour("--soft"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const points = { show: false };
  return {
    width: frame.clientWidth,
    height,
    legend: { show: false },
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    tzDate: (seconds) => utc(new Date(seconds * 1000), "UTC"),
    scales: {
      x: { range: (_plot, from, to) => [Math.min(from, to - leastSeconds), to] },
      y: { range: (_plot, _from, to) => [0, Math.max(1, to * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 90, size: 26, values: clockTimes },
      { ...axis, size: 44, space: 40 },
    ],
    series: [
      {},
      ...looks
        .split(" ")
        .map(
          (look): UPlot.Series =>
            look === "first"
              ? { stroke: colour("--accent"), width: 2, fill: colour("--accent-weak"), points }
              : { stroke: colour("--bad"), width: 2, dash: [5, 4], points },
        ),
    ],
  };
}

function clockTimes(_plot: UPlot, seconds: number[]): string[] {
  const isShort = seconds.length > 1 && seconds[1]! - seconds[0]! < 60;
  return seconds.map((at) => new Date(at * 1000).toISOString().slice(11, isShort ? 19 : 16));
}

/** A canvas knows no custom properties: an element says what they come to. */
function resolvedColour(frame: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  frame.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
