/**
 * Writes metrics as text for scrapes: the text format of Prometheus (0.0.4) or OpenMetrics (1.0.0).
 * It yields one series at a time, so that the sender can yield to the event loop.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
import type { Metric } from "./metric.js";
import type { Family, Series } from "./series.js";

export type MetricsFormat = "prometheus" | "openmetrics";

export const contentTypes: Readonly<Record<MetricsFormat, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/**
 * One piece for the head of each family and one per series; nothing for a family without series.
 */
export function* writeMetrics(
  families: Iterable<Family>,
  format: MetricsFormat,
): Generator<string, void> {
  for (const { metric, series } of families) {
    if (series.length === 0) continue;
    yield headOf(metric, format);
    const write = writers[metric.kind];
    for (const item of series) yield write(metric, item, format);
  }
  if (format === "openmetrics") yield "# EOF\n";
}

function headOf({ name, kind, unit, help }: Metric, format: MetricsFormat): string {
  const isOpenMetrics = format === "openmetrics";
  // In OpenMetrics the samples of a counter have a suffix that its family's name lacks.
  const family = isOpenMetrics && kind === "counter" ? name.replace(/_total$/, "") : name;
  const unitLine = isOpenMetrics && unit !== null ? `# UNIT ${family} ${unit}\n` : "";
  const text = escapeHelp(help, format);
  return `# HELP ${family} ${text}\n# TYPE ${family} ${kind}\n${unitLine}`;
}

type SeriesWriter = (metric: Metric, series: Series, format: MetricsFormat) => string;

const writers: Readonly<Record<Metric["kind"], SeriesWriter>> = {
  counter: writeOne,
  gauge: writeOne,
  histogram: writeHistogram,
  summary: writeSummary,
};

function writeOne(metric: Metric, { labels, values }: Series): string {
  return `${metric.name}${inBraces(labelText(metric, labels))} ${numberText(values[0]!)}\n`;
}

function writeHistogram(metric: Metric, { labels, values }: Series, format: MetricsFormat): string {
  const { name, buckets } = metric;
  const labelsText = labelText(metric, labels);
  const before = labelsText === "" ? "" : `${labelsText},`;
  let count = 0;
  let text = "";
  buckets.forEach((bound, i) => {
    count += values[i]!;
    text += `${name}_bucket{${before}le="${boundText(bound, format)}"} ${count}\n`;
  });
  count += values[buckets.length]!;
  text += `${name}_bucket{${before}le="+Inf"} ${count}\n`;
  const sum = numberText(values[buckets.length + 1]!);
  return `${text}${name}_sum${inBraces(labelsText)} ${sum}\n${name}_count${inBraces(labelsText)} ${count}\n`;
}

function writeSummary(metric: Metric, { labels, values }: Series, format: MetricsFormat): string {
  const { name, quantiles } = metric;
  const labelsText = labelText(metric, labels);
  const before = labelsText === "" ? "" : `${labelsText},`;
  const lines = quantiles.map((quantile, i) => {
    const quantileLabel = `${before}quantile="${boundText(quantile, format)}"`;
    return `${name}{${quantileLabel}} ${numberText(values[i]!)}\n`;
  });
  const [sum = 0, count = 0] = values.subarray(quantiles.length);
  return `${lines.join("")}${name}_sum${inBraces(labelsText)} ${numberText(sum)}\n${name}_count${inBraces(labelsText)} ${count}\n`;
}

function labelText({ labels: names }: Metric, labels: readonly string[]): string {
  let text = "";
  for (let i = 0; i < names.length; i++) {
    const value = labels[i];
    // Prometheus treats an empty label like a missing one.
    if (value === undefined || value === "") continue;
    text += `${text === "" ? "" : ","}${names[i]}="${escapeLabel(value)}"`;
  }
  return text;
}

function inBraces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
    : value;
}

function escapeHelp(help: string, format: MetricsFormat): string {
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return format === "openmetrics" ? escaped.replaceAll('"', '\\"') : escaped;
}

/** OpenMetrics writes whole numbers here with a decimal point. */
function boundText(bound: number, format: MetricsFormat): string {
  const text = numberText(bound);
  return format === "openmetrics" && Number.isInteger(bound) ? `${text}.0` : text;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
