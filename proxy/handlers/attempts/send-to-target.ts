/**
 * Sends a call to one target: makes the provider's request, forwards it, and retries it as the
 * provider's `retries` allow, while the failure may be temporary (docs/reference/http-api.md,
 * "Retries"). If the target refuses a part that the request can do without, sends it once more
 * without that part. The limiter counts one request at one target.
 */

import type { ProviderConfig } from "../../../shared/config/config.js";
import { sentModel, type Target, targetName } from "../../../shared/domain/target-name.js";
import { isNativeToGoogle, mayRunInBackground, type Operation } from "../../../shared/operation.js";
import type { NamedValues } from "../../body/scan-json.js";
import { refusedPartsMax } from "../../bounds.js";
import { reasonsByDefault, showsReasoning } from "../../dialects/fit/model-families.js";
import { nothingRefused, type Refused } from "../../dialects/fit/own-reasoning.js";
import { namedLike, outputTokensMaxOf } from "../../dialects/fit/target-traits.js";
import { overridesFor } from "../../dialects/override-request.js";
import { markingOf } from "../../dialects/shared/made-by.js";
import { translatedUpstream } from "../../dialects/translated-upstream.js";
import { type Gateway, providerOf } from "../../gateway.js";
import type { RequestBounds } from "../../hard-caps/request-bounds.js";
import { describeJson, forwardRequestHeaders, withoutDialect } from "../../http/copy-headers.js";
import type { Exchange } from "../../http/exchange.js";
import { droppedHeaders, targetHeader } from "../../http/respond.js";
import type { AttemptTrace } from "../../metrics/spans/request-trace.js";
import { modelIn, watchedUpstream } from "../../objects/answer-watch.js";
import { unfinishedId } from "../../objects/background-responses.js";
import {
  hasSeveralProviders,
  hasThread,
  type Made,
  rememberOwner,
  remembersOwners,
} from "../../objects/object-access.js";
import { madeIds } from "../../objects/object-ids.js";
import type { RequestContext } from "../../request-context.js";
import type { Route } from "../../routing/resolve-model.js";
import type { TargetFailure } from "../../upstream/errors/failover-reason.js";
import type { RefusedPart } from "../../upstream/errors/refused-part.js";
import { forward } from "../../upstream/forward.js";
import { abandoned, type Forwarded, type ForwardRequest } from "../../upstream/forwarded.js";
import { sizeClass } from "../../upstream/limit-reports.js";
import { markedUpstream } from "../../upstream/marked-upstream.js";
import { retryWaitMs } from "../../upstream/retry-wait.js";
import type { Upstream } from "../../upstream/upstream.js";
import { upstreamPath } from "../../upstream/upstream-path.js";
import { type RecordingParts, settleAttempt } from "../admit-and-settle.js";
import { grantedTo, streamCap } from "../hard-cap.js";
import { loopHeader } from "../loop-breaker.js";
import { type ModelCall, noRewriters, type SentFor, type TargetRequest } from "../model-call.js";

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
export function sendToTarget(context: RequestContext, sending: Sending): Promise<Forwarded> {
  const { target, call } = sending;
  return withRetries(context, {
    target,
    isRepeatable: call.repeatable,
    operation: call.operation,
    stream: call.stream,
    send: (trace, refused) => send(context, sending, refused, trace),
    mayLose: (part) => call.mayLose(providerOf(context.gateway, target).config, part),
  });
}

interface RetriedRequest {
  readonly target: Target;
  /** Whether the request can be sent more than once. */
  readonly isRepeatable: boolean;
  readonly operation: Operation;
  readonly stream: boolean;
  /**
   * `trace`: the span of the attempt, which the provider's traceparent names; null without tracing.
   */
  readonly send: (trace: AttemptTrace | null, refused: Refused) => Promise<Forwarded>;
  /** Whether the request may be sent without a part. */
  readonly mayLose: (part: RefusedPart) => boolean;
}

type AttemptParts =
  | RecordingParts
  | "limiter"
  | "random"
  | "refusals"
  | "setTimer"
  | "targetHealth"
  | "targetLoad";

