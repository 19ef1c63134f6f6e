/**
 * The history of requests and targets, from the reports of proxies: by minute for a day and by hour
 * for 90 days. The current minutes and hours are in memory, all others in the store only.
 * `traffic`: `m` or `h` and the start in seconds → [counts by kind, tokens, cost, the times that
 * proxies themselves took, target, …]. Older releases didn't write these times.
 */
import {
  type FailingSpan,
  type FailureKind,
  failureKinds,
  type Percentiles,
  type RequestKind,
  requestKinds,
  type TargetTrafficItem,
  type TrafficPoint,
  type TrafficReport,
} from "../../shared/api/request-item.js";
import { isCount } from "../../shared/checked.js";
import { targetName } from "../../shared/domain/target-name.js";
import { dayMs, formatMillis, isMoment } from "../../shared/time.js";
import {
  bucketsMax,
  isSparse,
  isTargetReport,
  type SparseCounts,
  type TrafficReportBody,
  targetsPerReport,
} from "../../shared/wire/request-report.js";
import { type Change, type Store, StoreUnreadableError } from "../store/store.js";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const minutesKeptMs = dayMs;
const hoursKeptMs = 90 * dayMs;
/** The longest range that is answered by minutes. */
const byMinuteMaxMs = dayMs;
/** Minutes or hours that are read between two turns of the event loop. */
const cellsPerTurn = 50;
/** A target fails in a minute or hour in which at least this share of its attempts failed. */
const failingShare = 0.05;
/** After this many minutes or hours in a row with fewer failures, a target no longer fails. */
const goodCellsMax = { m: 5, h: 1 } as const;
/** Old cells that one call of `changes` removes. */
const removalsMax = 200;

type Unit = "m" | "h";
const lengths: Readonly<Record<Unit, number>> = { m: minuteMs, h: hourMs };
const keptMs: Readonly<Record<Unit, number>> = { m: minutesKeptMs, h: hoursKeptMs };

/** What happened in a minute, an hour or a range. */
class Cell {
  readonly counts = requestKinds.map(() => 0);
  tokens = 0;
  cost = 0;
  /** A histogram of the times that proxies themselves took, in microseconds. */
  readonly ownUs = new Array<number>(bucketsMax).fill(0);
  readonly targets = new Map<string, TargetCell>();
  isChanged = false;

  add({ counts, tokens, cost, targets, own_us = [] }: AddedTraffic, atMs: number): void {
    addTo(this.counts, counts);
    this.tokens = Math.min(this.tokens + tokens, Number.MAX_SAFE_INTEGER);
    this.cost += cost;
    addSparse(this.ownUs, own_us);
    this.isChanged = true;
    for (const report of targets) this.#targetOf(report).add(report, atMs);
  }

  #targetOf({
    provider,
    model,
  }: {
    readonly provider: string;
    readonly model: string;
  }): TargetCell {
    const name = `${provider}\n${model}`;
    const existing = this.targets.get(name);
    if (existing !== undefined) return existing;
    if (this.targets.size >= targetsPerReport && model !== "other")
      return this.#targetOf({ provider: "other", model: "other" });
    const added = new TargetCell(provider, model);
    this.targets.set(name, added);
    return added;
  }

  toStored(): readonly unknown[] {
    const targets = [...this.targets.values()].map((target) => target.toStored());
    return [this.counts, this.tokens, this.cost, sparse(this.ownUs), ...targets];
  }
}

type AddedTraffic = Pick<TrafficReportBody, "counts" | "tokens" | "cost" | "own_us"> & {
  readonly targets: readonly (TrafficReportBody["targets"][number] & {
    readonly last_error_ms?: number;
  })[];
};

class TargetCell {
  readonly provider: string;
  readonly model: string;
  attempts = 0;
  readonly failures = failureKinds.map(() => 0);
  /** A histogram of the times to the first byte. */
  readonly first = new Array<number>(bucketsMax).fill(0);
  /** A histogram of the times to the end of the answer. */
  readonly whole = new Array<number>(bucketsMax).fill(0);
  tokens = 0;
  tokenMs = 0;
  lastError: { readonly atMs: number; readonly message: string } | null = null;

