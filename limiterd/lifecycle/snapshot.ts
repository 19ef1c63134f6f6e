/**
 * Writes what changed, in slices: the windows that changed since the last snapshot, what each proxy
 * has settled, and then removes the journal that all of it now covers. A window carries the log
 * sequence number up to which it holds every charge, so a crash between two slices loses and
 * doubles nothing.
 */
import {
  childrenPerSweep,
  secondsToSweepAll,
  settledRetentionMs,
  windowsPerSlice,
} from "../../shared/bounds.js";
import { spendKey } from "../budgets/budget-store.js";
import type { DirtyWindow } from "../counters/dirty-windows.js";
import { splitWindowKey, windowKey, windowToStored } from "../counters/stored-window.js";
import type { KnownProxy } from "../peer.js";
import { proxyChange } from "../proxies.js";
import type { DaemonState } from "../state.js";
import type { Change } from "../store/store.js";
import { writeSlices } from "../store/write-slices.js";

/**
 * Resolved: everything that had happened at the call is in the store. One runs at a time; the
 * caller sees to that.
 */
export async function snapshot(state: DaemonState, nowMs: number): Promise<void> {
  const { book, writer } = state;
  const dirty = book.takeDirty();
  const proxies = state.proxies.takeDirty();
  // At rest no number is used up and nothing is written.
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
    const changes = windowChanges(dirty, writer.closeBatch());
    if (changes.length > 0) await writer.write(changes);
    if (changes.length < windowsPerSlice) break;
  }
  writer.closeBatch();
  await writeSlices(writer, [
    ...proxyChanges(state, proxies, nowMs),
    ...writer.removeJournal(coveredLsn),
  ]);
}

/** The next slice, as it is now. */
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

/** How many children a sweep looks at. It runs once a second. */
export function examinedPerSweep(childCount: number): number {
  return Math.max(childrenPerSweep, Math.ceil(childCount / secondsToSweepAll));
}

/**
 * Forgets idle and dropped children in memory and in the store, in slices. Resolved: they are gone
 * from both. One runs at a time; the caller sees to that. `pause` lets others have their turn.
 */
export async function sweepChildren(
  state: DaemonState,
  nowMs: number,
  pause: () => Promise<void>,
): Promise<void> {
  const { book, writer } = state;
  if (book.childCount === 0) return;
  const examined = examinedPerSweep(book.childCount);
  for (let i = 0; i < examined; i += windowsPerSlice) {
    const forgotten = book.forgetIdle(nowMs, windowsPerSlice);
    if (forgotten.length === 0) await pause();
    else
      await writer.write(
        forgotten.map(({ rule, child }) => ({
          table: "windows",
          key: windowKey(rule.id, child),
          value: undefined,
        })),
      );
  }
}

/**
 * Removes windows that restore found void, in slices. Resolved: they are gone. One that is counted
 * again by then is left: it is written over in its time.
 */
export async function removeStaleWindows(
  { book, writer }: DaemonState,
  keys: readonly string[],
): Promise<void> {
  for (let i = 0; i < keys.length; i += windowsPerSlice) {
    const gone = keys.slice(i, i + windowsPerSlice).filter((key) => {
      const { ruleId, child } = splitWindowKey(key);
      const rule = book.rules.get(ruleId);
      return rule === undefined || (child === "" ? rule.own === null : !rule.children.has(child));
    });
    await writer.write(gone.map((key) => ({ table: "windows", key, value: undefined })));
  }
}

/**
 * Forgets children of budgets whose periods are all over, in memory and in the store, a slice at a
 * call.
 */
export function sweepSpends({ budgets, writer }: DaemonState, nowMs: number): void {
  const forgotten = budgets.forgetIdle(nowMs, windowsPerSlice);
  if (forgotten.length > 0)
    void writer.write(
      forgotten.map(({ budget, child }) => ({
        table: "spends",
        key: spendKey(budget.id, child),
        value: undefined,
      })),
    );
}

function proxyChanges(state: DaemonState, dirty: readonly KnownProxy[], nowMs: number): Change[] {
  const forgotten = new Set(state.proxies.forget(nowMs - settledRetentionMs));
  const changes: Change[] = [...forgotten].map((id) => ({
    table: "proxies",
    key: id,
    value: undefined,
  }));
  for (const proxy of dirty) if (!forgotten.has(proxy.id)) changes.push(proxyChange(proxy, nowMs));
  return changes;
}
