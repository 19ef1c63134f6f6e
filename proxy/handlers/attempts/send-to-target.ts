/**
 * Sends a call to one target: makes the provider's request and forwards it. Not here: when it is
 * retried (`with-retries.ts`), and other targets (`fail-over.ts`).
 */

import { sentModel, type Target, targetName } from "../../../shared/domain/target-name.js";
import { isNativeToGoogle } from "../../../shared/operation.js";
import { reasonsByDefault, showsReasoning } from "../../dialects/fit/model-families.js";
import type { RefusedParts } from "../../dialects/fit/own-reasoning.js";
import { namedLike, outputTokensMaxOf } from "../../dialects/fit/target-traits.js";
import { overridesFor } from "../../dialects/override-request.js";
import { markingOf } from "../../dialects/shared/made-by.js";
import { translatedUpstream } from "../../dialects/translated-upstream.js";
import { inWantedForm } from "../../dialects/wanted-form.js";
import { hasWholeAnswer } from "../../dialects/whole-answer.js";
import { providerOf } from "../../gateway.js";
import type { RequestBounds } from "../../hard-caps/request-bounds.js";
import { describeJson, forwardRequestHeaders, withoutDialect } from "../../http/copy-headers.js";
import { droppedHeaders, targetHeader } from "../../http/respond.js";
import type { AttemptTrace } from "../../metrics/spans/request-trace.js";
import { modelIn, watchedUpstream } from "../../objects/answer-watch.js";
import type { RequestContext } from "../../request-context.js";
import type { Route } from "../../routing/resolve-model.js";
import { embeddingsInBase64 } from "../../upstream/embeddings-in-base64.js";
import { endedUpstream } from "../../upstream/ended-upstream.js";
import { withoutBetas } from "../../upstream/errors/refused-betas.js";
import { forward } from "../../upstream/forward.js";
import type { ForwardRequest, ForwardResult } from "../../upstream/forwarded.js";
import { sizeClass } from "../../upstream/limit-reports.js";
import { markedUpstream } from "../../upstream/marked-upstream.js";
import type { Upstream } from "../../upstream/upstream.js";
import { upstreamPath } from "../../upstream/upstream-path.js";
import { hasSeveralAccounts } from "../choose-targets.js";
import { grantedTo, streamCap } from "../hard-cap.js";
import { loopHeader } from "../loop-breaker.js";
import type { ModelCall, TargetRequest } from "../model-call.js";
import { forwardAndRemember, isRemembered } from "./forward-and-remember.js";
import { withRetries } from "./with-retries.js";

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

/** The first answer, or the last failure. The record lists earlier failures. */
export function sendToTarget(context: RequestContext, sending: Sending): Promise<ForwardResult> {
  const { target, call } = sending;
  return withRetries(context, {
    target,
    isRepeatable: call.isRepeatable,
    operation: call.operation,
    stream: call.stream,
    send: (trace, refused) => send(context, sending, refused, trace),
    mayLose: (part) => call.mayLose(providerOf(context.gateway, target).config, part),
  });
}

/** Sends it once. Not async: `withRetries` awaits it, so another promise would only cost time. */
function send(
  context: RequestContext,
  sending: Sending,
  refused: RefusedParts,
  trace: AttemptTrace | null,
): Promise<ForwardResult> {
  const { gateway, exchange, record } = context;
  const { target, call, route, bounds } = sending;
  const { config: provider } = providerOf(gateway, target);
  const prepared = call.requestTo(provider, sentModel(target), {
    rewriters: gateway.rewriters?.(record.userPath ?? "/", target),
    isNamed: record.requestedModel === "",
    refused,
    granted: bounds === null ? null : grantedTo(record, bounds),
  });
  const betas = withoutBetas(exchange.rawHeaders, refused.fields);
  const request =
    betas.dropped.length === 0
      ? prepared
      : { ...prepared, dropped: [...prepared.dropped, ...betas.dropped] };
  notePreparedRequest(context, target, request);
  const forwarding = forwardRequestOf(context, sending, {
    request,
    betaHeaders: betas.headers,
    trace,
  });
  const isStored = request.translator === null && isRemembered(gateway, call, route);
  if (!isStored) return forward(exchange, forwarding);
  const { operation } = request;
  const created = { operation, provider: target.provider, userPath: record.userPath ?? "/" };
  return forwardAndRemember(gateway, exchange, call, { forwarding, created });
}

