/**
 * The sums of usage that are in memory: those that aren't written yet and, up to a bound, those
 * that were needed lately; every other is read from the store. To which of them a record is added
 * is in `rollups-of-record.ts`.
 */
import { rollupCellsMax } from "../../shared/bounds.js";
import { type Store, StoreUnreadableError, throwMalformed } from "../store/store.js";
import { emptyRollup, type Rollup, recordKeyIn, rollupFromStored } from "./rollup.js";

/** One sum in memory. */
export interface Cell {
  readonly key: string;
  readonly sum: Rollup;
  /** Changed since it was last handed to the writer. */
  dirty: boolean;
  /** Whether the store has it. */
  stored: boolean;
  /** The record up to which the store's entry held all when it was read. */
  readonly restoredKey: number;
}

export class RollupCache {
  readonly #store: Store;
  readonly #onDamaged: (error: Error) => void;
  /** Those that were needed since `forget` last made room. */
  #cells = new Map<string, Cell>();
  /** Those that were needed in the time before that. */
  #previousGeneration = new Map<string, Cell>();
  readonly #damaged = new Set<string>();

  constructor(store: Store, onDamaged: (error: Error) => void) {
    this.#store = store;
    this.#onDamaged = onDamaged;
  }

  /** The sum under a key, if it is in memory; it isn't marked as needed. */
  held(key: string): Rollup | undefined {
    return (this.#cells.get(key) ?? this.#previousGeneration.get(key))?.sum;
  }

  /** The sum under a key, from memory or from the store. Throws `StoreUnreadableError`. */
  find(key: string): Rollup | undefined {
    return this.held(key) ?? this.#read(key)?.sum;
  }

  /** The cell under a key, if it is in memory. */
  known(key: string): Cell | undefined {
    const cell = this.#cells.get(key);
    if (cell !== undefined) return cell;
    const old = this.#previousGeneration.get(key);
    if (old !== undefined) this.#cells.set(key, old);
    return old;
  }

  /** From the store, or new. Null for a damaged one. */
  load(key: string): Cell | null {
    if (this.#damaged.has(key)) return null;
    try {
      const found = this.#read(key);
      const cell: Cell = {
        key,
        sum: found?.sum ?? emptyRollup(),
        dirty: false,
        stored: found !== undefined,
        restoredKey: found?.recordKey ?? 0,
      };
      this.#cells.set(key, cell);
      return cell;
    } catch (error) {
      if (!(error instanceof StoreUnreadableError)) throw error;
      this.#damaged.add(key);
      this.#onDamaged(error);
      return null;
    }
  }

  /** From memory, from the store, or new. Null for a damaged one. */
  get(key: string): Cell | null {
    return this.known(key) ?? this.load(key);
  }

  /** Removes a new cell that nothing is added to. */
  discard({ key }: Cell): void {
    this.#cells.delete(key);
  }

  /**
   * Everything that was dirty before the last call is in the store. Forgets what wasn't needed
   * since then, if there is much. False: there isn't.
   */
  forget(): boolean {
    if (this.#cells.size < rollupCellsMax) return false;
    // What is in the previous generation alone hasn't been touched since the last time, so it has
    // been written by now: it can be read again.
    this.#previousGeneration = this.#cells;
    this.#cells = new Map();
    return true;
  }

  #read(key: string): { readonly sum: Rollup; readonly recordKey: number } | undefined {
    const value = this.#store.get("rollups", key);
    if (value === undefined) return undefined;
    const sum = rollupFromStored(value) ?? throwMalformed(this.#store, "rollups", key);
    return { sum, recordKey: recordKeyIn(value) };
  }
}
