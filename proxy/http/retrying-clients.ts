/**
 * Clients that sleep through a long wait, for hours and silently, because they follow any
 * `retry-after` and don't read `x-should-retry`. Recognized by their User-Agent, they get a refusal
 * in a form at which they stop and inform their user (docs/reference/http-api.md, "Clients that
 * need another answer").
 *
 * Tested with the clients themselves: Codex 0.169, opencode 1.18.
 */
import { isPerSession } from "../../shared/domain/budget.js";
import { limitInWords } from "../../shared/domain/refusal-message.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import type { Failure } from "../../shared/error-code.js";
import { headerText } from "./copy-headers.js";

export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
  /** Further fields of the error. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly headers: readonly string[];
}

/** Null for any other client, which gets the usual refusal. */
export function refusalForClient(
  userAgent: string | undefined,
  breach: Breach | BudgetBreach,
  refused: Failure,
  nowMs: number,
): Refusal | null {
  const endMs = nowMs + breach.waitSeconds * 1000;
  if (userAgent === undefined) return null;
  if (/^codex[_-]/i.test(userAgent)) return codexRefusal(refused, endMs);
  return /^opencode\//i.test(userAgent) ? opencodeRefusal(breach, endMs) : null;
}

/** Codex stops at an error of this type, and shows the header and the time. */
function codexRefusal({ status, code, message }: Failure, endMs: number): Refusal {
  return {
    status,
    type: "usage_limit_reached",
    code,
    message,
    fields: { resets_at: Math.ceil(endMs / 1000) },
    headers: ["x-codex-promo-message", headerText(message)],
  };
}

/**
 * opencode retries a 429, and any error whose text contains "rate limit", "rate_limit" or a number
 * such as 500. So this text contains no number but the time.
 */
function opencodeRefusal(breach: Breach | BudgetBreach, endMs: number): Refusal {
  const isOfSession = breach.dimension === "budget" && isPerSession(breach);
  const advice = isOfSession ? "; start a new session" : "";
  const until = new Date(endMs).toISOString().replace(/:\d\d\.\d+Z$/, "Z");
  return {
    status: 402,
    type: "insufficient_quota",
    code: "insufficient_quota",
    message: `${limitInWords(breach)} is reached, until ${until}${advice}`,
    fields: {},
    headers: [],
  };
}
