/**
 * Writes memory to the store periodically, in slices. A crash between two slices neither loses nor
 * duplicates anything, because each entry has the number up to which it is complete: a window the
 * log sequence number, a sum of usage or an account the key of the last records.
 */
import { settledRetentionMs, sumsPerSliceMax, windowsPerSlice } from "../../shared/bounds.js";
import { noteWindow } from "../alerts/watch-rates.js";
import { spendChange } from "../budgets/stored-budget.js";
import type { DirtyWindow } from "../counters/dirty-windows.js";
import { windowKey, windowToStored } from "../counters/window.js";
import { type KnownProxy, proxyChange } from "../peer.js";
import type { DaemonState } from "../state.js";
import { writtenChange } from "../store/epochs.js";
import type { Change } from "../store/store.js";
import { writeSlices } from "../store/writer.js";
import { rollupProgressChange } from "../usage/usage-log.js";

/**
 * Writes the windows that changed since the last snapshot, then each changed proxy's last settle,
 * and removes the covered batches of the journal. Resolves when everything from before the call is
 * in the store. Run one at a time.
 */
export async function snapshot(state: DaemonState, nowMs: number): Promise<void> {
  const { book, writer } = state;
  const dirty = book.takeDirty();
  const proxies = state.proxies.takeDirty();
  // If nothing has changed, it writes nothing and uses no lsn.
  const isUnchanged = dirty === null && proxies.length === 0 && writer.journalBytes === 0;
  if (!isUnchanged) await writeAll(state, dirty, proxies, nowMs);
  if (state.alerts.isChanged) writer.closeContributed();
  state.lastSnapshotAtMs = nowMs;
}

async function writeAll(
  state: DaemonState,
  dirty: Iterator<DirtyWindow> | null,
  proxies: readonly KnownProxy[],
  nowMs: number,
): Promise<void> {
  const { writer } = state;
  const coveredLsn = writer.closeBatch();
  while (dirty !== null) {
    const lsn = writer.closeBatch();
    const changes = windowChanges(state, dirty, { lsn, nowMs });
    if (changes.length > 0) await writer.write([...changes, writtenChange(lsn)]);
    if (changes.length < windowsPerSlice) break;
  }
  await writeSlices(writer, [
    writtenChange(writer.closeBatch()),
    ...proxyChanges(state, proxies, nowMs),
    ...writer.removeJournal(coveredLsn),
  ]);
}

/** The next slice, with current values. */
function windowChanges(
  { alerts, book }: DaemonState,
  dirty: Iterator<DirtyWindow>,
  { lsn, nowMs }: { readonly lsn: number; readonly nowMs: number },
): Change[] {
  const changes: Change[] = [];
  const isWatched = alerts.lowestOfRates < Number.POSITIVE_INFINITY;
  while (changes.length < windowsPerSlice) {
    const next = dirty.next();
    if (next.done === true) break;
    const { ruleId, child, window } = next.value;
    if (isWatched) noteWindow(alerts, book, next.value, nowMs);
    changes.push({
      table: "windows",
      key: windowKey(ruleId, child),
      value: windowToStored(window, lsn),
    });
  }
  return changes;
}

function proxyChanges(state: DaemonState, dirty: readonly KnownProxy[], nowMs: number): Change[] {
  const forgotten = new Set(state.proxies.forget(nowMs - settledRetentionMs));
  const changes: Change[] = [];
  for (const key of forgotten)
    for (const table of ["proxies", "unread"] as const)
      changes.push({ table, key, value: undefined });
  for (const proxy of dirty) if (!forgotten.has(proxy.id)) changes.push(proxyChange(proxy, nowMs));
  return changes;
}

const slicesPerFlush = 25;

/**
 * Writes the sums of usage and the accounts of budgets that records have changed, then the record
 * key up to which all of them are complete, and removes the log of spends up to there. Resolves
 * when the store includes every record from before the call. Run one at a time.
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
  // The more sums wait, the larger the slices: else new ones would come faster than slices are
  // written.
  const sliceSize = (waiting: number): number =>
    Math.max(perSlice, Math.min(sumsPerSliceMax, waiting / slicesPerFlush));
  for (const slice of slicesOf(sums, () => sliceSize(sums.length + rollups.dirtyCount))) {
    // The batch that closes here is committed with the sums, so they include no later record.
    await writer.writeWithBatch(() => rollups.changes(slice, usage.lastKey));
    rollups.committed(slice);
  }
  for (const slice of slicesOf(accounts, () => sliceSize(accounts.size))) {
    const current = slice.filter((account) => budgets.isCurrent(account));
    await writer.writeWithBatch(() =>
      current.map((account) => spendChange(account, usage.lastKey)),
    );
  }
  await writeSlices(writer, [rollupProgressChange(coveredKey), ...spendLog.removals(coveredKey)]);
  usage.rolledUpKey = coveredKey;
  rollups.makeRoom();
}

/** Makes slices lazily, because there may be 200,000 items. */
function* slicesOf<T>(items: Iterable<T>, perSlice: () => number): Generator<T[]> {
  let size = perSlice();
  let slice: T[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length < size) continue;
    yield slice;
    slice = [];
    size = perSlice();
  }
  if (slice.length > 0) yield slice;
}
