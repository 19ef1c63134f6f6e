/**
 * An index of the records by day. Their keys are numbers that ascend with recording and tell no
 * time, so that a clock that steps neither holds them up nor makes them go backwards. A run is a
 * range of keys with the days in which its records ended; a new one begins with each day of the
 * clock, and whenever that steps. There is about one for each day of the retention.
 */
import { recordLatenessMs } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { dayMs } from "../../shared/utc-day.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";

/** Its keys end before those of the next run. Days are numbers since the epoch, both included. */
export interface KeyRun {
  readonly firstKey: number;
  readonly fromDay: number;
  readonly toDay: number;
}

/** Keys of records: `from` included, `before` not. */
export interface RecordKeys {
  readonly from: number;
  readonly before: number;
}

/** Of records that are looked for: the moments in which they ended; null: all. */
export interface Moments {
  readonly fromMs: number | null;
  readonly beforeMs: number | null;
}

/** As late as a record comes at the latest, in whole days. */
const lateDays = Math.ceil(recordLatenessMs / dayMs);

export class RecordDays {
  readonly #runs: KeyRun[];
  /** Those that the store doesn't have yet. */
  #unwritten: readonly KeyRun[];

  /** `runs` ascend; `unwritten` are those of them that the store lacks. */
  constructor(runs: readonly KeyRun[], unwritten: readonly KeyRun[] = []) {
    this.#runs = [...runs];
    this.#unwritten = unwritten;
  }

  /**
   * Takes in a batch, and returns what is to be committed with it: mostly nothing.
   *
   * @param fromMs when the first of its records ended
   * @param latestMs the latest moment at which one was recorded
   */
  add(key: number, fromMs: number, latestMs: number): Change[] {
    const [fromDay, toDay] = [dayNumber(fromMs), dayNumber(latestMs)];
    const last = this.#runs.at(-1);
    const fits =
      last !== undefined &&
      fromDay >= last.fromDay &&
      // Around midnight a clock is set back by some ms.
      (toDay === last.toDay || toDay === last.toDay - 1);
    if (!fits) {
      const run = { firstKey: key, fromDay: Math.min(fromDay, toDay - lateDays), toDay };
      this.#runs.push(run);
      this.#unwritten = [...this.#unwritten, run];
    }
    const changes = this.#unwritten.map(runChange);
    this.#unwritten = [];
    return changes;
  }

  /** Where records that ended in these moments may be, ascending; below `beforeKey`. */
  keysOf({ fromMs, beforeMs }: Moments, beforeKey: number): RecordKeys[] {
    const fromDay = fromMs === null ? -Infinity : dayNumber(fromMs);
    const toDay = beforeMs === null ? Infinity : dayNumber(beforeMs - 1);
    return this.#runs
      .map((run, i) => ({ run, ...this.#keys(i, beforeKey) }))
      .filter(({ run }) => run.fromDay <= toDay && run.toDay >= fromDay)
      .map(({ from, before }) => ({ from, before }));
  }

  /**
   * The runs whose records all ended before a moment, with their keys below `beforeKey`.
   * `complete`: no further record will be among them, so that the run can be forgotten without
   * them.
   */
  endedBefore(
    ms: number,
    beforeKey: number,
  ): (RecordKeys & { readonly run: KeyRun; readonly complete: boolean })[] {
    return this.#runs
      .map((run, i) => {
        const { from, before } = this.#keys(i, beforeKey);
        return { run, from, before, complete: this.#runs[i + 1]?.firstKey === before };
      })
      .filter(({ run }) => run.toDay < dayNumber(ms));
  }

  /** Forgets a run that holds no records any more. */
  forget(run: KeyRun): Change {
    this.#runs.splice(this.#runs.indexOf(run), 1);
    return { table: "days", key: run.firstKey, value: undefined };
  }

  #keys(at: number, beforeKey: number): RecordKeys {
    const { firstKey } = this.#runs[at]!;
    return {
      from: firstKey,
      before: Math.min(this.#runs[at + 1]?.firstKey ?? Infinity, beforeKey),
    };
  }
}

function dayNumber(ms: number): number {
  return Math.floor(ms / dayMs);
}

/** `days`: [fromDay, toDay] of a run, by its first key. */
function runChange({ firstKey, fromDay, toDay }: KeyRun): Change {
  return { table: "days", key: firstKey, value: [fromDay, toDay] };
}

/** Throws `StoreUnreadableError`. */
export function storedRecordDays(store: Store, nowMs: number): RecordDays {
  const runs: KeyRun[] = [];
  for (const { key, value } of store.entries("days")) {
    const [fromDay, toDay] = value;
    if (!isCount(key) || !Number.isSafeInteger(fromDay) || !Number.isSafeInteger(toDay))
      throwMalformed(store, "days", key);
    runs.push({ firstKey: key, fromDay: fromDay as number, toDay: toDay as number });
  }
  if (runs.length > 0) return new RecordDays(runs);
  const earlier = runsOfTimedKeys(store, nowMs);
  return new RecordDays(earlier, earlier);
}

/** Earlier releases made a record's key of the moment: with room for 1024 commits in each ms. */
const timedKeysPerDay = dayMs * 1024;

/**
 * The runs of a store of an earlier release. Keys of the future are those of a clock that was
 * ahead, and of all that came after: their days aren't known, only that they are over.
 */
function runsOfTimedKeys(store: Store, nowMs: number): KeyRun[] {
  const runs: KeyRun[] = [];
  const today = dayNumber(nowMs);
  for (let from = 0; ; ) {
    const [key] = store.keys("usage", { from, before: Number.MAX_SAFE_INTEGER, limit: 1 });
    if (key === undefined) return runs;
    const firstKey = Number(key);
    const day = Math.floor(firstKey / timedKeysPerDay);
    if (day > today) return [...runs, { firstKey, fromDay: 0, toDay: today }];
    runs.push({ firstKey, fromDay: day - lateDays, toDay: day });
    from = (day + 1) * timedKeysPerDay;
  }
}
