/** What a soak has shown, as text, and what of it isn't as it should be. Pure. */

import { isFlat, lows, median, type Trend, trendOf } from "../report/trend.js";
import { watchedFrom, watchedTo } from "./fault-plan.js";
import type { LogCounts } from "./gateway.js";
import type { Ledger } from "./ledger.js";
import type { DaemonSample, HeapSample, ProcessSample, Samples } from "./samples.js";
import type { Totals } from "./totals.js";

export interface Soak {
  readonly seconds: number;
  readonly perSecond: number;
  readonly proxies: number;
  /** How long the load took, to the last request sent. */
  readonly loadSeconds: number;
  readonly late: number;
  readonly ledger: Ledger;
  readonly samples: Samples;
  readonly log: LogCounts;
  /** Null: they couldn't be read. */
  readonly totals: Totals | null;
  /** Each fault as it struck. */
  readonly faults: readonly string[];
  /** What went wrong besides. */
  readonly problems: readonly string[];
}

/** What is nothing: V8 moves so much between its spaces without a reason that matters. */
const memoryAllowance = 8 * 1024 * 1024;
const filesAllowance = 12;
/** Of a record with its part of the sums; twice of what docs/sizing.md says. */
const storeBytesMax = 250;
/** Shorter lives, and shorter soaks, say nothing of a leak. */
const judgedS = 600;

/** The text, and what isn't as it should be: empty if all holds. */
export function reportOf(soak: Soak): { readonly text: string; readonly problems: string[] } {
  const { ledger, totals, samples, log, loadSeconds } = soak;
  const watched = soak.samples.processes.filter(
    ({ atS }) => atS >= soak.seconds * watchedFrom && atS <= soak.seconds * watchedTo,
  );
  // A minute of an hour: long enough for a collection.
  const stretchS = Math.min(60, Math.max(5, soak.seconds / 60));
  const memory = memoryOf(watched, stretchS);
  const live = liveOf(samples.live);
  const store = storeOf(soak);
  const heaps = samples.heaps.filter(
    ({ atS }) => atS >= soak.seconds * watchedFrom && atS <= soak.seconds * watchedTo,
  );
  const problems = [
    ...soak.problems,
    ...(totals?.problems ?? []),
    ...memory.problems,
    ...live.problems,
    ...store.problems,
  ];
  const bugs = [...log.notices].filter(([text]) => /\bbug\b|unexpected|fatal|invalid/i.test(text));
  problems.push(...bugs.map(([text, times]) => `the log has ${times} × ${text}`));
  const counts = [...ledger.counts()].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  const lines = [
    `${ledger.sent} requests in ${loadSeconds.toFixed(0)} s, ${(ledger.sent / loadSeconds).toFixed(1)} a second of ${soak.perSecond}; ${soak.late} waited for their turn; ${soak.proxies} proxies`,
    `for their clients: ${counts}`,
    `${soak.faults.length} faults: ${tally(soak.faults)}`,
    ...totalsLines(totals),
    ...store.lines,
    `log: ${log.lines} lines, ${log.requests} of them of requests, ${(log.bytes / Math.max(1, log.lines)).toFixed(0)} bytes a line; ${[...log.notices].map(([text, times]) => `${times} × ${text}`).join("; ")}`,
    "",
    ...memory.lines,
    ...heapLines(heaps, stretchS),
    ...live.lines,
    "",
    problems.length === 0 ? "all of it holds" : `${problems.length} problems:`,
    ...someOfEach(problems).map((problem) => `  ${problem}`),
  ];
  return { text: lines.join("\n"), problems };
}

function totalsLines(totals: Totals | null): string[] {
  if (totals === null) return [];
  const { records, cacheHits, estimates, total, struck, unrecorded } = totals;
  return [
    `${records} records, ${cacheHits} of them from the cache, ${estimates} estimates; ${total.tokens} tokens, ${total.microUsd / 1e6} dollars`,
    `with killed proxies: ${struck} requests ended, ${unrecorded} of them without a record; the rule on everything counts ${totals.countedBeyond} requests beyond those that are known to be admitted; ${totals.closedIdle} were sent on idle connections that a replaced proxy just closed`,
  ];
}

/** A line for each process that lived on through the part that is watched. */
function memoryOf(
  watched: readonly ProcessSample[],
  stretchS: number,
): { lines: string[]; problems: string[] } {
  const lives = new Map<number, ProcessSample[]>();
  for (const sample of watched) {
    const life = lives.get(sample.pid) ?? [];
    lives.set(sample.pid, life);
    life.push(sample);
  }
  const lines = [
    "process, watched for                own MB  grown by    RSS MB  grown by   files  grown by  CPU %",
  ];
  const problems: string[] = [];
  for (const life of lives.values()) {
    const { name } = life[0]!;
    const trend = (value: (sample: ProcessSample) => number): Trend | null =>
      trendOf(
        lows(
          life.map((sample) => ({ atS: sample.atS, value: value(sample) })),
          stretchS,
        ),
      );
    const own = trend(({ ownBytes }) => ownBytes);
    const resident = trend(({ residentBytes }) => residentBytes);
    const files = trend((sample) => sample.files);
    if (own === null || resident === null || files === null) continue;
    const mb = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1).padStart(8);
    const last = life.at(-1)!;
    const cpu = (last.cpuMs - life[0]!.cpuMs) / (last.atS - life[0]!.atS) / 10;
    lines.push(
      `${name.padEnd(16)} ${own.seconds.toFixed(0).padStart(8)} s ${" ".repeat(7)}${mb(own.typical)}  ${mb(own.growth)}  ${mb(resident.typical)}  ${mb(resident.growth)}  ${files.typical.toFixed(0).padStart(6)}  ${files.growth.toFixed(1).padStart(8)}  ${cpu.toFixed(1).padStart(5)}`,
    );
    if (own.seconds < judgedS || name === "clients" || name === "provider") continue;
    if (!isFlat(files, filesAllowance))
      problems.push(`${name}: it has ${files.growth.toFixed(0)} descriptors more`);
  }
  return { lines, problems };
}

