/**
 * What a settle changes in the windows. Requests are counted at the admission, or at the reroute
 * for the target that took over. A settle charges tokens, and counts a request only if a crash has
 * lost its count or there was no admission. Not here: slots (`release-slots.ts`).
 */
import { unreachable } from "../../shared/assert.js";
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isUnnumbered, uncountedLsn, unlimitedLsn } from "../../shared/wire/lsn.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import type { Counter } from "../counters/counter.js";
import type { HeldLease, KnownProxy } from "../peer.js";
import { isLost } from "../store/epochs.js";
import {
  charge,
  countSince,
  isAttemptForgotten,
  isRequestForgotten,
  type Ledger,
} from "./charge.js";
import { isSameTarget, matchAll, matchTarget, type RuleBook } from "./rule-book.js";

/** Counts a settle that arrives for the first time. */
export function countSettle(
  ledger: Ledger,
  arrived: ArrivedSettle,
  facts: SettleFacts,
  nowMs: number,
): void {
  const { proxy, message } = arrived;
  const { lease, part } = message;
  switch (part) {
    case "cached":
    case "final":
      return;
    case "progress":
      return chargeTokens(ledger.book, arrived, facts, nowMs);
    case "untried":
      return withdrawAttempt(ledger, message, facts, nowMs);
    case "attempt":
      return countLostAttempt(ledger, arrived, facts, nowMs);
    case "withdrawn":
      withdrawRequest(ledger, arrived, facts, nowMs);
      break;
    case "request":
      countLostAttempt(ledger, arrived, facts, nowMs);
      countLostRequest(ledger, arrived, facts, nowMs);
      chargeTokens(ledger.book, arrived, facts, nowMs);
      break;
    default:
      return unreachable(part);
  }
  proxy.recounted.delete(lease);
}

/** Charges the tokens to the target that used them and to the user path. */
function chargeTokens(
  book: RuleBook,
  { message: { userPath, target }, held }: ArrivedSettle,
  { endedAtMs, tokens }: SettleFacts,
  nowMs: number,
): void {
  const isThere = held !== undefined && isSameTarget(held.target, target);
  const counters =
    stillMet(isThere ? held : undefined, book) ?? matchAll(book, userPath, target, nowMs);
  charge(book, counters, { atMs: endedAtMs, requests: 0, tokens }, nowMs);
}

/** Takes back the attempt at a target that was never sent a request. */
function withdrawAttempt(
  { book, epochs }: Ledger,
  { target }: Settle,
  { targetLsn, targetAtMs }: SettleFacts,
  nowMs: number,
): void {
  // A crash has lost the count. It was not counted again, because no hello names such an attempt.
  if (isLost(epochs, targetLsn)) return;
  countSince(
    book,
    matchTarget(book, target),
    { lsn: targetLsn, atMs: targetAtMs, requests: -1 },
    nowMs,
  );
}

/** Takes back a request that was sent to no target. */
function withdrawRequest(
  { book, epochs }: Ledger,
  { proxy, message: { lease, userPath, target }, held }: ArrivedSettle,
  { lsn, requestAtMs }: SettleFacts,
  nowMs: number,
): void {
  if (isRequestForgotten(epochs, lsn, proxy.recounted.get(lease))) return;
  const counters = stillMet(held, book) ?? matchAll(book, userPath, target, nowMs);
  countSince(book, counters, { lsn, atMs: requestAtMs, requests: -1 }, nowMs);
}

/** Counts the attempt at the target if a crash has lost the count, or there was no admission. */
function countLostAttempt(
  { book, epochs }: Ledger,
  { proxy, message: { lease, target } }: ArrivedSettle,
  { targetLsn: lsn, targetAtMs: atMs }: SettleFacts,
  nowMs: number,
): void {
  if (target === null) return;
  if (isAttemptForgotten(epochs, { target, lsn }, proxy.recounted.get(lease)))
    countForgotten(book, matchTarget(book, target), { lsn, atMs }, nowMs);
}

