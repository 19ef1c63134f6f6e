/**
 * A request to a model, in the order of its steps: read, resolve, ask the cache, admit, forward,
 * fail over, settle.
 */

import { assert } from "../../shared/assert.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import { sentModel, type Target, targetName } from "../../shared/domain/target-name.js";
import { invalid } from "../../shared/error-code.js";
import { isNativeToGoogle, type Operation } from "../../shared/operation.js";
import { authorizeCaller } from "../auth/authorize-caller.js";
import { modelProblem } from "../auth/caller.js";
import type { NamedValues } from "../body/scan-json.js";
import { reasonsByDefault, showsReasoning } from "../dialects/fit/model-families.js";
import { namedLike, outputTokensMaxOf } from "../dialects/fit/target-traits.js";
import { overridesFor } from "../dialects/override-request.js";
import { prewarm } from "../dialects/responses-to-chat/warm-up.js";
import { makerOf, markingOf } from "../dialects/shared/made-by.js";
import { translatedUpstream } from "../dialects/translated-upstream.js";
import { type Gateway, providerOf } from "../gateway.js";
import { type RequestBounds, requestBounds } from "../hard-caps/request-bounds.js";
import { describeJson, forwardRequestHeaders, withoutDialect } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { keptAliveExchange } from "../http/exchanges/kept-alive-exchange.js";
import type { ModelOperation } from "../http/match-route.js";
import { fallbackHeader } from "../http/own-headers.js";
import { droppedHeaders, targetHeader } from "../http/respond.js";
import type { AttemptTrace } from "../metrics/spans/request-trace.js";
import { modelIn, watchedUpstream } from "../objects/answer-watch.js";
import { unfinishedId } from "../objects/background-responses.js";
import {
  foreignInCall,
  hasSeveralProviders,
  hasThread,
  makerOnly,
  mayContinue,
  rememberOwner,
  remembersOwners,
} from "../objects/object-access.js";
import { madeIds } from "../objects/object-ids.js";
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
import { forward } from "../upstream/forward.js";
import type { Forwarded, ForwardRequest } from "../upstream/forwarded.js";
import { sizeClass } from "../upstream/limit-reports.js";
import { markedUpstream } from "../upstream/marked-upstream.js";
import type { Upstream } from "../upstream/upstream.js";
import { upstreamPath, wantsEvents } from "../upstream/upstream-path.js";
import {
  type AdmittedRequest,
  admitRequest,
  type Exhausted,
  isRefusedUnread,
  limitHeaders,
  metersOf,
  refuseUnadmitted,
  refuseUnknownModel,
  settleRequest,
} from "./admit-and-settle.js";
import { answerWarmUp } from "./answer-warm-up.js";
import { askCache, bypassed } from "./ask-cache.js";
import { type FailOver, failOver } from "./attempts/fail-over.js";
import { sendToTarget } from "./attempts/send-to-target.js";
import { grantedTo, streamCap } from "./hard-cap.js";
import { readJsonCall } from "./json-call.js";
import { type AgentTurn, loopDetected, loopHeader, type WatchedTurn } from "./loop-breaker.js";
import {
  type ModelCall,
  namesOf,
  noRewriters,
  problemAt,
  type ReadCall,
  type SentFor,
  type TargetRequest,
} from "./model-call.js";
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
    const access = foreignInCall(gateway, received.caller, call);
    const problem = access === null ? null : await access;
    if (problem !== null) return await refuseUnadmitted(received, problem);
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
    const isSuspect = watched !== null && gateway.loops?.suspects(watched) === true;
    if (isSuspect && (await isLoopRefused(incoming, watched))) return;
    const modelNames = namesOf(gateway, call, route);
    const cached =
      gateway.responseCache === null
        ? bypassed
        : await askCache(incoming, { call, route, modelNames });
    if (cached.kind === "answered") return;
    const inOrder = orderedTargets(received, call, route);
    const ordered = mayContinue(call) ? await makerOnly(gateway, call, inOrder) : inOrder;
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
    const asked = { targets, model: call.model, modelNames, switches: true, bounds };
    const outcome = await admitRequest(context, asked);
    if (outcome === null) return;
    const switched =
      "use" in outcome
        ? await admitElsewhere(context, { call, tools, route, all, asked, exhausted: outcome })
        : null;
    if (switched === null && "use" in outcome) return;
    const sending = switched ?? { admitted: outcome as AdmittedRequest, call, route, all };
    const { admitted } = sending;
    const { admission } = admitted;
    keptAlive?.keepAlive(limitHeaders(context, admitted));
    const forwarded = await sendAdmitted(context, sending, bounds);
    if (watched !== null) noteAnswered(received, watched, forwarded);
    settleRequest(
      context,
      admission,
      cached.kind === "miss" && sending.route === route
        ? cached.keepAfter(forwarded, admission.target)
        : forwarded,
    );
  } finally {
    call.close();
  }
}

