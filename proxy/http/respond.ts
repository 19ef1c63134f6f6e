/**
 * Failures and refusals as HTTP responses (docs/reference/http-api.md, "Errors"): the only place
 * that gives errors their form in each dialect.
 *
 * Not here: the headers of limits (`limit-headers.ts`).
 */
import type { AdminError } from "../../shared/api/admin-error.js";
import { namesTools } from "../../shared/domain/limited-models.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../../shared/domain/verdict.js";
import { type Failure, failure, plainFailure } from "../../shared/error-code.js";
import { cacheLast } from "../../shared/text/remembered.js";
import type { QueueWait } from "../limiter/admission.js";
import { messageForGoogle, messageForMessages } from "../upstream/errors/context-full.js";
import { headerText } from "./copy-headers.js";
import type { Exchange } from "./exchange.js";
import { dialectOfPath, errorEvents } from "./exchanges/keep-alive-events.js";
import {
  isLongWait,
  messagesHeaders,
  refusalHeaders,
  successHeaders,
  waitHeaders,
} from "./limit-headers.js";
import type { Area } from "./match-route.js";
import { type Refusal, refusalForClient } from "./retrying-clients.js";
import { waitedHeaders } from "./wait-preference.js";

const json = "application/json";

/** A JSON body with the headers that every response carries. */
export function replyJson(
  exchange: Exchange,
  status: number,
  body: unknown,
  headers: readonly string[] = [],
): void {
  exchange.reply(
    status,
    ["content-type", json, ...requestIdHeaders(exchange), ...headers],
    JSON.stringify(body),
    "utf8",
  );
}

/**
 * The headers with the request's id: under the usual name, and under the one that Anthropic's SDKs
 * read.
 */
export function requestIdHeaders(exchange: Exchange): readonly string[] {
  return speaksMessages(exchange)
    ? ["x-request-id", exchange.id, "request-id", exchange.id]
    : ["x-request-id", exchange.id];
}

/** A 204 without a body. */
export function replyNothing(exchange: Exchange): void {
  exchange.reply(204, ["x-request-id", exchange.id], "", "latin1");
}

/**
 * A failure in the shape of its area: the envelope on model paths, Anthropic's shape where its
 * dialect is spoken, the flat body on /admin and /dashboard.
 */
export function replyFailure(
  exchange: Exchange,
  area: Area,
  failure: Failure,
  headers: readonly string[] = [],
): void {
  const { status, type, message, code, param, provider } = failure;
  exchange.failure = failure;
  const isTemporary = code === "overloaded" || code === "cluster_unavailable";
  const allHeaders = isTemporary ? [...headers, "retry-after", "1"] : headers;
  if (area === "admin" || area === "dashboard") {
    const body: AdminError = { code, message, param, provider, status_code: status, type };
    return replyJson(exchange, status, body, allHeaders);
  }
  replyJson(exchange, status, envelopeFor(exchange, failure), allHeaders);
}

/**
 * Ends a request after a bug: a 500 if nothing was sent yet, otherwise a cut. Never throws; only
 * the log has the error.
 */
export function replyInternalError(
  exchange: Exchange,
  area: Area,
  headers: readonly string[] = [],
): void {
  if (exchange.gone) return;
  if (exchange.hasBegun) return exchange.cut();
  const failure = plainFailure(
    500,
    "internal_error",
    `Sluice failed on this request: its log says why, under request id ${exchange.id}`,
  );
  try {
    replyFailure(exchange, area, failure, headers);
  } catch {
    // Invalid headers may be the cause.
    exchange.cut();
  }
}

export const proxyStops = plainFailure(
  503,
  "internal_error",
  "the gateway is stopping: send the request again",
);

/** The answer to a request that a stopping proxy gives up before its answer has begun. */
export function replyStop(exchange: Exchange): void {
  const area = /^\/(?:admin|dashboard)(?:\/|$)/.test(exchange.path) ? "admin" : "model";
  replyFailure(exchange, area, proxyStops, ["retry-after", "1", "connection", "close"]);
}

/** The last event of a stream that a stopping proxy cuts; null if the client expects none. */
export function stopEvent(exchange: Exchange): Buffer | null {
  if (speaksMcp(exchange)) {
    // This stream carries only notifications: the client opens it again.
    if (exchange.rpcId === undefined) return null;
    return Buffer.from(`data: ${JSON.stringify(rpcError(exchange, proxyStops))}\n\n`);
  }
  const dialect = dialectOfPath(exchange.path);
  if (dialect === null) return null;
  const body =
    dialect === "google"
      ? googleEnvelope(proxyStops.status, proxyStops.message)
      : envelopeFor(exchange, proxyStops);
  return errorEvents(dialect, proxyStops.status, JSON.stringify(body));
}

