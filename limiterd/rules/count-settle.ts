/**
 * What a settle moves in the windows when it arrives. Requests are counted at the admission, and at
 * the reroute for the target that took over; a settle counts them only where a crash has taken that
 * back, or where there was no admission. Slots are not here.
 */
import type { Counter } from "../counters/counter.js";
import type { HeldLease } from "../peer.js";
import { isLost } from "../store/epochs.js";
import { charge } from "./charge.js";
import { isSameTarget, matchAll, matchTarget } from "./match-counters.js";
import { countSince, isAttemptForgotten, isRequestForgotten, type Ledger } from "./recount.js";
import type { RuleBook } from "./rule-book.js";
import type { ArrivedSettle, SettleFacts } from "./settle-facts.js";

/** Counts a settle that arrives for the first time. */
export function countSettle(
  ledger: Ledger,
  arrived: ArrivedSettle,
  facts: SettleFacts,
  nowMs: number,
): void {
  const { proxy, message, held } = arrived;
  const { lease, part, userPath, target } = message;
  const { book, epochs } = ledger;
  const { lsn, targetLsn, endedAtMs, tokens } = facts;
  if (part === "cached" || part === "final") return;
  const heldThere = held !== undefined && isSameTarget(held.target, target) ? held : undefined;
  if (part === "progress")
    return charge(
      book,
      stillMet(heldThere, book) ?? matchAll(book, userPath, target, nowMs),
      { atMs: endedAtMs, requests: 0, tokens },
      nowMs,
    );
  if (part === "untried") {
    // No hello has named it, so no crash has brought it back.
    if (isLost(epochs, targetLsn)) return;
    const untried = { lsn: targetLsn, atMs: facts.targetAtMs, requests: -1 } as const;
    return countSince(book, matchTarget(book, target), untried, nowMs);
  }
  const again = proxy.recounted.get(lease);
  if (part !== "attempt") proxy.recounted.delete(lease);
  const ofRequest = { lsn, atMs: facts.requestAtMs };
  if (part === "withdrawn") {
    if (isRequestForgotten(epochs, lsn, again)) return;
    const counters = stillMet(held, book) ?? matchAll(book, userPath, target, nowMs);
    return countSince(book, counters, { ...ofRequest, requests: -1 }, nowMs);
  }
  if (target !== null && isAttemptForgotten(epochs, { target, lsn: targetLsn }, again))
    countForgotten(
      book,
      matchTarget(book, target),
      { lsn: targetLsn, atMs: facts.targetAtMs },
      nowMs,
    );
  if (part === "attempt") return;
  if (isRequestForgotten(epochs, lsn, again))
    countForgotten(book, book.matchPath(userPath, nowMs), ofRequest, nowMs);
  const counters = stillMet(heldThere, book) ?? matchAll(book, userPath, target, nowMs);
  charge(book, counters, { atMs: endedAtMs, requests: 0, tokens }, nowMs);
}

/**
 * The counters that a lease met, as long as they count. A child's counter goes back to its table
 * while nothing is in flight, so those of a submission must be matched again.
 */
function stillMet(held: HeldLease | undefined, book: RuleBook): readonly Counter[] | null {
  return held !== undefined && !held.submission && held.bookVersion === book.version
    ? held.counters
    : null;
}

/** One without a number has never been counted anywhere, and is by every rule that there is now. */
function countForgotten(
  book: RuleBook,
  counters: readonly Counter[],
  { lsn, atMs }: { readonly lsn: number; readonly atMs: number },
  nowMs: number,
): void {
  if (lsn === 0) charge(book, counters, { atMs, requests: 1, tokens: 0 }, nowMs);
  else countSince(book, counters, { lsn, atMs, requests: 1 }, nowMs);
}
