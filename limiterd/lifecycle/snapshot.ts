/**
 * Writes the windows that changed since the last snapshot, in slices, then each changed proxy's
 * last settle, and removes the covered batches of the journal. Each window has the log sequence
 * number up to which it is complete, so a crash between two slices neither loses nor duplicates
 * anything.
 */
import { settledRetentionMs, windowsPerSlice } from "../../shared/bounds.js";
import type { DirtyWindow } from "../counters/dirty-windows.js";
import { windowKey, windowToStored } from "../counters/stored-window.js";
import type { KnownProxy } from "../peer.js";
import { proxyChange } from "../proxies.js";
import type { DaemonState } from "../state.js";
import { writtenChange } from "../store/epochs.js";
import type { Change } from "../store/store.js";
import { writeSlices } from "../store/write-slices.js";

/** Resolves when everything from before the call is in the store. Run one at a time. */
export async function snapshot(state: DaemonState, nowMs: number): Promise<void> {
  const { book, writer } = state;
  const dirty = book.takeDirty();
  const proxies = state.proxies.takeDirty();
  // When nothing has changed, nothing is written and no lsn is used.
  const atRest = dirty === null && proxies.length === 0 && writer.journalBytes === 0;
  if (!atRest) await writeAll(state, dirty, proxies, nowMs);
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
    const changes = windowChanges(dirty, lsn);
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
function windowChanges(dirty: Iterator<DirtyWindow>, lsn: number): Change[] {
  const changes: Change[] = [];
  while (changes.length < windowsPerSlice) {
    const next = dirty.next();
    if (next.done === true) break;
    const { ruleId, child, window } = next.value;
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
