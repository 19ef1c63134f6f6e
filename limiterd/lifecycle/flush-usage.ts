/**
 * Writes what records have changed, in slices: sums of usage and accounts of budgets. Then it
 * writes how far all of them hold the records, and removes the log of spends up to there. Each
 * carries the key of the last records that it may hold, so a crash between two slices loses and
 * doubles nothing.
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import { spendChange } from "../budgets/stored-budget.js";
import type { DaemonState } from "../state.js";
import { writeSlices } from "../store/write-slices.js";
import { rollupProgressChange } from "../usage/restore-usage.js";

/**
 * Resolved: the sums and accounts in the store hold every record that there was at the call. One
 * runs at a time; the caller sees to that.
 */
export async function flushUsage(
  { usage, budgets, spendLog, writer }: DaemonState,
  perSlice = windowsPerSlice,
): Promise<void> {
  const { rollups } = usage;
  writer.closeBatch();
  const coveredKey = usage.lastKey;
  if (coveredKey === usage.rolledUpKey) return;
  const sums = usage.takeDirty();
  const accounts = spendLog.takeBehind();
  for (const slice of slicesOf(sums, perSlice)) {
    // The batch that closes here is queued before the sums: what they hold is on the disk when they
    // are.
    writer.closeBatch();
    await writer.write(rollups.changes(slice, usage.lastKey));
    rollups.committed(slice);
  }
  for (const slice of slicesOf(accounts, perSlice)) {
    writer.closeBatch();
    const current = slice.filter((account) => budgets.isCurrent(account));
    await writer.write(current.map((account) => spendChange(account, usage.lastKey)));
  }
  await writeSlices(writer, [rollupProgressChange(coveredKey), ...spendLog.removals(coveredKey)]);
  usage.rolledUpKey = coveredKey;
  rollups.forget();
}

/** None is taken before its slice's turn: there may be 200,000. */
function* slicesOf<T>(items: Iterable<T>, perSlice: number): Generator<T[]> {
  let slice: T[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length < perSlice) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