/** The turn of an agent, if its caller may be in a loop, or may come to be in one. */
function watchTurn(
  { gateway, exchange, caller, record }: RequestContext<"loops" | "monoMs">,
  { model }: ModelCall,
  turn: AgentTurn,
): WatchedTurn | null {
  // SDKs send a request again although it may have been answered.
  const retries = exchange.header("x-stainless-retry-count") ?? "0";
  const sender = { caller, session: record.session, model };
  const isRetry = retries !== "0";
  return gateway.loops?.watch(turn, isRetry ? null : sender, gateway.monoMs()) ?? null;
}

/** Warns of an agent that repeats itself, or refuses and answers its request. */
async function isLoopRefused(
  context: RequestContext<"limiter" | "loops" | "metrics">,
  watched: WatchedTurn,
): Promise<boolean> {
  const { gateway, caller, record } = context;
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  // The admission answers callers that aren't known.
  if (!authorized.ok) return false;
  const judged = gateway.loops?.judge(watched, authorized.caller.userPath) ?? null;
  if (judged === null) return false;
  record.loop = judged.loop;
  gateway.metrics.counts.loopFound(judged.isRefused ? "refused" : "warned");
  if (!judged.isRefused) return false;
  const refused = loopDetected(judged.loop);
  record.note = refused.message;
  await refuseUnadmitted(context, refused, ["x-should-retry", "false", ...loopHeaders(record)]);
  return true;
}

function noteAnswered(
  { gateway, record }: RequestContext<"loops" | "monoMs">,
  watched: WatchedTurn,
  { outcome, status }: Forwarded,
): void {
  if (outcome === "complete" && status === 200)
    gateway.loops?.answered(watched, record.startedMonoMs, gateway.monoMs());
}

const noHeaders: readonly string[] = [];

function loopHeaders({ loop }: SendContext["record"]): readonly string[] {
  return loop === null ? noHeaders : ["x-sluice-loop", loopHeader(loop)];
}

/** An agent that no provider is named for runs at the first one that has interactions. */
function agentRoute({ providers }: Pick<Gateway, "providers">, call: ModelCall): Route | null {
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
  readonly asked: Parameters<typeof admitRequest>[1];
  readonly exhausted: Exhausted;
}

/**
 * Admits a call to the model that an exhausted rule or budget names, or to the one that a rule or
 * budget names for that, unless the caller forbids it or no target can take the call. Null if it
 * was refused and answered.
 */
