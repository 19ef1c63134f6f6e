/**
 * Refusals before an admission: no such endpoint, overload, a caller that is denied or can't be
 * checked, or a request that can't be sent. The limiter's refusals are in `admit-and-settle.ts`.
 */
import { closestName } from "../../shared/config/closest-name.js";
import { type Failure, failure, plainFailure } from "../../shared/error-code.js";
import { formatSeconds } from "../../shared/time.js";
import { authorizeCaller, type RefusedCaller } from "../auth/caller.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { type Area, areaOf, type RouteMatch, routes } from "../http/match-route.js";
import { replyFailure, speaksMcp } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import type { Outcome, RequestRecord } from "../request-record.js";
import { unknownModel } from "../routing/model-catalog.js";

export function refuseRoute(
  exchange: Exchange,
  record: RequestRecord,
  match: Exclude<RouteMatch, { readonly kind: "endpoint" }>,
): void {
  const { method, path } = exchange;
  if (match.kind === "unknown" || isMethodOfGoogle(exchange)) {
    record.end(404, "refused");
    const message =
      whyNotOffered(path) ?? `unknown API endpoint: ${method} ${path}${pathHint(path, match.area)}`;
    return replyFailure(exchange, match.area, plainFailure(404, "not_found_error", message));
  }
  record.end(405, "refused");
  replyFailure(
    exchange,
    match.area,
    plainFailure(
      405,
      "invalid_request_error",
      `${method} is not allowed on ${path}: use ${match.allow}`,
    ),
    ["allow", match.allow],
  );
}

/** The paths without ids, by the part after the version, longest first. */
const namedPaths = [...routes]
  .map(([path, { area }]) => ({ path, area, ending: path.replace(/^\/v1(?:beta)?/, "") }))
  .sort((a, b) => b.ending.length - a.ending.length);

/**
 * A hint such as `; did you mean /v1/messages?` for a misspelt path, or for a base URL with too few
 * or too many segments, such as `/messages` and `/v1/v1/messages`.
 */
function pathHint(path: string, area: Area): string {
  const pathsOfArea = namedPaths.filter((namedPath) => namedPath.area === area);
  const suggestion =
    pathsOfArea.find(({ ending }) => path.endsWith(ending))?.path ??
    closestName(
      path,
      pathsOfArea.map((namedPath) => namedPath.path),
    );
  // A path that exists is served by another port.
  return suggestion === null || suggestion === path ? "" : `; did you mean ${suggestion}?`;
}

/**
 * Whether the path is a method of Gemini's models that Sluice doesn't offer; a model itself has a
 * GET.
 */
function isMethodOfGoogle({ method, path }: Exchange): boolean {
  return method === "POST" && /^\/v1beta\/models\/.+:\w+$/.test(path);
}

/**
 * Refuses a request beyond the bounds, and closes its connection, so that another client gets one.
 */
export function refuseOverloaded(
  { capacity }: Pick<Gateway, "capacity">,
  exchange: Exchange,
  record: RequestRecord,
): void {
  record.end(503, "overloaded");
  replyFailure(
    exchange,
    areaOf(exchange.path),
    failure(
      "overloaded",
      capacity.files.isExhausted
        ? "Sluice has no file descriptors left"
        : `${capacity.connections.max} requests are running already`,
    ),
    ["connection", "close"],
  );
}

/**
 * Resources of OpenAI's and Anthropic's SDKs that run at the provider for long, or store data:
 * Sluice can't see their tokens.
 */
const uncountedResources = new Set([
  "vector_stores",
  "fine_tuning",
  "evals",
  "videos",
  "assistants",
  "threads",
  "skills",
  "agents",
  "sessions",
  "environments",
  "memory_stores",
  "vaults",
  "deployments",
  "deployment_runs",
  "dreams",
  "chatkit",
  "live",
  "complete",
  "webhook_endpoints",
  "webhook_event_types",
  "decisions",
  "safety",
  "content_provenance_checks",
]);
/** Stored chat completions, and the voices of an account. */
const uncountedPath = /^\/v1\/(?:chat\/completions\/.|audio\/voice)/;
/** Gemini's API beyond the methods that Sluice offers. */
const otherGooglePath = /^\/(?:upload\/)?v1beta\//;

