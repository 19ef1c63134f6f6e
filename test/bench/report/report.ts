/** What a run comes to: medians, ratios and the reach. Pure; the text is `format-report.ts`. */
import { atLevel, inFlightLevels } from "../load/admission-levels.js";
import type { ProxyMeasures, StartMeasures } from "../measure/measure-proxy.js";
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

export interface Report {
  readonly head: Head;
  readonly proxy: readonly Row[];
  readonly daemon: readonly Row[];
  readonly skipped: Readonly<Record<string, string>>;
  readonly start: {
    readonly readyMs: number;
    readonly slowestReadyMs: number;
    readonly proxyIdleMb: number;
    readonly daemonIdleMb: number;
    readonly idleMb: number;
  } | null;
  readonly ratios: readonly Ratio[];
  readonly reach: readonly Reach[];
  /** What went wrong while it was measured; empty for a sound run. */
  readonly complaints: readonly string[];
}

export function buildReport(
  head: Head,
  proxy: ProxyMeasures | null,
  daemon: Rounds | null,
): Report {
  const http = proxy?.rounds.phases ?? {};
  const admissions = daemon?.phases ?? {};
  const start = proxy?.start === null || proxy === null ? null : startRow(proxy.start);
  const busiest = inFlightLevels[inFlightLevels.length - 1]!;
  const toUndici = ratio(
    "proxy CPU ÷ undici forwarder CPU",
    http["sluice"],
    http["undici"],
    (phase) => phase.cpuUs,
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
  const reach: Reach[] = [
    {
      claim: "proxy CPU at most 1.8 × the undici forwarder's",
      isMet: judge(toUndici, (value) => value <= 1.8),
    },
    {
      claim: "proxy CPU below the http-proxy forwarder's",
      isMet: judge(toHttpProxy, (value) => value < 1),
    },
    {
      claim: `daemon CPU per admission + settle at most 15 µs at ${busiest} in flight, limits alone`,
      isMet: judge(perAdmission.at(-1) ?? null, (value) => value <= 15),
    },
    {
      claim: `more admissions/s than Redis at ${busiest} in flight`,
      isMet: judge(toRedis.at(-1) ?? null, (value) => value > 1),
    },
    { claim: "ready in under 1 s", isMet: start === null ? null : start.readyMs < 1000 },
    {
      claim: "idle memory of proxy and daemon together under 130 MB",
      isMet: start === null ? null : start.idleMb < 130,
    },
  ];
  const rows = {
    proxy: Object.entries(http).map(row),
    daemon: Object.entries(admissions).map(row),
  };
  return {
    head,
    ...rows,
    start,
    reach,
    skipped: { ...proxy?.rounds.skipped, ...daemon?.skipped },
    ratios: [
      toUndici,
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

function startRow(start: StartMeasures): Report["start"] {
  const proxyIdleMb = start.proxyIdleBytes / 1e6;
  const daemonIdleMb = start.daemonIdleBytes / 1e6;
  return {
    readyMs: median(start.readyMs),
    slowestReadyMs: Math.max(...start.readyMs),
    proxyIdleMb,
    daemonIdleMb,
    idleMb: proxyIdleMb + daemonIdleMb,
  };
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
