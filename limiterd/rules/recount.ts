/**
 * What a restarted daemon counts again, in windows that may hold it already: the leases that
 * proxies name in their hellos, and the settles of the journal. Each window decides by the log
 * sequence number up to which it was written.
 */
import type { Lease } from "../../shared/wire/message-to-daemon.js";
import type { Counter } from "../counters/counter.js";
import type { KnownProxy } from "../peer.js";
import type { JournalEntry } from "../store/journal-entry.js";
import { charge } from "./charge.js";
import { matchTarget } from "./match-counters.js";
import type { RuleBook } from "./rule-book.js";

/**
 * Counts the request of a lease that a proxy names after a restart, in the windows that were
 * written before it was admitted: once, however often the lease is named.
 */
export function recountLease(
  { book, epochStartLsn }: { readonly book: RuleBook; readonly epochStartLsn: number },
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
): void {
  if (lease.lsn >= epochStartLsn || recounted.has(lease.lease)) return;
  recounted.set(lease.lease, lease.target);
  recount(book, ofPath, { lsn: lease.lsn, atMs: lease.admittedAtMs }, nowMs);
  recount(book, ofTarget, { lsn: lease.targetLsn, atMs: lease.targetAtMs }, nowMs);
}

/** Counts a settle of the journal's batch `batchLsn`. */
export function replaySettle(
  book: RuleBook,
  entry: JournalEntry,
  batchLsn: number,
  nowMs: number,
): void {
  const { part, userPath, target, lsn, targetLsn } = entry;
  if (part === "cached") return;
  const ofTarget = matchTarget(book, target);
  const ofPath = part === "attempt" ? [] : book.matchPath(userPath, nowMs);
  const counters = [...ofTarget, ...ofPath];
  if (part === "withdrawn") {
    const holdsRequest = ({ restoredLsn, rule }: Counter): boolean =>
      lsn > rule.sinceLsn && lsn <= restoredLsn && restoredLsn < batchLsn;
    const atMs = Math.min(entry.requestAtMs, nowMs);
    return charge(
      book,
      counters,
      { atMs, requests: -1, tokens: 0, appliesTo: holdsRequest },
      nowMs,
    );
  }
  recount(book, ofPath, { lsn: lsn === 0 ? batchLsn : lsn, atMs: entry.requestAtMs }, nowMs);
  recount(
    book,
    ofTarget,
    { lsn: targetLsn === 0 ? batchLsn : targetLsn, atMs: entry.targetAtMs },
    nowMs,
  );
  charge(
    book,
    counters,
    {
      atMs: Math.min(entry.endedAtMs, nowMs),
      requests: 0,
      tokens: entry.tokens,
      appliesTo: (counter) => isAfter(batchLsn, counter),
    },
    nowMs,
  );
}

/** Counts a request of an earlier life in each window that was written before it. */
export function recount(
  book: RuleBook,
  counters: readonly Counter[],
  { lsn, atMs }: { readonly lsn: number; readonly atMs: number },
  nowMs: number,
): void {
  charge(
    book,
    counters,
    {
      atMs: Math.min(atMs, nowMs),
      requests: 1,
      tokens: 0,
      appliesTo: (counter) => isAfter(lsn, counter),
    },
    nowMs,
  );
}

function isAfter(lsn: number, { restoredLsn, rule }: Counter): boolean {
  return lsn > Math.max(restoredLsn, rule.sinceLsn);
}
