/**
 * The headers of limits (docs/reference/http-api.md, "Every response"): on a 429 the waiting time
 * and the limit that refused, on other responses the remaining amounts.
 */
import { usdText } from "../../shared/domain/money.js";
import type { Measure } from "../../shared/domain/rule.js";
import type { Breach, Dimension, Remaining, SuccessHeaders } from "../../shared/domain/verdict.js";
import { formatSeconds } from "../../shared/time.js";
import type { QueueWait } from "../limiter/admission.js";
import { headerText } from "./copy-headers.js";
import { waitedHeaders } from "./wait-preference.js";

/** The official SDKs ignore waits over a minute and retry at once, unless a header forbids it. */
const retryableSecondsMax = 60;

export function isLongWait(waitSeconds: number): boolean {
  return waitSeconds > retryableSecondsMax;
}

/** The suffixes of the header names; other dimensions have none. */
const headerNames: ReadonlyMap<Dimension, string> = new Map([
  ["requests", "requests"],
  ["tokens", "tokens"],
  ["input_tokens", "input-tokens"],
  ["output_tokens", "output-tokens"],
  ["cost", "cost"],
]);

/** Three headers: the limit, the remaining amount, and the seconds until the reset. */
function limitHeaders(
  dimension: Dimension,
  { limit, remaining, resetSeconds }: Remaining,
): readonly string[] {
  const name = headerNames.get(dimension);
  if (name === undefined) return [];
  const text = dimension === "cost" ? usdText : String;
  return [
    `x-ratelimit-limit-${name}`,
    text(limit),
    `x-ratelimit-remaining-${name}`,
    text(remaining),
    `x-ratelimit-reset-${name}`,
    String(resetSeconds),
  ];
}

/** As `limitHeaders`, under the names for Anthropic's clients; only tokens by kind have them. */
export function messagesHeaders(
  dimension: Dimension,
  { limit, remaining, resetSeconds }: Remaining,
  nowMs: number,
): readonly string[] {
  if (dimension !== "input_tokens" && dimension !== "output_tokens") return [];
  const name = `anthropic-ratelimit-${headerNames.get(dimension)}`;
  return [
    `${name}-limit`,
    String(limit),
    `${name}-remaining`,
    String(remaining),
    `${name}-reset`,
    formatSeconds(nowMs + resetSeconds * 1000),
  ];
}

/** The headers of a 429: the waiting time, and the limit that refused. */
export function refusalHeaders({ dimension, cap, waitSeconds, above }: Breach): string[] {
  if (above !== undefined) return waitHeaders(waitSeconds);
  const reached = { limit: cap, remaining: 0, resetSeconds: waitSeconds };
  return [...waitHeaders(waitSeconds), ...limitHeaders(dimension, reached)];
}

/**
 * The waiting time for every client: `retry-after` in seconds, the SDKs' own header in
 * milliseconds.
 */
export function waitHeaders(waitSeconds: number): string[] {
  const headers = ["retry-after", String(waitSeconds), "retry-after-ms", `${waitSeconds * 1000}`];
  if (isLongWait(waitSeconds)) headers.push("x-should-retry", "false");
  return headers;
}

interface AdmittedLimits {
  readonly admission: {
    readonly uses?: readonly string[] | undefined;
    readonly exhausted?: string | undefined;
    readonly metering?: object | undefined;
    readonly waited?: QueueWait | undefined;
  };
  readonly headers: SuccessHeaders | null;
}

/**
 * The headers of a response to an admitted request: remaining amounts; if a rule or budget is
 * exhausted, its name and the model that serves instead; and whether a hard cap may end the answer.
 */
export function admittedHeaders({ admission, headers }: AdmittedLimits): string[] {
  const { uses, exhausted, metering, waited } = admission;
  const limits = successHeaders(headers);
  const headerList = waited === undefined ? limits : [...limits, ...waitedHeaders(waited)];
  const use = uses?.at(-1);
  if (use !== undefined) headerList.push("x-sluice-fallback", headerText(use));
  if (exhausted !== undefined) headerList.push("x-sluice-exhausted", headerText(exhausted));
  if (metering !== undefined) headerList.push("x-sluice-hard-cap", "true");
  return headerList;
}

/** The headers of the most constrained rule. */
export function successHeaders(headers: SuccessHeaders | null): string[] {
  if (headers === null) return [];
  const { requests, tokens, measures } = headers;
  const headerList = [
    ...(requests === null ? [] : limitHeaders("requests", requests)),
    ...(tokens === null ? [] : limitHeaders("tokens", tokens)),
  ];
  if (measures === undefined) return headerList;
  return [
    ...headerList,
    ...Object.entries(measures).flatMap(([measure, remaining]) =>
      limitHeaders(measure as Measure, remaining),
    ),
  ];
}
