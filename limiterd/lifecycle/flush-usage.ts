/**
 * Writes the sums of usage and the accounts of budgets that records have changed, in slices. Then
 * it writes the record key up to which all of them are complete, and removes the log of spends up
 * to there. Each entry has the key of the last records that it may include, so a crash between two
 * slices neither loses nor duplicates anything.
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import { spendChange } from "../budgets/stored-budget.js";
import type { DaemonState } from "../state.js";
import { writeSlices } from "../store/write-slices.js";
import { rollupProgressChange } from "../usage/restore-usage.js";

/**
 * Resolves when the sums and accounts in the store include every record from before the call. Run
 * one at a time.
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
    // The batch that closes here is queued before the sums, so its records reach the disk first.
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

/** Makes slices lazily, because there may be 200,000 items. */
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
