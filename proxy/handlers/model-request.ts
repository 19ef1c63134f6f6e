/**
 * A request to a model, in the order of its steps: read, resolve, ask the cache, admit, forward,
 * fail over, settle. A `ModelCall` is the request as read: `json-call.ts` makes it from JSON,
 * `multipart-call.ts` from forms.
 */

import { assert } from "../../shared/assert.js";
import { invalid } from "../../shared/error-code.js";
import { prewarm } from "../dialects/responses-to-chat/warm-up.js";
import type { Gateway } from "../gateway.js";
import { type RequestBounds, requestBounds } from "../hard-caps/request-bounds.js";
import type { Exchange } from "../http/exchange.js";
import { keptAliveExchange } from "../http/exchanges/kept-alive-exchange.js";
import type { ModelOperation } from "../http/match-route.js";
import { foreignInCall, mayContinue, targetsOfMaker } from "../objects/object-access.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned } from "../routing/model-catalog.js";
import { type Route, requestedName, resolveModel } from "../routing/resolve-model.js";
import { sessionOf } from "../routing/session.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import { wantsEvents } from "../upstream/upstream-path.js";
import {
  admitRequest,
  limitHeaders,
  metersOf,
  refuseUnread,
  settleRequest,
} from "./admit-and-settle.js";
import { answerWarmUp } from "./answer-warm-up.js";
import { askCache, bypassed } from "./ask-cache.js";
import { type FailOver, failOver } from "./attempts/fail-over.js";
import { sendToTarget } from "./attempts/send-to-target.js";
import { ableTargets, orderedTargets, withTools } from "./choose-targets.js";
import { readJsonCall } from "./json-call.js";
import {
  type AdmittedCall,
  type ModelCall,
  namesOf,
  problemAt,
  type ReadCall,
} from "./model-call.js";
import { readMultipartCall } from "./multipart-call.js";
import { refuseBeforeAdmission, refuseUnknownModel } from "./refuse-request.js";
import { useOtherModel } from "./use-other-model.js";
import { noteAnsweredTurn, refuseLoop, watchTurn } from "./watch-loop.js";

/**
 * Never rejects. One function, since a promise per step costs time. A plain request skips what only
 * others need: loops, cache, hard caps and other models, whose values are null for it.
 *
 * `received` is the request as it came, `incoming` sends keep-alives, and `context` keeps the
 * answer for the cache; for a plain request they are the same.
 */
