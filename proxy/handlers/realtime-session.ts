/**
 * A WebSocket to a provider, in the order of its steps: resolve, admit, open, settle. It is
 * admitted before it opens, so a refusal is a plain HTTP answer. A session is one request with one
 * slot, and each response is charged when it ends.
 */
import { assert } from "../../shared/assert.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { modelNameProblem, sentModel, type Target } from "../../shared/domain/target-name.js";
import { type Failure, invalid, plainFailure } from "../../shared/error-code.js";
import { deploymentInPath, modelInPath, modelsInQuery } from "../body/passed/passthrough-model.js";
import { outputTokensMaxOf } from "../dialects/fit/target-traits.js";
import { providerOf } from "../gateway.js";
import type { ClientSocket } from "../http/exchange.js";
import { admittedHeaders } from "../http/limit-headers.js";
import { targetHeader } from "../http/respond.js";
import { handshakeHeaders } from "../http/web-socket-handshake.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned } from "../routing/model-catalog.js";
import { allowableNames, requestedName, resolveModel } from "../routing/resolve-model.js";
import { sessionOf } from "../routing/session.js";
import type { PassthroughUpstream } from "../upstream/passthrough/passthrough-upstream.js";
import { tunnelSession } from "../upstream/passthrough/tunnel-session.js";
import {
  isCleanQuery,
  parameterOf,
  passedQuery,
  replaceParameter,
} from "../upstream/passthrough-path.js";
import {
  type AdmittedRequest,
  admitRequest,
  settleProgress,
  settleRequest,
} from "./admit-and-settle.js";
import { notOfferedFailure } from "./model-call.js";
import { admitAt, passthroughRoute } from "./passthrough-request.js";
import { refuseBeforeAdmission, refuseUnknownModel } from "./refuse-request.js";

/** GET /v1/realtime?model=…: the session stays at the target that admitted it. Never rejects. */
export async function realtimeSession(context: RequestContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const { webSocket, query } = exchange;
  if (webSocket === null)
    return refuseBeforeAdmission(
      context,
      plainFailure(426, "invalid_request_error", "/v1/realtime needs a WebSocket upgrade"),
      ["upgrade", "websocket", "connection", "upgrade, close"],
    );
  if (!isCleanQuery(query))
    return refuseBeforeAdmission(context, invalid("the query contains an invalid character"));
  if (modelsInQuery(query).length > 1) return refuseBeforeAdmission(context, twoModels());
  const name = parameterOf(query, "model") ?? "";
  if (name.trim() === "")
    return refuseBeforeAdmission(
      context,
      invalid("model is required, in the query: /v1/realtime?model=…", "model"),
    );
  const nameProblem = modelNameProblem(name);
  if (nameProblem !== null) return refuseBeforeAdmission(context, invalid(nameProblem, "model"));
  record.model = name;
  record.session = sessionOf(exchange, null);
  const route =
    resolveModel(gateway.models.current(), name) ?? (await resolveOnceLearned(gateway, name));
  if (route === null) return refuseUnknownModel(context, name);
  record.requestedModel = requestedName(route);
  const ordered = gateway.targetOrder.order(route);
  // A simulator's configuration may offer it, but a simulator has no passthrough upstream.
  const targets = ordered.filter((target) => {
    const { config, passthrough } = providerOf(gateway, target);
    return passthrough !== null && config.operations.has("realtime");
  });
  if (targets.length === 0)
    return refuseBeforeAdmission(
      context,
      notOfferedFailure(providerOf(gateway, ordered[0]!).config, "realtime"),
    );
  const admitted = await admitRequest(context, {
    targets: gateway.targetHealth.candidates(targets).targets,
    model: name,
    modelNames: allowableNames(gateway.models.current(), route),
  });
  if (admitted === null) return;
  const target = admitted.admission.target!;
  const { config, passthrough } = providerOf(gateway, target);
  assert(passthrough !== null, "only targets with a passthrough upstream are admitted");
  const path = realtimePath(config, sentModel(target), query);
  await runSession(context, {
    webSocket,
    admitted,
    target,
    upstream: passthrough,
    path,
    passesAsIs: false,
  });
}

