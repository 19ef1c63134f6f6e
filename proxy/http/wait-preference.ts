/**
 * How long a request may wait for room under its limits: as long as its client requests by `Prefer:
 * wait=30` (RFC 7240), no longer than the client's timeout, and no longer than the operator allows
 * (docs/limit-options.md).
 */
import type { WaitLimits } from "../../shared/config/config.js";
import type { MayWait, QueueWait } from "../limiter/admission.js";
import type { RequestHeaders } from "./exchange.js";

/** How much earlier a wait ends, so that the refusal reaches the client before its timeout. */
const answerMs = 1000;

type WaitPreference = Pick<MayWait, "askedMs" | "timeoutMs" | "atMostMs">;

/** `elapsedMs`: since the request arrived. Null if the request may not wait. */
export function waitOf(
  headers: Pick<RequestHeaders, "header">,
  limits: WaitLimits,
  elapsedMs: number,
): WaitPreference | null {
  const askedMs = preferredMs(headers.header("prefer"));
  let { maxMs, defaultMs } = limits;
  for (const path of limits.paths) {
    maxMs = Math.max(maxMs, path.maxMs);
    defaultMs = Math.max(defaultMs, path.defaultMs);
  }
  const clientMs = timeoutOf(headers);
  const timeoutMs =
    clientMs === null ? null : Math.max(0, Math.floor(clientMs - answerMs - elapsedMs));
  const atMostMs = Math.min(maxMs, askedMs ?? defaultMs, timeoutMs ?? Number.POSITIVE_INFINITY);
  return atMostMs === 0 ? null : { askedMs, timeoutMs, atMostMs };
}

/** The first `wait` of a `Prefer` header counts. */
function preferredMs(prefer: string | undefined): number | null {
  // A quoted value may hold commas and semicolons.
  for (const [preference] of prefer?.matchAll(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i.exec(preference) ?? [];
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return null;
}

/** The timeout that the SDKs of OpenAI and Anthropic send, in seconds. */
function timeoutOf(headers: Pick<RequestHeaders, "header">): number | null {
  const text =
    headers.header("x-stainless-timeout") ?? headers.header("x-stainless-read-timeout") ?? "";
  return /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1000 : null;
}

/** The headers of the answer to a request that has waited. */
export function waitedHeaders(waited: QueueWait | undefined): readonly string[] {
  if (waited === undefined) return noHeaders;
  const headers = ["x-sluice-waited-ms", String(waited.ms)];
  return waited.isPreferred ? [...headers, "preference-applied", "wait"] : headers;
}

const noHeaders: readonly string[] = [];
