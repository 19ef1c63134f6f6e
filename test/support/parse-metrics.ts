/**
 * A strict reader of the text of metrics, in Prometheus' text format and in OpenMetrics: whatever
 * the formats forbid throws, with the line.
 * https://prometheus.io/docs/instrumenting/exposition_formats/, https://openmetrics.io
 */
import { isDeepStrictEqual } from "node:util";

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

const name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const sampleLine = new RegExp(`^(${name})(?:\\{([^]*)\\})? ([-+0-9.eInfNa]+)$`);
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

/** The families by name. `open`: OpenMetrics. */
export function parseMetrics(text: string, open = false): Map<string, ParsedFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const lines = text.slice(0, -1).split("\n");
  if (open && lines.pop() !== "# EOF") throw new Error("# EOF isn't the last line");
  const families = new Map<string, ParsedFamily>();
  const seen = new Set<string>();
  let helpOf = { name: "", help: "" };
  let current: { readonly name: string; readonly family: ParsedFamily } | null = null;
  for (const line of lines) {
    const bad = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const [, kind, about = "", rest = ""] =
      /^# (HELP|TYPE|UNIT) (\S+) (.*)$/.exec(line) ?? ([] as string[]);
    if (kind === "HELP") helpOf = { name: about, help: rest };
    else if (kind === "TYPE") {
      if (helpOf.name !== about) bad("a type without its help before it");
      if (families.has(about)) bad("a family that came before");
      if (!["counter", "gauge", "histogram", "summary"].includes(rest)) bad("no such type");
      if (open && about.endsWith("_total")) bad("a family of OpenMetrics with _total");
      current = { name: about, family: { type: rest, help: helpOf.help, samples: [] } };
      families.set(about, current.family);
    } else if (kind === "UNIT") {
      if (!open || current?.name !== about || !about.endsWith(`_${rest}`)) bad("a wrong unit");
    } else {
      const sample = parseSample(line) ?? bad("not a line of the format");
      if (current === null || !belongs(current, sample.name, open)) bad("outside of its family");
      const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (seen.has(key)) bad("the same series twice");
      seen.add(key);
      current!.family.samples.push(sample);
    }
  }
  for (const [of, family] of families) checkFamily(of, family);
  return families;
}

function parseSample(line: string): Sample | null {
  const match = sampleLine.exec(line);
  if (match === null) return null;
  const [, sampleName = "", labelText = "", valueText = ""] = match;
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  while (label.lastIndex < labelText.length) {
    const pair = label.exec(labelText);
    if (pair === null || pair[1]! in labels) return null;
    labels[pair[1]!] = pair[2]!.replaceAll(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
  }
  const value = Number(valueText.replace("Inf", "Infinity"));
  return Number.isNaN(value) && valueText !== "NaN" ? null : { name: sampleName, labels, value };
}

function belongs(
  { name: of, family: { type } }: { readonly name: string; readonly family: ParsedFamily },
  sample: string,
  open: boolean,
): boolean {
  if (type === "histogram") return [`${of}_bucket`, `${of}_sum`, `${of}_count`].includes(sample);
  if (type === "summary") return [of, `${of}_sum`, `${of}_count`].includes(sample);
  return sample === (open && type === "counter" ? `${of}_total` : of);
}

/** The buckets of each histogram ascend to its count, and no counter is negative. */
function checkFamily(of: string, { type, samples }: ParsedFamily): void {
  if (samples.length === 0) throw new Error(`${of} has no sample`);
  if (type === "counter" && samples.some(({ value }) => !(value >= 0)))
    throw new Error(`${of} is negative`);
  if (type !== "histogram") return;
  let last = { bound: Number.NEGATIVE_INFINITY, value: 0, others: {} };
  for (const { name: sample, labels, value } of samples) {
    const { le, ...others } = labels;
    if (sample === `${of}_bucket`) {
      const bound = Number(le?.replace("Inf", "Infinity"));
      const goesOn = isDeepStrictEqual(others, last.others) && bound > last.bound;
      if (Number.isNaN(bound) || (goesOn && value < last.value))
        throw new Error(`${of} has wrong buckets: ${le}`);
      last = { bound, value, others };
    } else if (sample === `${of}_count`)
      if (last.bound !== Number.POSITIVE_INFINITY || value !== last.value)
        throw new Error(`${of} counts ${value} of ${last.value}`);
  }
}
