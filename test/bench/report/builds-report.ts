/** What `npm run heavy -- bench:builds` prints of two builds. Pure. */
import type { BuildsMeasures, StartMeasures } from "../measure/measure-builds.js";
import { type Paired, paired } from "./paired.js";
import { median } from "./report.js";
import { formatTable, micro } from "./table.js";

export interface BuildRow {
  readonly name: string;
  /** Medians of all bursts, microseconds per request. */
  readonly cpuUs: number;
  readonly daemonUs: number;
  readonly errors: number;
}

/** The last build ÷ the first. */
export interface BuildRatio extends Paired {
  readonly name: string;
  /** Of the CPU of the whole run, with what is done between bursts. */
  readonly whole: number;
}

export interface BuildsReport {
  readonly rows: readonly BuildRow[];
  readonly ratios: readonly BuildRatio[];
  readonly starts: number;
  /** Of each build, at each start. */
  readonly bursts: number;
}

export function buildBuildsReport(measures: BuildsMeasures): BuildsReport {
  const named = Object.entries(measures);
  const [theirs, ours] = [named[0]![1], named.at(-1)![1]];
  const mean = (starts: readonly StartMeasures[], pick: (start: StartMeasures) => number): number =>
    starts.reduce((sum, start) => sum + pick(start), 0) / starts.length;
  const compared = (
    name: string,
    turns: (start: StartMeasures) => readonly number[],
    whole: (start: StartMeasures) => number,
  ): BuildRatio => ({
    name,
    ...paired(ours.map(turns), theirs.map(turns)),
    whole: mean(ours, whole) / mean(theirs, whole),
  });
  return {
    rows: named.map(([name, starts]) => ({
      name,
      cpuUs: median(starts.flatMap(({ cpuUs }) => cpuUs)),
      daemonUs: median(starts.flatMap(({ daemonUs }) => daemonUs)),
      errors: starts.reduce((sum, { errors }) => sum + errors, 0),
    })),
    ratios: [
      compared(
        "proxy CPU",
        ({ cpuUs }) => cpuUs,
        ({ wholeCpuUs }) => wholeCpuUs,
      ),
      compared(
        "daemon CPU",
        ({ daemonUs }) => daemonUs,
        ({ wholeDaemonUs }) => wholeDaemonUs,
      ),
    ],
    starts: ours.length,
    bursts: ours[0]!.cpuUs.length,
  };
}

export function formatBuilds({ rows, ratios, starts, bursts }: BuildsReport): string[] {
  const show = ([lower, upper]: Paired["sure"]): string =>
    `${lower.toFixed(3)} – ${upper.toFixed(3)}`;
  const [theirs, ours] = [rows[0]!.name, rows.at(-1)!.name];
  return [
    `One request, ${ours} beside ${theirs}: ${starts} starts, ${bursts} pairs of bursts each`,
    ...formatTable(
      ["", "CPU µs/req", "daemon µs/req", "errors"],
      rows.map(({ name, cpuUs, daemonUs, errors }) => [
        name,
        micro(cpuUs),
        micro(daemonUs),
        String(errors),
      ]),
    ),
    ...formatTable(
      [`${ours} ÷ ${theirs}`, "median", "95% sure", "half of the pairs", "whole run"],
      ratios.map(({ name, median, sure, quartiles, whole }) => [
        name,
        `${median.toFixed(3)} ×`,
        `[${show(sure)}]`,
        show(quartiles),
        `${whole.toFixed(3)} ×`,
      ]),
    ),
  ];
}
