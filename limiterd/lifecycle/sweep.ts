/**
 * Removes what is no longer needed from memory and store, in slices: idle children of rules and
 * budgets, stale windows, expired denials of JWTs, and owners of objects that providers no longer
 * have.
 */
import { childrenPerSweep, secondsToSweepAll, windowsPerSlice } from "../../shared/bounds.js";
import { spendKey } from "../budgets/stored-budget.js";
import { splitWindowKey, windowKey } from "../counters/window.js";
import { announceJwts } from "../handlers/announcements/announce.js";
import { denialRemoval } from "../keys/jwt-denials.js";
import type { DaemonState } from "../state.js";
import { writeSlices } from "../store/writer.js";

/** How many children a sweep examines. It runs once a second. */
export function examinedPerSweep(childCount: number): number {
  return Math.max(childrenPerSweep, Math.ceil(childCount / secondsToSweepAll));
}

/**
 * Removes idle and dropped children. Resolves when they are removed from memory and store. Run one
 * at a time. `pause` yields to the event loop. Each slice reads the clock, because a sweep may wait
 * long for a failing store: compared with the time of its start, later counts would be in the
 * future.
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
 * Removes windows that `loadWindows` found stale, in slices. Resolves when they are removed. A
 * window that is in use again by then stays: the next snapshot overwrites it.
 */
export async function removeStaleWindows(
  { book, writer }: DaemonState,
  keys: readonly string[],
): Promise<void> {
  for (let i = 0; i < keys.length; i += windowsPerSlice) {
    const goneKeys = keys.slice(i, i + windowsPerSlice).filter((key) => {
      const { ruleId, child } = splitWindowKey(key);
      const rule = book.ruleSet.find(ruleId);
      return rule === undefined || (child === "" ? rule.own === null : !rule.children.has(child));
    });
    await writer.write(goneKeys.map((key) => ({ table: "windows", key, value: undefined })));
  }
}

/** Removes expired denials, so that their JWTs are accepted again. */
export function sweepDenials(state: DaemonState, nowMs: number): void {
  const { denials, writer } = state;
  const expired = denials.expired(nowMs);
  if (expired.length === 0) return;
  for (const denial of expired) denials.delete(denial);
  announceJwts(state, { denied: [], allowed: expired, complete: false });
  void writeSlices(writer, expired.map(denialRemoval));
}

/** As `sweepChildren`, for the children of budgets all of whose periods are over. */
export async function sweepSpends(state: DaemonState, nowMs: () => number): Promise<void> {
  const { accountsLoading, budgets, writer } = state;
  // While accounts load, a removed one would be loaded again. A failing store must not get more
  // waiting changes.
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
 * Removes the owners of expired objects, one slice per call, and pending responses that are too
 * old.
 */
export function sweepObjects({ objects, pending, writer }: DaemonState, nowMs: number): void {
  // A failing store must not get more waiting changes.
  if (writer.failing !== null) return;
  const expired = [...objects.removeExpired(nowMs), ...pending.expire(nowMs)];
  if (expired.length > 0) void writer.write(expired);
}
