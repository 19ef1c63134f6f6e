/**
 * Which limits have crossed which thresholds (marks), and the alerts that wait for a proxy to
 * deliver them (docs/alerts.md). The daemon has no network: a proxy takes one alert per destination
 * at a time, and reports whether it was delivered. Marks and waiting alerts are committed with the
 * spend that caused them, so that a crash neither loses nor repeats an alert.
 */

import { isCount, isObject } from "../../shared/checked.js";
import type { AlertConfig } from "../../shared/config/config.js";
import { textDigest } from "../../shared/text/text-digest.js";
import { formatMillis } from "../../shared/time.js";
import { type Alert, isAlert } from "../../shared/wire/alert.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import type { Contributor } from "../store/writer.js";

/**
 * Alerts that wait, for all destinations. At this bound a crossing isn't marked, so that a later
 * charge notices it again.
 */
const alertsWaitingMax = 10_000;
/** Limits with a mark; a mark is kept until its period ends. */
const alertMarksMax = 200_000;
/** If a proxy doesn't report within this time, another one gets the alert. */
export const alertLeaseMs = 30_000;
/** An alert that can't be delivered for this long is dropped. */
export const alertKeptMs = 3 * 86_400_000;
/** The wait after the first failure; it doubles with each one, up to `retryMsMax`. */
const retryMs = 5_000;
const retryMsMax = 3_600_000;
/** A failing destination gets its next alert after at most this time. */
const pauseMsMax = 60_000;

export type AlertDestination = Pick<AlertConfig, "id" | "at" | "forecast" | "rateLimits">;

/** What was already reported of a limit in one period. */
interface Mark {
  readonly startMs: number;
  readonly endMs: number;
  /** The highest threshold that was reported. */
  at: number;
  /** Whether its forecast was reported. */
  forecast: boolean;
}

interface Waiting {
  readonly key: string;
  readonly destination: string;
  readonly alert: Alert;
  readonly atMs: number;
  failures: number;
  retryAtMs: number;
  /** Whether it was postponed. */
  isPostponed: boolean;
}

/** One destination's alerts, oldest first. */
interface Queue {
  readonly settings: AlertDestination;
  readonly waiting: Map<string, Waiting>;
  /** The alert that a proxy is delivering, and until when it must report. */
  leased: { readonly id: string; readonly untilMs: number } | null;
  /** Consecutive failures, and until when the destination gets nothing after them. */
  failures: number;
  pausedUntilMs: number;
  reason: string | null;
  deliveredAtMs: number | null;
}

/** A limit whose use has grown, and how to describe it in an alert. */
export interface Crossing {
  /** Unique among limits and their children. */
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly usageRatio: number;
  readonly isRateLimit: boolean;
  /** The fields of the alert, except those that the book adds. */
  describe(): Omit<Alert, "id" | "created_at" | "usage_ratio" | "threshold">;
}

interface AlertCounts {
  delivered: number;
  failed: number;
  dropped: number;
}

/** A destination as `alerts.list` shows it. */
interface DestinationStatus {
  readonly destination: string;
  readonly waiting: number;
  readonly oldest_at: string | null;
  readonly failing: string | null;
  readonly last_delivered_at: string | null;
}

const markPrefix = "mark ";
const waitingPrefix = "wait ";

export class AlertBook implements Contributor {
  /** The lowest threshold of any destination; infinite if there is none. */
  readonly lowest: number;
  /** The lowest threshold for rate limits. */
  readonly lowestOfRates: number;
  readonly hasForecasts: boolean;
  readonly counts: AlertCounts = { delivered: 0, failed: 0, dropped: 0 };
  readonly #queues: ReadonlyMap<string, Queue>;
  readonly #marks = new Map<string, Mark>();
  readonly #waitingMax: number;
  #changes: Change[] = [];
  /** Alerts of the journal's open batch, and of closed batches that aren't committed yet. */
  #open: Waiting[] = [];
  #committing: { readonly lsn: number; readonly alerts: readonly Waiting[] }[] = [];
  /** Where `sweep` continues. */
  #next: Iterator<[string, Mark]> | null = null;

