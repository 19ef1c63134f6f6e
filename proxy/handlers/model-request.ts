/**
 * A request to a model, in the order of its steps: read, resolve, ask the cache, admit, forward,
 * fail over, settle.
 */

import { assert } from "../../shared/assert.js";
import type { LoopRule } from "../../shared/domain/loop-rule.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import type { Target } from "../../shared/domain/target-name.js";
import { invalid } from "../../shared/error-code.js";
import { authorizeCaller, modelProblem } from "../auth/caller.js";
import { prewarm } from "../dialects/responses-to-chat/warm-up.js";
import { makerOf } from "../dialects/shared/made-by.js";
import { type Gateway, providerOf } from "../gateway.js";
import { type RequestBounds, requestBounds } from "../hard-caps/request-bounds.js";
import type { Exchange } from "../http/exchange.js";
import { keptAliveExchange } from "../http/exchanges/kept-alive-exchange.js";
import type { ModelOperation } from "../http/match-route.js";
import { fallbackHeader } from "../http/own-headers.js";
import { foreignInCall, makerOnly, mayContinue } from "../objects/object-access.js";
import type { RequestContext } from "../request-context.js";
import { conversationOf, withOwnFirst } from "../routing/affinity.js";
import { resolveOnceLearned } from "../routing/model-catalog.js";
import {
  type Route,
  requestedName,
  resolveModel,
  type VirtualRoute,
  type WeightedTarget,
} from "../routing/resolve-model.js";
import { sessionOf } from "../routing/session.js";
import type { Forwarded } from "../upstream/forwarded.js";
import { wantsEvents } from "../upstream/upstream-path.js";
import {
  type AdmittedRequest,
  admitRequest,
  type Exhausted,
  isRefusedUnread,
  type LimitedRequest,
  limitHeaders,
  metersOf,
  refuseUnadmitted,
  refuseUnknownModel,
  settleRequest,
} from "./admit-and-settle.js";
import { answerWarmUp } from "./answer-warm-up.js";
import { askCache, bypassed } from "./ask-cache.js";
import { type FailOver, failOver } from "./attempts/fail-over.js";
import { hasSeveralAccounts, sendToTarget } from "./attempts/send-to-target.js";
import { readJsonCall } from "./json-call.js";
import { type AgentTurn, loopDetected, loopHeader, type WatchedTurn } from "./loop-breaker.js";
import { type ModelCall, namesOf, problemAt, type ReadCall } from "./model-call.js";
import { readMultipartCall } from "./multipart-call.js";

/** Never rejects. One function, since a promise per step costs time. */
export async function modelRequest(
  received: RequestContext,
  operation: ModelOperation,
): Promise<void> {
  const { gateway, record } = received;
  // Checked first, to save a promise.
  const isCompressed = received.exchange.header("content-encoding") !== undefined;
  if (isCompressed && (await isRefusedUnread(received))) return;
  const read = await readCall(received, operation);
  if (!read.ok) return refuseUnadmitted(received, read.failure);
  const { call } = read;
  try {
    const { naming } = call;
    const foreign = naming === null ? null : await foreignInCall(gateway, received.caller, naming);
    if (foreign !== null) return await refuseUnadmitted(received, foreign);
    const keptAlive = call.stream
      ? keptAliveExchange(received.exchange, call.operation, gateway)
      : null;
    const incoming = keptAlive === null ? received : { ...received, exchange: keptAlive };
    record.model = call.model;
    record.stream = call.stream;
    record.session = sessionOf(received.exchange, call);
    const route =
      resolveModel(gateway.models.current(), call.model) ??
      (await resolveOnceLearned(gateway, call.model)) ??
      agentRoute(gateway, call);
    if (route === null && call.isDefaultModel)
      return await refuseUnadmitted(incoming, invalid("model is required", "model"));
    if (route === null) return await refuseUnknownModel(incoming, call.model);
    record.requestedModel = requestedName(route);
    const watched = call.turn === null ? null : watchTurn(received, call, call.turn);
    const isSuspect = watched !== null && gateway.loops.suspects(watched);
    if (isSuspect && (await isLoopRefused(incoming, watched))) return;
    const modelNames = namesOf(gateway, call, route);
    const cached =
      gateway.responseCache === null
        ? bypassed
        : await askCache(incoming, { call, route, modelNames });
    if (cached.kind === "answered") return;
    const inOrder = orderedTargets(received, call, route);
    const mayMove = inOrder.length > 1 && mayContinue(call);
    const ordered = mayMove ? await makerOnly(gateway, call, inOrder) : inOrder;
    const able = withoutProblem(incoming, call, ordered);
    if (able.length === 0) {
      const problem = problemAt(gateway, call, ordered[0]!)!;
      return problem.param === prewarm
        ? await answerWarmUp(incoming, { call, modelNames })
        : await refuseUnadmitted(incoming, problem);
    }
    const context = cached.kind === "miss" ? cached.context : incoming;
    const tools = received.searches === true ? ["web_search"] : call.carriedTools;
    const { targets, all } = gateway.targetHealth.candidates(withTools(able, tools));
    const bounds = gateway.limiter.hardLimits ? boundsOf(call, received.exchange) : null;
    const limited = { targets, model: call.model, modelNames, switches: true, bounds };
    const outcome = await admitRequest(context, limited);
    if (outcome === null) return;
    const switched =
      "use" in outcome
        ? await admitElsewhere(context, { call, tools, route, all, limited, exhausted: outcome })
        : null;
    if (switched === null && "use" in outcome) return;
    const served = switched ?? { admitted: outcome as AdmittedRequest, call, route, all };
    const { admitted } = served;
    const { admission } = admitted;
    keptAlive?.keepAlive(limitHeaders(context, admitted));
    const forwarded = await sendAdmitted(context, served, bounds);
    if (watched !== null) noteAnswered(received, watched, forwarded);
    settleRequest(
      context,
      admission,
      cached.kind === "miss" && served.route === route
        ? cached.keepAfter(forwarded, admission.target)
        : forwarded,
    );
  } finally {
    call.close();
  }
}

