/** What a run comes to: medians, ratios and the reach. Pure; the text is `format-report.ts`. */
import { atLevel, inFlightLevels } from "../load/admission-levels.js";
import type { RestReport } from "../measure/measure-rest.js";
import type { Phase } from "../measure/phase.js";
import type { Rounds } from "../measure/rounds.js";

export interface Head {
  readonly date: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly kernel: string;
  /** Over the last minute, before anything was started: what else the machine was at. */
  readonly loadBefore: number;
  readonly cpuSource: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly versions: Readonly<Record<string, string>>;
}

/** One line of a table: medians over the rounds. */
export interface Row extends Omit<Phase, "count" | "seconds"> {
  readonly name: string;
}

/** The median over the rounds of a quotient within one round, and its spread. */
export interface Ratio {
  readonly name: string;
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly unit: "×" | "µs" | "ms";
}

export interface Reach {
  readonly claim: string;
  /** Null: not measured in this run. */
  readonly isMet: boolean | null;
}

/** A figure beside the one to be reached, which is the largest allowed. */
export interface ReachLine {
  readonly name: string;
  /** Null: not measured in this run. */
  readonly measured: number | null;
  readonly atMost: number;
  readonly unit: "×" | "µs" | "ms" | "MB";
}

/** A program's start and memory: medians. */
interface RestRow {
  readonly name: string;
  readonly firstAnswerMs: number;
  readonly slowestAnswerMs: number;
  readonly residentMb: number;
  readonly ownMb: number;
  readonly ownAfterLoadMb: number;
}

export interface Report {
  readonly head: Head;
  readonly proxy: readonly Row[];
  readonly daemon: readonly Row[];
  readonly skipped: Readonly<Record<string, string>>;
  readonly rest: readonly RestRow[];
  readonly statusMs: number | null;
  readonly ratios: readonly Ratio[];
  readonly reach: readonly ReachLine[];
  /** What went wrong while it was measured; empty for a sound run. */
  readonly complaints: readonly string[];
}

export function buildReport(
  head: Head,
  proxy: Rounds | null,
  daemon: Rounds | null,
  atRest: RestReport | null = null,
): Report {
  const http = proxy?.phases ?? {};
  const admissions = daemon?.phases ?? {};
  const rest = Object.entries(atRest?.programs ?? {}).map(restRow);
  const restOf = (name: string): RestRow | null => rest.find((row) => row.name === name) ?? null;
  const [up, pair, bare] = [restOf("up"), restOf("pair"), restOf("undici")];
  const statusMs = atRest === null ? null : median(atRest.statusMs);
  const busiest = inFlightLevels[inFlightLevels.length - 1]!;
  const toUndici = ratio(
    "proxy CPU ÷ undici forwarder CPU",
    http["sluice"],
    http["undici"],
    (phase) => phase.cpuUs,
  );
  const allToUndici = ratio(
    "proxy and daemon CPU ÷ undici forwarder CPU",
    http["sluice"],
    http["undici"],
    (phase) => phase.cpuUs + phase.besideCpuUs,
  );
  const toHttpProxy = ratio(
    "proxy CPU ÷ http-proxy forwarder CPU",
    http["sluice"],
    http["http-proxy"],
    (phase) => phase.cpuUs,
  );
  const toUnlimited = ratio(
    "proxy CPU ÷ its CPU without rules",
    http["sluice"],
    http["sluice-unlimited"],
    (phase) => phase.cpuUs,
  );
  const waitToUnlimited = ratio(
    "proxy p50 ÷ its p50 without rules",
    http["sluice"],
    http["sluice-unlimited"],
    (phase) => phase.p50Us,
  );
  const perRecord = inFlightLevels.slice(-1).map((level) =>
    spread(
      `the same with a usage record, ${level} in flight`,
      (admissions[atLevel("daemon+usage", level)] ?? []).map((phase) => phase.cpuUs),
      "µs",
    ),
  );
  const perAdmission = inFlightLevels.map((level) =>
    spread(
      `daemon CPU per admission + settle, ${level} in flight`,
      (admissions[atLevel("daemon", level)] ?? []).map((phase) => phase.cpuUs),
      "µs",
    ),
  );
  const toRedis = inFlightLevels.map((level) =>
    ratio(
      `daemon admissions/s ÷ Redis admissions/s, ${level} in flight`,
      admissions[atLevel("daemon", level)],
      admissions[atLevel("redis", level)],
      (phase) => phase.perSecond,
    ),
  );
  const fromRedis = toRedis.at(-1);
  const reach: ReachLine[] = [
    line("memory at rest, sluice up", up?.ownMb, 110, "MB"),
    line("memory at rest, proxy and daemon", pair?.ownMb, 85, "MB"),
    line("memory after the load, sluice up", up?.ownAfterLoadMb, 160, "MB"),
    line("start of sluice up to the first answer", up?.firstAnswerMs, 450, "ms"),
    line(
      "the same ÷ undici forwarder's",
      up === null || bare === null ? null : up.firstAnswerMs / bare.firstAnswerMs,
      2,
      "×",
    ),
    line("sluice status", statusMs, 120, "ms"),
    line("CPU of a chat, proxy ÷ undici forwarder", toUndici?.median, 1.5, "×"),
    line("CPU of a chat, proxy and daemon ÷ undici forwarder", allToUndici?.median, 2, "×"),
    line("CPU of a chat, proxy ÷ http-proxy forwarder", toHttpProxy?.median, 1, "×"),
    line(
      `CPU of admission + settle, limits alone, ${busiest} in flight`,
      perAdmission.at(-1)?.median,
      15,
      "µs",
    ),
    line(
      `Redis admissions/s ÷ daemon's, ${busiest} in flight`,
      fromRedis === null || fromRedis === undefined ? null : 1 / fromRedis.median,
      1,
      "×",
    ),
  ];
  const rows = {
    proxy: Object.entries(http).map(row),
    daemon: Object.entries(admissions).map(row),
  };
  return {
    head,
    ...rows,
    rest,
    statusMs,
    reach,
    skipped: { ...proxy?.skipped, ...daemon?.skipped },
    ratios: [
      toUndici,
      allToUndici,
      toHttpProxy,
      toUnlimited,
      waitToUnlimited,
      ...perAdmission,
      ...perRecord,
      ...toRedis,
    ].filter((value) => value !== null),
    complaints: [...rows.proxy, ...rows.daemon]
      .filter(({ errors }) => errors > 0)
      .map(
        ({ name, errors, lastError }) =>
          `${name}: ${errors} failed, the last with ${lastError ?? "no reason"}`,
      ),
  };
}

