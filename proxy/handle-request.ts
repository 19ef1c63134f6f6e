/**
 * Dispatches each request: route, caller, handler, log line. The HTTP server calls it with an
 * exchange, from which handlers read the request and to which they write the response.
 */
import { type Failure, failure } from "../shared/error-code.js";
import { authenticate, authenticateScrape, showsKey } from "./auth/authenticate.js";
import {
  type Authentication,
  authorizeCaller,
  callerName,
  mustAuthorizeFirst,
} from "./auth/caller.js";
import { answeredPreflight } from "./auth/cors.js";
import { authenticateSession, cookieOf } from "./auth/session/authenticate-session.js";
import { clientAddress } from "./auth/session/client-address.js";
import { webPageProblem } from "./auth/web-page.js";
import { runningPerCallerMax } from "./capacity/unlimited-requests.js";
import { serveDashboard } from "./dashboard/serve-dashboard.js";
import type { Gateway } from "./gateway.js";
import { serveAdmin } from "./handlers/admin/serve-admin.js";
import { replyUsage } from "./handlers/admin/usage-api.js";
import { countTokens } from "./handlers/count-tokens.js";
import { streamLive } from "./handlers/dashboard/live-stream.js";
import { serveSession } from "./handlers/dashboard/sign-in.js";
import { finishSignIn, startSignIn } from "./handlers/dashboard/sign-in-oidc.js";
import { failRequest } from "./handlers/fail-request.js";
import { mayReadDetails, replyHealth, replyHello, replyReady } from "./handlers/health.js";
import { answerModel, answerModels } from "./handlers/list-models.js";
import { mcpRequest, mcpSession } from "./handlers/mcp-request.js";
import { modelRequest } from "./handlers/model-request.js";
import { providerObjectRequest } from "./handlers/objects/provider-objects.js";
import { submitBatch } from "./handlers/objects/submit-batch.js";
import { replyOpenapi } from "./handlers/openapi/reply-openapi.js";
import { passthroughRequest } from "./handlers/passthrough-request.js";
import { passthroughSession, realtimeSession } from "./handlers/realtime-session.js";
import {
  refuseBeforeAdmission,
  refuseCaller,
  refuseOverloaded,
  refuseRoute,
} from "./handlers/refuse-request.js";
import {
  beginTrace,
  countRequest,
  endTrace,
  logBug,
  logRequest,
  reportDetails,
} from "./handlers/report-request.js";
import { responsesSocket } from "./handlers/responses-socket.js";
import { serveLimiterMetrics, serveMetrics } from "./handlers/serve-metrics.js";
import type { Exchange } from "./http/exchange.js";
import {
  type Area,
  areaOf,
  type Endpoint,
  isModelOperation,
  isPublic,
  isScrape,
  matchRoute,
  meetsLimits,
  type PublicEndpoint,
  type RouteMatch,
  type UnlimitedEndpoint,
} from "./http/match-route.js";
import { unknownOwnHeader } from "./http/own-headers.js";
import { replyFailure, speaksMessages } from "./http/respond.js";
import { parseTraceparent } from "./http/trace-context.js";
import { withProtocolKey } from "./http/web-socket-handshake.js";
import type { RequestContext } from "./request-context.js";
import { RequestRecord } from "./request-record.js";
import { searchingRequest } from "./web-search/search-turns.js";

/**
 * Answers one request and reports it. An exception ends only this request, except
 * `BrokenLimiterState`, which rejects and ends the process.
 */
export async function handleRequest(gateway: Gateway, exchange: Exchange): Promise<void> {
  const record = new RequestRecord(gateway.monoMs());
  try {
    // Read first: a closed connection has no address.
    const { trustedProxies } = gateway.config.server;
    record.clientAddress =
      trustedProxies.length === 0
        ? exchange.remoteAddress
        : clientAddress(exchange, trustedProxies);
    const traceparent = exchange.header("traceparent");
    if (traceparent !== undefined) record.traceId = parseTraceparent(traceparent)?.traceId ?? "";
    await answerRequest(gateway, exchange, record);
  } catch (error) {
    failRequest({ gateway, exchange, record }, error);
  }
  exchange.memory.onHandlerEnd();
  try {
    if (record.bug !== null) logBug(gateway.log, exchange.id, record.bug);
    const ended = { exchange, record, endedMonoMs: gateway.monoMs() };
    logRequest(gateway, ended);
    countRequest(gateway, ended);
    reportDetails(gateway, ended);
    if (record.trace !== null) endTrace(ended);
  } catch (error) {
    logBug(gateway.log, exchange.id, error);
  }
}

