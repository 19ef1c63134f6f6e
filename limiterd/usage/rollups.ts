/**
 * The sums of usage, under the keys of `rollup-keys.ts`. A record is added in memory immediately;
 * changed sums are written periodically (`flushUsage`), each with the key of the last record in
 * it, and after a crash later records are added again. Also here: the cache of sums in memory, and
 * the choice of a record's sums.
 */
import type { ReportHosts } from "../../shared/api/usage-report.js";
import { modelsPerDayMax, rollupCellsCrowded, rollupCellsMax } from "../../shared/bounds.js";
import { SpreadMap } from "../../shared/spread-map.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { type Change, type Store, StoreUnreadableError, throwMalformed } from "../store/store.js";
import {
  addRollup,
  copyRollup,
  emptyRollup,
  isEmptyRollup,
  type ReadRollup,
  type Rollup,
  recordKeyIn,
  rollupFromStored,
  rollupOf,
  rollupToStored,
} from "./rollup.js";
import {
  daysUnder,
  labelPrefix,
  modelSuffix,
  modelsPrefix,
  originKey,
  totalPrefix,
} from "./rollup-keys.js";
import type { UsageRecord } from "./usage-records.js";

export interface RollupPorts {
  readonly store: Store;
  /**
   * The labels of a managed key; none for the empty id. They stay the same for as long as the key
   * exists.
   */
  labelsOf(keyId: string): readonly string[];
  /** Called when a sum in the store is damaged; it is neither changed nor overwritten. */
  onDamaged(error: Error): void;
}

/** Sums as a reader sees them. */
export interface RollupView {
  /** The sum under a key; undefined if it isn't in memory, so that the store's is current. */
  inMemory(key: string): Rollup | undefined;
  /** The keys that the store doesn't have yet; their sums are in memory. */
  unstoredKeys(): Iterable<string>;
}

/** Called for each sum; copy what you need, because the sum may change later. */
export type EachSum = (key: string, sum: Rollup) => void;

/** Sums of a path, of the path by model, of its direct children, or by origin at and below it. */
export interface SumsQuestion {
  readonly kind: "totals" | "models" | "children" | "origins";
  readonly userPath: string;
  /** Days, both included. */
  readonly fromDay: string;
  readonly toDay: string;
}

/** The sums of the other hosts. */
export interface OtherHostsSums {
  /** Passes each host's sums to `each`, under the keys that they have in that host's store. */
  read(question: SumsQuestion, each: EachSum): Promise<void>;
}

/** The other hosts that usage is shared with. */
export interface OtherHostsUsage {
  /**
   * Makes a report with the sums of the other hosts. If those can't be read, starts again with
   * null. Rejects as `report` does.
   */
  withOtherHosts<T>(
    report: (otherHosts: OtherHostsSums | null) => Promise<T>,
  ): Promise<{ readonly answer: T; readonly hosts: ReportHosts }>;
}

export class Rollups implements RollupView {
  readonly #cells: RollupCache;
  readonly #recordSums: RollupsOfRecord;
  readonly #unstored = new SpreadMap<Cell>();
  /** For each open view, the earlier values of the sums that have changed since it was opened. */
  readonly #views = new Set<Map<string, Rollup>>();
  #dirty: Cell[] = [];
  #saturations = 0;
  /** Called with the key of each sum that changes; null without a cluster. */
  onChanged: ((key: string) => void) | null = null;

  constructor({ store, labelsOf, onDamaged }: RollupPorts) {
    this.#cells = new RollupCache(store, onDamaged);
    this.#recordSums = new RollupsOfRecord({ store, cells: this.#cells, labelsOf });
  }

