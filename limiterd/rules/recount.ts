/**
 * What a restarted daemon counts again: requests that were admitted before a crash, under numbers
 * that never reached the disk, when their proxies name them in a hello or settle them. Everything
 * else that was counted is in the windows again (`lifecycle/restore.ts`).
 */
import type { Lease } from "../../shared/wire/message-to-daemon.js";
import type { Counter } from "../counters/counter.js";
import type { KnownProxy, Recounted, RecountedAttempt } from "../peer.js";
import { type Epochs, isLost } from "../store/epochs.js";
import { charge } from "./charge.js";
import { isSameTarget } from "./match-counters.js";
import type { RuleBook } from "./rule-book.js";

/** The rules, and which numbers they have counted. */
export interface Ledger {
  readonly book: RuleBook;
  readonly epochs: Epochs;
}

/** Whether no window counts this request: it had no admission (0), or a crash took it back. */
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
 * Counts the request of a lease that a proxy names after a crash, and its attempt at a target, if
 * they are forgotten: once, however often and in however many epochs the lease is named. Whether
 * there was anything to count.
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
  // What had no admission is counted by its settle.
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

/** Counts, or takes back, on the rules that were there under this number. */
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