/** Neither this nor `answerCaller` is async: a promise per request costs time. */
function answerRequest(
  gateway: Gateway,
  exchange: Exchange,
  record: RequestRecord,
): Promise<void> | void {
  const match = matchRoute(exchange.method, exchange.path, gateway.served);
  if (gateway.pages.origins.size > 0 && answeredPreflight(gateway.pages.origins, exchange, match))
    return record.end(204, "answered");
  const isProbe = match.kind === "endpoint" && match.area === "health";
  if (!isProbe && isOverloaded(gateway)) return refuseOverloaded(gateway, exchange, record);
  if (match.kind !== "endpoint") return refuseRoute(exchange, record, match);
  const { endpoint, area } = match;
  record.route = match.route;
  if (meetsLimits(endpoint)) record.endpoint = endpoint;
  if (gateway.tracing !== null && area === "model")
    beginTrace(gateway.tracing, { exchange, record });
  const received = { gateway, exchange, record };
  if (isPublic(endpoint)) return answerPublic(received, endpoint);
  const identified = isScrape(endpoint)
    ? authenticateScrape(gateway.credentials, gateway.served, exchange)
    : authenticateRequest(gateway, exchange, match);
  const answer = (authentication: Authentication): Promise<void> | void =>
    answerCaller(received, { endpoint, area }, authentication);
  return identified instanceof Promise ? identified.then(answer) : answer(identified);
}

/** Whether no further request can be served now. */
function isOverloaded({ capacity: { connections, files } }: Pick<Gateway, "capacity">): boolean {
  return connections.isFull || files.isExhausted;
}

/** A request whose caller isn't known yet. */
type ReceivedContext = Omit<RequestContext, "caller">;

async function answerPublic(
  { gateway, exchange, record }: ReceivedContext,
  endpoint: PublicEndpoint,
): Promise<void> {
  if (endpoint === "dashboard-session") return serveSession({ gateway, exchange, record });
  if (endpoint === "dashboard-sign-in") return startSignIn({ gateway, exchange, record });
  if (endpoint === "dashboard-callback") return finishSignIn({ gateway, exchange, record });
  if (endpoint === "hello") {
    record.end(200, "answered");
    return replyHello(exchange);
  }
  if (endpoint === "openapi")
    return record.end(await replyOpenapi(gateway.loadOpenapi, exchange), "answered");
  if (endpoint === "dashboard") {
    const status = await serveDashboard(gateway.loadDashboard, exchange);
    return record.end(status, status < 400 ? "answered" : "refused");
  }
  const problem = pageProblem(gateway, exchange);
  if (endpoint === "ready") {
    const isTrusted = !gateway.credentials.open || problem === null;
    return record.end(replyReady(gateway, exchange, isTrusted), "answered");
  }
  const isDetailed = await mayReadDetails(gateway, exchange, problem);
  record.end(replyHealth(gateway, exchange, isDetailed), "answered");
}

type CallerEndpoint = { readonly endpoint: Exclude<Endpoint, PublicEndpoint>; readonly area: Area };

function answerCaller(
  received: ReceivedContext,
  { endpoint, area }: CallerEndpoint,
  authentication: Authentication,
): Promise<void> | void {
  if (!authentication.ok) return refuseCaller(received, area, authentication);
  const { caller } = authentication;
  const { gateway, exchange, record } = received;
  if (caller.credential === "authenticated") record.setCaller(caller);
  const failure = caller.credential === "none" ? pageProblem(gateway, exchange) : null;
  if (failure !== null) return refuseCaller(received, area, { ok: false, failure });
  const context = { gateway, exchange, caller, record };
  if (area === "model") {
    const problem = unknownOwnHeader(exchange, gateway.credentials.userPathHeader);
    if (problem !== null) return refuseBeforeAdmission(context, problem);
  }
  // The admission of a limited request also checks its caller, in one round trip to the daemon.
  return meetsLimits(endpoint) && !mustAuthorizeFirst(gateway, caller, exchange)
    ? serve(context, endpoint)
    : answerAuthorizedCaller(context, { endpoint, area });
}

