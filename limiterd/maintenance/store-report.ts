/**
 * The report on a store: its contents and its problems, made in one process and shown by another.
 */
import { isCount, isObject } from "../../shared/checked.js";

export interface StoreReport {
  readonly schema: number;
  readonly bytes: number;
  readonly entries: number;
  readonly rules: number;
  readonly budgets: number;
  /** Managed keys, without those that were deleted. */
  readonly keys: number;
  readonly records: number;
  /** When the first and the last record ended, in ms since the epoch; null without records. */
  readonly firstRecordMs: number | null;
  readonly lastRecordMs: number | null;
  /** Days of which the sum of all usage was compared with the records. */
  readonly daysCompared: number;
  /** The problems, only the first of each kind; empty if the store is whole. */
  readonly problems: readonly string[];
}

/** Null if the value isn't a report. */
export function parseStoreReport(value: unknown): StoreReport | null {
  if (!isObject(value)) return null;
  const report = value as unknown as StoreReport;
  const { schema, bytes, entries, rules, budgets, keys, records, daysCompared, problems } = report;
  const counts = [schema, bytes, entries, rules, budgets, keys, records, daysCompared];
  if (!counts.every((count) => isCount(count)) || !Array.isArray(problems)) return null;
  const moments = [report.firstRecordMs, report.lastRecordMs];
  return moments.every((moment) => moment === null || isCount(moment)) ? report : null;
}