/** Sends a request with `send`, and again as its target's retries allow. */
export async function withRetries(
  context: RequestContext<AttemptParts>,
  { target, isRepeatable, operation, stream, send, mayLose }: RetriedRequest,
): Promise<Forwarded> {
  const { gateway, exchange, record } = context;
  const { config, upstream } = providerOf(gateway, target);
  const { targetHealth, targetLoad } = gateway;
  const firstMonoMs = gateway.monoMs();
  let startedMonoMs = firstMonoMs;
  let retried = 0;
  let refused =
    gateway.refusals.refused.size === 0
      ? nothingRefused
      : { reasoning: false, fields: gateway.refusals.of(target, operation) };
  let partsRemoved = 0;
  const learned: string[] = [];
  for (let resent = 0; ; resent++) {
    record.tries++;
    const attempted = { target, operation, stream, resent };
    const trace = record.trace?.attempt(attempted, startedMonoMs) ?? null;
    let forwarded: Forwarded | null = null;
    targetLoad?.begin(target);
    try {
      forwarded = await send(trace, refused);
    } finally {
      targetLoad?.end(target, firstByteMs(forwarded, startedMonoMs));
    }
    targetHealth.note(target, startedMonoMs, forwarded);
    const endedMonoMs = gateway.monoMs();
    const attempt = { target, operation, stream, startedMonoMs, endedMonoMs, forwarded };
    gateway.metrics.counts.attemptEnded(attempt);
    gateway.metrics.reports.attempt(attempt);
    trace?.ended(forwarded, endedMonoMs);
    record.attempted({ target, ms: endedMonoMs - startedMonoMs, retry: resent, forwarded });
    const { refused: part = null } = forwarded;
    if (forwarded.outcome === "complete")
      for (const path of learned) gateway.refusals.learn(target, operation, path);
    const mayRemove =
      part !== null && isRepeatable && partsRemoved < refusedPartsMax && !exchange.gone;
    if (mayRemove && !isRemoved(refused, part) && mayLose(part)) {
      partsRemoved++;
      refused = withPart(refused, part);
      if (part.kind === "field" && part.isLasting) learned.push(part.path);
      record.failedAt(target, `${forwarded.status} ${nameOf(part)}`);
      forwarded = settleAttempt(context, forwarded);
      startedMonoMs = endedMonoMs;
      continue;
    }
    if (forwarded.failed === null || !isRepeatable || exchange.gone) return forwarded;
    if (targetHealth.isOpen(target)) return forwarded;
    const elapsedMs = endedMonoMs - firstMonoMs;
    const attempts = { retried, elapsedMs, random: gateway.random() };
    const { failed } = forwarded;
    const hasOtherKey = (failed.credentials || failed.status === 429) && upstream.hasReadyKey?.();
    if (hasOtherKey !== true && waitsForDaemon(failed, config)) return forwarded;
    const waitMs = retryWaitMs(hasOtherKey === true ? withOtherKey : failed, attempts, config);
    if (waitMs === null) return forwarded;
    record.failedAt(target, forwarded.failed.why);
    forwarded = settleAttempt(context, forwarded);
    if (!(await staysDuring(gateway, exchange, waitMs))) return abandoned(forwarded, exchange);
    startedMonoMs = gateway.monoMs();
    retried++;
  }
}

/** Whether the request was already sent without a part. */
function isRemoved({ reasoning, fields }: Refused, part: RefusedPart): boolean {
  return part.kind === "reasoning" ? reasoning : fields.includes(part.path);
}

function withPart(refused: Refused, part: RefusedPart): Refused {
  if (part.kind === "reasoning") return { ...refused, reasoning: true };
  return { ...refused, fields: [...refused.fields, part.path] };
}

function nameOf(part: RefusedPart): string {
  return part.kind === "reasoning" ? "reasoning of another account" : part.path;
}

/** From the start of the attempt; null without a complete answer. */
function firstByteMs(forwarded: Forwarded | null, startedMonoMs: number): number | null {
  if (forwarded === null || forwarded.outcome !== "complete") return null;
  const { firstByteMonoMs } = forwarded;
  return firstByteMonoMs === null ? null : firstByteMonoMs - startedMonoMs;
}

