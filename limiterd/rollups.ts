/**
 * The sums of usage: for every day, of each user path and all its ancestors, of each label, and of each
 * path by model. A record is added in memory at once; what changed is written with the commit of its
 * batch, so sums and records agree on the disk at every moment. Memory holds the sums that aren't
 * written yet and, up to a bound, those that were needed lately.
 */
import { modelsPerDayMax, rollupCellsMax } from "../shared/bounds.js";
import { dayMs, dayOf } from "../shared/utc-day.js";
import { addRecord, emptyRollup, type Rollup, rollupFromStored, rollupToStored } from "./rollup.js";
import { labelPrefix, modelsPrefix, modelSuffix, totalPrefix } from "./rollup-keys.js";
import { type Change, type Store, StoreUnreadableError } from "./store.js";
import type { UsageRecord } from "./usage-records.js";

export interface RollupPorts {
  readonly store: Store;
  /** The labels of a managed key; none for the empty id. They stay the same for as long as the key exists. */
  labelsOf(keyId: string): readonly string[];
  /** A sum in the store is damaged: it isn't counted any further, nor written over. */
  onDamaged(error: Error): void;
}

export interface Rollups {
  add(record: UsageRecord): void;
  /** What changed since the last call, to be written with batch `lsn`. */
  changes(lsn: number): Change[];
  committed(lsn: number): void;
  /** The sum under a key as it stands now; undefined when it isn't in memory, and then the store's is right. */
  held(key: string): Rollup | undefined;
  /** The sums that the store has never held, by key. */
  unstored(): Iterable<readonly [key: string, sum: Rollup]>;
  /** The sum under a key, from memory or from the store. Throws `StoreUnreadableError`. */
  find(key: string): Rollup | undefined;
}

interface Cell {
  readonly key: string;
  readonly sum: Rollup;
  /** Changed since it was last handed to the writer. */
  dirty: boolean;
  /** The last batch that it was written with. */
  lsn: number;
  /** Whether the store has it. */
  stored: boolean;
}

/** What is left of the models of a day when there are too many. */
const otherModels = modelSuffix("other", "other");

export function createRollups({ store, labelsOf, onDamaged }: RollupPorts): Rollups {
  const cells = new Map<string, Cell>();
  /** What one kind of record is added to: path, key, target and day. */
  const groups = new Map<string, readonly Cell[]>();
  /** Dirty, or handed to the writer and not committed yet. */
  const unwritten = new Set<Cell>();
  const written: { readonly lsn: number; readonly cells: readonly Cell[] }[] = [];
  const damaged = new Set<string>();
  let dirty: Cell[] = [];
  let dayNumber = -1;
  let day = "";

  function read(key: string): Rollup | undefined {
    const value = store.get("rollups", key);
    if (value === undefined) return undefined;
    const sum = rollupFromStored(value);
    if (sum === null) throw new StoreUnreadableError(`${store.file} can't be read: the entry ${JSON.stringify(key)} of rollups is not what it should be`);
    return sum;
  }

  /** Null for a damaged one. */
  function cellOf(key: string): Cell | null {
    const known = cells.get(key);
    if (known !== undefined) return known;
    if (damaged.has(key)) return null;
    let sum: Rollup | undefined;
    try {
      sum = read(key);
    } catch (error) {
      if (!(error instanceof StoreUnreadableError)) throw error;
      damaged.add(key);
      onDamaged(error);
      return null;
    }
    const cell: Cell = { key, sum: sum ?? emptyRollup(), dirty: false, lsn: 0, stored: sum !== undefined };
    cells.set(key, cell);
    return cell;
  }

  function isNew(cell: Cell): boolean {
    return !cell.stored && cell.sum.requests === 0;
  }

  function collect({ userPath, provider, model, keyId }: UsageRecord): Cell[] {
    const found: Cell[] = [];
    const suffix = modelSuffix(provider, model);
    for (let path = userPath; ; path = path.slice(0, Math.max(1, path.lastIndexOf("/")))) {
      const total = cellOf(totalPrefix(path) + day);
      if (total !== null) found.push(total);
      const prefix = modelsPrefix(path) + day;
      let ofModel = cellOf(prefix + suffix);
      if (ofModel !== null && total !== null && isNew(ofModel)) {
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

  /** What is written can be read again. */
  function forget(): void {
    groups.clear();
    for (const [key, cell] of cells) if (!unwritten.has(cell)) cells.delete(key);
  }

  return {
    add(record) {
      if (record.cacheHit) return;
      const number = Math.floor(record.atMs / dayMs);
      if (number !== dayNumber) {
        dayNumber = number;
        day = dayOf(record.atMs);
      }
      const group = `${day}\n${record.keyId}\n${record.userPath}\n${record.provider}\n${record.model}`;
      let sums = groups.get(group);
      if (sums === undefined) {
        sums = collect(record);
        groups.set(group, sums);
      }
      for (const cell of sums) {
        addRecord(cell.sum, record);
        if (cell.dirty) continue;
        cell.dirty = true;
        dirty.push(cell);
        unwritten.add(cell);
      }
    },
    changes(lsn) {
      const changed = dirty;
      dirty = [];
      written.push({ lsn, cells: changed });
      const changes: Change[] = [];
      for (const cell of changed) {
        cell.dirty = false;
        cell.lsn = lsn;
        changes.push({ table: "rollups", key: cell.key, value: rollupToStored(cell.sum) });
      }
      return changes;
    },
    committed(lsn) {
      while (written.length > 0 && written[0]!.lsn <= lsn) {
        const batch = written.shift()!;
        for (const cell of batch.cells) {
          cell.stored = true;
          if (cell.lsn === batch.lsn && !cell.dirty) unwritten.delete(cell);
        }
      }
      if (cells.size > rollupCellsMax || groups.size > rollupCellsMax) forget();
    },
    held: (key) => cells.get(key)?.sum,
    *unstored() {
      for (const { key, sum, stored } of unwritten) if (!stored) yield [key, sum];
    },
    find: (key) => cells.get(key)?.sum ?? read(key),
  };
}