export async function modelRequest(
  received: RequestContext,
  operation: ModelOperation,
): Promise<void> {
  const { gateway, record } = received;
  // Read. A compressed body is only decoded if the caller has requests left.
  const isCompressed = received.exchange.header("content-encoding") !== undefined;
  if (isCompressed && (await refuseUnread(received))) return;
  const result = await readCall(received, operation);
  if (!result.ok) return refuseBeforeAdmission(received, result.failure);
  const { call } = result;
  try {
    // A caller may name only its own stored objects.
    const { naming } = call;
    const foreign = naming === null ? null : await foreignInCall(gateway, received.caller, naming);
    if (foreign !== null) return await refuseBeforeAdmission(received, foreign);
    // Null unless it sends keep-alives while its stream is silent.
    const keptAlive = call.stream
      ? keptAliveExchange(received.exchange, call.operation, gateway)
      : null;
    const incoming = keptAlive === null ? received : { ...received, exchange: keptAlive };
    record.model = call.model;
    record.stream = call.stream;
    record.session = sessionOf(received.exchange, call);

    // Resolve the model.
    const route =
      resolveModel(gateway.models.current(), call.model) ??
      (await resolveOnceLearned(gateway, call.model)) ??
      agentRoute(gateway, call);
    if (route === null) return await refuseModel(incoming, call);
    record.requestedModel = requestedName(route);
    const watchedTurn = call.turn === null ? null : watchTurn(received, call, call.turn);
    const isSuspect = watchedTurn !== null && gateway.loops.suspects(watchedTurn);
    if (isSuspect && (await refuseLoop(incoming, watchedTurn))) return;
    const modelNames = namesOf(gateway, call, route);
    const cached =
      gateway.caching === null ? bypassed : await askCache(incoming, { call, route, modelNames });
    if (cached.kind === "answered") return;
    const context = cached.kind === "miss" ? cached.context : incoming;

    // Choose the targets.
    const inOrder = orderedTargets(received, call, route);
    const ordered =
      inOrder.length > 1 && mayContinue(call)
        ? await targetsOfMaker(gateway, call, inOrder)
        : inOrder;
    const usable = ableTargets(incoming, call, ordered);
    if (usable.length === 0) {
      const problem = problemAt(gateway, call, ordered[0]!)!;
      return problem.param === prewarm
        ? await answerWarmUp(incoming, { call, modelNames })
        : await refuseBeforeAdmission(incoming, problem);
    }
    const tools = received.searches === true ? ["web_search"] : call.carriedTools;
    // `targets`: without those that fail now; `all`: for a failover.
    const { targets, all } = gateway.targetHealth.candidates(withTools(usable, tools));

    // Admit.
    const bounds = gateway.limiter.notices.hasHardLimits ? boundsOf(call, received.exchange) : null;
    const onPlace = keptAlive?.onPlace;
    const limited = {
      targets,
      model: call.model,
      modelNames,
      maySwitchModel: true,
      bounds,
      onPlace,
    };
    const outcome = await admitRequest(context, limited);
    if (outcome === null) return;
    const served =
      "use" in outcome
        ? await useOtherModel(context, { call, tools, route, all, limited, exhausted: outcome })
        : { admitted: outcome, call, route, all };
    if (served === null) return;

    // Forward, then settle.
    const { admission } = served.admitted;
    keptAlive?.keepAlive(limitHeaders(context, served.admitted));
    const forwarded = await sendAdmittedCall(context, served, bounds);
    if (watchedTurn !== null) noteAnsweredTurn(received, watchedTurn, forwarded);
    const isKept = cached.kind === "miss" && served.route === route;
    settleRequest(
      context,
      admission,
      isKept ? cached.keepAfter(forwarded, admission.target) : forwarded,
    );
  } finally {
    call.close();
  }
}

function refuseModel(
  context: RequestContext,
  { isDefaultModel, model }: Pick<ModelCall, "isDefaultModel" | "model">,
): Promise<void> {
  return isDefaultModel
    ? refuseBeforeAdmission(context, invalid("model is required", "model"))
    : refuseUnknownModel(context, model);
}

/** The route of an agent without a provider: the first provider that has interactions. */
function agentRoute({ providers }: Gateway, call: ModelCall): Route | null {
  if (!call.isAgent) return null;
  for (const { config } of providers.values())
    if (config.operations.has(call.operation))
      return { kind: "direct", targets: [{ provider: config.name, model: call.model }] };
  return null;
}

function readCall(context: RequestContext, operation: ModelOperation): Promise<ReadCall> {
  switch (operation) {
    case "transcriptions":
    case "translations":
    case "image_edits":
    case "image_variations":
      return readMultipartCall(operation, context);
    default:
      return readJsonCall(operation, context);
  }
}

/** Sends the call to the target that the daemon chose, and after a failure to others. */
function sendAdmittedCall(
  context: RequestContext,
  { admitted, call, route, all }: AdmittedCall,
  bounds: RequestBounds | null,
): Promise<ForwardResult> {
  const { admission } = admitted;
  const { target } = admission;
  assert(target !== null, "an admitted request has a target");
  const hasFallback = all.length > 1 && call.isRepeatable;
  const headers = limitHeaders(context, admitted);
  const first = sendToTarget(context, { target, call, route, headers, hasFallback, bounds });
  if (!hasFallback) return first;
  const sendNext: FailOver["send"] = (next, itsHeaders, hasNext) =>
    sendToTarget(context, {
      target: next,
      call,
      route,
      headers: itsHeaders,
      hasFallback: hasNext,
      bounds,
    });
  const meters = bounds === null ? undefined : metersOf(context.gateway, bounds);
  return first.then((forwarded) =>
    forwarded.failed === null
      ? forwarded
      : failOver(context, { admission, targets: all, metersOf: meters, send: sendNext }, forwarded),
  );
}

/** The most that a request may use. */
function boundsOf(call: ModelCall, { query }: Pick<Exchange, "query">): RequestBounds {
  const { operation, body, promptBytes: bytes, stream } = call;
  const isStream = operation === "stream_generate_content" ? wantsEvents(query) : stream;
  return requestBounds({ operation, body, bytes, isStream });
}
