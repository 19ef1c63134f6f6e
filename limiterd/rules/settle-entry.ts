/**
 * The journal's entry of a settle. What is to be counted at all is decided here, once, when the
 * settle arrives; which windows count it is decided from the entry, at once (`count-settle.ts`) and
 * again after a crash (`recount.ts`).
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import {
  isUnnumbered,
  type Settle,
  uncountedLsn,
  unlimitedLsn,
} from "../../shared/wire/message-to-daemon.js";
import type { HeldLease, KnownProxy } from "../peer.js";
import type { JournalEntry } from "../store/journal-entry.js";
import { isSameTarget } from "./match-counters.js";
import type { RuleBook } from "./rule-book.js";

/** A settle, the proxy that sent it, and the lease that it ends, as the lease was until then. */
export interface ArrivedSettle {
  readonly proxy: KnownProxy;
  readonly message: Settle;
  /** Undefined when the connection holds no such lease. */
  readonly held: HeldLease | undefined;
}

interface SettleEntryOptions {
  readonly settings: { readonly rateLimitsEnabled: boolean; readonly usageEnabled: boolean };
  readonly book: Pick<RuleBook, "sinceMs">;
}

/**
 * What is kept of a settle. While rate limits are off only its number matters, so that it isn't
 * applied twice: no window counts it, now or after a crash.
 */
export function settleEntry(
  { settings, book }: SettleEntryOptions,
  { proxy, message, held }: ArrivedSettle,
  nowMs: number,
): JournalEntry {
  const { rateLimitsEnabled, usageEnabled } = settings;
  const { seq, part, userPath, target } = message;
  // Settled before the proxy had the verdict: only the daemon knows when it was admitted. Without a
  // lease it went ahead without an admission, or although it was refused.
  const request = message.lsn === 0 && held !== undefined ? held : message;
  const attempt =
    message.targetLsn === 0 && held !== undefined && isSameTarget(held.target, target)
      ? held
      : message;
  const startedAtMs = Math.max(0, nowMs - message.startedAgoMs);
  // No rule counts what began before all of them. What began later was sent by a proxy that hadn't
  // learned of them yet. After the clock has stepped back behind them it can't be known which: it
  // is counted.
  const unlimited = startedAtMs < book.sinceMs && book.sinceMs <= nowMs ? uncountedLsn : 0;
  const requestLsn = request.lsn === unlimitedLsn ? unlimited : request.lsn;
  const targetLsn = attempt.targetLsn === unlimitedLsn ? unlimited : attempt.targetLsn;
  return {
    proxyId: proxy.id,
    seq,
    part,
    userPath,
    lsn: rateLimitsEnabled ? requestLsn : uncountedLsn,
    requestAtMs: isUnnumbered(request.lsn) ? startedAtMs : request.admittedAtMs,
    target,
    targetLsn: rateLimitsEnabled ? targetLsn : uncountedLsn,
    targetAtMs: isUnnumbered(attempt.targetLsn) ? startedAtMs : attempt.targetAtMs,
    endedAtMs: Math.max(0, nowMs - message.endedAgoMs),
    // More is a proxy's bug. Cut, not refused: a proxy that is closed for it sends it again.
    tokens:
      rateLimitsEnabled && usageEnabled ? Math.min(message.tokens, 2 * tokensPerResponseMax) : 0,
  };
}