function envelopeFor(exchange: Exchange, failure: Failure): object {
  if (speaksMcp(exchange)) return rpcError(exchange, failure);
  if (speaksGoogle(exchange)) return googleEnvelope(failure.status, messageForGoogle(failure));
  if (!speaksMessages(exchange)) return errorBody(failure);
  const error = { type: messagesErrorType(failure), message: messageForMessages(failure) };
  const details = failure.details ?? (failure.param === "thread" ? unsupportedThread : undefined);
  return { type: "error", error: details === undefined ? error : { ...error, details } };
}

/** At this code Anthropic's SDKs send the whole conversation instead. */
const unsupportedThread = { error_code: "thread_unsupported_request", unsupported: ["model"] };

/**
 * Whether a client speaks Anthropic's dialect: by the path or, where both dialects have the path or
 * neither has it, by the header with the version of Anthropic's API, which all of its clients send.
 */
export function speaksMessages(exchange: Exchange): boolean {
  const { path } = exchange;
  if (path === "/v1/messages" || path.startsWith("/v1/messages/")) return true;
  return !otherDialectPaths.test(path) && exchange.header("anthropic-version") !== undefined;
}

/** Whether a client speaks the dialect of Gemini's own API, which has paths of its own. */
export function speaksGoogle({ path }: Pick<Exchange, "path">): boolean {
  return path.startsWith("/v1beta/");
}

/** Whether a client speaks to an MCP server. */
export function speaksMcp({ path }: Pick<Exchange, "path">): boolean {
  return path.startsWith("/mcp/");
}

/** An error of JSON-RPC, which clients of MCP show to their users. */
function rpcError({ rpcId }: Exchange, failure: Failure, waitSeconds?: number): object {
  const { type, message, code } = failure;
  const data = { type, code, ...(waitSeconds === undefined ? {} : { retry_after: waitSeconds }) };
  return { jsonrpc: "2.0", id: rpcId ?? null, error: { code: rpcCode(failure), message, data } };
}

/** JSON-RPC's codes; -32020 is MCP's for a header that differs from the body. */
function rpcCode({ status, param }: Failure): number {
  if (status >= 500) return -32603;
  if (status === 400) return param?.startsWith("mcp-") === true ? -32020 : -32600;
  return -32000;
}

/**
 * An error in Google's form: with the status, and with the name that Google's clients know it by.
 */
function googleEnvelope(
  status: number,
  message: string,
): {
  readonly error: { readonly code: number; readonly message: string; readonly status: string };
} {
  const name = googleStatuses.get(status) ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
  return { error: { code: status, message, status: name } };
}

/** A refusal in Google's form. Google's clients read the waiting time here, not in a header. */
function googleRefusal({ status, message }: Failure, waitSeconds: number): object {
  const retryDelay = `${Math.ceil(waitSeconds)}s`;
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }];
  const { error } = googleEnvelope(status, message);
  return { error: { ...error, details } };
}

const googleStatuses: ReadonlyMap<number, string> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);

/** Paths where errors have OpenAI's shape, whatever headers the client sends. */
const otherDialectPaths =
  /^\/(?:p|admin|v1\/(?:chat|responses|completions|embeddings|audio|images|usage|realtime))(?:\/|$)/;

/**
 * Anthropic's error types: a few statuses have one of their own; any other error of a provider or
 * of Sluice is an `api_error`.
 */
function messagesErrorType({ type, status }: Failure): string {
  return (
    messagesErrorTypes.get(status) ??
    (type === "provider_error" || type === "internal_error" ? "api_error" : type)
  );
}

