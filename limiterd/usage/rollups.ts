/**
 * The sums of usage (`rollup-keys.ts` names them). A record is added in memory at once. What
 * changed is written now and then (`flush-usage.ts`), each sum with the number of the last record
 * that it holds; after a crash the records behind it are added again. Which sums are in memory is
 * in `rollup-cache.ts`, to which of them a record is added in `rollups-of-record.ts`.
 */
import type { ReportHosts } from "../../shared/api/usage-report.js";
import type { Change, Store } from "../store/store.js";
import {
  addRollup,
  copyRollup,
  type ReadRollup,
  type Rollup,
  rollupOf,
  rollupToStored,
} from "./rollup.js";
import { type Cell, RollupCache } from "./rollup-cache.js";
import { RollupsOfRecord } from "./rollups-of-record.js";
import type { UsageRecord } from "./usage-records.js";

export interface RollupPorts {
  readonly store: Store;
  /**
   * The labels of a managed key; none for the empty id. They stay the same for as long as the key
   * exists.
   */
  labelsOf(keyId: string): readonly string[];
  /** A sum in the store is damaged: it isn't counted any further, nor written over. */
  onDamaged(error: Error): void;
}

/** Sums as a reader sees them. */
export interface RollupView {
  /** The sum under a key; undefined when it isn't in memory, and then the store's is right. */
  held(key: string): Rollup | undefined;
  /** The keys that the store has never held; all of them are held in memory. */
  unstored(): Iterable<string>;
}

/** Called for each sum: take from it at once what is needed. */
export type EachSum = (key: string, sum: Rollup) => void;

/** Sums about a path: its own, those by model, of its direct children, or by origin below it. */
export interface SumsQuestion {
  readonly kind: "totals" | "models" | "children" | "origins";
  readonly userPath: string;
  /** Days, both included. */
  readonly fromDay: string;
  readonly toDay: string;
}

/** The sums of the other hosts. */
export interface OthersSums {
  /** Hands over each host's sums under the keys that they have in its store. */
  read(question: SumsQuestion, each: EachSum): Promise<void>;
}

/** The other hosts that usage is shared with. */
export interface OtherHostsUsage {
  /**
   * Makes a report with the sums of the other hosts; or with null, from its beginning, if those
   * can't be read. Rejects as `report` does.
   */
  withOthers<T>(
    report: (others: OthersSums | null) => Promise<T>,
  ): Promise<{ readonly answer: T; readonly hosts: ReportHosts }>;
}

export class Rollups implements RollupView {
  readonly #cells: RollupCache;
  readonly #recordSums: RollupsOfRecord;
  readonly #unstored = new Set<Cell>();
  /** For each open view the sums that have changed since, as they were. */
  readonly #views = new Set<Map<string, Rollup>>();
  #dirty: Cell[] = [];
  #saturated = 0;
  /** Told of the key of each sum that changes; null without a cluster. */
  changed: { add(key: string): void } | null = null;

  constructor({ store, labelsOf, onDamaged }: RollupPorts) {
    this.#cells = new RollupCache(store, onDamaged);
    this.#recordSums = new RollupsOfRecord({ store, cells: this.#cells, labelsOf });
  }

  add(record: UsageRecord): void {
    if (record.cacheHit) return;
    const one = rollupOf(record);
    for (const cell of this.#recordSums.of(record, false)) this.#addTo(cell, one);
  }

  /**
   * Adds a record that an earlier epoch of the daemon has written under `recordKey` to the sums
   * that don't hold it yet.
   */
  replay(record: UsageRecord, recordKey: number): void {
    if (record.cacheHit) return;
    const one = rollupOf(record);
    for (const cell of this.#recordSums.of(record, true))
      if (recordKey > cell.restoredKey) this.#addTo(cell, one);
  }

  #showBefore(cell: Cell): void {
    for (const before of this.#views)
      if (!before.has(cell.key)) before.set(cell.key, copyRollup(cell.sum));
  }

  #addTo(cell: Cell, what: ReadRollup): void {
    if (this.#views.size > 0) this.#showBefore(cell);
    if (addRollup(cell.sum, what)) this.#saturated++;
    this.changed?.add(cell.key);
    if (cell.dirty) return;
    cell.dirty = true;
    this.#dirty.push(cell);
    if (!cell.stored) this.#unstored.add(cell);
  }

  /** Sums whose cost has reached its bound since the start, and may be more than they say. */
  get saturated(): number {
    return this.#saturated;
  }

  /** How many sums changed and aren't handed out yet. */
  get dirty(): number {
    return this.#dirty.length;
  }

  /** Hands them out. They continue to change until `changes` is called for them. */
  takeDirty(): Cell[] {
    const taken = this.#dirty;
    this.#dirty = [];
    return taken;
  }

  /** Writes sums as they are now, when they hold every record up to `recordKey`. */
  changes(cells: readonly Cell[], recordKey: number): Change[] {
    return cells.map((cell) => {
      cell.dirty = false;
      return { table: "rollups", key: cell.key, value: rollupToStored(cell.sum, recordKey) };
    });
  }

  /** What `changes` returned for them is in the store. */
  committed(cells: readonly Cell[]): void {
    for (const cell of cells) {
      if (cell.stored) continue;
      cell.stored = true;
      this.#unstored.delete(cell);
    }
  }

  /**
   * Everything that was dirty before the last call is in the store. Forgets what wasn't needed
   * since then, if there is much.
   */
  forget(): void {
    if (this.#cells.forget()) this.#recordSums.forget();
  }

  /** Shows the sums as they are at this moment, whatever is added meanwhile; until it is closed. */
  open(): RollupView & { close(): void } {
    const before = new Map<string, Rollup>();
    this.#views.add(before);
    return {
      held: (key) => before.get(key) ?? this.held(key),
      unstored: () => this.unstored(),
      close: () => void this.#views.delete(before),
    };
  }

  held(key: string): Rollup | undefined {
    return this.#cells.held(key);
  }

  *unstored(): Generator<string> {
    for (const { key } of this.#unstored) yield key;
  }

  /** The sum under a key, from memory or from the store. Throws `StoreUnreadableError`. */
  find(key: string): Rollup | undefined {
    return this.#cells.find(key);
  }
}
