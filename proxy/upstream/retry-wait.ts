/**
 * Whether to send a failed request to the same target again, and when: exponential backoff with
 * full jitter, added to the time that the provider requested (docs/reference/http-api.md,
 * "Retries").
 *
 * Not here: which failures are worth a retry (`errors/failover-reason.ts`), and the waiting.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { firstRetryWaitMs } from "../bounds.js";
import { headerOf } from "../http/copy-headers.js";
import type { TargetFailure } from "./errors/failover-reason.js";

interface Attempts {
  /** Retries so far. */
  readonly retried: number;
  /** Time since the first attempt began. */
  readonly elapsedMs: number;
  /** From 0 to 1. */
  readonly random: number;
}

/** Null for no retry. A retry begins within `first_byte_timeout_ms` of the first attempt. */
export function retryWaitMs(
  { isWorthRetrying, retryAfterMs }: Pick<TargetFailure, "isWorthRetrying" | "retryAfterMs">,
  { retried, elapsedMs, random }: Attempts,
  provider: Pick<ProviderConfig, "retries" | "retryWaitMaxMs" | "firstByteTimeoutMs">,
): number | null {
  const { retries, retryWaitMaxMs, firstByteTimeoutMs } = provider;
  if (!isWorthRetrying || retried >= retries) return null;
  const askedMs = retryAfterMs ?? 0;
  if (askedMs > retryWaitMaxMs) return null;
  const waitMs = askedMs + random * Math.min(retryWaitMaxMs, firstRetryWaitMs * 2 ** retried);
  return elapsedMs + waitMs < firstByteTimeoutMs ? waitMs : null;
}

/**
 * The Retry-After of an answer. Null without one, Infinity for a date without a Date header. OpenAI
 * and Azure also send milliseconds.
 */
export function readRetryAfterMs(rawHeaders: readonly (Buffer | string)[]): number | null {
  const ms = headerOf(rawHeaders, "retry-after-ms");
  if (/^\d{1,12}$/.test(ms)) return Number(ms);
  const after = headerOf(rawHeaders, "retry-after").trim();
  if (after === "") return null;
  if (/^\d{1,9}(?:\.\d+)?$/.test(after)) return Number(after) * 1000;
  // Date.parse also accepts texts that aren't HTTP dates.
  if (!/^[A-Z][a-z]{2}/.test(after)) return Infinity;
  const waitMs = Date.parse(after) - Date.parse(headerOf(rawHeaders, "date"));
  return Number.isNaN(waitMs) ? Infinity : Math.max(0, waitMs);
}
