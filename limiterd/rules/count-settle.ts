/**
 * What a settle moves in the windows, when it arrives and when the journal is replayed. Requests
 * are counted at the admission, and at the reroute for the target that took over; a settle counts
 * them only where that was forgotten, or never asked for. Each window decides for itself, by its
 * number; what is to be counted at all is decided once, in the journal's entry. Slots are not here.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import type { Lease, Settle } from "../../shared/wire/message.js";
import { isUnnumbered, unlimitedLsn } from "../../shared/wire/unlimited-lsn.js";
import type { HeldLease, KnownProxy } from "../peer.js";
import type { DaemonState } from "../state.js";
import type { JournalEntry } from "../store/journal-entry.js";
import { charge, isSameTarget, matchAll, matchTarget } from "./charge.js";
import type { Counter, RuleBook } from "./rule-book.js";

/**
 * The number of an admission that no window counts, for requests while rate limits are off, or from
 * before the rules: below every number that is given out, and not 0, which stands for no admission
 * at all.
 */
export const uncountedLsn = 1;

/**
 * What is kept of a settle. While rate limits are off it is its number alone that matters, so that
 * it isn't taken twice: no window counts it, now or after a crash. `held` is the lease that it
 * ends.
 */
export function journalEntryOf(
  { settings, book }: Pick<DaemonState, "settings" | "book">,
  proxyId: string,
  message: Settle,
  held: HeldLease | undefined,
  nowMs: number,
): JournalEntry {
  const { rateLimitsEnabled, usageEnabled } = settings;
  const { seq, part, userPath, target } = message;
  // Settled before the proxy had the answer: only the daemon knows when it was admitted. Without a
  // lease it was let through unasked, or refused and let through all the same.
  const request = message.lsn === 0 && held !== undefined ? held : message;
  const attempt =
    message.targetLsn === 0 && held !== undefined && isSameTarget(held.target, target)
      ? held
      : message;
  const startedAtMs = Math.max(0, nowMs - message.startedAgoMs);
  // No rule counts what began before all of them. What began later hadn't heard of them. A clock
  // that has stepped back behind them can't tell: no count is lost.
  const unlimited = startedAtMs < book.sinceMs && book.sinceMs <= nowMs ? uncountedLsn : 0;
  const numberOf = (lsn: number): number =>
    !rateLimitsEnabled ? uncountedLsn : lsn === unlimitedLsn ? unlimited : lsn;
  return {
    proxyId,
    seq,
    part,
    userPath,
    lsn: numberOf(request.lsn),
    requestAtMs: isUnnumbered(request.lsn) ? startedAtMs : request.admittedAtMs,
    target,
    targetLsn: numberOf(attempt.targetLsn),
    targetAtMs: isUnnumbered(attempt.targetLsn) ? startedAtMs : attempt.targetAtMs,
    endedAtMs: Math.max(0, nowMs - message.endedAgoMs),
    // More is a proxy's bug. Cut, not refused: what closes the peer comes again with it.
    tokens: rateLimitsEnabled && usageEnabled ? Math.min(message.tokens, tokensPerResponseMax) : 0,
  };
}

/**
 * A settle that has just arrived, for the first time. `held` is the lease that it ended, as it was.
 */