/** The turn of an agent, if its caller may be in a loop, or may come to be in one. */
function watchTurn(
  { gateway, exchange, caller, record }: RequestContext,
  { model }: ModelCall,
  turn: AgentTurn,
): WatchedTurn {
  // SDKs send a request again although it may have been answered.
  const retries = exchange.header("x-stainless-retry-count") ?? "0";
  const sender = { caller, session: record.session, model };
  const isRetry = retries !== "0";
  return gateway.loops.watch(turn, isRetry ? null : sender, gateway.monoMs());
}

/** Warns of an agent that repeats itself, or refuses and answers its request. */
async function isLoopRefused(context: RequestContext, watched: WatchedTurn): Promise<boolean> {
  const { gateway, caller, record } = context;
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  // The admission answers callers that aren't known.
  if (!authorized.ok) return false;
  const found = await gateway.limiter.call("loops.find", {
    user_path: authorized.caller.userPath,
  });
  // Without the daemon, nobody knows the rule: `failure_mode` decides on the request.
  const rule = found.ok ? (found.body as { readonly loops: LoopRule | null }).loops : null;
  const judged = rule === null ? null : gateway.loops.judge(watched, rule);
  if (judged === null) return false;
  record.loop = judged.loop;
  gateway.metrics.counts.loopFound(judged.isRefused ? "refused" : "warned");
  if (!judged.isRefused) return false;
  const refused = loopDetected(judged.loop);
  record.note = refused.message;
  await refuseUnadmitted(context, refused, [
    "x-should-retry",
    "false",
    "x-sluice-loop",
    loopHeader(judged.loop),
  ]);
  return true;
}

function noteAnswered(
  { gateway, record }: RequestContext,
  watched: WatchedTurn,
  { outcome, status }: Forwarded,
): void {
  if (outcome === "complete" && status === 200)
    gateway.loops.answered(watched, record.startedMonoMs, gateway.monoMs());
}

/** An agent that no provider is named for runs at the first one that has interactions. */
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

/** The targets, with the tools that the request carries. */
function withTools(targets: readonly Target[], tools: readonly string[] | null): readonly Target[] {
  return tools === null ? targets : targets.map((target) => ({ ...target, tools }));
}

interface ExhaustedCall extends Omit<AdmittedCall, "admitted"> {
  readonly tools: readonly string[] | null;
  readonly limited: LimitedRequest;
  readonly exhausted: Exhausted;
}

/**
 * Admits a call to the model that an exhausted rule or budget names, or to the one that a rule or
 * budget names for that, unless the caller forbids it or no target can take the call. Null if it
 * was refused and answered.
 */
