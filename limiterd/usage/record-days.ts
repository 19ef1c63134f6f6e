/**
 * An index of usage records by day. Record keys are ascending numbers that don't depend on the
 * time, so a step of the clock doesn't disturb their order. A run is a range of keys, with the days
 * on which its records ended. A new run begins with each day and with each step of the clock, so
 * there is about one for each day of the retention.
 */
import { recordLatenessMs } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { dayMs } from "../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";

/** The keys from `firstKey` to the next run. Days are numbers since the epoch, both included. */
interface KeyRange {
  readonly firstKey: number;
  readonly fromDay: number;
  readonly toDay: number;
}

/** Keys of records: `from` included, `before` not. */
export interface RecordKeys {
  readonly from: number;
  readonly before: number;
}

/** The time range of a query, by when records ended; null: open. */
export interface Moments {
  readonly fromMs: number | null;
  readonly beforeMs: number | null;
}

/** How many days after the end of its response a record may arrive. */
const lateDays = Math.ceil(recordLatenessMs / dayMs);

export class RecordDays {
  readonly #runs: KeyRange[];

  /** `runs` ascend; the store has them. */
  constructor(runs: readonly KeyRange[]) {
    this.#runs = [...runs];
  }

  /**
   * Adds a batch, whose first record ended at `fromMs` and whose last one was recorded at
   * `latestMs`. Returns the changes to commit with it, usually none.
   */
  add(key: number, fromMs: number, latestMs: number): Change[] {
    const [fromDay, toDay] = [dayNumber(fromMs), dayNumber(latestMs)];
    const last = this.#runs.at(-1);
    const fits =
      last !== undefined &&
      fromDay >= last.fromDay &&
      // Around midnight the clock may step back a few ms.
      (toDay === last.toDay || toDay === last.toDay - 1);
    if (fits) return [];
    const run = { firstKey: key, fromDay: Math.min(fromDay, toDay - lateDays), toDay };
    this.#runs.push(run);
    return [runChange(run)];
  }

  /**
   * The ascending ranges of keys below `beforeKey` whose records may have ended in this time range.
   */
  keysOf({ fromMs, beforeMs }: Moments, beforeKey: number): RecordKeys[] {
    const fromDay = fromMs === null ? -Infinity : dayNumber(fromMs);
    const toDay = beforeMs === null ? Infinity : dayNumber(beforeMs - 1);
    return this.#runs
      .map((run, i) => ({ run, ...this.#keys(i, beforeKey) }))
      .filter(({ run }) => run.fromDay <= toDay && run.toDay >= fromDay)
      .map(({ from, before }) => ({ from, before }));
  }

  /**
   * The runs whose records all ended before `ms`, with their keys below `beforeKey`. `isComplete`:
   * the run gets no further records, so it can be removed with them.
   */
  endedBefore(
    ms: number,
    beforeKey: number,
  ): (RecordKeys & { readonly run: KeyRange; readonly isComplete: boolean })[] {
    return this.#runs
      .map((run, i) => {
        const { from, before } = this.#keys(i, beforeKey);
        return { run, from, before, isComplete: this.#runs[i + 1]?.firstKey === before };
      })
      .filter(({ run }) => run.toDay < dayNumber(ms));
  }

  /** Removes a run that has no records any more. */
  forget(run: KeyRange): Change {
    this.#runs.splice(this.#runs.indexOf(run), 1);
    return { table: "days", key: run.firstKey, value: undefined };
  }

  #keys(index: number, beforeKey: number): RecordKeys {
    const { firstKey } = this.#runs[index]!;
    return {
      from: firstKey,
      before: Math.min(this.#runs[index + 1]?.firstKey ?? Infinity, beforeKey),
    };
  }
}

function dayNumber(ms: number): number {
  return Math.floor(ms / dayMs);
}

/** `days`: [fromDay, toDay] of a run, by its first key. */
function runChange({ firstKey, fromDay, toDay }: KeyRange): Change {
  return { table: "days", key: firstKey, value: [fromDay, toDay] };
}

/** Throws `StoreUnreadableError`. */
export function storedRecordDays(store: Store): RecordDays {
  const runs: KeyRange[] = [];
  for (const { key, value } of store.entries("days")) {
    const [fromDay, toDay] = value;
    if (!isCount(key) || !Number.isSafeInteger(fromDay) || !Number.isSafeInteger(toDay))
      throwMalformed(store, "days", key);
    runs.push({ firstKey: key, fromDay: fromDay as number, toDay: toDay as number });
  }
  return new RecordDays(runs);
}
