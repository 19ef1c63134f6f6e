/**
 * Writes what changed, in slices: the windows that moved since the last snapshot, what each proxy has
 * settled, and then removes the journal that all of it now covers. A window carries the log sequence
 * number up to which it holds every charge, so a crash between two slices loses and doubles nothing.
 */
import { childrenPerSweep, settledRetentionMs, windowsPerSlice } from "../shared/bounds.js";
import type { Counter } from "./rule-book.js";
import type { Proxy } from "./proxies.js";
import type { DaemonState } from "./state.js";
import { type Change, proxyToStored, windowKey, windowToStored } from "./store.js";
import { writeSlices } from "./writer.js";

/** Resolved: everything that had happened at the call is in the store. One runs at a time; the caller sees to that. */
export async function snapshot(state: DaemonState, nowMs: number): Promise<void> {
  const { book, writer } = state;
  const dirty = book.takeDirty();
  const proxies = state.proxies.takeDirty();
  // At rest no number is used up and nothing is written.
  const atRest = dirty.length === 0 && proxies.length === 0 && writer.journalBytes === 0;
  if (!atRest) await writeAll(state, dirty, proxies, nowMs);
  state.lastSnapshotAtMs = nowMs;
}

async function writeAll(state: DaemonState, dirty: readonly Counter[], proxies: readonly Proxy[], nowMs: number): Promise<void> {
  const { writer } = state;
  const coveredLsn = writer.closeBatch();
  for (let i = 0; i < dirty.length; i += windowsPerSlice) {
    await writer.write(windowChanges(state, dirty.slice(i, i + windowsPerSlice), writer.closeBatch()));
  }
  writer.closeBatch();
  await writeSlices(writer, [...proxyChanges(state, proxies, nowMs), ...writer.removeJournal(coveredLsn)]);
}

function windowChanges(state: DaemonState, counters: readonly Counter[], lsn: number): Change[] {
  const changes: Change[] = [];
  for (const counter of counters) {
    counter.dirty = false;
    const { rule } = counter;
    // Deleted meanwhile, or a child that a reset dropped: its entry is gone and must stay gone.
    if (state.book.rules.get(rule.id) !== rule || (rule.own ?? rule.children.get(counter.child)) !== counter) continue;
    changes.push({ table: "windows", key: windowKey(rule.id, counter.child), value: windowToStored({ ...counter.window, lsn }) });
  }
  return changes;
}

/** Forgets idle children in memory and in the store, a slice at a call. */
export function sweepChildren(state: DaemonState, nowMs: number): void {
  const forgotten = state.book.forgetIdle(nowMs, childrenPerSweep);
  if (forgotten.length === 0) return;
  void state.writer.write(forgotten.map(({ rule, child }) => ({ table: "windows", key: windowKey(rule.id, child), value: undefined })));
}

function proxyChanges(state: DaemonState, dirty: readonly Proxy[], nowMs: number): Change[] {
  const forgotten = new Set(state.proxies.forget(nowMs - settledRetentionMs));
  const changes: Change[] = [...forgotten].map((id) => ({ table: "proxies", key: id, value: undefined }));
  for (const proxy of dirty) if (!forgotten.has(proxy.id)) changes.push(proxyChange(proxy, nowMs));
  return changes;
}

/** What is kept of a proxy now. */
export function proxyChange(proxy: Proxy, nowMs: number): Change {
  return { table: "proxies", key: proxy.id, value: proxyToStored({ settledSeq: proxy.settledSeq, connected: proxy.peer !== null, seenAtMs: nowMs }) };
}