  add(record: UsageRecord): void {
    if (record.cacheHit) return;
    const recordSum = rollupOf(record);
    for (const cell of this.#recordSums.sumsOf(record)) this.#addTo(cell, recordSum);
  }

  /**
   * Adds a record that an earlier epoch has written under `recordKey` to the sums that don't
   * include it yet.
   */
  replay(record: UsageRecord, recordKey: number): void {
    if (record.cacheHit) return;
    const recordSum = rollupOf(record);
    for (const cell of this.#recordSums.sumsOfReplayed(record))
      if (recordKey > cell.restoredKey) this.#addTo(cell, recordSum);
  }

  /** Keeps the value before a change for the open views. */
  #keepForViews(cell: Cell): void {
    for (const before of this.#views)
      if (!before.has(cell.key)) before.set(cell.key, copyRollup(cell.sum));
  }

  #addTo(cell: Cell, sum: ReadRollup): void {
    if (this.#views.size > 0) this.#keepForViews(cell);
    if (addRollup(cell.sum, sum)) this.#saturations++;
    this.onChanged?.(cell.key);
    if (cell.isDirty) return;
    cell.isDirty = true;
    this.#dirty.push(cell);
    if (!cell.isStored) this.#unstored.set(cell.key, cell);
  }

  /** How often a sum's cost has reached its bound since the start; its real cost may be higher. */
  get saturations(): number {
    return this.#saturations;
  }

  /** How many changed sums `takeDirty` hasn't returned yet. */
  get dirtyCount(): number {
    return this.#dirty.length;
  }

  /** Returns the changed sums. They may change further until `changes` is called for them. */
  takeDirty(): Cell[] {
    const dirty = this.#dirty;
    this.#dirty = [];
    return dirty;
  }

  /**
   * The changes that write sums as they are now. They must include every record up to `recordKey`.
   */
  changes(cells: readonly Cell[], recordKey: number): Change[] {
    return cells.map((cell) => {
      cell.isDirty = false;
      return { table: "rollups", key: cell.key, value: rollupToStored(cell.sum, recordKey) };
    });
  }

  /**
   * Call when what `changes` returned for these sums is in the store. While very many sums are in
   * memory, these leave it.
   */
  committed(cells: readonly Cell[]): void {
    const isCrowded = this.#cells.isCrowded;
    for (const cell of cells) {
      if (isCrowded && !cell.isDirty) this.#cells.discard(cell);
      if (cell.isStored) continue;
      cell.isStored = true;
      this.#unstored.delete(cell.key);
    }
    if (isCrowded) this.#recordSums.clear();
  }

  /** Removes sums from memory, as `RollupCache.makeRoom`. */
  makeRoom(): void {
    if (this.#cells.makeRoom()) this.#recordSums.clear();
  }

  /**
   * Opens a view, which shows the sums as they are now until it is closed, even if records are
   * added.
   */
  open(): RollupView & { close(): void } {
    const before = new Map<string, Rollup>();
    this.#views.add(before);
    return {
      inMemory: (key) => before.get(key) ?? this.inMemory(key),
      unstoredKeys: () => this.unstoredKeys(),
      close: () => void this.#views.delete(before),
    };
  }

  inMemory(key: string): Rollup | undefined {
    return this.#cells.sumInMemory(key);
  }

  *unstoredKeys(): Generator<string> {
    yield* this.#unstored.keys();
  }

  /** The sum under a key, from memory or from the store. Throws `StoreUnreadableError`. */
  find(key: string): Rollup | undefined {
    return this.#cells.findSum(key);
  }
}

/** One sum in memory. */
export interface Cell {
  readonly key: string;
  readonly sum: Rollup;
  /** Whether it has changed since it was last written. */
  isDirty: boolean;
  /** Whether the store has it. */
  isStored: boolean;
  /** The record key up to which the store's entry included every record when it was read. */
  readonly restoredKey: number;
}

/**
 * The sums in memory: unwritten ones and, up to a bound, recently used ones. Others are read from
 * the store.
 */
export class RollupCache {
  readonly #store: Store;
  readonly #onDamaged: (error: Error) => void;
  /** Cells that were needed since `makeRoom` last removed some. */
  #cells = new SpreadMap<Cell>();
  /** Cells that were needed in the time before that. */
  #previousGeneration = new SpreadMap<Cell>();
  readonly #damaged = new Set<string>();

  constructor(store: Store, onDamaged: (error: Error) => void) {
    this.#store = store;
    this.#onDamaged = onDamaged;
  }

  /** The sum under a key, if it is in memory; it isn't marked as needed. */
  sumInMemory(key: string): Rollup | undefined {
    return (this.#cells.get(key) ?? this.#previousGeneration.get(key))?.sum;
  }

  /** The sum under a key, from memory or from the store. Throws `StoreUnreadableError`. */
  findSum(key: string): Rollup | undefined {
    return this.sumInMemory(key) ?? this.#read(key)?.sum;
  }

  /** The cell under a key, if it is in memory. */
  cellInMemory(key: string): Cell | undefined {
    const cell = this.#cells.get(key);
    if (cell !== undefined) return cell;
    const old = this.#previousGeneration.get(key);
    if (old !== undefined) this.#cells.set(key, old);
    return old;
  }

  /** Reads a cell from the store, or makes a new one. Null if it is damaged. */
  loadCell(key: string): Cell | null {
    if (this.#damaged.has(key)) return null;
    try {
      const stored = this.#read(key);
      const cell: Cell = {
        key,
        sum: stored?.sum ?? emptyRollup(),
        isDirty: false,
        isStored: stored !== undefined,
        restoredKey: stored?.recordKey ?? 0,
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

  /** The cell from memory, from the store, or new. Null if it is damaged. */
  cellAt(key: string): Cell | null {
    return this.cellInMemory(key) ?? this.loadCell(key);
  }

  /** Whether there are far more cells than two generations usually have. */
  get isCrowded(): boolean {
    return this.#cells.size + this.#previousGeneration.size > rollupCellsCrowded;
  }

  /** Removes a cell without changes that aren't in the store. */
  discard({ key }: Cell): void {
    this.#cells.delete(key);
    this.#previousGeneration.delete(key);
  }

  /**
   * Removes cells that weren't needed since the last removal, if there are many cells. Call only
   * when everything that was dirty at the last call is in the store. Returns whether it made room.
   */
  makeRoom(): boolean {
    if (this.#cells.size < rollupCellsMax) return false;
    // Cells that are only in the previous generation haven't changed since the last removal, so
    // they are in the store and can be read again.
    this.#previousGeneration = this.#cells;
    this.#cells = new SpreadMap();
    return true;
  }

  #read(key: string): { readonly sum: Rollup; readonly recordKey: number } | undefined {
    const value = this.#store.get("rollups", key);
    if (value === undefined) return undefined;
    const sum = rollupFromStored(value) ?? throwMalformed(this.#store, "rollups", key);
    return { sum, recordKey: recordKeyIn(value) };
  }
}

/** One kind of record, and the sums that it is added to. */
interface Group {
  readonly dayNumber: number;
  readonly keyId: string;
  readonly provider: string;
  readonly model: string;
  readonly requestedModel: string;
  readonly sums: readonly Cell[];
}

/**
 * Maximum number of groups that are cached for one path; the sums of others are looked up again.
 */
const groupsPerPathMax = 16;

const noLabels: readonly string[] = [];

/** The sum of a day's models beyond the bound. */
const otherModels = modelSuffix("other", "other");

interface RecordSumsPorts extends Pick<RollupPorts, "store" | "labelsOf"> {
  readonly cells: RollupCache;
}

/**
 * Finds the sums of a record: for its day, the total of its user path and of each ancestor, each of
 * these by model, the path by origin, and the total of each label of its key. Consecutive records
 * are often of the same kind, so the last sums found are kept.
 */
export class RollupsOfRecord {
  readonly #ports: RecordSumsPorts;
  /** The groups of each user path. All of their sums are in the cells. */
  #groups = new Map<string, Group[]>();
  #dayNumber = -1;
  #day = "";

  constructor(ports: RecordSumsPorts) {
    this.#ports = ports;
  }

  /** Clears the cached groups. Call it when cells were removed. */
  clear(): void {
    this.#groups = new Map();
  }

  /** The sums of a new record. */
  sumsOf(record: UsageRecord): readonly Cell[] {
    return this.#find(record, false);
  }

  /** The sums of a record that an earlier epoch has written. */
  sumsOfReplayed(record: UsageRecord): readonly Cell[] {
    return this.#find(record, true);
  }

  #find(record: UsageRecord, isReplay: boolean): readonly Cell[] {
    const dayNumber = Math.floor(record.atMs / dayMs);
    if (dayNumber !== this.#dayNumber) {
      this.#dayNumber = dayNumber;
      this.#day = dayOf(record.atMs);
    }
    const { userPath, keyId, provider, model, requestedModel } = record;
    const ofPath = this.#groups.get(userPath);
    if (ofPath !== undefined)
      for (const group of ofPath)
        if (
          group.model === model &&
          group.keyId === keyId &&
          group.provider === provider &&
          group.requestedModel === requestedModel &&
          group.dayNumber === dayNumber
        )
          return group.sums;
    const sums = this.#collect(record, isReplay);
    const group: Group = { dayNumber, keyId, provider, model, requestedModel, sums };
    if (ofPath !== undefined && ofPath.length < groupsPerPathMax) ofPath.push(group);
    else {
      if (this.#groups.size >= rollupCellsMax) this.#groups = new Map();
      this.#groups.set(userPath, [group]);
    }
    return sums;
  }

  #collect(record: UsageRecord, isReplay: boolean): Cell[] {
    const { userPath, provider, model, keyId, requestedModel } = record;
    const { cells, labelsOf } = this.#ports;
    const collected: Cell[] = [];
    const suffix = modelSuffix(provider, model);
    let originSuffix = requestedModel === "" ? suffix : modelSuffix("", requestedModel);
    for (let path = userPath; ; path = path.slice(0, Math.max(1, path.lastIndexOf("/")))) {
      const total = this.#totalOf(path, isReplay);
      if (total !== null) collected.push(total);
      const modelCell = this.#modelCell(path, suffix, total);
      if (modelCell !== null) collected.push(modelCell);
      // Models beyond the bound also share one sum by origin.
      if (
        path === userPath &&
        requestedModel === "" &&
        modelCell?.key.endsWith(otherModels) === true
      )
        originSuffix = otherModels;
      if (path === "/") break;
    }
    const origin = cells.cellAt(originKey(this.#day, record, originSuffix));
    if (origin !== null) collected.push(origin);
    for (const label of keyId === "" ? noLabels : labelsOf(keyId)) {
      const total = cells.cellAt(labelPrefix(label) + this.#day);
      if (total !== null) collected.push(total);
    }
    return collected;
  }

  /**
   * The total of a path. After a crash it may be older or newer than its sums by model, so
   * `replaying` counts those.
   */
  #totalOf(userPath: string, isReplay: boolean): Cell | null {
    const { cells, store } = this.#ports;
    const key = totalPrefix(userPath) + this.#day;
    const cell = cells.cellInMemory(key);
    if (cell !== undefined) return cell;
    const total = cells.loadCell(key);
    if (total !== null && isReplay) {
      const prefix = modelsPrefix(userPath);
      const keys = store.keys("rollups", {
        ...daysUnder(prefix, this.#day, this.#day),
        limit: modelsPerDayMax + 1,
      });
      total.sum.models = keys.filter((key) => key !== prefix + this.#day + otherModels).length;
    }
    return total;
  }

  /** The sum of a path by model, or of all its other models if it has too many on that day. */
  #modelCell(path: string, suffix: string, total: Cell | null): Cell | null {
    const { cells } = this.#ports;
    const prefix = modelsPrefix(path) + this.#day;
    const cell = cells.cellAt(prefix + suffix);
    if (cell === null || total === null || suffix === otherModels || !isNew(cell)) return cell;
    if (total.sum.models < modelsPerDayMax) {
      total.sum.models++;
      return cell;
    }
    cells.discard(cell);
    return cells.cellAt(prefix + otherModels);
  }
}

function isNew(cell: Cell): boolean {
  return !cell.isStored && isEmptyRollup(cell.sum);
}
