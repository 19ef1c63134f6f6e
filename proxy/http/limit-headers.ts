/**
 * The headers of limits (docs/reference/http-api.md, "Rate limit headers"): on a 429 the time to
 * wait and the limit that was reached, on other responses what is left.
 */
import type { Breach, SuccessHeaders } from "../../shared/domain/verdict.js";

/** The official SDKs ignore waits over a minute and retry at once, unless a header forbids it. */
const retryableSecondsMax = 60;

export function isLongWait(waitSeconds: number): boolean {
  return waitSeconds > retryableSecondsMax;
}

/** The headers of a 429: how long to wait, and the limit that was reached. */
export function refusalHeaders({ dimension, cap, waitSeconds }: Breach): string[] {
  const wait = String(waitSeconds);
  const headers = waitHeaders(waitSeconds);
  if (dimension !== "requests" && dimension !== "tokens") return headers;
  headers.push(
    `x-ratelimit-limit-${dimension}`,
    String(cap),
    `x-ratelimit-remaining-${dimension}`,
    "0",
    `x-ratelimit-reset-${dimension}`,
    wait,
  );
  return headers;
}

/** How long to wait, for every client: `retry-after` in seconds, the SDKs' own in milliseconds. */
export function waitHeaders(waitSeconds: number): string[] {
  const headers = ["retry-after", String(waitSeconds), "retry-after-ms", `${waitSeconds * 1000}`];
  if (isLongWait(waitSeconds)) headers.push("x-should-retry", "false");
  return headers;
}

/** The headers of the most constrained rule, for every response to an admitted request. */
export function successHeaders(headers: SuccessHeaders | null): string[] {
  const flat: string[] = [];
  if (headers === null) return flat;
  const { requests, tokens } = headers;
  if (requests !== null)
    flat.push(
      "x-ratelimit-limit-requests",
      String(requests.limit),
      "x-ratelimit-remaining-requests",
      String(requests.remaining),
      "x-ratelimit-reset-requests",
      String(requests.resetSeconds),
    );
  if (tokens !== null)
    flat.push(
      "x-ratelimit-limit-tokens",
      String(tokens.limit),
      "x-ratelimit-remaining-tokens",
      String(tokens.remaining),
      "x-ratelimit-reset-tokens",
      String(tokens.resetSeconds),
    );
  return flat;
}
