/**
 * What a settle moves in the windows when it arrives. Requests are counted at the admission, and at
 * the reroute for the target that took over; a settle counts them only where a restart has
 * forgotten that, or where there was no admission. What is to be counted at all is decided in the
 * journal's entry (`settle-entry.ts`). Slots are not here.
 */
import type { Counter } from "../counters/counter.js";
import type { HeldLease } from "../peer.js";
import type { JournalEntry } from "../store/journal-entry.js";
import { charge } from "./charge.js";
import { isSameTarget, matchAll, matchTarget } from "./match-counters.js";
import { recount } from "./recount.js";
import type { RuleBook } from "./rule-book.js";
import type { ArrivedSettle } from "./settle-entry.js";

/** The rules, and the first log sequence number under which this life of the daemon counts. */
export interface Ledger {
  readonly book: RuleBook;
  readonly epochStartLsn: number;
}

/** A request as one kind of rule has counted it, or not. */
interface Counted {
  /** Its log sequence number. */
  readonly lsn: number;
  readonly atMs: number;
}

/** Counts a settle that arrives for the first time. */
export function countSettle(
  ledger: Ledger,
  { proxy, message, held }: ArrivedSettle,
  entry: JournalEntry,
  nowMs: number,
): void {
  const { book, epochStartLsn } = ledger;
  const { part, userPath, target, lsn, targetLsn, tokens, endedAtMs } = entry;
  const { lease } = message;
  if (part === "cached") return;
  if (part === "withdrawn")
    return withdraw(
      ledger,
      stillMet(held, book) ?? matchAll(book, userPath, target, nowMs),
      { lsn, atMs: entry.requestAtMs },
      nowMs,
    );
  if (targetLsn < epochStartLsn && target !== null) {
    const again = proxy.recounted.has(lease) && isSameTarget(proxy.recounted.get(lease)!, target);
    countForgotten(
      book,
      matchTarget(book, target),
      { lsn: targetLsn, atMs: entry.targetAtMs, again },
      nowMs,
    );
  }
  if (part === "attempt") return;
  if (lsn < epochStartLsn)
    countForgotten(
      book,
      book.matchPath(userPath, nowMs),
      { lsn, atMs: entry.requestAtMs, again: proxy.recounted.delete(lease) },
      nowMs,
    );
  const sameTarget = held !== undefined && isSameTarget(held.target, target);
  // The daemon chose this target in a verdict that arrived too late: nothing was ever sent there.
  if (held !== undefined && !sameTarget && held.targetLsn >= epochStartLsn)
    withdraw(
      ledger,
      matchTarget(book, held.target),
      { lsn: held.targetLsn, atMs: held.targetAtMs },
      nowMs,
    );
  const counters =
    (sameTarget ? stillMet(held, book) : null) ?? matchAll(book, userPath, target, nowMs);
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

/**
 * Counts a request that no admission of this life counted. One without a number has never been
 * counted anywhere. `again`: its lease was named in a hello and counted then.
 */
function countForgotten(
  book: RuleBook,
  counters: readonly Counter[],
  forgotten: Counted & { readonly again: boolean },
  nowMs: number,
): void {
  if (forgotten.lsn === 0)
    charge(book, counters, { atMs: forgotten.atMs, requests: 1, tokens: 0 }, nowMs);
  else if (!forgotten.again) recount(book, counters, forgotten, nowMs);
}

/** Takes back a request that was counted and never made, in the windows that count it. */
function withdraw(
  { book, epochStartLsn }: Ledger,
  counters: readonly Counter[],
  { lsn, atMs }: Counted,
  nowMs: number,
): void {
  const appliesTo = ({ restoredLsn, rule }: Counter): boolean =>
    lsn > rule.sinceLsn && (lsn >= epochStartLsn || lsn <= restoredLsn);
  charge(book, counters, { atMs, requests: -1, tokens: 0, appliesTo }, nowMs);
}