/** Whether the daemon lets no request to the target before the time that the provider named. */
function waitsForDaemon(
  { status, retryAfterMs }: Pick<TargetFailure, "status" | "retryAfterMs">,
  { upstreamLimits }: Pick<ProviderConfig, "upstreamLimits">,
): boolean {
  return status === 429 && retryAfterMs !== null && upstreamLimits.mode === "avoid";
}

/** A Retry-After for one key doesn't apply to another. */
const withOtherKey = { worthRetrying: true, retryAfterMs: null };

/** Waits; false as soon as the client disconnects. */
function staysDuring(
  { setTimer }: Pick<Gateway, "setTimer">,
  exchange: Exchange,
  ms: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = setTimer(ms, () => resolve(true));
    exchange.onGone(() => {
      cancel();
      resolve(false);
    });
  });
}

/** Sends it once. Not async: `withRetries` awaits it, so another promise would only cost time. */
function send(
  context: RequestContext,
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
    {
      isNamed: record.requestedModel === "",
      refused,
      granted: bounds === null ? null : grantedTo(record, bounds),
    },
  );
  notePrepared(context, target, request);
  const forwarding = forwardRequest(context, sending, request, trace);
  if (request.translator !== null || !mayStore(call)) return forward(exchange, forwarding);
  const isBackground = isBackgroundCall(call);
  const matters = remembersOwners(gateway) || hasSeveralProviders(route.targets);
  if (!isBackground && !(matters && isStoredCall(call))) return forward(exchange, forwarding);
  const { operation } = request;
  const made = { operation, provider: target.provider, userPath: record.userPath ?? "/" };
  return forwardAndRemember(gateway, { exchange, forwarding, made, isBackground });
}

function notePrepared(
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
  if (record.tries === 1)
    gateway.metrics.counts.prepared(gateway.monoMs() - record.startedMonoMs - record.waitedMs);
}

function forwardRequest(
  context: RequestContext,
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
      ...(record.loop === null ? [] : ["x-sluice-loop", loopHeader(record.loop)]),
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
    granted: bounds === null ? null : grantedTo(context.record, bounds),
    onHeard: gateway.limitReports.hearerOf({
      config: provider,
      upstream,
      target,
      size: () => sizeClass(call.promptBytes, call.stream),
    }),
    monoMs: gateway.monoMs,
  };
}

/** The target's upstream, with everything that watches or changes the answer around it. */
function upstreamFor(
  { gateway, record }: RequestContext,
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
  readonly made: Omit<Made, "ids">;
  readonly isBackground: boolean;
}

/** Records the owner of stored objects before the client learns their ids. */
async function forwardAndRemember(
  gateway: Gateway,
  { exchange, forwarding, made, isBackground }: Remembering,
): Promise<Forwarded> {
  let remembered: Promise<void> | null = null;
  let responseId = "";
  const upstream = watchedUpstream(forwarding.upstream, (answer) => {
    if (mayRunInBackground(made.operation)) responseId = unfinishedId(answer);
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

/** Whether a provider may store the answer to a call of this operation. */
function mayStore({ operation }: Call): boolean {
  return operation === "messages" || mayRunInBackground(operation);
}

/** Whether the provider stores the answer: OpenAI and Google by default, Anthropic in a thread. */
function isStoredCall(call: Call): boolean {
  if (call.operation === "messages") return hasThread(call);
  // A repeated field may be read either way; an owner too many does no harm.
  const stores = call.valuesOf("store");
  return stores.length === 0 || stores.some((value) => value !== "false");
}

/** Whether the provider continues after the client disconnects. */
function isBackgroundCall(call: Call): boolean {
  return (
    mayRunInBackground(call.operation) &&
    call.valuesOf("background").some((value) => value === "true")
  );
}

/** Whether the targets of a route belong to several accounts. */
export function hasSeveralAccounts(gateway: Gateway, { kind, targets }: Route): boolean {
  if (kind === "direct" || !hasSeveralProviders(targets)) return false;
  const { account } = providerOf(gateway, targets[0]!).config;
  return targets.some((target) => providerOf(gateway, target).config.account !== account);
}