/** As `countLostAttempt`, for the request at its user path. */
function countLostRequest(
  { book, epochs }: Ledger,
  { proxy, message: { lease, userPath } }: ArrivedSettle,
  { lsn, requestAtMs: atMs }: SettleFacts,
  nowMs: number,
): void {
  if (isRequestForgotten(epochs, lsn, proxy.recounted.get(lease)))
    countForgotten(book, book.matchPath(userPath, nowMs), { lsn, atMs }, nowMs);
}

/**
 * The counters that a lease was matched with, unless the rules have changed since. A submission
 * holds no slot, so its children's counters may have been checked in and are matched again.
 */
function stillMet(held: HeldLease | undefined, book: RuleBook): readonly Counter[] | null {
  return held !== undefined && !held.submission && held.bookVersion === book.version
    ? held.counters
    : null;
}

/**
 * Counts a request or attempt that no window counts. Without a log sequence number it was never
 * counted, so every current rule counts it.
 */
function countForgotten(
  book: RuleBook,
  counters: readonly Counter[],
  { lsn, atMs }: { readonly lsn: number; readonly atMs: number },
  nowMs: number,
): void {
  if (lsn === 0) charge(book, counters, { atMs, requests: 1, tokens: 0 }, nowMs);
  else countSince(book, counters, { lsn, atMs, requests: 1 }, nowMs);
}

/** A settle, the proxy that sent it, and the lease that it ends, in its state before. */
interface ArrivedSettle {
  readonly proxy: KnownProxy;
  readonly message: Settle;
  /** Undefined when the connection holds no such lease. */
  readonly held: HeldLease | undefined;
}

interface SettleFacts {
  /** The admission's log sequence number; 0: there was none, so this settle counts the request. */
  readonly lsn: number;
  readonly requestAtMs: number;
  /** The log sequence number of the attempt at this target; 0: as for `lsn`. */
  readonly targetLsn: number;
  readonly targetAtMs: number;
  readonly endedAtMs: number;
  readonly tokens: number;
}

interface SettleFactsOptions {
  readonly settings: { readonly rateLimitsEnabled: boolean; readonly usageEnabled: boolean };
  readonly book: Pick<RuleBook, "sinceMs">;
}

/** The facts of a settle, in the daemon's time. While rate limits are off, no window counts it. */
export function settleFacts(
  { settings, book }: SettleFactsOptions,
  { message }: ArrivedSettle,
  nowMs: number,
): SettleFacts {
  const { rateLimitsEnabled, usageEnabled } = settings;
  const startedAtMs = Math.max(0, nowMs - message.startedAgoMs);
  const targetStartedAtMs =
    message.targetStartedAgoMs === undefined
      ? startedAtMs
      : Math.max(0, nowMs - message.targetStartedAgoMs);
  // No rule counts a request that began before all rules. A request that began later was sent by a
  // proxy that didn't know the rules yet, so they count it. After a clock step to before the rules,
  // the two can't be distinguished, so the request is counted.
  const unlimited = startedAtMs < book.sinceMs && book.sinceMs <= nowMs ? uncountedLsn : 0;
  const requestLsn = message.lsn === unlimitedLsn ? unlimited : message.lsn;
  const targetLsn = message.targetLsn === unlimitedLsn ? unlimited : message.targetLsn;
  return {
    lsn: rateLimitsEnabled ? requestLsn : uncountedLsn,
    requestAtMs: isUnnumbered(message.lsn) ? startedAtMs : message.admittedAtMs,
    targetLsn: rateLimitsEnabled ? targetLsn : uncountedLsn,
    targetAtMs: isUnnumbered(message.targetLsn) ? targetStartedAtMs : message.targetAtMs,
    endedAtMs: Math.max(0, nowMs - message.endedAgoMs),
    // More tokens are a bug of the proxy. They are cut, because a proxy would resend a refused
    // settle.
    tokens:
      rateLimitsEnabled && usageEnabled ? Math.min(message.tokens, 2 * tokensPerResponseMax) : 0,
  };
}