  constructor(destinations: readonly AlertDestination[], waitingMax = alertsWaitingMax) {
    this.#waitingMax = waitingMax;
    this.#queues = new Map(
      destinations.map((settings) => [
        settings.id,
        {
          settings,
          waiting: new Map(),
          leased: null,
          failures: 0,
          pausedUntilMs: 0,
          reason: null,
          deliveredAtMs: null,
        },
      ]),
    );
    this.lowest = lowestThreshold(destinations);
    this.lowestOfRates = lowestThreshold(destinations.filter(({ rateLimits }) => rateLimits));
    this.hasForecasts = destinations.some(({ forecast }) => forecast);
  }

  /** Whether any destination is configured. */
  get isUsed(): boolean {
    return this.#queues.size > 0;
  }

  /** Alerts that aren't delivered yet, including those that aren't committed yet. */
  get size(): number {
    let size = this.#open.length;
    for (const { alerts } of this.#committing) size += alerts.length;
    for (const { waiting } of this.#queues.values()) size += waiting.size;
    return size;
  }

  /**
   * Reads marks and waiting alerts at a start. Returns the changes that drop the alerts of
   * destinations that are no longer configured. Throws `StoreUnreadableError`.
   */
  restore(store: Store): readonly Change[] {
    const removals: Change[] = [];
    const remaining: Waiting[] = [];
    for (const { key: rawKey, value } of store.entries("alerts")) {
      const key = String(rawKey);
      if (key.startsWith(markPrefix)) {
        const mark = markFromStored(value) ?? throwMalformed(store, "alerts", key);
        this.#marks.set(key.slice(markPrefix.length), mark);
        continue;
      }
      const waiting = waitingFromStored(key, value) ?? throwMalformed(store, "alerts", key);
      if (this.#queues.has(waiting.destination)) remaining.push(waiting);
      else removals.push({ table: "alerts", key, value: undefined });
    }
    remaining.sort((a, b) => a.atMs - b.atMs);
    for (const waiting of remaining)
      this.#queues.get(waiting.destination)!.waiting.set(waiting.alert.id, waiting);
    return removals;
  }

  /**
   * Makes an alert for each threshold that a limit's use has newly crossed in this period. The
   * caller has compared the ratio with `lowest`.
   */
  note(crossing: Crossing, nowMs: number): void {
    const { usageRatio, isRateLimit } = crossing;
    const mark = this.#markOf(crossing);
    if (mark === null) return;
    const crossed: (readonly [Queue, number])[] = [];
    let highest = mark.at;
    for (const queue of this.#queues.values()) {
      if (isRateLimit && !queue.settings.rateLimits) continue;
      for (const threshold of queue.settings.at) {
        if (threshold <= mark.at || !isReached(usageRatio, threshold)) continue;
        crossed.push([queue, threshold]);
        highest = Math.max(highest, threshold);
      }
    }
    if (crossed.length === 0 || this.size + crossed.length > this.#waitingMax) return;
    mark.at = highest;
    const type = isRateLimit ? "rate_limit.threshold" : "budget.threshold";
    this.#add(crossing, mark, crossed, { type, nowMs });
  }

  /** Makes an alert, once in a period, that a budget will run out before the period ends. */
  noteForecast(crossing: Crossing, nowMs: number): void {
    const mark = this.#markOf(crossing);
    if (mark === null || mark.forecast) return;
    const queues = [...this.#queues.values()].filter(({ settings }) => settings.forecast);
    if (queues.length === 0 || this.size + queues.length > this.#waitingMax) return;
    mark.forecast = true;
    const crossed = queues.map((queue) => [queue, null] as const);
    this.#add(crossing, mark, crossed, { type: "budget.forecast", nowMs });
  }

  /** Whether the forecast of this limit was reported in this period. */
  isForecast({ key, startMs }: Pick<Crossing, "key" | "startMs">): boolean {
    const mark = this.#marks.get(key);
    return mark?.startMs === startMs && mark.forecast;
  }

  /** The limit's mark for the period, or a new one; null at the bound of marks. */
  #markOf({ key, startMs, endMs }: Crossing): Mark | null {
    const existing = this.#marks.get(key);
    if (existing?.startMs === startMs) return existing;
    if (existing === undefined && this.#marks.size >= alertMarksMax) return null;
    return { startMs, endMs, at: 0, forecast: false };
  }

  #add(
    crossing: Crossing,
    mark: Mark,
    crossed: readonly (readonly [Queue, number | null])[],
    { type, nowMs }: { readonly type: Alert["type"]; readonly nowMs: number },
  ): void {
    const { key, startMs, usageRatio } = crossing;
    this.#marks.set(key, mark);
    this.#changes.push({
      table: "alerts",
      key: markPrefix + key,
      value: [mark.startMs, mark.endMs, mark.at, mark.forecast],
    });
    const described = crossing.describe();
    for (const [{ settings }, threshold] of crossed) {
      const name = threshold ?? "forecast";
      const alert: Alert = {
        id: `alert_${textDigest(`${key}\n${startMs}\n${name}`)}${textDigest(`${name}\n${startMs}\n${key}`)}`,
        ...described,
        type,
        created_at: formatMillis(nowMs),
        usage_ratio: usageRatio,
        ...(threshold === null ? {} : { threshold }),
      };
      const waiting: Waiting = {
        key: `${waitingPrefix}${settings.id} ${alert.id}`,
        destination: settings.id,
        alert,
        atMs: nowMs,
        failures: 0,
        retryAtMs: 0,
        isPostponed: false,
      };
      this.#open.push(waiting);
      this.#changes.push({
        table: "alerts",
        key: waiting.key,
        value: [settings.id, nowMs, { ...alert }],
      });
    }
  }

  /** Whether the open batch has changes of the book. */
  get isChanged(): boolean {
    return this.#changes.length > 0;
  }

  changes(lsn: number): readonly Change[] {
    const changes = this.#changes;
    this.#changes = [];
    if (this.#open.length > 0) this.#committing.push({ lsn, alerts: this.#open });
    this.#open = [];
    return changes;
  }

  /** Queues alerts for delivery once their batch is on the disk. */
  committed(lsn: number): void {
    while (this.#committing.length > 0 && this.#committing[0]!.lsn <= lsn)
      for (const waiting of this.#committing.shift()!.alerts)
        this.#queues.get(waiting.destination)!.waiting.set(waiting.alert.id, waiting);
  }

  /**
   * Takes the next alert for a destination: the proxy must report on it within `alertLeaseMs`. Null
   * if none is due, or if a proxy has one. `removed`: the changes that drop alerts that are too
   * old.
   */
  take(
    destination: string,
    nowMs: number,
  ): { readonly alert: Alert | null; readonly removed: readonly Change[] } {
    const removed: Change[] = [];
    const queue = this.#queues.get(destination);
    if (queue === undefined || isAhead(queue.leased?.untilMs ?? 0, nowMs, alertLeaseMs))
      return { alert: null, removed };
    queue.leased = null;
    if (isAhead(queue.pausedUntilMs, nowMs, pauseMsMax)) return { alert: null, removed };
    for (const waiting of queue.waiting.values()) {
      if (nowMs - waiting.atMs > alertKeptMs) {
        queue.waiting.delete(waiting.alert.id);
        this.counts.dropped++;
        removed.push({ table: "alerts", key: waiting.key, value: undefined });
        continue;
      }
      if (isAhead(waiting.retryAtMs, nowMs, retryMsMax)) continue;
      queue.leased = { id: waiting.alert.id, untilMs: nowMs + alertLeaseMs };
      return { alert: waiting.alert, removed };
    }
    return { alert: null, removed };
  }

  /** Drops a taken alert, because another host sends it. Returns the changes of the store. */
  dropClaimed(destination: string, id: string): readonly Change[] {
    const queue = this.#queues.get(destination);
    if (queue?.leased?.id === id) queue.leased = null;
    const waiting = queue?.waiting.get(id);
    if (waiting === undefined) return [];
    queue!.waiting.delete(id);
    return [{ table: "alerts", key: waiting.key, value: undefined }];
  }

  /** Postpones a taken alert; false if it was postponed before, or is gone. */
  postpone(destination: string, id: string, nowMs: number): boolean {
    const queue = this.#queues.get(destination);
    const waiting = queue?.waiting.get(id);
    if (waiting === undefined || waiting.isPostponed) return false;
    if (queue?.leased?.id === id) queue.leased = null;
    waiting.isPostponed = true;
    waiting.retryAtMs = nowMs + retryMs;
    return true;
  }

  /** Notes whether an alert was delivered (`reason` null). Returns the changes of the store. */
  report(
    { destination, id, reason }: { destination: string; id: string; reason: string | null },
    nowMs: number,
  ): readonly Change[] {
    const queue = this.#queues.get(destination);
    if (queue?.leased?.id === id) queue.leased = null;
    const waiting = queue?.waiting.get(id);
    if (queue === undefined || waiting === undefined) return [];
    if (reason === null) {
      this.counts.delivered++;
      queue.waiting.delete(id);
      queue.failures = 0;
      queue.pausedUntilMs = 0;
      queue.reason = null;
      queue.deliveredAtMs = nowMs;
      return [{ table: "alerts", key: waiting.key, value: undefined }];
    }
    this.counts.failed++;
    queue.reason = reason;
    waiting.retryAtMs = nowMs + backOff(waiting.failures++, retryMsMax);
    queue.pausedUntilMs = nowMs + backOff(queue.failures++, pauseMsMax);
    return [];
  }

  /**
   * Examines up to `examined` marks, and removes those of past periods. Returns the changes of the
   * store.
   */
  sweep(nowMs: number, examined: number): readonly Change[] {
    const removals: Change[] = [];
    this.#next ??= this.#marks.entries();
    for (let i = 0; i < examined; i++) {
      const next = this.#next.next();
      if (next.done === true) {
        this.#next = null;
        break;
      }
      const [key, { endMs }] = next.value;
      if (endMs > nowMs) continue;
      this.#marks.delete(key);
      removals.push({ table: "alerts", key: markPrefix + key, value: undefined });
    }
    return removals;
  }

  list(): readonly DestinationStatus[] {
    return [...this.#queues.values()].map(({ settings, waiting, reason, deliveredAtMs }) => {
      const [oldest] = waiting.values();
      return {
        destination: settings.id,
        waiting: waiting.size,
        oldest_at: oldest === undefined ? null : formatMillis(oldest.atMs),
        failing: reason,
        last_delivered_at: deliveredAtMs === null ? null : formatMillis(deliveredAtMs),
      };
    });
  }
}

function lowestThreshold(destinations: readonly AlertDestination[]): number {
  return destinations.reduce(
    (lowest, { at }) => at.reduce((least, percent) => Math.min(least, percent), lowest),
    Number.POSITIVE_INFINITY,
  );
}

/** A ratio that misses a threshold only by rounding has reached it. */
function isReached(ratio: number, threshold: number): boolean {
  return ratio >= threshold * (1 - 1e-12);
}

/**
 * Whether a time is in the future, but by no more than `aheadMsMax`: it would be further ahead only
 * if the clock was set back.
 */
function isAhead(atMs: number, nowMs: number, aheadMsMax: number): boolean {
  return atMs > nowMs && atMs <= nowMs + aheadMsMax;
}

function backOff(failures: number, msMax: number): number {
  return Math.min(msMax, retryMs * 2 ** Math.min(failures, 20));
}

function markFromStored(value: readonly unknown[]): Mark | null {
  const [startMs, endMs, at, forecast] = value;
  return Number.isSafeInteger(startMs) &&
    isCount(endMs) &&
    typeof at === "number" &&
    typeof forecast === "boolean"
    ? { startMs: startMs as number, endMs, at, forecast }
    : null;
}

function waitingFromStored(key: string, value: readonly unknown[]): Waiting | null {
  const [destination, atMs, alert] = value;
  return key.startsWith(waitingPrefix) &&
    typeof destination === "string" &&
    isCount(atMs) &&
    isObject(alert) &&
    isAlert(alert)
    ? { key, destination, alert, atMs, failures: 0, retryAtMs: 0, isPostponed: false }
    : null;
}