async function answerAuthorizedCaller(
  { gateway, exchange, caller, record }: RequestContext,
  { endpoint, area }: CallerEndpoint,
): Promise<void> {
  const askedMonoMs = gateway.monoMs();
  // A scrape must work while the daemon is away.
  const access = isScrape(endpoint) ? "scrape" : area;
  const authorized = await authorizeCaller(gateway.limiter, caller, access);
  record.addWait(gateway.monoMs() - askedMonoMs);
  if (!authorized.ok) return refuseCaller({ exchange, record }, area, authorized);
  record.setCaller(authorized.caller);
  const context = { gateway, exchange, caller: authorized.caller, record };
  return meetsLimits(endpoint)
    ? serve(context, endpoint)
    : serveUnlimitedEndpoint(context, endpoint);
}

/** The caller by the key in the request, usually without waiting, or by a dashboard session. */
function authenticateRequest(
  gateway: Gateway,
  exchange: Exchange,
  match: Extract<RouteMatch, { readonly kind: "endpoint" }>,
): Authentication | Promise<Authentication> {
  const { credentials, limiter, served } = gateway;
  const { area, endpoint } = match;
  const mayHaveSession = served !== "models" && (area === "admin" || endpoint === "usage");
  const cookie = mayHaveSession && !showsKey(exchange) ? cookieOf(gateway, exchange) : null;
  // An open gateway ignores stale cookies.
  if (cookie !== null && !(credentials.open && limiter.notices.keysExist !== true))
    return authenticateSession(gateway, area, exchange, cookie);
  return authenticate(
    credentials,
    area,
    exchange.webSocket === null ? exchange : withProtocolKey(exchange),
  );
}

/** No rule limits these requests, so `runningPerCallerMax` bounds them. */
async function serveUnlimitedEndpoint(
  context: RequestContext,
  endpoint: UnlimitedEndpoint,
): Promise<void> {
  const { gateway, exchange, caller, record } = context;
  const name = callerName(caller);
  if (!gateway.runningPerCaller.begin(endpoint, name)) {
    record.end(503, "overloaded");
    const message = `${runningPerCallerMax[endpoint]} such requests of this caller are running already`;
    return replyFailure(exchange, areaOf(exchange.path), failure("overloaded", message));
  }
  try {
    const turn = gateway.fairTurns.take(name);
    if (turn !== null) await turn;
    if (exchange.gone) return record.end(499, "client_gone");
    await serve(context, endpoint);
  } finally {
    gateway.runningPerCaller.end(endpoint, name);
  }
}

/** Why an open gateway refuses a request from a web page; null if it doesn't. */
function pageProblem(
  { limiter, pages }: Pick<Gateway, "limiter" | "pages">,
  exchange: Exchange,
): Failure | null {
  return limiter.notices.keysExist === true ? null : webPageProblem(exchange, pages);
}

function serve(
  context: RequestContext,
  endpoint: Exclude<Endpoint, PublicEndpoint>,
): Promise<void> {
  if (isModelOperation(endpoint)) {
    const { webSearch } = context.gateway;
    return webSearch === null
      ? modelRequest(context, endpoint)
      : searchingRequest(context, endpoint, webSearch);
  }
  switch (endpoint) {
    case "count_tokens":
    case "input_tokens":
    case "count_content_tokens":
      return countTokens(context, endpoint);
    case "files":
      // OpenAI and Anthropic both use this path.
      return providerObjectRequest(
        context,
        speaksMessages(context.exchange) ? "message_files" : endpoint,
      );
    case "batches":
    case "uploads":
    case "containers":
    case "conversations":
    case "message_batches":
      return providerObjectRequest(context, endpoint);
    case "stored_responses":
      return providerObjectRequest(context, "responses");
    case "stored_interactions":
      return providerObjectRequest(context, "interactions");
    case "batch_submission":
      return submitBatch(context, "batches");
    case "message_batch_submission":
      return submitBatch(context, "message_batches");
    case "passthrough":
      return context.exchange.webSocket === null
        ? passthroughRequest(context)
        : passthroughSession(context, context.exchange.webSocket);
    case "mcp":
      return mcpRequest(context);
    case "mcp_session":
      return mcpSession(context);
    case "realtime":
      return realtimeSession(context);
    case "responses_socket":
      return responsesSocket(context, (exchange) => handleRequest(context.gateway, exchange));
    case "model":
      return answerModel(context);
    case "models":
      return answerModels(context);
    case "usage":
      return replyUsage(context);
    case "metrics":
      return serveMetrics(context);
    case "metrics-limiter":
      return serveLimiterMetrics(context);
    case "live":
      return streamLive(context);
    default:
      return serveAdmin(context, endpoint);
  }
}
