/** What the daemon's part of a run comes to, and what all reports share: medians, ratios. Pure. */
import { atLevel, inFlightLevels } from "../load/admission-levels.js";
import type { Phase } from "../measure/phase.js";
import type { Rounds } from "../measure/rounds.js";
import { formatTable, micro, milli, percent, type Ratio, ratioCells, whole } from "./table.js";

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
  readonly versions: Readonly<Record<string, string>>;
}

/** One line of a table: medians over the rounds. */
export interface Row extends Omit<Phase, "count" | "seconds"> {
  readonly name: string;
}

export interface DaemonReport {
  readonly rows: readonly Row[];
  readonly skipped: Readonly<Record<string, string>>;
  readonly ratios: readonly Ratio[];
  /** What went wrong while it was measured; empty for a sound run. */
  readonly complaints: readonly string[];
}

export function buildDaemonReport({ phases, skipped }: Rounds): DaemonReport {
  const perAdmission = inFlightLevels.map((level) =>
    spread(
      `daemon CPU per admission + settle, ${level} in flight`,
      (phases[atLevel("daemon", level)] ?? []).map((phase) => phase.cpuUs),
      "µs",
    ),
  );
  const perRecord = inFlightLevels.slice(-1).map((level) =>
    spread(
      `the same with a usage record, ${level} in flight`,
      (phases[atLevel("daemon+usage", level)] ?? []).map((phase) => phase.cpuUs),
      "µs",
    ),
  );
  const toRedis = inFlightLevels.map((level) =>
    ratio(
      `daemon admissions/s ÷ Redis admissions/s, ${level} in flight`,
      phases[atLevel("daemon", level)],
      phases[atLevel("redis", level)],
      (phase) => phase.perSecond,
    ),
  );
  const rows = Object.entries(phases).map(row);
  return {
    rows,
    skipped,
    ratios: [...perAdmission, ...perRecord, ...toRedis].filter((value) => value !== null),
    complaints: rows
      .filter(({ errors }) => errors > 0)
      .map(
        ({ name, errors, lastError }) =>
          `${name}: ${errors} failed, the last with ${lastError ?? "no reason"}`,
      ),
  };
}

/** What ran where, and how often. */
export function formatHead(head: Head): string {
  const versions = Object.entries(head.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Sluice benchmark, ${head.date}`,
    `Node ${head.node} on ${head.cores} × ${head.cpu}, Linux ${head.kernel}, load ${head.loadBefore.toFixed(2)} before the run; ${versions.join(", ")}`,
    `${head.rounds} rounds of ${head.seconds} s after a warm-up, medians; CPU is user + system of the processes, from ${head.cpuSource}`,
  ].join("\n");
}

const labels: Readonly<Record<string, string>> = {
  daemon: "Sluice, limits alone",
  "daemon+usage": "Sluice, usage recorded",
  redis: "Redis, Lua",
};

const admissionHead = [
  "",
  "in flight",
  "adm/s",
  "p50 ms",
  "p99 ms",
  "CPU µs/adm",
  "generator",
  "errors",
];

function admissionCells(row: Row): string[] {
  const [name = "", inFlight = ""] = row.name.split(" ");
  return [
    labels[name] ?? name,
    inFlight,
    whole(row.perSecond),
    milli(row.p50Us),
    milli(row.p99Us),
    micro(row.cpuUs),
    percent(row.generatorShare),
    String(row.errors),
  ];
}

export function formatDaemon({ rows, skipped, ratios, complaints }: DaemonReport): string {
  return [
    ...(complaints.length > 0
      ? ["!!! THIS RUN ISN'T SOUND", ...complaints.map((line) => `!!! ${line}`)]
      : []),
    "Admission + settle, 5 of 10,000 rules match",
    ...formatTable(admissionHead, rows.map(admissionCells)),
    ...Object.entries(skipped).map(
      ([name, reason]) => `not measured: ${labels[name] ?? name} (${reason})`,
    ),
    "",
    "Ratios, median over the rounds [lowest – highest]",
    ...formatTable(null, ratios.map(ratioCells)),
  ].join("\n");
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

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
