/**
 * A WebSocket to a provider, in the order in which it happens: resolve, admit, open, settle. All is
 * judged before it opens, so a refusal is a plain answer. One request, one slot and one settle for
 * the whole of it.
 */
import { type Failure, invalid, plainFailure } from "../../shared/error-code.js";
import type { Target } from "../../shared/wire/message.js";
import type { Caller } from "../auth/authenticate.js";
import { modelInPath, usableModel } from "../body/passthrough-model.js";
import type { Gateway } from "../gateway.js";
import type { ClientSocket, Exchange } from "../http/exchange.js";
import { successHeaders, targetHeader } from "../http/respond.js";
import { handshakeHeaders, isCrossOrigin } from "../http/web-socket-handshake.js";
import type { RequestRecord } from "../request-record.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import { notOffered } from "../routing/not-offered.js";
import { resolveModel } from "../routing/resolve-model.js";
import { tunnelSession } from "../upstream/passthrough/tunnel-session.js";
import {
  exchangeParameter,
  isCleanQuery,
  parameterOf,
  passedQuery,
} from "../upstream/passthrough-path.js";
import {
  type Admitted,
  admitRequest,
  refuseUnadmitted,
  settleRequest,
} from "./admitted-request.js";
import { passthroughRoute } from "./passthrough-request.js";

/**
 * GET /v1/realtime?model=…: the first target that admits; what it was opened at, it stays at. Never
 * rejects.
 */
export async function realtimeSession(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure, headers?: readonly string[]): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what, headers);
  const { webSocket, query } = exchange;
  if (webSocket === null)
    return refuse(
      plainFailure(
        426,
        "invalid_request_error",
        "/v1/realtime is for WebSockets: ask for an upgrade",
      ),
      ["upgrade", "websocket", "connection", "upgrade, close"],
    );
  const problem =
    pageProblem(exchange, caller) ??
    (isCleanQuery(query) ? null : invalid("the query holds a character that has no place there"));
  if (problem !== null) return refuse(problem);
  const name = parameterOf(query, "model") ?? "";
  if (name.trim() === "")
    return refuse(invalid("model is required, in the query: /v1/realtime?model=…", "model"));
  record.model = name;
  const route =
    resolveModel(gateway.models.current(), name) ?? (await resolveOnceLearned(gateway, name));
  if (route === null) return refuse(unknownModel(name));
  const ordered = gateway.targetOrder.order(route);
  // A simulator's configuration may claim it; there is nothing behind one.
  const targets = ordered.filter(
    ({ provider }) =>
      gateway.passthroughUpstreams.has(provider) &&
      gateway.providers.get(provider)!.operations.has("realtime"),
  );
  if (targets.length === 0)
    return refuse(notOffered(gateway.providers.get(ordered[0]!.provider)!, "realtime"));
  const admitted = await admitRequest(gateway, exchange, { caller, targets, model: name }, record);
  if (admitted === null) return;
  const target = admitted.admission.target!;
  await runSession(
    gateway,
    exchange,
    { webSocket, admitted, target, path: realtimePath(gateway, target, query), asIs: false },
    record,
  );
}

/** A WebSocket at `/p/…`: any path of the provider's. Never rejects. */
export async function passthroughSession(
  gateway: Gateway,
  exchange: Exchange,
  webSocket: ClientSocket,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what);
  const route = passthroughRoute(gateway, exchange);
  if ("status" in route) return refuse(route);
  const problem = pageProblem(exchange, caller);
  if (problem !== null) return refuse(problem);
  const model =
    modelInPath(route.path) ||
    usableModel(
      parameterOf(exchange.query, "model") ?? parameterOf(exchange.query, "deployment") ?? "",
    );
  record.model = model === "" ? null : model;
  const target = { provider: route.provider.name, model };
  const admitted = await admitRequest(
    gateway,
    exchange,
    { caller, targets: [target], model },
    record,
  );
  if (admitted === null) return;
  await runSession(
    gateway,
    exchange,
    { webSocket, admitted, target, path: route.path + route.query, asIs: true },
    record,
  );
}

function pageProblem(exchange: Exchange, { credential }: Caller): Failure | null {
  if (credential !== "none" || !isCrossOrigin((name) => exchange.header(name))) return null;
  return plainFailure(
    403,
    "permission_error",
    "an open gateway takes no WebSocket from a page that isn't this host's",
  );
}

/** Azure's dated API calls the model a deployment. */
function realtimePath(
  { providers }: Gateway,
  { provider: name, model }: Target,
  query: string,
): string {
  const { baseUrl, apiVersion } = providers.get(name)!;
  const base = new URL(baseUrl).pathname.replace(/\/$/, "");
  return `${base}/realtime?${exchangeParameter(passedQuery(query, apiVersion).slice(1), "model", apiVersion === null ? "model" : "deployment", model)}`;
}

interface Session {
  readonly webSocket: ClientSocket;
  readonly admitted: Admitted;
  readonly target: Target;
  readonly path: string;
  /** The provider's answers pass as they are; else they are put into our shape. */
  readonly asIs: boolean;
}

async function runSession(
  gateway: Gateway,
  exchange: Exchange,
  { webSocket, admitted, target, path, asIs }: Session,
  record: RequestRecord,
): Promise<void> {
  const forwarded = await tunnelSession(exchange, webSocket, {
    upstream: gateway.passthroughUpstreams.get(target.provider)!,
    provider: target.provider,
    path,
    requestHeaders: handshakeHeaders(exchange.rawHeaders, gateway.config.server.userPathHeader),
    limits: successHeaders(admitted.headers),
    headers: ["x-request-id", exchange.id, "x-sluice-target", targetHeader(target)],
    asIs,
    sessions: gateway.sessions,
    monoMs: gateway.monoMs,
  });
  settleRequest(gateway, exchange, admitted.admission, forwarded, record);
}