/**
 * What is left after a collection, of each process that lived on. It must stay in the second half:
 * in the first one the daemon still meets what it keeps up to a bound.
 */
function liveOf(readings: Samples["live"]): { lines: string[]; problems: string[] } {
  const [lines, problems]: [string[], string[]] = [[], []];
  for (const now of readings.at(-1) ?? []) {
    const life = readings.flatMap((reading) => reading.filter(({ pid }) => pid === now.pid));
    if (life.length < 2) continue;
    const before = life.at(-2)!;
    const rangeOf = (name: "heapBytes" | "ownBytes"): string =>
      life.map((each) => `${(each[name] / 1024 / 1024).toFixed(1)} MB`).join(", ");
    lines.push(
      `${now.name} after collections: heap ${rangeOf("heapBytes")}; memory of its own ${rangeOf("ownBytes")}`,
    );
    for (const name of ["heapBytes", "ownBytes"] as const) {
      const growth = now[name] - before[name];
      if (!isFlat({ typical: before[name], growth, seconds: Number.NaN }, memoryAllowance))
        problems.push(`it holds more and more: ${lines.at(-1)}`);
    }
  }
  return { lines, problems };
}

/** V8's heap after its collections, of each proxy that lived on. */
function heapLines(heaps: readonly HeapSample[], stretchS: number): string[] {
  const lives = new Map<string, HeapSample[]>();
  for (const sample of heaps) {
    const name = `${sample.proxy} ${sample.startedAtS}`;
    const life = lives.get(name) ?? [];
    lives.set(name, life);
    life.push(sample);
  }
  return [...lives.values()].flatMap((life) => {
    const points = life.map(({ atS, heapBytes }) => ({ atS, value: heapBytes }));
    const trend = trendOf(lows(points, 3 * stretchS));
    if (trend === null) return [];
    const mb = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);
    return [
      `heap of proxy ${life[0]!.proxy}: ${mb(trend.typical)} MB, grown by ${mb(trend.growth)} in ${trend.seconds.toFixed(0)} s`,
    ];
  });
}

/** The store grows with the records, and with nothing else. */
function storeOf({ samples, totals, ledger, seconds, loadSeconds, faults }: Soak): {
  lines: string[];
  problems: string[];
} {
  const { daemon } = samples;
  const last = daemon.at(-1);
  if (last === undefined) return { lines: [], problems: ["no daemon ever answered"] };
  const records = totals?.records ?? ledger.sent;
  const failing = daemon.find(({ status }) => status.store.failing !== null);
  const usedBytes = ({ status }: DaemonSample): number => status.store.used_bytes ?? 0;
  const growth = trendOf(
    daemon
      .filter(({ atS }) => atS >= seconds * watchedFrom && atS <= seconds * watchedTo)
      .map((sample) => ({ atS: sample.atS, value: usedBytes(sample) })),
  );
  const children = daemon.map(({ status }) => status.child_windows);
  const inFlight = median(daemon.map(({ status }) => status.in_flight));
  const each =
    growth === null ? Number.NaN : growth.growth / ((growth.seconds * records) / loadSeconds);
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
  return {
    lines: [
      `store: ${mb(usedBytes(last))} MB used of ${mb(last.status.store.bytes ?? 0)}, ${(usedBytes(last) / records).toFixed(0)} bytes a record in all and ${each.toFixed(0)} while watched; up to ${Math.max(...children)} windows of children; typically ${inFlight} requests in flight`,
    ],
    problems: [
      // A full disk is one of the faults.
      ...(failing === undefined || faults.some((fault) => fault.startsWith("the disk is full"))
        ? []
        : [`at ${failing.atS.toFixed(0)} s the store failed: ${failing.status.store.failing}`]),
      ...(seconds >= judgedS && each > storeBytesMax
        ? [`the store grows by ${each.toFixed(0)} bytes a record`]
        : []),
    ],
  };
}

/** A few of each kind, so that many of one don't hide another. */
function someOfEach(problems: readonly string[]): string[] {
  const kinds = new Map<string, string[]>();
  for (const problem of problems) {
    const words = problem.replaceAll(/\([^)]*\)|\d+/g, "");
    const alike = kinds.get(words) ?? [];
    alike.push(problem);
    kinds.set(words, alike);
  }
  return [...kinds.values()].flatMap((alike) => [
    ...alike.slice(0, 3),
    ...(alike.length > 3 ? [`… and ${alike.length - 3} more like this`] : []),
  ]);
}

function tally(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, times]) => (times === 1 ? text : `${times} × ${text}`)).join(", ");
}