/** A WebSocket at `/p/…`, to any path of the provider. Never rejects. */
export async function passthroughSession(
  context: RequestContext,
  webSocket: ClientSocket,
): Promise<void> {
  const { exchange } = context;
  const routed = passthroughRoute(context);
  if (!routed.ok) return refuseBeforeAdmission(context, routed.failure);
  const { route } = routed;
  const inQuery = modelsInQuery(exchange.query);
  if (inQuery.length > 1) return refuseBeforeAdmission(context, twoModels());
  const model = modelInPath(route.path) || deploymentInPath(route.path) || (inQuery[0] ?? "");
  const admission = await admitAt(context, route, model);
  if (admission === null) return;
  const { target, admitted } = admission;
  const path = route.path + route.query;
  await runSession(context, {
    webSocket,
    admitted,
    target,
    upstream: route.upstream,
    path,
    passesAsIs: true,
  });
}

/** The failure for two models in the query: providers differ in which one they accept. */
function twoModels(): Failure {
  return invalid("model is given more than once", "model");
}

/** Azure's dated API calls the model a deployment. */
function realtimePath(
  { baseUrl, apiVersion }: ProviderConfig,
  model: string,
  query: string,
): string {
  const base = new URL(baseUrl).pathname.replace(/\/$/, "");
  const passed = passedQuery(query, apiVersion).slice(1);
  const name = apiVersion === null ? "model" : "deployment";
  return `${base}/realtime?${replaceParameter(passed, "model", name, model)}`;
}

interface Session {
  readonly webSocket: ClientSocket;
  readonly admitted: AdmittedRequest;
  readonly target: Target;
  readonly upstream: PassthroughUpstream;
  readonly path: string;
  /** Whether errors of the provider pass unchanged, or get Sluice's shape. */
  readonly passesAsIs: boolean;
}

async function runSession(
  context: RequestContext,
  { webSocket, admitted, target, upstream, path, passesAsIs }: Session,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const { targetHealth } = gateway;
  const startedMonoMs = gateway.monoMs();
  const traced = {
    target,
    operation: passesAsIs ? null : ("realtime" as const),
    stream: false,
    resent: 0,
  };
  const trace = record.trace?.attempt(traced, startedMonoMs) ?? null;
  const { config } = providerOf(gateway, target);
  // Its events have no headers; an answer shows that the provider serves the model.
  const observeLimits =
    config.upstreamLimits.mode === "avoid" && config.upstreamLimits.adaptive === null
      ? gateway.limitReports.observerOf({ config, upstream: null, target, size: () => 0 })
      : undefined;
  const forwarded = await tunnelSession(exchange, webSocket, {
    upstream,
    provider: target.provider,
    path,
    requestHeaders: handshakeHeaders(
      exchange.rawHeaders,
      providerOf(gateway, target).passed,
      trace,
    ),
    limits: admittedHeaders(admitted),
    headers: ["x-sluice-target", targetHeader(target)],
    passesAsIs,
    sessions: gateway.sessions,
    modelOutputMax: outputTokensMaxOf(providerOf(gateway, target).config, target.model),
    onProgress(spent) {
      targetHealth.noteAnswered(target, startedMonoMs);
      const nowMonoMs = gateway.monoMs();
      observeLimits?.({
        status: 200,
        rawHeaders: [],
        body: "",
        sentMonoMs: startedMonoMs,
        firstByteMonoMs: nowMonoMs,
      });
      settleProgress(context, admitted.admission, spent);
    },
    monoMs: gateway.monoMs,
  });
  trace?.ended(forwarded, gateway.monoMs());
  if (!passesAsIs) targetHealth.noteDirect(target, startedMonoMs, forwarded);
  settleRequest(context, admitted.admission, forwarded);
}