export function countSettle(
  state: DaemonState,
  proxy: KnownProxy,
  lease: number,
  entry: JournalEntry,
  held: HeldLease | undefined,
  nowMs: number,
): void {
  const { book, epochStartLsn } = state;
  const { part, userPath, target, lsn, targetLsn, tokens, endedAtMs } = entry;
  if (part === "cached") return;
  if (part === "withdrawn")
    return withdraw(
      state,
      stillMet(held, book) ?? matchAll(book, userPath, target, nowMs),
      { lsn, atMs: entry.requestAtMs },
      nowMs,
    );
  if (targetLsn < epochStartLsn && target !== null) {
    const again = proxy.recounted.has(lease) && isSameTarget(proxy.recounted.get(lease)!, target);
    countForgotten(
      book,
      matchTarget(book, target, nowMs),
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
  // The daemon chose this target in an answer that came too late: the request was never sent there.
  if (held !== undefined && !sameTarget && held.targetLsn >= epochStartLsn)
    withdraw(
      state,
      matchTarget(book, held.target, nowMs),
      { lsn: held.targetLsn, atMs: held.targetAtMs },
      nowMs,
    );
  const counters =
    (sameTarget ? stillMet(held, book) : null) ?? matchAll(book, userPath, target, nowMs);
  charge(book, counters, { atMs: endedAtMs, requests: 0, tokens }, nowMs);
}

/**
 * The counters that a lease met, as long as they count. A child's are put back while nothing is in
 * flight, so those of a submission are to be met again.
 */
function stillMet(held: HeldLease | undefined, book: RuleBook): readonly Counter[] | null {
  return held !== undefined && !held.submission && held.bookVersion === book.version
    ? held.counters
    : null;
}

/**
 * A lease that a proxy tells after a restart: its request is counted by the windows that were
 * written before it was admitted, once however often it is told.
 */
export function recountLease(
  state: DaemonState,
  proxy: KnownProxy,
  lease: Lease,
  counters: { readonly ofPath: readonly Counter[]; readonly ofTarget: readonly Counter[] },
  nowMs: number,
): void {
  if (lease.lsn >= state.epochStartLsn || proxy.recounted.has(lease.lease)) return;
  proxy.recounted.set(lease.lease, lease.target);
  recount(state.book, counters.ofPath, lease.lsn, lease.admittedAtMs, nowMs);
  recount(state.book, counters.ofTarget, lease.targetLsn, lease.targetAtMs, nowMs);
}

/** A settle of batch `batchLsn`, on windows that may hold it already. */
export function replaySettle(
  book: RuleBook,
  entry: JournalEntry,
  batchLsn: number,
  nowMs: number,
): void {
  const { part, userPath, target, lsn, targetLsn } = entry;
  if (part === "cached") return;
  const ofTarget = matchTarget(book, target, nowMs);
  const ofPath = part === "attempt" ? [] : book.matchPath(userPath, nowMs);
  if (part === "withdrawn") {
    const isHeld = ({ restoredLsn, rule }: Counter): boolean =>
      lsn > rule.sinceLsn && lsn <= restoredLsn && restoredLsn < batchLsn;
    return charge(
      book,
      [...ofTarget, ...ofPath],
      { atMs: Math.min(entry.requestAtMs, nowMs), requests: -1, tokens: 0 },
      nowMs,
      isHeld,
    );
  }
  recount(book, ofPath, lsn === 0 ? batchLsn : lsn, entry.requestAtMs, nowMs);
  recount(book, ofTarget, targetLsn === 0 ? batchLsn : targetLsn, entry.targetAtMs, nowMs);
  charge(
    book,
    [...ofTarget, ...ofPath],
    { atMs: Math.min(entry.endedAtMs, nowMs), requests: 0, tokens: entry.tokens },
    nowMs,
    (counter) => isAfter(batchLsn, counter),
  );
}

/**
 * A request that no admission of this life counted. Without a number it was never counted anywhere.
 */
function countForgotten(
  book: RuleBook,
  counters: readonly Counter[],
  { lsn, atMs, again }: { readonly lsn: number; readonly atMs: number; readonly again: boolean },
  nowMs: number,
): void {
  if (lsn === 0) charge(book, counters, { atMs, requests: 1, tokens: 0 }, nowMs);
  else if (!again) recount(book, counters, lsn, atMs, nowMs);
}

/** Counts a request of an earlier life in each window that was written before it. */
function recount(
  book: RuleBook,
  counters: readonly Counter[],
  lsn: number,
  atMs: number,
  nowMs: number,
): void {
  charge(
    book,
    counters,
    { atMs: Math.min(atMs, nowMs), requests: 1, tokens: 0 },
    nowMs,
    (counter) => isAfter(lsn, counter),
  );
}

/** Takes back a request that was counted and never made, where it is counted. */
function withdraw(
  { book, epochStartLsn }: DaemonState,
  counters: readonly Counter[],
  { lsn, atMs }: { readonly lsn: number; readonly atMs: number },
  nowMs: number,
): void {
  charge(
    book,
    counters,
    { atMs, requests: -1, tokens: 0 },
    nowMs,
    ({ restoredLsn, rule }) => lsn > rule.sinceLsn && (lsn >= epochStartLsn || lsn <= restoredLsn),
  );
}

function isAfter(lsn: number, { restoredLsn, rule }: Counter): boolean {
  return lsn > Math.max(restoredLsn, rule.sinceLsn);
}
