/**
 * The sums of usage: for every day, of each user path and all its ancestors, of each label, and of
 * each path by model. A record is added in memory at once. What changed is written now and then
 * (`flush-usage.ts`), each sum with the number of the last record that it holds; after a crash the
 * records behind it are added again. Memory holds the sums that aren't written yet and, up to a
 * bound, those that were needed lately.
 */
import { modelsPerDayMax, rollupCellsMax } from "../../shared/bounds.js";
import { dayMs, dayOf } from "../../shared/utc-day.js";
import { type Change, type Store, StoreUnreadableError, throwMalformed } from "../store/store.js";
import {
  addRollup,
  copyRollup,
  emptyRollup,
  type Rollup,
  recordKeyIn,
  rollupFromStored,
  rollupOf,
  rollupToStored,
} from "./rollup.js";
import { daysUnder, labelPrefix, modelSuffix, modelsPrefix, totalPrefix } from "./rollup-keys.js";
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

export interface Rollups extends RollupView {
  add(record: UsageRecord): void;
  /**
   * Adds a record that an earlier life of the daemon has written under `recordKey` to the sums that
   * don't hold it yet.
   */
  replay(record: UsageRecord, recordKey: number): void;
  /** Sums that changed and aren't handed out yet. */
  readonly dirty: number;
  /** Hands them out. They go on changing until `changes` is called for them. */
  takeDirty(): Cell[];
  /** What writes sums as they are now, when they hold every record up to `recordKey`. */
  changes(cells: readonly Cell[], recordKey: number): Change[];
  /** What `changes` made for them is in the store. */
  committed(cells: readonly Cell[]): void;
  /**
   * Everything that was dirty before the last call is in the store. Forgets what nobody needed
   * since then, if there is much.
   */
  forget(): void;
  /** Shows the sums as they are at this moment, whatever is added meanwhile; until it is closed. */
  open(): OpenView;
  /** The sum under a key, from memory or from the store. Throws `StoreUnreadableError`. */
  find(key: string): Rollup | undefined;
}

export interface OpenView extends RollupView {
  close(): void;
}

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

/** One kind of record, and the sums that it is added to. */
interface Group {
  readonly dayNumber: number;
  readonly keyId: string;
  readonly provider: string;
  readonly model: string;
  readonly sums: readonly Cell[];
}

/**
 * Kinds of records of one path that are told apart at a glance; beyond them they are looked up
 * again.
 */
const groupsPerPathMax = 16;

/** What is left of the models of a day when there are too many. */
const otherModels = modelSuffix("other", "other");