function notePreparedRequest(
  { gateway, exchange, record }: RequestContext,
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
  if (record.attemptCount !== 1) return;
  const { counts, reports } = gateway.metrics;
  const ownMs = gateway.monoMs() - record.startedMonoMs - record.waitedMs;
  counts.observePreparation(ownMs);
  reports.notePreparation(ownMs);
}

function forwardRequestOf(
  context: RequestContext,
  sending: Sending,
  {
    request,
    betaHeaders,
    trace,
  }: {
    readonly request: TargetRequest;
    /** The client's headers. */
    readonly betaHeaders: readonly string[];
    readonly trace: AttemptTrace | null;
  },
): ForwardRequest {
  const { gateway, exchange, record } = context;
  const { target, call, headers, hasFallback, bounds } = sending;
  const { config: provider, passed, upstream } = providerOf(gateway, target);
  const { operation, body, savedBytes, hideUsageChunk, translator, dropped } = request;
  const sent = forwardRequestHeaders(betaHeaders, passed, trace);
  if (call.body !== null) describeJson(sent, exchange);
  const query = translator === null ? exchange.query : "";
  const promptBytes = (): number => call.promptBytes - savedBytes;
  const cap =
    bounds === null
      ? null
      : streamCap(context, target, { operation: call.operation, bounds, promptBytes });
  const watched = upstreamFor(context, sending, request, trace);
  return {
    upstream:
      translator === null
        ? watched
        : translatedUpstream(watched, translator, cap === null ? null : operation),
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
      ...(record.loop === null ? [] : ["x-sluice-loop", loopHeader(record.loop)]),
    ],
    operation: call.operation,
    translator,
    hideUsageChunk,
    rewrite: asksBase64(call) ? embeddingsInBase64 : null,
    promptBytes: cap?.promptBytes ?? promptBytes,
    modelOutputMax: () => outputTokensMaxOf(provider, target.model),
    reasonsByDefault: () => reasonsByDefault(namedLike(provider, target.model)),
    showsReasoning: () => showsReasoning(namedLike(provider, target.model)),
    readsModel: gateway.prices.mayBePricedByAnswer(target),
    // Gemini may end a stream with nothing but a failure of the model.
    holdsHead: hasFallback || provider.type === "gemini",
    onBegun: () => call.releaseAttempts(),
    cap,
    granted: bounds === null ? null : grantedTo(context.record, bounds),
    observeLimits: gateway.limitReports.observerOf({
      config: provider,
      upstream,
      target,
      size: () => sizeClass(call.promptBytes, call.stream),
    }),
    monoMs: gateway.monoMs,
  };
}

function asksBase64(call: ModelCall): boolean {
  return call.operation === "embeddings" && call.valuesOf("encoding_format").at(-1) === '"base64"';
}

/** The target's upstream, with its wrappers that watch or mark the answer. */
function upstreamFor(
  { gateway, record, exchange }: RequestContext,
  { target, call, route }: Sending,
  { operation }: TargetRequest,
  trace: AttemptTrace | null,
): Upstream {
  const { config: provider, upstream } = providerOf(gateway, target);
  const marking = hasSeveralAccounts(gateway, route)
    ? markingOf(operation, provider.account)
    : null;
  const ended = endedUpstream(upstream, operation, gateway.setTimer);
  const formed = hasWholeAnswer(operation)
    ? inWantedForm(ended, { operation, wantsStream: call.stream, memory: exchange.memory })
    : ended;
  const marked = marking === null ? formed : markedUpstream(formed, marking);
  const traced = trace === null ? marked : trace.watchUpstream(marked);
  // When other models may run, the answer doesn't show what an alias stands for.
  const namesAlias = gateway.models.isMoving(target) && !call.mayRunOthers;
  return namesAlias
    ? watchedUpstream(traced, (answer) => {
        record.target = gateway.models.executedTarget(target, modelIn(answer)) ?? record.target;
      })
    : traced;
}
