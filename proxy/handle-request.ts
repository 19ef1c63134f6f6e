/** The proxy's table of contents: route, caller, handler, log line. */

import { unreachable } from "../shared/assert.js";
import { redactKeys } from "../shared/domain/managed-key.js";
import { costUsd } from "../shared/domain/money.js";
import { targetName } from "../shared/domain/target-name.js";
import { plainFailure } from "../shared/error-code.js";
import { type Authentication, authenticate, type Caller } from "./auth/authenticate.js";
import { authorizeCaller, mustAuthorizeFirst } from "./auth/authorize-caller.js";
import type { Gateway } from "./gateway.js";
import { handleAdmin } from "./handlers/admin/admin-api.js";
import { handleAuthKeys } from "./handlers/admin/auth-keys-api.js";
import { explainRequest } from "./handlers/admin/explain-request.js";
import { replyUsage } from "./handlers/admin/usage-api.js";
import { countTokens } from "./handlers/count-tokens.js";
import { replyHealth, replyReady } from "./handlers/health.js";
import { modelRequest } from "./handlers/model-request.js";
import { passthroughRequest } from "./handlers/passthrough-request.js";
import { passthroughSession, realtimeSession } from "./handlers/realtime-session.js";
import { refuseCaller } from "./handlers/refuse-caller.js";
import { replyModel, replyModels } from "./handlers/reply-model.js";
import { storedRequest, submitBatch } from "./handlers/stored-request.js";
import type { Exchange } from "./http/exchange.js";
import { type Endpoint, type LimitedOperation, matchRoute } from "./http/match-route.js";
import { replyFailure } from "./http/respond.js";
import { headerWithProtocolKey } from "./http/web-socket-handshake.js";
import { RequestRecord } from "./request-record.js";

/** Answers one request and logs it. Never rejects: a failure of our own ends the process. */
export async function handleRequest(gateway: Gateway, exchange: Exchange): Promise<void> {
  const startedMonoMs = gateway.monoMs();
  const record = new RequestRecord(startedMonoMs);
  const serving = dispatch(gateway, exchange, record);
  if (serving !== undefined) await serving;
  logRequest(gateway, exchange, record, startedMonoMs);
}

/** Undefined when it is answered already. */
function dispatch(
  gateway: Gateway,
  exchange: Exchange,
  record: RequestRecord,
): Promise<void> | undefined {
  const match = matchRoute(exchange.method, exchange.path);
  if (match.kind === "unknown") {
    record.end(404, "refused");
    return void replyFailure(
      exchange,
      match.area,
      plainFailure(
        404,
        "not_found_error",
        `unknown API endpoint: ${exchange.method} ${exchange.path}`,
      ),
    );
  }
  if (match.kind === "wrong-method") {
    record.end(405, "refused");
    return void replyFailure(
      exchange,
      match.area,
      plainFailure(
        405,
        "invalid_request_error",
        `${exchange.method} is not allowed on ${exchange.path}: use ${match.allow}`,
      ),
      ["allow", match.allow],
    );
  }
  if (match.area === "health") {
    record.end(
      match.endpoint === "health" ? replyHealth(gateway, exchange) : replyReady(gateway, exchange),
      "answered",
    );
    return undefined;
  }
  const header = (name: string): string | undefined => exchange.header(name);
  const authentication = authenticate(
    gateway.credentials,
    match.area,
    exchange.webSocket === null ? header : headerWithProtocolKey(header),
    (name) => exchange.isRepeated(name),
  );
  if (authentication instanceof Promise)
    return authentication.then((later) => serveCaller(gateway, exchange, match, later, record));
  return serveCaller(gateway, exchange, match, authentication, record);
}

type Match = Extract<ReturnType<typeof matchRoute>, { readonly kind: "endpoint" }>;

function serveCaller(
  gateway: Gateway,
  exchange: Exchange,
  match: Match,
  authentication: Authentication,
  record: RequestRecord,
): Promise<void> | undefined {
  if (!authentication.ok) return void refuseCaller(exchange, match.area, record, authentication);
  const { caller } = authentication;
  if (caller.credential === "authenticated") record.identified(caller);
  // What goes through an admission is judged there, in the same step as the limits.
  if (isLimited(match.endpoint) && !mustAuthorizeFirst(gateway.limiter, caller, exchange))
    return serve(gateway, exchange, match.endpoint, caller, record);
  const authorized = authorizeCaller(gateway.limiter, caller, match.area);
  if (authorized instanceof Promise)
    return authorized.then((later) => serveAuthorized(gateway, exchange, match, later, record));
  return serveAuthorized(gateway, exchange, match, authorized, record);
}

type Limited = LimitedOperation | "batch_submission" | "passthrough" | "realtime";