async function admitElsewhere(
  context: RequestContext,
  { call, tools, asked: first, exhausted: refusing, ...original }: ExhaustedCall,
): Promise<AdmittedCall | null> {
  const { exchange, record } = context;
  const isForbidden = exchange.header(fallbackHeader)?.trim().toLowerCase() === "none";
  let served = original;
  let asked = first;
  let { use, breach } = refusing;
  const uses: string[] = [];
  for (;;) {
    const other = isForbidden ? null : await elsewhere(context, { call, tools, name: use });
    if (other === null) {
      const admitted = await admitRequest(context, { ...asked, switches: false, fixed: true });
      return admitted === null ? null : { ...served, admitted, call };
    }
    uses.push(use);
    const { targets, modelNames } = other;
    served = other;
    asked = { ...first, targets, modelNames, uses: [...uses] };
    const outcome = await admitRequest(context, asked);
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
  const first = sendCall(context, { target, call, route, headers, hasFallback, bounds });
  if (!hasFallback) return first;
  const sendNext: FailOver["send"] = (next, itsHeaders, hasNext) =>
    sendCall(context, {
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
  { gateway }: RequestContext<"providers">,
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

interface Sending {
  readonly target: Target;
  readonly call: ModelCall;
  readonly route: Route;
  /** The rate limit headers. */
  readonly headers: readonly string[];
  /** Whether another target is left. */
  readonly hasFallback: boolean;
  /** For hard caps; null without any. */
  readonly bounds: RequestBounds | null;
}

/** Sends the call to one target, with retries. */
function sendCall(context: RequestContext, sending: Sending): Promise<Forwarded> {
  const { target, call } = sending;
  return sendToTarget(context, {
    target,
    isRepeatable: call.repeatable,
    operation: call.operation,
    stream: call.stream,
    send: (trace, refused) => send(context, sending, refused, trace),
    mayLose: (part) => call.mayLose(providerOf(context.gateway, target).config, part),
  });
}

type SendContext = RequestContext<
  | "config"
  | "credentials"
  | "limitReports"
  | "limiter"
  | "log"
  | "metrics"
  | "models"
  | "prices"
  | "providers"
  | "rewriters"
  | "monoMs"
  | "outputRatios"
>;

/** Not async: `sendToTarget` awaits it, so another promise would only cost time. */
function send(
  context: SendContext,
  sending: Sending,
  refused: SentFor["refused"],
  trace: AttemptTrace | null,
): Promise<Forwarded> {
  const { gateway, exchange, record } = context;
  const { target, call, route, bounds } = sending;
  const { config: provider } = providerOf(gateway, target);
  const request = call.requestTo(
    provider,
    sentModel(target),
    gateway.rewriters?.(record.userPath ?? "/", target) ?? noRewriters,
    { isNamed: record.requestedModel === "", refused, granted: grantedTo(record, bounds) },
  );
  notePrepared(context, target, request);
  const forwarding = forwardRequest(context, sending, request, trace);
  if (request.translator !== null) return forward(exchange, forwarding);
  const isBackground = isBackgroundCall(call);
  const matters = remembersOwners(gateway) || hasSeveralProviders(route.targets);
  if (!isBackground && !(matters && isStoredCall(call))) return forward(exchange, forwarding);
  const { operation } = request;
  const made = { operation, provider: target.provider, userPath: record.userPath ?? "/" };
  return forwardAndRemember(gateway, { exchange, forwarding, made, isBackground });
}

function notePrepared(
  { gateway, exchange, record }: SendContext,
  target: Target,
  { savedBytes, dropped }: TargetRequest,
): void {
  record.savedBytes = savedBytes;
  record.dropped = dropped.length === 0 ? null : dropped;
  if (dropped.length > 0)
    gateway.log.debug(
      { request_id: exchange.id, target: targetName(target), dropped },
      "a translation dropped fields that the provider's dialect lacks",
    );
  if (record.tries === 1)
    gateway.metrics.counts.prepared(gateway.monoMs() - record.startedMonoMs - record.waitedMs);
}

function forwardRequest(
  context: SendContext,
  sending: Sending,
  request: TargetRequest,
  trace: AttemptTrace | null,
): ForwardRequest {
  const { gateway, exchange, record } = context;
  const { target, call, headers, hasFallback, bounds } = sending;
  const { config: provider, passed, upstream } = providerOf(gateway, target);
  const { operation, body, savedBytes, hideUsageChunk, translator, dropped } = request;
  const sent = forwardRequestHeaders(exchange.rawHeaders, passed, trace);
  if (call.body !== null) describeJson(sent, exchange);
  const query = translator === null ? exchange.query : "";
  return {
    upstream: upstreamFor(context, sending, request, trace),
    provider: target.provider,
    request: {
      method: "POST",
      isNative: isNativeToGoogle(operation),
      path: upstreamPath(provider, operation, sentModel(target), query),
      headers: translator === null ? sent : withoutDialect(sent),
      body,
      isRepeatable: true,
      timeouts:
        provider.perModel.length === 0 ? null : overridesFor(provider, target.model, operation),
    },
    headers: [
      ...headers,
      "x-sluice-target",
      targetHeader(target),
      ...droppedHeaders(dropped),
      ...loopHeaders(record),
    ],
    operation: call.operation,
    translator,
    hideUsageChunk,
    promptBytes: () => call.promptBytes - savedBytes,
    modelOutputMax: () => outputTokensMaxOf(provider, target.model),
    reasonsByDefault: () => reasonsByDefault(namedLike(provider, target.model)),
    showsReasoning: () => showsReasoning(namedLike(provider, target.model)),
    readsModel: gateway.prices.mayBePricedByAnswer(target),
    // Gemini may end a stream with nothing but a failure of the model.
    holdsHead: hasFallback || provider.type === "gemini",
    onBegun: () => call.answered(),
    cap: bounds === null ? null : streamCap(context, target, { operation: call.operation, bounds }),
    onHeard: gateway.limitReports.hearerOf({
      config: provider,
      upstream,
      target,
      size: () => sizeClass(call.promptBytes, call.stream),
    }),
    monoMs: gateway.monoMs,
  };
}

/** What a request may use at most. */
function boundsOf(call: ModelCall, { query }: Pick<Exchange, "query">): RequestBounds {
  const { operation, body, promptBytes: bytes, stream } = call;
  const isStream = operation === "stream_generate_content" ? wantsEvents(query) : stream;
  return requestBounds({ operation, body, bytes, isStream });
}

/** The target's upstream, with everything that watches or changes the answer around it. */
function upstreamFor(
  { gateway, record }: SendContext,
  { target, call, route }: Sending,
  { operation, translator }: TargetRequest,
  trace: AttemptTrace | null,
): Upstream {
  const { config: provider, upstream } = providerOf(gateway, target);
  const marking = hasSeveralAccounts(gateway, route)
    ? markingOf(operation, provider.account)
    : null;
  const marked = marking === null ? upstream : markedUpstream(upstream, marking);
  const traced = trace === null ? marked : trace.watched(marked);
  // When other models may run, the answer doesn't show what an alias stands for.
  const namesAlias = gateway.models.isMoving(target) && !call.mayRunOthers;
  const watched = namesAlias
    ? watchedUpstream(traced, (answer) => {
        record.target = gateway.models.executed(target, modelIn(answer)) ?? record.target;
      })
    : traced;
  return translator === null ? watched : translatedUpstream(watched, translator);
}

interface Remembering {
  readonly exchange: Exchange;
  readonly forwarding: ForwardRequest;
  readonly made: Omit<Parameters<typeof rememberOwner>[1], "ids">;
  readonly isBackground: boolean;
}

/** Records the owner of stored objects before the client learns their ids. */
async function forwardAndRemember(
  gateway: RequestContext<"limiter" | "log">["gateway"],
  { exchange, forwarding, made, isBackground }: Remembering,
): Promise<Forwarded> {
  let remembered: Promise<void> | null = null;
  let responseId = "";
  const upstream = watchedUpstream(forwarding.upstream, (answer) => {
    responseId = unfinishedId(made.operation, answer);
    remembered = rememberOwner(gateway, { ...made, ids: madeIds(made.operation, answer) });
  });
  const forwarded = await forward(exchange, { ...forwarding, upstream });
  await remembered;
  // The provider continues a background response after its stream was cut.
  return isBackground && forwarded.estimated && responseId !== ""
    ? { ...forwarded, responseId }
    : forwarded;
}

interface Call extends NamedValues {
  readonly operation: Operation;
}

/** Whether the provider stores the answer: OpenAI and Google by default, Anthropic in a thread. */
function isStoredCall(call: Call): boolean {
  if (call.operation === "messages") return hasThread(call);
  if (!isStoring(call)) return false;
  // A repeated field may be read either way; an owner too many does no harm.
  const stores = call.valuesOf("store");
  return stores.length === 0 || stores.some((value) => value !== "false");
}

/** Whether the provider continues after the client disconnects. */
function isBackgroundCall(call: Call): boolean {
  return isStoring(call) && call.valuesOf("background").some((value) => value === "true");
}

function isStoring({ operation }: Call): boolean {
  return operation === "responses" || operation === "interactions";
}

/** Best first; the conversation's target comes before all others. */
function orderedTargets(
  { gateway, record }: RequestContext<"providers" | "targetOrder">,
  call: Pick<ModelCall, "body" | "valuesOf">,
  route: Route,
): readonly Target[] {
  const ordered = gateway.targetOrder.order(route);
  if (route.kind !== "virtual" || hasFixedOrder(route) || route.affinity === "none") return ordered;
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

/** Whether the targets of a route belong to several accounts. */
function hasSeveralAccounts(
  gateway: Pick<RequestContext<"providers">["gateway"], "providers">,
  { kind, targets }: Route,
): boolean {
  if (kind === "direct" || !hasSeveralProviders(targets)) return false;
  const { account } = providerOf(gateway, targets[0]!).config;
  return targets.some((target) => providerOf(gateway, target).config.account !== account);
}