async function admitElsewhere(
  context: RequestContext,
  { call, tools, limited: first, exhausted: refusing, ...original }: ExhaustedCall,
): Promise<AdmittedCall | null> {
  const { exchange, record } = context;
  const isForbidden = exchange.header(fallbackHeader)?.trim().toLowerCase() === "none";
  let served = original;
  let limited = first;
  let { use, breach } = refusing;
  const uses: string[] = [];
  for (;;) {
    const other = isForbidden ? null : await elsewhere(context, { call, tools, name: use });
    if (other === null) {
      const admitted = await admitRequest(context, { ...limited, switches: false, fixed: true });
      return admitted === null ? null : { ...served, admitted, call };
    }
    uses.push(use);
    const { targets, modelNames } = other;
    served = other;
    limited = { ...first, targets, modelNames, uses: [...uses] };
    const outcome = await admitRequest(context, limited);
    if (outcome === null) return null;
    if (!("use" in outcome)) {
      if (record.requestedModel === "") record.requestedModel = call.model;
      record.note = `${refusalMessage(breach)}; ${use} served the request`;
      return { ...other, admitted: outcome, call };
    }
    ({ use, breach } = outcome);
  }
}

/** The targets of another model that can take a call, or null. */
async function elsewhere(
  context: RequestContext,
  { call, tools, name }: Pick<ExhaustedCall, "call" | "tools"> & { readonly name: string },
) {
  const { gateway, caller } = context;
  const route =
    resolveModel(gateway.models.current(), name) ?? (await resolveOnceLearned(gateway, name));
  if (route === null) return null;
  const modelNames = namesOf(gateway, call, route);
  if (modelProblem(caller, modelNames) !== null) return null;
  const inOrder = orderedTargets(context, call, route);
  const ordered = mayContinue(call) ? await makerOnly(gateway, call, inOrder) : inOrder;
  const able = withoutProblem(context, call, ordered);
  if (able.length === 0) return null;
  const { targets, all } = gateway.targetHealth.candidates(withTools(able, tools));
  return { route, targets, all, modelNames };
}

interface AdmittedCall {
  readonly admitted: AdmittedRequest;
  readonly call: ModelCall;
  readonly route: Route;
  /** All targets, for failover. */
  readonly all: readonly Target[];
}

/** Sends the call to the target that the daemon chose, and to others if that fails. */
function sendAdmitted(
  context: RequestContext,
  { admitted, call, route, all }: AdmittedCall,
  bounds: RequestBounds | null,
): Promise<Forwarded> {
  const { admission } = admitted;
  const { target } = admission;
  assert(target !== null, "an admitted request has a target");
  const hasFallback = all.length > 1 && call.repeatable;
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

/** The targets that can take this call. Usually all can; then it returns `targets` itself. */
function withoutProblem(
  { gateway }: RequestContext,
  call: ModelCall,
  targets: readonly Target[],
): readonly Target[] {
  let able: Target[] | null = null;
  for (let i = 0; i < targets.length; i++) {
    const target = targets[i]!;
    if (problemAt(gateway, call, target) === null) able?.push(target);
    else able ??= targets.slice(0, i);
  }
  return able ?? targets;
}

/** What a request may use at most. */
function boundsOf(call: ModelCall, { query }: Pick<Exchange, "query">): RequestBounds {
  const { operation, body, promptBytes: bytes, stream } = call;
  const isStream = operation === "stream_generate_content" ? wantsEvents(query) : stream;
  return requestBounds({ operation, body, bytes, isStream });
}

/** Best first; the conversation's target comes before all others. */
function orderedTargets(
  { gateway, record }: RequestContext,
  call: Pick<ModelCall, "body" | "valuesOf">,
  route: Route,
): readonly Target[] {
  if (route.kind === "direct") return route.targets;
  const ordered = gateway.targetOrder.order(route);
  if (hasFixedOrder(route) || route.affinity === "none") return ordered;
  const severalAccounts = hasSeveralAccounts(gateway, route);
  const byMessage = route.affinity === "conversation";
  const conversation =
    byMessage || severalAccounts ? conversationOf(record.session, call, byMessage) : null;
  // `order` returns the route's targets.
  const ranked =
    conversation === null
      ? ordered
      : withOwnFirst(ordered as readonly WeightedTarget[], conversation);
  if (!severalAccounts) return ranked;
  // Another account can't read the reasoning of this one.
  const maker = call.body === null ? null : makerOf(call.body);
  if (maker === null) return ranked;
  const isMakers = (target: Target): boolean =>
    providerOf(gateway, target).config.account === maker;
  return [...ranked.filter(isMakers), ...ranked.filter((target) => !isMakers(target))];
}

/** Whether every conversation has the same order of targets. */
function hasFixedOrder({ strategy }: VirtualRoute): boolean {
  return strategy === "failover" || strategy === "cost";
}
