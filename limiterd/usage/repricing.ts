/**
 * New costs of stored records. A repriced record keeps its costs and notes the new ones; the
 * difference is a record of its own at the same path and time. Both are written in one commit, with
 * the accounts of budgets, so that a crash loses or doubles nothing. A cost that a record already
 * has isn't booked again.
 */
import { exportedRecordsMax } from "../../shared/bounds.js";
import { bad, type Checked, good, isObject } from "../../shared/checked.js";
import { type CostSource, costSources, isSignedPicoUsd } from "../../shared/domain/money.js";
import { interimStatus } from "../../shared/wire/execution.js";
import type { Change, Store } from "../store/store.js";
import { type RecordPlace, readPlace } from "./usage-query.js";
import { type NewCosts, recordsToStored, type UsageRecord } from "./usage-records.js";

/** A new cost of the record at a place, and where it is from. */
export interface Adjustment extends RecordPlace, NewCosts {
  readonly source: CostSource;
  /** The date of the price list; empty without one. */
  readonly list: string;
}

/**
 * The body of `usage.adjust`: `{adjustments: [[id, inputCost, outputCost, totalCost, source, list],
 * …]}`.
 */
export function parseAdjustments(body: unknown): Checked<readonly Adjustment[]> {
  const list = isObject(body) ? body["adjustments"] : undefined;
  const expected = `adjustments must be at most ${exportedRecordsMax} lists of an id, three costs, a source and a date`;
  if (!Array.isArray(list) || list.length > exportedRecordsMax) return bad(expected, "adjustments");
  const adjustments: Adjustment[] = [];
  for (const item of list as readonly unknown[]) {
    const [id, inputCost, outputCost, totalCost, rawSource, list] = Array.isArray(item)
      ? (item as unknown[])
      : [];
    const place = readPlace(id);
    const source = costSources.find((candidate) => candidate === rawSource);
    if (
      place === null ||
      source === undefined ||
      typeof list !== "string" ||
      !/^(?:\d{4}-\d\d-\d\d)?$/.test(list) ||
      !isSignedPicoUsd(inputCost) ||
      !isSignedPicoUsd(outputCost) ||
      !isSignedPicoUsd(totalCost)
    )
      return bad(expected, "adjustments");
    adjustments.push({ ...place, inputCost, outputCost, totalCost, source, list });
  }
  return good(adjustments);
}

/** Runs changes of stored records one after the other. */
export class AdjustmentQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs one at a time, in order: each reads what the one before it has written. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work);
    this.#last = run.catch(() => {
      // The caller of this one gets the error.
    });
    return run;
  }
}

/** Replaces the stored records under a key. */
export function replacement(
  store: Pick<Store, "get">,
  key: number,
  records: readonly UsageRecord[],
): readonly Change[] {
  const lsn = store.get("usage", key)?.[0];
  if (typeof lsn !== "number") return [];
  return [{ table: "usage", key, value: recordsToStored(lsn, records) }];
}

/** What a record costs now; null: unpriced. */
function costNow({ repriced, totalCost }: UsageRecord): number | null {
  return repriced === undefined ? totalCost : repriced.totalCost;
}

/**
 * Whether a record gets this new cost: if it has another one, wasn't answered from the cache, and
 * isn't itself the record of a difference.
 */
export function isAdjustable(record: UsageRecord, { totalCost }: NewCosts): boolean {
  return !record.cacheHit && record.corrects === undefined && costNow(record) !== totalCost;
}

/** The record with its new costs, and the record of the difference. */
export function reprice(
  record: UsageRecord,
  { key, index, inputCost, outputCost, totalCost, source, list }: Adjustment,
  nowMs: number,
): { readonly repriced: UsageRecord; readonly difference: UsageRecord } {
  const { repriced: earlier, ...kept } = record;
  const old = earlier ?? record;
  const isRequest = record.status !== interimStatus;
  return {
    repriced: { ...record, repriced: { atMs: nowMs, inputCost, outputCost, totalCost } },
    difference: {
      ...kept,
      status: interimStatus,
      inputTokens: 0,
      outputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      inputCost: inputCost - (old.inputCost ?? 0),
      outputCost: outputCost - (old.outputCost ?? 0),
      totalCost: totalCost - (old.totalCost ?? 0),
      rewriteTokensSaved: 0,
      rewriteCostSaved: null,
      latencyMs: 0,
      firstByteMs: null,
      details: null,
      atMost: null,
      costSource: source,
      priceList: list === "" ? undefined : list,
      corrects: {
        id: `${key}.${index}`,
        atMs: nowMs,
        priced: old.totalCost === null && isRequest ? 1 : 0,
      },
    },
  };
}