  constructor(provider: string, model: string) {
    this.provider = provider;
    this.model = model;
  }

  add(report: AddedTraffic["targets"][number], atMs: number): void {
    this.attempts += report.attempts;
    addTo(this.failures, report.failures);
    addSparse(this.first, report.first);
    addSparse(this.whole, report.whole);
    this.tokens += report.tokens;
    this.tokenMs += report.token_ms;
    const errorMs = report.last_error_ms ?? Math.max(0, atMs - (report.last_error_ago_ms ?? 0));
    if (report.last_error !== undefined && errorMs >= (this.lastError?.atMs ?? 0))
      this.lastError = { atMs: errorMs, message: report.last_error };
  }

  toStored(): readonly unknown[] {
    const { provider, model, attempts, failures, first, whole, tokens, tokenMs, lastError } = this;
    const error = lastError === null ? [] : [lastError.atMs, lastError.message];
    return [
      provider,
      model,
      attempts,
      failures,
      sparse(first),
      sparse(whole),
      tokens,
      tokenMs,
      ...error,
    ];
  }

  /**
   * The share of attempts that failed, without those that failed because of the request; null
   * without attempts.
   */
  errorRate(): number | null {
    const failed = this.failures.reduce(
      (sum, count, i) => (failureKinds[i] === "invalid_request" ? sum : sum + count),
      0,
    );
    return this.attempts === 0 ? null : failed / this.attempts;
  }

  item(failing: FailingSpan | null): TargetTrafficItem {
    const failures = Object.fromEntries(
      failureKinds.map((kind, i) => [kind, this.failures[i]!]),
    ) as Record<FailureKind, number>;
    return {
      target: targetName(this),
      attempts: this.attempts,
      failures,
      error_rate: this.errorRate(),
      failing,
      first_byte_ms: percentiles(this.first),
      duration_ms: percentiles(this.whole),
      tokens_per_second:
        this.tokenMs === 0 ? null : Math.round((this.tokens / this.tokenMs) * 10_000) / 10,
      last_error:
        this.lastError === null
          ? null
          : { at: formatMillis(this.lastError.atMs), message: this.lastError.message },
    };
  }
}

interface Span {
  readonly fromMs: number;
  untilMs: number;
  /** How many attempts failed. */
  failed: number;
}

interface SpansOfTarget {
  /** The span with the most failures. */
  worst: Span | null;
  /** The span that hasn't ended. */
  current: Span | null;
  /** The number of minutes or hours in a row with few failures. */
  goodInRow: number;
}

/** When each target failed, from cells in the order of their times. */
class FailingSpans {
  readonly #lengthMs: number;
  readonly #goodMax: number;
  readonly #targets = new Map<string, SpansOfTarget>();

  constructor(unit: Unit) {
    this.#lengthMs = lengths[unit];
    this.#goodMax = goodCellsMax[unit];
  }

  add(startMs: number, { targets }: Cell): void {
    for (const [name, target] of targets) {
      const rate = target.errorRate();
      if (rate === null) continue;
      const spans = this.#targets.get(name) ?? { worst: null, current: null, goodInRow: 0 };
      this.#targets.set(name, spans);
      spans.goodInRow = rate < failingShare ? spans.goodInRow + 1 : 0;
      if (spans.goodInRow >= this.#goodMax) spans.current = null;
      if (spans.goodInRow > 0) continue;
      spans.current ??= { fromMs: startMs, untilMs: 0, failed: 0 };
      spans.current.untilMs = startMs + this.#lengthMs;
      spans.current.failed += rate * target.attempts;
      if (spans.current.failed >= (spans.worst?.failed ?? 0)) spans.worst = spans.current;
    }
  }

  of(name: string): FailingSpan | null {
    const { current = null, worst = null } = this.#targets.get(name) ?? {};
    if (current !== null) return { from: formatMillis(current.fromMs), until: null };
    if (worst === null) return null;
    return { from: formatMillis(worst.fromMs), until: formatMillis(worst.untilMs) };
  }
}

/** A time range, both ends in ms. */
interface TrafficRange {
  readonly fromMs: number;
  readonly beforeMs: number;
}

interface TrafficPorts {
  readonly store: Pick<Store, "get" | "keys" | "range">;
  readonly yieldToEventLoop: () => Promise<void>;
}

export class TrafficBook {
  /** By start: the current cells, and those that have changed since the last write. */
  readonly #cells: Readonly<Record<Unit, Map<number, Cell>>> = { m: new Map(), h: new Map() };