const messagesErrorTypes: ReadonlyMap<number, string> = new Map([
  [402, "billing_error"],
  [403, "permission_error"],
  [413, "request_too_large"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

function errorBody({ type, message, code, param, provider }: Failure): object {
  return { error: { type, message, code, param, ...(provider === null ? {} : { provider }) } };
}

/** The daemon's refusal, and the headers of the rules if it was a budget that refused. */
type RefusalAnswer =
  | { readonly kind: "refused"; readonly breach: Breach; readonly waited?: QueueWait | undefined }
  | {
      readonly kind: "exceeded";
      readonly breach: BudgetBreach;
      readonly headers: SuccessHeaders | null;
      readonly waited?: QueueWait | undefined;
    };

/**
 * The 429 of a rule or a budget, with the waiting time (docs/reference/http-api.md, "429: a limit
 * is reached"). The request id, with which the refusal can be explained, is in the header, and in
 * the body if the operator wants it there. For some clients a long wait is worded differently
 * (`retrying-clients.ts`). If the rule bans the model, the answer is a 403 without a wait. Returns
 * the status.
 */
export function replyWithRefusal(
  exchange: Exchange,
  answer: RefusalAnswer,
  { requestIdInBody, nowMs }: { readonly requestIdInBody: boolean; readonly nowMs: number },
): number {
  const { breach } = answer;
  if (breach.dimension === "banned") {
    const banned = namesTools(breach.models)
      ? failure("tool_not_allowed", refusalMessage(breach), "tools")
      : failure("model_not_allowed", refusalMessage(breach), "model");
    replyFailure(exchange, "model", banned);
    return banned.status;
  }
  const refused = {
    ...failure(
      answer.kind === "refused" ? "rate_limit_exceeded" : "budget_exceeded",
      refusalMessage(breach),
    ),
    // Only a provider's own limit names its provider.
    provider: breach.dimension === "upstream" ? providerIn(breach.subject) : null,
  };
  exchange.failure = refused;
  const limits =
    answer.kind === "refused"
      ? [...refusalHeaders(answer.breach), ...messagesCapHeaders(exchange, answer.breach, nowMs)]
      : [...waitHeaders(breach.waitSeconds), ...successHeaders(answer.headers)];
  const headers = [...limits, ...waitedHeaders(answer.waited)];
  const isLong = isLongWait(breach.waitSeconds);
  const reworded =
    isLong && !speaksMcp(exchange)
      ? refusalForClient(exchange.header("user-agent"), breach, refused, nowMs)
      : null;
  const { status } = reworded ?? refused;
  const usualBody = (): object => {
    if (speaksGoogle(exchange)) return googleRefusal(refused, breach.waitSeconds);
    return speaksMcp(exchange)
      ? rpcError(exchange, refused, breach.waitSeconds)
      : envelopeFor(exchange, refused);
  };
  const body = reworded === null ? usualBody() : rewordedEnvelope(exchange, reworded);
  replyJson(
    exchange,
    status,
    { ...body, ...(requestIdInBody ? { request_id: exchange.id } : {}) },
    reworded === null ? headers : [...headers, ...reworded.headers],
  );
  return status;
}

/** The provider's name in `provider/model`. */
function providerIn(subject: string): string {
  return subject.slice(0, subject.indexOf("/"));
}

/** The cap of a 429 under the names of Anthropic's clients. */
function messagesCapHeaders(
  exchange: Exchange,
  { dimension, cap, waitSeconds, above }: Breach,
  nowMs: number,
): readonly string[] {
  if (above !== undefined || !speaksMessages(exchange)) return [];
  return messagesHeaders(dimension, { limit: cap, remaining: 0, resetSeconds: waitSeconds }, nowMs);
}

function rewordedEnvelope(exchange: Exchange, reworded: Refusal): object {
  const { type, message, code, fields } = reworded;
  if (speaksGoogle(exchange)) return googleEnvelope(reworded.status, message);
  return speaksMessages(exchange)
    ? { type: "error", error: { type, message } }
    : { error: { type, message, code, param: null, ...fields } };
}

/**
 * The header with the names of dropped fields. Names may be a client's own texts: characters that a
 * header can't contain become `?`.
 */
export function droppedHeaders(dropped: readonly string[]): readonly string[] {
  if (dropped.length === 0) return dropped;
  const names = dropped.map((name) => headerText(name).replaceAll(",", "?"));
  return ["x-sluice-dropped", names.join(", ")];
}

/**
 * `provider/model` as a header's value, in which all characters but plain ASCII are
 * percent-encoded.
 */
export const targetHeader = cacheLast((target: Target): string => {
  const text = targetName(target);
  return /^[\x21-\x7e]*$/.test(text) ? text : text.replace(/[^\x21-\x7e]+/g, percentEncoded);
});

function percentEncoded(piece: string): string {
  return Buffer.from(piece).toString("hex").toUpperCase().replace(/../g, "%$&");
}
