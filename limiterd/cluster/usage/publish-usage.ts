/**
 * Publishes this host's sums of usage: the changed ones each second, all of them after the engine
 * has lost data, and after a start those that may be unpublished. It works in slices, so that the
 * daemon does its other work between two of them.
 */
import { rollupDaysMin } from "../../../shared/bounds.js";
import { isCount } from "../../../shared/checked.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { changedSumsMax, publishedPerTick } from "../../bounds.js";
import { type Change, type Store, StoreUnreadableError } from "../../store/store.js";
import type { Rollups } from "../../usage/rollups.js";
import { EngineAwayError, EngineRefusedError } from "../engine/engine.js";
import type { PublishedSum, UsageBoard } from "./usage-board.js";
import { rollupText, sumPlaceOf } from "./usage-pieces.js";

/** Sums that are read and published in one turn of the event loop. */
const perSlice = 100;
/** Keys of the store that a walk reads in one turn. */
const keysPerSlice = 500;
/** How many days a walk goes back: a late record counts for a day up to a week ago. */
const lateDays = 8;
const markPrefix = "published ";
/** Sorts after every key of a table. */
const afterAllKeys = "\u{10ffff}";

/** How long sums are published and kept after their day, in days. */
export function sharedDays(retentionDays: number): number {
  return Math.max(retentionDays, rollupDaysMin);
}

interface PublisherPorts {
  readonly board: UsageBoard;
  readonly rollups: Rollups;
  readonly store: Store;
  /** The name of the machine, for reports. */
  readonly name: string;
  readonly retentionDays: number;
  nowMs(): number;
  /** A lower bound of the engine's clock; null if unknown. */
  engineMs(): number | null;
  /** Resolves in the next turn of the event loop, after everything that already waits for it. */
  yieldToEventLoop(): Promise<void>;
  write(changes: readonly Change[]): void;
  /** Called when the engine refuses sums; `reason` is a sentence for the log. */
  onRefused(reason: string): void;
}

export class UsagePublisher {
  readonly #ports: PublisherPorts;
  #changed = new Set<string>();
  /** Whether more sums changed than `#changed` may hold. */
  #hasOverflowed = false;
  /** The walk over stored sums that is going on; null: none. */
  #walk: { from: string; readonly sinceDay: string } | null = null;
  #epoch = "";
  /** The day up to which everything is published, as noted in the store. */
  #markedDay = "";
  #running: Promise<boolean> | null = null;

  constructor(ports: PublisherPorts) {
    this.#ports = ports;
    ports.rollups.onChanged = (key) => this.#noteChanged(key);
  }

  #noteChanged(key: string): void {
    if (this.#changed.size < changedSumsMax) this.#changed.add(key);
    else this.#hasOverflowed = true;
  }