  /** Adds a report. */
  add(store: Pick<Store, "get">, report: AddedTraffic, nowMs: number): void {
    for (const unit of ["m", "h"] as const)
      this.#currentCell(store, unit, nowMs).add(report, nowMs);
  }

  #currentCell(store: Pick<Store, "get">, unit: Unit, nowMs: number): Cell {
    const start = startOf(unit, nowMs);
    const existing = this.#cells[unit].get(start);
    if (existing !== undefined) return existing;
    const cell = storedCell(store, keyOf(unit, start)) ?? new Cell();
    this.#cells[unit].set(start, cell);
    return cell;
  }

  /** The changes that write changed cells and remove old ones. Forgets cells of the past. */
  changes(store: Pick<Store, "keys">, nowMs: number): Change[] {
    const changes: Change[] = [];
    for (const unit of ["m", "h"] as const) {
      for (const [start, cell] of this.#cells[unit]) {
        if (cell.isChanged)
          changes.push({ table: "traffic", key: keyOf(unit, start), value: cell.toStored() });
        cell.isChanged = false;
        // A cell that ended before the last write is in the store by now.
        if (start + 2 * lengths[unit] < nowMs) this.#cells[unit].delete(start);
      }
      const oldest = startOf(unit, nowMs - keptMs[unit]);
      const before = keyOf(unit, Math.max(0, oldest));
      for (const key of store.keys("traffic", { from: unit, before, limit: removalsMax }))
        changes.push({ table: "traffic", key, value: undefined });
    }
    return changes;
  }