function isLimited(endpoint: Endpoint): endpoint is Limited {
  return limited.has(endpoint);
}

const limited: ReadonlySet<Endpoint> = new Set<Limited>([
  "batch_submission",
  "passthrough",
  "realtime",
  "chat_completions",
  "responses",
  "messages",
  "embeddings",
  "speech",
  "transcriptions",
  "translations",
  "images",
]);

function serveAuthorized(
  gateway: Gateway,
  exchange: Exchange,
  match: Match,
  authorized: Authentication,
  record: RequestRecord,
): Promise<void> | undefined {
  if (!authorized.ok) return void refuseCaller(exchange, match.area, record, authorized);
  record.identified(authorized.caller);
  return serve(gateway, exchange, match.endpoint, authorized.caller, record);
}

function serve(
  gateway: Gateway,
  exchange: Exchange,
  endpoint: Endpoint,
  caller: Caller,
  record: RequestRecord,
): Promise<void> | undefined {
  switch (endpoint) {
    case "chat_completions":
    case "responses":
    case "messages":
    case "embeddings":
    case "speech":
    case "transcriptions":
    case "translations":
    case "images":
      return modelRequest(gateway, exchange, endpoint, caller, record);
    case "count_tokens":
      return countTokens(gateway, exchange, caller, record);
    case "files":
    case "batches":
      return storedRequest(gateway, exchange, endpoint, caller, record);
    case "stored_responses":
      return storedRequest(gateway, exchange, "responses", caller, record);
    case "passthrough":
      return exchange.webSocket === null
        ? passthroughRequest(gateway, exchange, caller, record)
        : passthroughSession(gateway, exchange, exchange.webSocket, caller, record);
    case "realtime":
      return realtimeSession(gateway, exchange, caller, record);
    case "batch_submission":
      return submitBatch(gateway, exchange, caller, record);
    case "model":
      return replyModel(gateway, exchange, record);
    case "models":
      return void replyModels(gateway, exchange, record);
    case "usage":
      return replyUsage(gateway, exchange, caller, record);
    case "rate-limits":
    case "rate-limits-reset-one":
    case "rate-limits-reset":
    case "budgets":
    case "budgets-reset-one":
    case "budgets-reset":
    case "budgets-settings":
      return handleAdmin(gateway, exchange, endpoint, record);
    case "auth-keys":
    case "auth-keys-deactivate":
      return handleAuthKeys(gateway, exchange, endpoint, record);
    case "explain":
      return explainRequest(gateway, exchange, record);
    case "health":
    case "ready":
      throw new Error("assertion failed: health is answered before credentials are asked for");
    default:
      return unreachable(endpoint);
  }
}

/** One line per request. Names, ids and counts only: no header and no body ever gets here. */
function logRequest(
  gateway: Gateway,
  exchange: Exchange,
  record: RequestRecord,
  startedMonoMs: number,
): void {
  const level =
    record.outcome === "answered" && (exchange.path === "/health" || exchange.path === "/ready")
      ? "debug"
      : "info";
  const text = JSON.stringify;
  let fields = `"request_id":"${exchange.id}","method":"${exchange.method}","path":${text(redactKeys(exchange.path))},"status":${record.status},"outcome":"${record.outcome}","ms":${sinceMs(startedMonoMs, gateway.monoMs())}`;
  if (record.userPath !== null) fields += `,"user_path":${text(record.userPath)}`;
  if (record.keyId !== "") fields += `,"key":"${record.keyId}"`;
  if (record.model !== null) fields += `,"model":${text(record.model)}`;
  if (record.target !== null) fields += `,"target":${text(targetName(record.target))}`;
  if (record.tried !== null)
    fields += `,"tries":${record.tries},"tried":${text(record.tried.map(({ target, why }) => ({ target: targetName(target), why })))}`;
  if (record.firstByteMonoMs !== null)
    fields += `,"first_byte_ms":${sinceMs(startedMonoMs, record.firstByteMonoMs)}`;
  if (record.usage !== null)
    fields += `,"tokens":${record.usage.totalTokens},"input_tokens":${record.usage.inputTokens},"output_tokens":${record.usage.outputTokens}`;
  if (record.cost !== null) fields += `,"cost_usd":${costUsd(record.cost)}`;
  if (record.savedBytes > 0) fields += `,"rewrite_bytes_saved":${record.savedBytes}`;
  if (record.estimated) fields += ',"estimated":true';
  if (record.note !== null) fields += `,"note":${text(record.note)}`;
  gateway.log.line(level, fields, "request");
}

/** Milliseconds with one decimal. */
function sinceMs(fromMonoMs: number, toMonoMs: number): number {
  return Math.round((toMonoMs - fromMonoMs) * 10) / 10;
}
