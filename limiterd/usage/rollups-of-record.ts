/**
 * The sums that a record is added to: for its day, the total of its user path and of each ancestor,
 * each of these by model, the path by origin, and the total of each label of its key. Records of
 * the same kind mostly follow each other, so the sums of each kind are kept at hand.
 */
import { modelsPerDayMax, rollupCellsMax } from "../../shared/bounds.js";
import { dayMs, dayOf } from "../../shared/utc-day.js";
import type { Store } from "../store/store.js";
import { isEmptyRollup } from "./rollup.js";
import type { Cell, RollupCache } from "./rollup-cache.js";
import {
  daysUnder,
  labelPrefix,
  modelSuffix,
  modelsPrefix,
  originKey,
  totalPrefix,
} from "./rollup-keys.js";
import type { UsageRecord } from "./usage-records.js";

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
 * Kinds of records of one path whose sums are kept at hand; beyond them they are looked up again.
 */
const groupsPerPathMax = 16;

/** Where the models of a day are added up when there are too many. */
const otherModels = modelSuffix("other", "other");

interface RecordSumsPorts {
  readonly store: Store;
  readonly cells: RollupCache;
  /**
   * The labels of a managed key; none for the empty id. They stay the same for as long as the key
   * exists.
   */
  labelsOf(keyId: string): readonly string[];
}

export class RollupsOfRecord {
  readonly #ports: RecordSumsPorts;
  /** By user path, what its records are added to. All of it is in the cells. */
  #groups = new Map<string, Group[]>();
  #dayNumber = -1;
  #day = "";

  constructor(ports: RecordSumsPorts) {
    this.#ports = ports;
  }

  /** The cells are forgotten, and with them what was kept at hand. */
  forget(): void {
    this.#groups = new Map();
  }

  /** `replaying`: the record is one that an earlier epoch has written. */
  of(record: UsageRecord, replaying: boolean): readonly Cell[] {
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
    const sums = this.#collect(record, replaying);
    const group: Group = { dayNumber, keyId, provider, model, requestedModel, sums };
    if (ofPath !== undefined && ofPath.length < groupsPerPathMax) ofPath.push(group);
    else {
      if (this.#groups.size >= rollupCellsMax) this.#groups = new Map();
      this.#groups.set(userPath, [group]);
    }
    return sums;
  }

  #collect(record: UsageRecord, replaying: boolean): Cell[] {
    const { userPath, provider, model, keyId, requestedModel } = record;
    const { cells, labelsOf } = this.#ports;
    const found: Cell[] = [];
    const suffix = modelSuffix(provider, model);
    let asked = requestedModel === "" ? suffix : modelSuffix("", requestedModel);
    for (let path = userPath; ; path = path.slice(0, Math.max(1, path.lastIndexOf("/")))) {
      const total = this.#totalOf(path, replaying);
      if (total !== null) found.push(total);
      const ofModel = this.#ofModel(path, suffix, total);
      if (ofModel !== null) found.push(ofModel);
      // Of models beyond the bound there is one sum by origin too.
      if (path === userPath && requestedModel === "" && ofModel?.key.endsWith(otherModels) === true)
        asked = otherModels;
      if (path === "/") break;
    }
    const origin = cells.get(originKey(this.#day, record, asked));
    if (origin !== null) found.push(origin);
    for (const label of labelsOf(keyId)) {
      const total = cells.get(labelPrefix(label) + this.#day);
      if (total !== null) found.push(total);
    }
    return found;
  }

  /**
   * After a crash a total may have been written before its sums by model or after them:
   * `replaying`, these are counted.
   */
  #totalOf(userPath: string, replaying: boolean): Cell | null {
    const { cells, store } = this.#ports;
    const key = totalPrefix(userPath) + this.#day;
    const cell = cells.known(key);
    if (cell !== undefined) return cell;
    const total = cells.load(key);
    if (total !== null && replaying) {
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
  #ofModel(path: string, suffix: string, total: Cell | null): Cell | null {
    const { cells } = this.#ports;
    const prefix = modelsPrefix(path) + this.#day;
    const cell = cells.get(prefix + suffix);
    if (cell === null || total === null || suffix === otherModels || !isNew(cell)) return cell;
    if (total.sum.models < modelsPerDayMax) {
      total.sum.models++;
      return cell;
    }
    cells.discard(cell);
    return cells.get(prefix + otherModels);
  }
}

function isNew(cell: Cell): boolean {
  return !cell.stored && isEmptyRollup(cell.sum);
}