/** A contender's medians over the rounds. */
export function row([name, phases]: [string, readonly Phase[]]): Row {
  const of = (pick: (phase: Phase) => number): number => median(phases.map(pick));
  return {
    name,
    perSecond: of((phase) => phase.perSecond),
    p50Us: of((phase) => phase.p50Us),
    p99Us: of((phase) => phase.p99Us),
    firstP50Us: of((phase) => phase.firstP50Us),
    cpuUs: of((phase) => phase.cpuUs),
    besideCpuUs: of((phase) => phase.besideCpuUs),
    generatorShare: of((phase) => phase.generatorShare),
    // Not a median: one bad round must not vanish.
    errors: phases.reduce((sum, phase) => sum + phase.errors, 0),
    lastError: phases.findLast((phase) => phase.lastError !== null)?.lastError ?? null,
  };
}

function restRow([name, measures]: [string, RestReport["programs"][string]]): RestRow {
  const { firstAnswerMs, atRest, afterLoad } = measures;
  return {
    name,
    firstAnswerMs: median(firstAnswerMs),
    slowestAnswerMs: Math.max(...firstAnswerMs),
    residentMb: atRest.residentBytes / 1e6,
    ownMb: atRest.ownBytes / 1e6,
    ownAfterLoadMb: afterLoad.ownBytes / 1e6,
  };
}

function line(
  name: string,
  measured: number | null | undefined,
  atMost: number,
  unit: ReachLine["unit"],
): ReachLine {
  return { name, measured: measured ?? null, atMost, unit };
}

/** Of the rounds that both took part in; null when one was left out. */
export function ratio(
  name: string,
  ours: readonly Phase[] | undefined,
  theirs: readonly Phase[] | undefined,
  pick: (phase: Phase) => number,
): Ratio | null {
  if (ours === undefined || theirs === undefined) return null;
  return spread(
    name,
    ours.flatMap((phase, round) =>
      theirs[round] === undefined ? [] : [pick(phase) / pick(theirs[round])],
    ),
    "×",
  );
}

export function spread(name: string, values: readonly number[], unit: Ratio["unit"]): Ratio | null {
  return values.length === 0
    ? null
    : {
        name,
        unit,
        median: median(values),
        lowest: Math.min(...values),
        highest: Math.max(...values),
      };
}

export function judge(ratio: Ratio | null, isMet: (median: number) => boolean): boolean | null {
  return ratio === null ? null : isMet(ratio.median);
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