  /**
   * Call when the engine is connected. Publishes everything again, unless the store notes what an
   * earlier start has published under this epoch.
   */
  begin(epoch: string): void {
    if (epoch === this.#epoch) return;
    const storedDay = this.#epoch === "" ? this.#storedDay(epoch) : null;
    this.#epoch = epoch;
    this.#ports.board.forget();
    this.#markedDay = storedDay ?? "";
    this.#walkSince(storedDay);
  }

  get isComplete(): boolean {
    return this.#walk === null && !this.#hasOverflowed;
  }

  /** Call each second. Resolves with false if the engine hasn't taken everything. */
  tick(): Promise<boolean> {
    this.#running ??= this.#publishAll().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #publishAll(): Promise<boolean> {
    const { board, name, nowMs } = this.#ports;
    const changed = this.#changed;
    try {
      const asOfMs = this.#ports.engineMs() ?? (await board.timeMs());
      const today = dayOf(nowMs());
      this.#changed = new Set();
      await this.#publishKeys(changed);
      if (this.#hasOverflowed) {
        this.#hasOverflowed = false;
        this.#walkSince(this.#markedDay === "" ? null : this.#markedDay);
      }
      await this.#continueWalk();
      const complete = this.isComplete;
      await board.announce({ name, asOfMs, complete });
      if (complete && today !== this.#markedDay) this.#mark(today);
      return true;
    } catch (error) {
      for (const key of changed) this.#noteChanged(key);
      if (error instanceof EngineRefusedError) this.#ports.onRefused(error.message);
      else if (!(error instanceof EngineAwayError)) throw error;
      return false;
    }
  }

  /** Publishes the sums of `keys` and removes them from it. */
  async #publishKeys(keys: Set<string>): Promise<void> {
    let sums: PublishedSum[] = [];
    let slice: string[] = [];
    const publish = async (): Promise<void> => {
      if (sums.length > 0) await this.#ports.board.publish(sums);
      for (const key of slice) keys.delete(key);
      sums = [];
      slice = [];
    };
    for (const key of keys) {
      const sum = this.#read(key);
      if (sum !== null) sums.push(sum);
      slice.push(key);
      if (slice.length >= perSlice) await publish();
    }
    await publish();
  }

  /**
   * Null for a sum that isn't published: one of another kind, an old one, or a damaged one, which
   * this host's own reports name.
   */
  #read(key: string): PublishedSum | null {
    const place = sumPlaceOf(key);
    if (place === null || place.day < this.#oldestDay()) return null;
    try {
      const sum = this.#ports.rollups.find(key);
      return sum === undefined ? null : { ...place, sum: rollupText(sum) };
    } catch (error) {
      if (!(error instanceof StoreUnreadableError)) throw error;
      return null;
    }
  }

  #oldestDay(): string {
    const { nowMs, retentionDays } = this.#ports;
    return dayOf(Math.max(0, nowMs() - sharedDays(retentionDays) * dayMs));
  }

  /** Begins a walk over the sums since a day; null: over all sums. */
  #walkSince(day: string | null): void {
    const sinceDay = day === null ? "" : dayOf(Math.max(0, Date.parse(day) - lateDays * dayMs));
    this.#walk = { from: "", sinceDay };
    // The walk reads the store, which doesn't have these sums yet.
    for (const key of this.#ports.rollups.unstoredKeys()) this.#noteChanged(key);
  }

  async #continueWalk(): Promise<void> {
    const walk = this.#walk;
    if (walk === null) return;
    for (let looked = 0; looked < publishedPerTick; looked += keysPerSlice) {
      const keys = this.#ports.store
        .keys("rollups", { from: walk.from, before: afterAllKeys, limit: keysPerSlice })
        .map(String);
      const since = keys.filter((key) => (sumPlaceOf(key)?.day ?? "") >= walk.sinceDay);
      await this.#publishKeys(new Set(since));
      if (keys.length < keysPerSlice) {
        if (this.#walk === walk) this.#walk = null;
        return;
      }
      walk.from = `${keys.at(-1)!}\u0000`;
      // Publishing awaits the engine and so yields. If nothing was published, yield here.
      if (since.length === 0) await this.#ports.yieldToEventLoop();
    }
  }

  /** `marks`: [days since 1970] by epoch: everything recorded up to that day is published. */
  #mark(day: string): void {
    const { store, write } = this.#ports;
    const old = store.keys("marks", {
      from: markPrefix,
      before: `${markPrefix}${afterAllKeys}`,
      limit: 100,
    });
    this.#markedDay = day;
    const key = markPrefix + this.#epoch;
    write([
      ...old
        .filter((other) => other !== key)
        .map((other) => ({ table: "marks" as const, key: other, value: undefined })),
      { table: "marks", key, value: [Date.parse(day) / dayMs] },
    ]);
  }

  #storedDay(epoch: string): string | null {
    const [days] = this.#ports.store.get("marks", markPrefix + epoch) ?? [];
    return isCount(days) ? dayOf(days * dayMs) : null;
  }
}
