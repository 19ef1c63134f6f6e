/**
 * Changes of counters outside an admission: slots are taken again or released, tokens are charged,
 * and requests whose counts a crash has lost are counted again. Nothing is judged here.
 */

import type { Lease } from "../../shared/wire/message-to-daemon.js";
import { type Counter, keepChild, shareOf } from "../counters/counter.js";
import { rollWindow } from "../counters/window.js";
import type { KnownProxy, Recounted, RecountedAttempt } from "../peer.js";
import { type Epochs, isLost } from "../store/epochs.js";
import { isSameTarget, type RuleBook } from "./rule-book.js";

/** Takes a slot on each of the counters. */
export function hold(counters: readonly Counter[]): void {
  for (const counter of counters) {
    keepChild(counter);
    counter.inFlight++;
    if (counter.rule.periodMs === 0) shareOf(counter)?.changed();
  }
}

/** Frees a slot on each of the counters. */
export function release(counters: readonly Counter[]): void {
  for (const counter of counters) {
    counter.inFlight--;
    if (counter.rule.periodMs === 0) shareOf(counter)?.changed();
    if (counter.inFlight === 0 && counter.place !== -1) counter.rule.children.released(counter);
  }
}

interface Charge {
  readonly atMs: number;
  /** −1 takes back what was counted. */
  readonly requests: number;
  readonly tokens: number;
  /**
   * The batch of the journal that counted the requests before, if any; the cluster's counters
   * include them then.
   */
  readonly lsn?: number;
  /** Without it, every counter is charged. */
  readonly appliesTo?: (counter: Counter) => boolean;
}

/** Adds a charge to the window of its time, on each counter that it applies to. */
export function charge(
  book: Pick<RuleBook, "count">,
  counters: readonly Counter[],
  { atMs, requests, tokens, lsn, appliesTo }: Charge,
  nowMs: number,
): void {
  if (requests === 0 && tokens === 0) return;
  for (const counter of counters) {
    const { window } = counter;
    const { periodMs } = counter.rule;
    if (periodMs === 0 || (appliesTo !== undefined && !appliesTo(counter))) continue;
    // A child that isn't kept has no counts to take back.
    if (requests >= 0) keepChild(counter);
    rollWindow(window, periodMs, nowMs);
    // After a clock step back, a time ahead of the clock belongs to the current half.
    const chargedAtMs = atMs >= nowMs ? Math.max(atMs, window.startMs) : atMs;
    book.count(counter, chargedAtMs, requests, tokens);
    const share = shareOf(counter);
    if (share === null) continue;
    if (tokens > 0) share.charged(tokens);
    if (requests > 0 && lsn === undefined) share.counted(window);
    if (requests < 0 && lsn !== undefined) share.withdrawn(lsn);
  }
}

/** The rules, and which log sequence numbers were lost. */
export interface Ledger {
  readonly book: RuleBook;
  readonly epochs: Epochs;
}

/**
 * Whether no window counts this request, because it had no admission (`lsn` 0) or a crash lost its
 * count.
 */
export function isRequestForgotten(epochs: Epochs, lsn: number, again?: Recounted): boolean {
  return lsn === 0 || (isLost(epochs, lsn) && again?.path !== true);
}

/** As `isRequestForgotten`, for an attempt at a target. */
export function isAttemptForgotten(
  epochs: Epochs,
  { target, lsn }: RecountedAttempt,
  again?: Recounted,
): boolean {
  const isAgain = again?.attempts.some(
    (other) => other.lsn === lsn && isSameTarget(other.target, target),
  );
  return lsn === 0 || (isLost(epochs, lsn) && isAgain !== true);
}

/**
 * Counts the request of a lease that a proxy reports, and its attempt at a target, if a crash has
 * lost their counts. Counts each once, however often the lease is reported. Returns whether
 * anything was counted.
 */
export function recountLease(
  { book, epochs }: Ledger,
  { recounted }: Pick<KnownProxy, "recounted">,
  {
    lease,
    ofPath,
    ofTarget,
  }: {
    readonly lease: Lease;
    readonly ofPath: readonly Counter[];
    readonly ofTarget: readonly Counter[];
  },
  nowMs: number,
): boolean {
  const { lsn, target, targetLsn } = lease;
  const again = recounted.get(lease.lease) ?? { path: false, attempts: [] };
  // A request without an admission is counted by its settle.
  const request = lsn !== 0 && isRequestForgotten(epochs, lsn, again);
  const attempt = target === null || targetLsn === 0 ? null : { target, lsn: targetLsn };
  const isNew = attempt !== null && isAttemptForgotten(epochs, attempt, again);
  if (!request && !isNew) return false;
  recounted.set(lease.lease, {
    path: again.path || request,
    attempts: isNew ? [...again.attempts, attempt] : again.attempts,
  });
  if (request) countSince(book, ofPath, { lsn, atMs: lease.admittedAtMs, requests: 1 }, nowMs);
  if (isNew)
    countSince(book, ofTarget, { lsn: targetLsn, atMs: lease.targetAtMs, requests: 1 }, nowMs);
  return true;
}

/** Counts, or takes back, on the rules that existed at this log sequence number. */
export function countSince(
  book: RuleBook,
  counters: readonly Counter[],
  counted: { readonly lsn: number; readonly atMs: number; readonly requests: 1 | -1 },
  nowMs: number,
): void {
  const { lsn, atMs, requests } = counted;
  const appliesTo = ({ rule }: Counter): boolean => lsn > rule.sinceLsn;
  const counts = { atMs: Math.min(atMs, nowMs), requests, tokens: 0, lsn, appliesTo };
  charge(book, counters, counts, nowMs);
}
