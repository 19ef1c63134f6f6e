/**
 * What a settle says, completed by what the daemon knows of its lease: when its request was
 * admitted and under which number, and how many tokens are charged. Which windows count it is
 * decided in `count-settle.ts`.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import {
  isUnnumbered,
  type Settle,
  uncountedLsn,
  unlimitedLsn,
} from "../../shared/wire/message-to-daemon.js";
import type { HeldLease, KnownProxy } from "../peer.js";
import { isSameTarget } from "./match-counters.js";
import type { RuleBook } from "./rule-book.js";

/** A settle, the proxy that sent it, and the lease that it ends, as the lease was until then. */
export interface ArrivedSettle {
  readonly proxy: KnownProxy;
  readonly message: Settle;
  /** Undefined when the connection holds no such lease. */
  readonly held: HeldLease | undefined;
  /**
   * Whether its proxy is of wire version 9, and settles what had a late verdict as if it had none.
   * Later ones withdraw such a verdict.
   */
  readonly infersLate: boolean;
}

export interface SettleFacts {
  /** The admission's. 0: the request was let through unasked and is counted with this settle. */
  readonly lsn: number;
  readonly requestAtMs: number;
  /** The attempt's, at this target; 0 as above. */
  readonly targetLsn: number;
  readonly targetAtMs: number;
  readonly endedAtMs: number;
  readonly tokens: number;
}

interface SettleFactsOptions {
  readonly settings: { readonly rateLimitsEnabled: boolean; readonly usageEnabled: boolean };
  readonly book: Pick<RuleBook, "sinceMs">;
}

/** While rate limits are off no window counts anything of it. */
export function settleFacts(
  { settings, book }: SettleFactsOptions,
  { message, held, infersLate }: ArrivedSettle,
  nowMs: number,
): SettleFacts {
  const { rateLimitsEnabled, usageEnabled } = settings;
  const { target } = message;
  // Settled before the proxy had the verdict: only the daemon knows when it was admitted. Without a
  // lease it went ahead without an admission, or although it was refused.
  const late = infersLate ? held : undefined;
  const request = message.lsn === 0 && late !== undefined ? late : message;
  const attempt =
    message.targetLsn === 0 && late !== undefined && isSameTarget(late.target, target)
      ? late
      : message;
  const startedAtMs = Math.max(0, nowMs - message.startedAgoMs);
  const targetStartedAtMs =
    message.targetStartedAgoMs === undefined
      ? startedAtMs
      : Math.max(0, nowMs - message.targetStartedAgoMs);
  // No rule counts what began before all of them. What began later was sent by a proxy that hadn't
  // learned of them yet. After the clock has stepped back behind them it can't be known which: it
  // is counted.
  const unlimited = startedAtMs < book.sinceMs && book.sinceMs <= nowMs ? uncountedLsn : 0;
  const requestLsn = request.lsn === unlimitedLsn ? unlimited : request.lsn;
  const targetLsn = attempt.targetLsn === unlimitedLsn ? unlimited : attempt.targetLsn;
  return {
    lsn: rateLimitsEnabled ? requestLsn : uncountedLsn,
    requestAtMs: isUnnumbered(request.lsn) ? startedAtMs : request.admittedAtMs,
    targetLsn: rateLimitsEnabled ? targetLsn : uncountedLsn,
    targetAtMs: isUnnumbered(attempt.targetLsn) ? targetStartedAtMs : attempt.targetAtMs,
    endedAtMs: Math.max(0, nowMs - message.endedAgoMs),
    // More is a proxy's bug. Cut, not refused: a proxy that is closed for it sends it again.
    tokens:
      rateLimitsEnabled && usageEnabled ? Math.min(message.tokens, 2 * tokensPerResponseMax) : 0,
  };
}