export function createRollups({ store, labelsOf, onDamaged }: RollupPorts): Rollups {
  /** Those that were needed since `forget` last made room, and those that were needed before. */
  let cells = new Map<string, Cell>();
  let previousGeneration = new Map<string, Cell>();
  /** By user path, what its records are added to. All of it is in `cells`. */
  let groups = new Map<string, Group[]>();
  const unstored = new Set<Cell>();
  const damaged = new Set<string>();
  /** For each open view the sums that have changed since, as they were. */
  const views = new Set<Map<string, Rollup>>();
  let dirty: Cell[] = [];
  let dayNumber = -1;
  let day = "";

  function read(key: string): { readonly sum: Rollup; readonly recordKey: number } | undefined {
    const value = store.get("rollups", key);
    if (value === undefined) return undefined;
    const sum = rollupFromStored(value) ?? throwMalformed(store, "rollups", key);
    return { sum, recordKey: recordKeyIn(value) };
  }

  function known(key: string): Cell | undefined {
    const cell = cells.get(key);
    if (cell !== undefined) return cell;
    const old = previousGeneration.get(key);
    if (old !== undefined) cells.set(key, old);
    return old;
  }

  /** From the store, or new. Null for a damaged one. */
  function load(key: string): Cell | null {
    if (damaged.has(key)) return null;
    try {
      const found = read(key);
      const cell: Cell = {
        key,
        sum: found?.sum ?? emptyRollup(),
        dirty: false,
        stored: found !== undefined,
        restoredKey: found?.recordKey ?? 0,
      };
      cells.set(key, cell);
      return cell;
    } catch (error) {
      if (!(error instanceof StoreUnreadableError)) throw error;
      damaged.add(key);
      onDamaged(error);
      return null;
    }
  }

  function cellOf(key: string): Cell | null {
    return known(key) ?? load(key);
  }

  /**
   * After a crash a total may have been written before its sums by model or after them:
   * `replaying`, these are counted.
   */
  function totalOf(userPath: string, replaying: boolean): Cell | null {
    const key = totalPrefix(userPath) + day;
    const cell = known(key);
    if (cell !== undefined) return cell;
    const total = load(key);
    if (total !== null && replaying) {
      const prefix = modelsPrefix(userPath);
      const keys = store.keys("rollups", {
        ...daysUnder(prefix, day, day),
        limit: modelsPerDayMax + 1,
      });
      total.sum.models = keys.filter((model) => model !== prefix + day + otherModels).length;
    }
    return total;
  }

  function isNew(cell: Cell): boolean {
    return !cell.stored && cell.sum.requests === 0;
  }

  function collect({ userPath, provider, model, keyId }: UsageRecord, replaying: boolean): Cell[] {
    const found: Cell[] = [];
    const suffix = modelSuffix(provider, model);
    for (let path = userPath; ; path = path.slice(0, Math.max(1, path.lastIndexOf("/")))) {
      const total = totalOf(path, replaying);
      if (total !== null) found.push(total);
      const prefix = modelsPrefix(path) + day;
      let ofModel = cellOf(prefix + suffix);
      if (ofModel !== null && total !== null && suffix !== otherModels && isNew(ofModel)) {
        if (total.sum.models < modelsPerDayMax) total.sum.models++;
        else {
          cells.delete(ofModel.key);
          ofModel = cellOf(prefix + otherModels);
        }
      }
      if (ofModel !== null) found.push(ofModel);
      if (path === "/") break;
    }
    for (const label of labelsOf(keyId)) {
      const total = cellOf(labelPrefix(label) + day);
      if (total !== null) found.push(total);
    }
    return found;
  }

  /** The sums that a record is added to. */
  function sumsOf(record: UsageRecord, replaying: boolean): readonly Cell[] {
    const number = Math.floor(record.atMs / dayMs);
    if (number !== dayNumber) {
      dayNumber = number;
      day = dayOf(record.atMs);
    }
    const { userPath, keyId, provider, model } = record;
    const ofPath = groups.get(userPath);
    if (ofPath !== undefined)
      for (const group of ofPath)
        if (
          group.model === model &&
          group.keyId === keyId &&
          group.provider === provider &&
          group.dayNumber === number
        )
          return group.sums;
    const group: Group = { dayNumber, keyId, provider, model, sums: collect(record, replaying) };
    if (ofPath !== undefined && ofPath.length < groupsPerPathMax) ofPath.push(group);
    else {
      if (groups.size >= rollupCellsMax) groups = new Map();
      groups.set(userPath, [group]);
    }
    return group.sums;
  }

  function add(cell: Cell, what: Rollup): void {
    for (const before of views)
      if (!before.has(cell.key)) before.set(cell.key, copyRollup(cell.sum));
    addRollup(cell.sum, what);
    if (cell.dirty) return;
    cell.dirty = true;
    dirty.push(cell);
    if (!cell.stored) unstored.add(cell);
  }

  function held(key: string): Rollup | undefined {
    return (cells.get(key) ?? previousGeneration.get(key))?.sum;
  }

  function* unstoredKeys(): Generator<string> {
    for (const { key } of unstored) yield key;
  }

  return {
    add(record) {
      if (record.cacheHit) return;
      const one = rollupOf(record);
      for (const cell of sumsOf(record, false)) add(cell, one);
    },
    replay(record, recordKey) {
      if (record.cacheHit) return;
      const one = rollupOf(record);
      for (const cell of sumsOf(record, true)) if (recordKey > cell.restoredKey) add(cell, one);
    },
    get dirty() {
      return dirty.length;
    },
    takeDirty() {
      const taken = dirty;
      dirty = [];
      return taken;
    },
    changes(written, recordKey) {
      const changes: Change[] = [];
      for (const cell of written) {
        cell.dirty = false;
        changes.push({
          table: "rollups",
          key: cell.key,
          value: rollupToStored(cell.sum, recordKey),
        });
      }
      return changes;
    },
    committed(written) {
      for (const cell of written) {
        if (cell.stored) continue;
        cell.stored = true;
        unstored.delete(cell);
      }
    },
    forget() {
      if (cells.size < rollupCellsMax) return;
      // Whoever is in `previousGeneration` alone hasn't been touched since the last time, so it has been written
      // by now: it can be read again.
      previousGeneration = cells;
      cells = new Map();
      groups = new Map();
    },
    open() {
      const before = new Map<string, Rollup>();
      views.add(before);
      return {
        held: (key) => before.get(key) ?? held(key),
        unstored: unstoredKeys,
        close: () => void views.delete(before),
      };
    },
    held,
    unstored: unstoredKeys,
    find: (key) => held(key) ?? read(key)?.sum,
  };
}