/** Sessions in which media flows directly between client and provider, not through Sluice. */
const directSession =
  /^\/v1\/realtime\/(?:translations\/)?(?:client_secrets|sessions|transcription_sessions|calls)(?:\/|$)/;

/**
 * The message for a provider path that Sluice doesn't offer, with the reason; null for an unknown
 * path.
 */
export function whyNotOffered(path: string): string | null {
  if (directSession.test(path))
    return `${path} is not offered: the session would not pass through Sluice, so nothing could be counted: open a WebSocket at /v1/realtime instead`;
  if (otherGooglePath.test(path))
    return `${path} is not offered: of Gemini's own API Sluice has the methods of models. Where passthrough is open it is at /p/{provider}${path}, with the name of a provider`;
  const resource = path.startsWith("/v1/") ? path.split("/", 3)[2]! : "";
  if (!uncountedResources.has(resource) && !uncountedPath.test(path)) return null;
  return `${path} is not offered: what a provider does there can't be counted. Where passthrough is open it is at /p/{provider}${path}, with the name of a provider`;
}

export function refuseCaller(
  { exchange, record }: Pick<RequestContext, "exchange" | "record">,
  area: Area,
  { failure: original, note, expiredAtMs }: RefusedCaller,
  headers: readonly string[] = [],
): void {
  // A 401 would make clients of MCP look for an OAuth server here.
  const isForbidden = original.status === 401 && speaksMcp(exchange);
  const refusal = isForbidden ? { ...original, status: 403 } : original;
  const { status, code } = refusal;
  record.end(status, code === "limiter_unavailable" ? "limiter_unavailable" : "refused");
  record.note = note ?? null;
  replyFailure(
    exchange,
    area,
    refusal,
    status === 401
      ? // Without x-should-retry, Claude Code retries for minutes before it reports the 401.
        ["www-authenticate", challenge(expiredAtMs), "x-should-retry", "false", ...headers]
      : status === 503
        ? ["retry-after", "1", ...headers]
        : headers,
  );
}

/** As defined by RFC 6750. The body is the same for every wrong token. */
function challenge(expiredAtMs: number | undefined): string {
  if (expiredAtMs === undefined) return "Bearer";
  return `Bearer error="invalid_token", error_description="expired at ${formatSeconds(expiredAtMs)}"`;
}

/** `refuseBeforeAdmission` for an unknown model. */
export function refuseUnknownModel(
  context: RequestContext<"limiter" | "models">,
  name: string,
): Promise<void> {
  const { failure, headers } = unknownModel(context.gateway.models, name);
  return refuseBeforeAdmission(context, failure, headers);
}

/**
 * Answers a request that fails before its admission; `failure` is null if the client disconnected.
 * Checks the caller's key first: a wrong key gets a 401, whatever else is wrong.
 */
export async function refuseBeforeAdmission(
  context: RequestContext<"limiter">,
  failure: Failure | null,
  headers: readonly string[] = [],
): Promise<void> {
  const { gateway, exchange, caller, record } = context;
  if (failure === null) return record.markGone(exchange);
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  if (!authorized.ok) return refuseCaller(context, "model", authorized);
  record.setCaller(authorized.caller);
  record.end(failure.status, outcomeOf(failure));
  if (failure.status >= 500) record.note = failure.message;
  replyFailure(exchange, "model", failure, [...headers, ...retryAfter(failure)]);
}

export function outcomeOf({ code }: Failure): Outcome {
  if (code === "rate_limit_exceeded") return "rate_limited";
  return code === "overloaded" || code === "limiter_unavailable" ? code : "refused";
}

/** `retry-after` for a temporary failure. */
export function retryAfter({ code, status }: Failure): readonly string[] {
  if (code === "limiter_unavailable") return ["retry-after", "1"];
  // A batch whose results Sluice reads.
  if (status === 409) return ["retry-after", "10"];
  // Enqueued tokens: Sluice asks at most this often whether a batch has ended.
  return code === "rate_limit_exceeded" ? ["retry-after", "60"] : [];
}