  /** Rejects with `StoreUnreadableError`. */
  async report(
    { store, yieldToEventLoop }: TrafficPorts,
    { fromMs, beforeMs }: TrafficRange,
    nowMs: number,
  ): Promise<TrafficReport> {
    const isShort = beforeMs - fromMs <= byMinuteMaxMs && fromMs >= nowMs - minutesKeptMs - hourMs;
    const unit: Unit = isShort ? "m" : "h";
    const total = new Cell();
    const spans = new FailingSpans(unit);
    const points: TrafficPoint[] = [];
    let from = keyOf(unit, startOf(unit, fromMs));
    const before = keyOf(unit, beforeMs);
    const addCell = (start: number, cell: Cell): void => {
      points.push({ time: formatMillis(start), ...sums(cell) });
      total.add(toReport(cell), start);
      spans.add(start, cell);
    };
    const cells = new Map(this.#cells[unit]);
    for (;;) {
      const entries = store.range("traffic", { from, before, limit: cellsPerTurn });
      for (const { key, value } of entries) {
        const start = startIn(String(key));
        const cell = cells.get(start) ?? cellFrom(value);
        cells.delete(start);
        if (cell !== null) addCell(start, cell);
      }
      if (entries.length < cellsPerTurn) break;
      from = `${String(entries.at(-1)!.key)}\u0000`;
      await yieldToEventLoop();
    }
    for (const [start, cell] of [...cells].sort(([a], [b]) => a - b))
      if (start >= startOf(unit, fromMs) && start < beforeMs) addCell(start, cell);
    points.sort((a, b) => (a.time < b.time ? -1 : 1));
    const targets = [...total.targets].map(([name, target]) => target.item(spans.of(name)));
    return {
      start: formatMillis(fromMs),
      end: formatMillis(beforeMs),
      step_seconds: lengths[unit] / 1000,
      totals: sums(total),
      own_ms: toMs(percentiles(total.ownUs)),
      points,
      targets: targets.sort((a, b) => b.attempts - a.attempts),
      server_time: formatMillis(nowMs),
    };
  }
}

function startOf(unit: Unit, ms: number): number {
  return ms - (ms % lengths[unit]);
}

/** Sorts by time. */
function keyOf(unit: Unit, ms: number): string {
  return unit + String(Math.floor(ms / 1000)).padStart(12, "0");
}

function startIn(key: string): number {
  return Number(key.slice(1)) * 1000;
}

function sums({ counts, tokens, cost }: Cell): Omit<TrafficPoint, "time"> {
  const requests = Object.fromEntries(requestKinds.map((kind, i) => [kind, counts[i]!])) as Record<
    RequestKind,
    number
  >;
  return { requests, tokens, cost: Math.round(cost * 1e6) / 1e6 };
}

function toReport({ counts, tokens, cost, ownUs, targets }: Cell): AddedTraffic {
  return {
    counts,
    tokens,
    cost,
    own_us: sparse(ownUs),
    targets: [...targets.values()].map((target) => ({
      provider: target.provider,
      model: target.model,
      attempts: target.attempts,
      failures: target.failures,
      first: sparse(target.first),
      whole: sparse(target.whole),
      tokens: target.tokens,
      token_ms: target.tokenMs,
      ...(target.lastError === null
        ? {}
        : { last_error: target.lastError.message, last_error_ms: target.lastError.atMs }),
    })),
  };
}

/** A cell of the store; null without one, or if it is damaged: then it starts over. */
function storedCell(store: Pick<Store, "get">, key: string): Cell | null {
  try {
    const stored = store.get("traffic", key);
    return stored === undefined ? null : cellFrom(stored);
  } catch (error) {
    if (error instanceof StoreUnreadableError) return null;
    throw error;
  }
}

/** Null for what `toStored` never wrote: reports leave such a cell out. */
function cellFrom(value: readonly unknown[]): Cell | null {
  const [counts, tokens, cost, ...rest] = value;
  const [ownUs] = rest;
  const targets = isSparse(ownUs) ? rest.slice(1) : rest;
  if (!isCounts(counts) || !isCount(tokens) || typeof cost !== "number") return null;
  const cell = new Cell();
  addTo(cell.counts, counts);
  cell.tokens = tokens;
  cell.cost = cost;
  if (isSparse(ownUs)) addSparse(cell.ownUs, ownUs);
  for (const target of targets) {
    const [provider, model, attempts, failures, first, whole, targetTokens, token_ms, at, message] =
      Array.isArray(target) ? (target as readonly unknown[]) : [];
    const report: unknown = {
      provider,
      model,
      attempts,
      failures,
      first,
      whole,
      tokens: targetTokens,
      token_ms,
      last_error: message,
    };
    if (!isTargetReport(report)) return null;
    const name = `${report.provider}\n${report.model}`;
    const added = new TargetCell(report.provider, report.model);
    added.add(report, isMoment(at) ? at : 0);
    cell.targets.set(name, added);
  }
  return cell;
}

function isCounts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((count) => isCount(count));
}

function addTo(sums: number[], counts: readonly number[]): void {
  for (let i = 0; i < sums.length; i++) sums[i]! += counts[i] ?? 0;
}

function addSparse(sums: number[], pairs: SparseCounts): void {
  for (let i = 0; i + 1 < pairs.length; i += 2) sums[pairs[i]!]! += pairs[i + 1]!;
}

function sparse(counts: readonly number[]): SparseCounts {
  return counts.flatMap((count, bucket) => (count > 0 ? [bucket, count] : []));
}

function percentiles(counts: readonly number[]): Percentiles | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total === 0
    ? null
    : { p50: valueAt(counts, total * 0.5), p95: valueAt(counts, total * 0.95) };
}

/** With two significant digits: percentiles aren't more exact. */
function toMs(us: Percentiles | null): Percentiles | null {
  if (us === null) return null;
  const ms = (value: number): number => Number((value / 1000).toPrecision(2));
  return { p50: ms(us.p50), p95: ms(us.p95) };
}

/** The middle of the bucket in which a rank falls, in the histogram's unit; see `SparseCounts`. */
function valueAt(counts: readonly number[], rank: number): number {
  let below = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    below += counts[bucket]!;
    if (below >= rank && counts[bucket]! > 0)
      return bucket === 0 ? 1 : Math.round(2 ** ((bucket - 0.5) / 4));
  }
  return 0;
}
