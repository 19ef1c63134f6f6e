/**
 * What a settle says, in the daemon's time: when its request was admitted and under which number,
 * and how many tokens are charged. Which windows count it is decided in `count-settle.ts`.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import {
  isUnnumbered,
  type Settle,
  uncountedLsn,
  unlimitedLsn,
} from "../../shared/wire/message-to-daemon.js";
import type { HeldLease, KnownProxy } from "../peer.js";
import type { RuleBook } from "./rule-book.js";

/** A settle, the proxy that sent it, and the lease that it ends, as the lease was until then. */
export interface ArrivedSettle {
  readonly proxy: KnownProxy;
  readonly message: Settle;
  /** Undefined when the connection holds no such lease. */
  readonly held: HeldLease | undefined;
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
  { message }: ArrivedSettle,
  nowMs: number,
): SettleFacts {
  const { rateLimitsEnabled, usageEnabled } = settings;
  const startedAtMs = Math.max(0, nowMs - message.startedAgoMs);
  const targetStartedAtMs =
    message.targetStartedAgoMs === undefined
      ? startedAtMs
      : Math.max(0, nowMs - message.targetStartedAgoMs);
  // No rule counts what began before all of them. What began later was sent by a proxy that hadn't
  // learned of them yet. After the clock has stepped back behind them it can't be known which: it
  // is counted.
  const unlimited = startedAtMs < book.sinceMs && book.sinceMs <= nowMs ? uncountedLsn : 0;
  const requestLsn = message.lsn === unlimitedLsn ? unlimited : message.lsn;
  const targetLsn = message.targetLsn === unlimitedLsn ? unlimited : message.targetLsn;
  return {
    lsn: rateLimitsEnabled ? requestLsn : uncountedLsn,
    requestAtMs: isUnnumbered(message.lsn) ? startedAtMs : message.admittedAtMs,
    targetLsn: rateLimitsEnabled ? targetLsn : uncountedLsn,
    targetAtMs: isUnnumbered(message.targetLsn) ? targetStartedAtMs : message.targetAtMs,
    endedAtMs: Math.max(0, nowMs - message.endedAgoMs),
    // More is a proxy's bug. Cut, not refused: a proxy that is closed for it sends it again.
    tokens:
      rateLimitsEnabled && usageEnabled ? Math.min(message.tokens, 2 * tokensPerResponseMax) : 0,
  };
}
