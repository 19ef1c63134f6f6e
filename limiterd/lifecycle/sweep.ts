/**
 * Removes what is no longer needed from memory and store, in slices: idle children of rules and
 * budgets, windows that no rule counts, expired denials of JWTs, and owners of objects that
 * providers no longer have.
 */
import { childrenPerSweep, secondsToSweepAll, windowsPerSlice } from "../../shared/bounds.js";
import { spendKey } from "../budgets/stored-budget.js";
import { splitWindowKey, windowKey } from "../counters/stored-window.js";
import { announceJwts } from "../handlers/announcements/announce.js";
import { denialRemoval } from "../keys/jwt-denials.js";
import type { DaemonState } from "../state.js";
import { writeSlices } from "../store/write-slices.js";

/** How many children a sweep examines. It runs once a second. */
export function examinedPerSweep(childCount: number): number {
  return Math.max(childrenPerSweep, Math.ceil(childCount / secondsToSweepAll));
}

/**
 * Forgets idle and dropped children. Resolves when they are gone from memory and store. The caller
 * runs one at a time. `pause` yields to the event loop. The clock is read for each slice: a sweep
 * may wait long for a failing store, and with the time of its start, later counts would seem to be
 * in the future.
 */
export async function sweepChildren(
  state: DaemonState,
  nowMs: () => number,
  pause: () => Promise<void>,
): Promise<void> {
  const { book, writer } = state;
  if (book.childCount === 0) return;
  const examined = examinedPerSweep(book.childCount);
  for (let i = 0; i < examined; i += windowsPerSlice) {
    const forgotten = book.forgetIdle(nowMs(), windowsPerSlice);
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
 * Removes windows that restore found stale, in slices. Resolves when they are gone. A window that
 * is counted again by then stays: the next snapshot overwrites it.
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

/** Accepts JWTs again whose denial has expired. */
export function sweepDenials(state: DaemonState, nowMs: number): void {
  const { denials, writer } = state;
  const expired = denials.expired(nowMs);
  if (expired.length === 0) return;
  for (const denial of expired) denials.delete(denial);
  announceJwts(state, { denied: [], allowed: expired, complete: false });
  void writeSlices(writer, expired.map(denialRemoval));
}

/**
 * Forgets children of budgets whose periods are all over, in memory and in the store, in slices, as
 * `sweepChildren` does.
 */
export async function sweepSpends(state: DaemonState, nowMs: () => number): Promise<void> {
  const { accountsLoading, budgets, writer } = state;
  // While accounts load, a forgotten one would be read again. Nothing more should wait for a
  // failing store.
  if (accountsLoading || writer.failing !== null) return;
  let children = 0;
  for (const budget of budgets.budgets.values()) children += budget.children.size;
  const examined = Math.min(children, examinedPerSweep(children));
  for (let i = 0; i < examined; i += windowsPerSlice) {
    const forgotten = budgets.forgetIdle(nowMs(), windowsPerSlice);
    if (forgotten.length === 0) await state.yieldToEventLoop();
    else
      await writer.write(
        forgotten.map(({ budget, child }) => ({
          table: "spends",
          key: spendKey(budget.id, child),
          value: undefined,
        })),
      );
  }
}

/**
 * Forgets the owners of expired objects, a slice at a call, and responses whose usage has been
 * awaited long enough.
 */
export function sweepObjects({ objects, pending, writer }: DaemonState, nowMs: number): void {
  // What waits for a store that fails needn't grow.
  if (writer.failing !== null) return;
  const expired = [...objects.expired(nowMs), ...pending.expire(nowMs)];
  if (expired.length > 0) void writer.write(expired);
}
