/** How each limited request is admitted or refused before it is sent, and settled at its end. */
import { assert } from "../../shared/assert.js";
import { isCount } from "../../shared/checked.js";
import type { Waiting } from "../../shared/config/config.js";
import type { Price } from "../../shared/domain/price.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import type { Measure } from "../../shared/domain/rule.js";
import { isOfMcp, type Target, targetName } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../../shared/domain/verdict.js";
import type { Failure } from "../../shared/error-code.js";
import { toolName } from "../../shared/usage/tool-calls.js";
import { type Execution, interimStatus } from "../../shared/wire/execution.js";
import { isUnnumbered } from "../../shared/wire/lsn.js";
import type { Metered } from "../../shared/wire/message-to-daemon.js";
import { deniedCaller, modelProblem } from "../auth/caller.js";
import { WaitingCaller } from "../auth/waiting-caller.js";
import { type Gateway, providerOf } from "../gateway.js";
import { meteredAt, type RequestBounds } from "../hard-caps/request-bounds.js";
import { admittedHeaders, messagesHeaders } from "../http/limit-headers.js";
import { areaOf } from "../http/match-route.js";
import {
  replyFailure,
  replyInternalError,
  replyWithRefusal,
  speaksMessages,
} from "../http/respond.js";
import { waitOf } from "../http/wait-preference.js";
import type {
  Admission,
  AdmissionOutcome,
  MayWait,
  Place,
  QueueWait,
  RejectedAdmission,
} from "../limiter/admission.js";
import { limiterUnavailable } from "../limiter/daemon-calls.js";
import { nothingSpent } from "../limiter/settle-outbox.js";
import type { RequestContext } from "../request-context.js";
import type { Outcome } from "../request-record.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import type { SpentTokens } from "../usage/session-usage.js";
import { noUsage } from "../usage/usage.js";
import { type ProviderResult, usageRecord } from "../usage/usage-record.js";
import { outcomeOf, refuseBeforeAdmission, refuseCaller, retryAfter } from "./refuse-request.js";
import { logBug } from "./report-request.js";

export interface AdmittedRequest {
  readonly admission: Admission;
  readonly headers: SuccessHeaders | null;
}

export interface LimitedRequest {
  readonly targets: readonly Target[];
  /** The model as the client named it, for the message of a refusal; empty if it named none. */
  readonly model: string;
  /** See `allowableNames`; empty for a request that names no model. */
  readonly modelNames: readonly string[];
  /** Whether it is work for later, such as a batch; see `LimiterClient.admit`. */
  readonly submission?: boolean;
  /** Whether the request can go to another model, which `ExhaustedLimit` names. */
  readonly maySwitchModel?: boolean;
  /** The models to which exhausted rules and budgets have switched the request so far. */
  readonly uses?: readonly string[] | undefined;
  /** True if it can't go to another model. */
  readonly fixed?: true | undefined;
  /** For hard caps; null or absent if there are none, or if they don't bound the request. */
  readonly bounds?: RequestBounds | null;
  /** Called with the request's place while it waits, as `waiting.keep_alive_seconds` says. */
  readonly onPlace?: ((place: Place) => void) | undefined;
}

/** A rule or budget that refuses the request, and the model that may serve it instead. */
export interface ExhaustedLimit {
  readonly use: string;
  readonly breach: Breach | BudgetBreach;
}

type AdmitContext = RequestContext<
  "limiter" | "config" | "metrics" | "monoMs" | "nowMs" | "prices" | "credentials" | "setTimer"
>;

/**
 * Asks the daemon to admit the request. Null if the request was refused and answered, or the client
 * disconnected; then nothing is left to settle.
 */
export async function admitRequest(
  context: AdmitContext,
  limited: LimitedRequest & { readonly maySwitchModel?: false },
): Promise<AdmittedRequest | null>;
export async function admitRequest(
  context: AdmitContext,
  limited: LimitedRequest,
): Promise<AdmittedRequest | ExhaustedLimit | null>;
export async function admitRequest(
  context: AdmitContext,
  limited: LimitedRequest,
): Promise<AdmittedRequest | ExhaustedLimit | null> {
  const { targets, model, modelNames, submission = false, uses, fixed, bounds, onPlace } = limited;
  const { gateway, exchange, caller, record } = context;
  const { limiter, monoMs } = gateway;
  const notAllowed = modelProblem(caller, modelNames);
  if (notAllowed !== null) {
    await refuseBeforeAdmission(context, notAllowed);
    return null;
  }
  const askedMonoMs = monoMs();
  const markedTargets = submission ? targets : markUnpriced(gateway, targets);
  const metered = bounds == null ? undefined : metersOf(gateway, bounds)(targets);
  const { waiting } = gateway.config;
  const waitingCaller = waiting === null ? null : new WaitingCaller(context);
  const wait =
    waiting === null || waitingCaller === null
      ? undefined
      : mayWait(context, waiting, { waitingCaller, nowMonoMs: askedMonoMs, onPlace });
  const session =
    limiter.notices.hasSessionBudgets && record.session !== "" ? record.session : undefined;
  const details = { submission, modelNames, uses, fixed, metered, wait, session };
  const outcome = await limiter.admit(caller, markedTargets, details);
  noteVerdict(context, outcome, monoMs() - askedMonoMs);
  // Whatever ended the wait, also the loss of the daemon.
  const refusal = waitingCaller?.hasWaited === true ? await waitingCaller.end() : null;
  if (refusal !== null && !exchange.gone) {
    if (outcome.kind === "admitted") limiter.withdraw(outcome.admission);
    refuseCaller(context, "model", refusal);
    return null;
  }
  const exhausted = exhaustedIn(outcome);
  if (exhausted !== null)
    return limited.maySwitchModel === true
      ? exhausted
      : await admitRequest(context, { ...limited, fixed: true });
  if (outcome.kind === "left") {
    record.markGone(exchange);
    return null;
  }
  if (outcome.kind !== "admitted") {
    replyRejected(context, outcome, model);
    return null;
  }
  const { admission } = outcome;
  record.setCaller(admission);
  if (markedTargets !== targets && admission.target !== null)
    admission.target = targets[markedTargets.indexOf(admission.target)]!;
  record.admission = admission;
  // A batch submission counts at no target; it goes to the first one.
  record.target = admission.target ?? targets[0]!;
  if (!exchange.gone) return outcome;
  record.markGone(exchange);
  limiter.settle(admission, nothingSpent, () => {});
  return null;
}

function noteVerdict(
  { gateway, record }: AdmitContext,
  outcome: AdmissionOutcome,
  waitedMs: number,
): void {
  record.addWait(waitedMs);
  const queued = waitedFor(outcome);
  if (queued !== undefined) record.queuedMs = queued.ms;
  else if (isVerdict(outcome)) gateway.metrics.counts.observeVerdict(waitedMs);
  record.trace?.noteVerdict(outcome.kind, waitedMs);
}

/** The most that the request may use at targets, for hard caps. */
export function metersOf(
  { prices }: Pick<Gateway, "prices">,
  bounds: RequestBounds,
): (targets: readonly Target[]) => Metered {
  return (targets) => meteredAt(bounds, targets, (target) => prices.priceOf(target));
}

interface MayWaitOptions extends Pick<LimitedRequest, "onPlace"> {
  readonly waitingCaller: WaitingCaller;
  readonly nowMonoMs: number;
}

/** How long a request may wait for room; undefined if it may not. */
function mayWait(
  { exchange, record }: AdmitContext,
  waiting: Waiting,
  { waitingCaller, nowMonoMs, onPlace }: MayWaitOptions,
): MayWait | undefined {
  const preference = waitOf(exchange, waiting, nowMonoMs - record.startedMonoMs);
  if (preference === null) return undefined;
  return {
    ...preference,
    waitedMs: record.queuedMs ?? 0,
    onQueued(leave) {
      exchange.onGone(leave);
      waitingCaller.begin(leave);
    },
    placeEveryMs: onPlace === undefined ? undefined : waiting.keepAliveMs,
    onPlace,
  };
}

/** How long a request has waited for room; undefined if it hasn't. */
function waitedFor(outcome: AdmissionOutcome): QueueWait | undefined {
  switch (outcome.kind) {
    case "admitted":
      return outcome.admission.waited;
    case "refused":
    case "exceeded":
      return outcome.waited;
    default:
      return undefined;
  }
}

/**
 * Answers a request that the daemon refused, or that failed because it is away. `model`: as in
 * `LimitedRequest`.
 */
function replyRejected(
  context: RequestContext<"limiter" | "config" | "nowMs">,
  outcome: Exclude<RejectedAdmission, { readonly kind: "left" }>,
  model: string,
): void {
  const { gateway, exchange, caller, record } = context;
  switch (outcome.kind) {
    case "unavailable":
      record.end(503, "limiter_unavailable");
      return replyFailure(exchange, "model", limiterUnavailable(), ["retry-after", "1"]);
    case "failed": {
      const { failure } = outcome;
      record.end(failure.status, failedOutcome(failure));
      if (failure.status === 403) record.note = failure.message;
      return replyFailure(exchange, "model", failure);
    }
    case "denied":
      return refuseCaller(context, "model", deniedCaller(caller, outcome.ended));
  }
  record.setCaller(outcome.key ?? { userPath: caller.userPath, keyId: "" });
  record.note = refusalMessage(outcome.breach);
  record.breach = outcome.breach;
  gateway.limiter.noteRefusal(outcome.id, exchange.id, model);
  const status = replyWithRefusal(exchange, outcome, {
    requestIdInBody: gateway.config.server.requestIdInRefusals,
    nowMs: gateway.nowMs(),
  });
  record.end(status, refusedAs(outcome.breach));
}

/**
 * Refuses and answers a request before its compressed body is read, if the caller is over a limit,
 * so that it costs no decoding; returns whether it did. The model is in the body, so rules of
 * targets apply later, with the admission.
 */
export async function refuseUnread(
  context: RequestContext<"limiter" | "config" | "monoMs" | "nowMs">,
  request: Pick<LimitedRequest, "submission"> = {},
): Promise<boolean> {
  const { gateway, caller, record } = context;
  const askedMonoMs = gateway.monoMs();
  const refusal = await gateway.limiter.refusal(caller, request);
  record.addWait(gateway.monoMs() - askedMonoMs);
  if (refusal === null || refusal.kind === "left") return false;
  // Not refused here: the admission can still switch the model, wait, or refuse.
  if (exhaustedIn(refusal) !== null || mayStillWait(context, refusal)) return false;
  replyRejected(context, refusal, "");
  return true;
}

function mayStillWait(
  { gateway, exchange }: RequestContext<"config">,
  outcome: RejectedAdmission,
): boolean {
  const { waiting } = gateway.config;
  if (waiting === null || (outcome.kind !== "refused" && outcome.kind !== "exceeded")) return false;
  return outcome.breach.dimension !== "banned" && waitOf(exchange, waiting, 0) !== null;
}

function exhaustedIn(outcome: AdmissionOutcome): ExhaustedLimit | null {
  if (outcome.kind !== "refused" && outcome.kind !== "exceeded") return null;
  const { breach } = outcome;
  return breach.use === undefined ? null : { use: breach.use, breach };
}

/** The targets, with a mark on those without a price, which a budget may refuse. */
function markUnpriced(
  { prices }: Pick<Gateway, "prices">,
  targets: readonly Target[],
): readonly Target[] {
  let marked: Target[] | null = null;
  for (let i = 0; i < targets.length; i++) {
    const target = targets[i]!;
    if (target.model === "" || isOfMcp(target) || prices.priceOf(target) !== null) continue;
    marked ??= [...targets];
    const { provider, model, tools } = target;
    // The literal is much faster than a spread.
    marked[i] =
      tools === undefined ? { provider, model, unpriced: true } : { ...target, unpriced: true };
  }
  return marked ?? targets;
}

/** Whether the daemon judged the request: not without limits, or while it is away. */
function isVerdict(outcome: AdmissionOutcome): boolean {
  const { kind } = outcome;
  if (kind === "admitted") return !isUnnumbered(outcome.admission.lsn);
  return kind === "refused" || kind === "exceeded" || kind === "denied";
}

function refusedAs({ dimension }: Breach | BudgetBreach): Outcome {
  if (dimension === "banned") return "refused";
  return dimension === "budget" ? "over_budget" : "rate_limited";
}

/** The daemon is unavailable, or the caller's key doesn't allow the model. */
function failedOutcome({ code, status }: Failure): Outcome {
  if (code === "overloaded") return "overloaded";
  return status === 403 ? "refused" : "limiter_unavailable";
}

/**
 * Settles an admission with the outcome of the request, and then completes the response. The settle
 * counts the admission's target; the usage record names `record.target`.
 */
export function settleRequest(
  context: RequestContext<RecordingParts | "limiter" | "log">,
  admission: Admission,
  forwarded: ForwardResult,
): void {
  const { gateway, exchange, record } = context;
  record.setResult(forwarded);
  const execution = executionOf(context, forwarded);
  record.addCost(execution?.totalCost ?? null);
  const { usage, estimated, finish } = forwarded;
  countCharge(context, forwarded, execution);
  const tokens = usage === null ? 0 : usage.totalTokens;
  // Checked here: inside the limiter it would count as broken limiter state.
  assert(isCount(tokens), "a count of tokens is an integer");
  gateway.limiter.settle(admission, { tokens, estimated, record: execution }, () =>
    finishRequest({ gateway, exchange }, finish),
  );
}

/**
 * Sends the end of a response after its settle was sent. No promise awaits this, so it catches
 * exceptions.
 */
export function finishRequest(
  { gateway, exchange }: Pick<RequestContext<"log">, "gateway" | "exchange">,
  finish: () => void,
): void {
  try {
    finish();
  } catch (error) {
    logBug(gateway.log, exchange.id, error);
    replyInternalError(exchange, areaOf(exchange.path));
  }
}

/** The input of a usage record. */
export type RecordingParts =
  | "config"
  | "metrics"
  | "prices"
  | "providers"
  | "recordedModels"
  | "noticeUnpriced"
  | "monoMs";

/**
 * Charges an attempt that failed after the request was sent, before the next attempt: its provider
 * may have worked. Charges it at the admission's target. Returns the attempt without the charged
 * usage.
 */
export function settleAttempt(
  context: RequestContext<RecordingParts | "limiter">,
  attempt: ForwardResult,
): ForwardResult {
  const { record } = context;
  const { usage, estimated, atMost = null } = attempt;
  if ((usage === null && atMost === null) || record.admission === null) return attempt;
  const { target } = record;
  record.target = record.admission.target;
  const { providerRequestId = "", providerKey = "" } = attempt;
  const ids = { providerRequestId, providerKey };
  settleProgress(context, record.admission, { usage, estimated, atMost, ...ids });
  record.target = target;
  return { ...attempt, usage: null, estimated: false, atMost: null };
}

/** Charges what a running request used since its last charge. `usage` null: only a bound. */
export function settleProgress(
  context: RequestContext<RecordingParts | "limiter">,
  admission: Admission,
  { usage, estimated, atMost = null, ...ids }: Progress,
): void {
  const { gateway, record } = context;
  const status = interimStatus;
  const part = { usage, atMost, status, executed: true, firstByteMonoMs: null, ...ids };
  const execution = executionOf(context, part);
  const charged = usage ?? noUsage;
  const { totalTokens: tokens } = charged;
  assert(isCount(tokens), "a count of tokens is an integer");
  record.addProgress({ usage: charged, estimated }, execution?.totalCost ?? null);
  countCharge(context, { usage, estimated, atMost, status: 200 }, execution);
  gateway.limiter.progress(admission, { tokens, estimated, record: execution });
}

type Progress = Omit<SpentTokens, "usage"> &
  Pick<ProviderResult, "usage" | "providerRequestId" | "providerKey">;
type Counted = Pick<ForwardResult, "usage" | "estimated" | "status" | "atMost">;

function countCharge(
  { gateway, record }: RequestContext<"metrics" | "noticeUnpriced">,
  { usage, estimated, status, atMost = null }: Counted,
  execution: Execution | null,
): void {
  const { target, userPath } = record;
  if (execution?.toolCalls !== undefined)
    for (const tool in execution.toolCalls) {
      // A caller may make up names; the record's model is one that the server has.
      const label = isOfMcp(execution) ? toolName(targetName(execution)) : tool;
      gateway.metrics.counts.countToolCalls(label, execution.toolCalls[tool]!);
    }
  const cost = execution?.totalCost ?? null;
  const isUnpriced = execution !== null && cost === null;
  if (target === null || (usage === null && atMost === null && !isUnpriced)) return;
  if (isUnpriced) gateway.noticeUnpriced(target);
  const isAnswered = status >= 200 && status < 300;
  const charge = {
    target,
    userPath,
    usage: usage ?? noUsage,
    estimated,
    cost,
    isUnpriced,
    atMost,
    isAnswered,
  };
  gateway.metrics.counts.countCharge(charge);
  const saved = execution?.rewriteTokensSaved ?? 0;
  if (saved > 0) gateway.metrics.counts.countSavedTokens(saved);
}

/** For the usage record; null without anything to record. */
function executionOf(
  { gateway, exchange, record }: RequestContext<RecordingParts>,
  result: ProviderResult,
): Execution | null {
  const { config, prices, recordedModels, monoMs } = gateway;
  const { target } = record;
  if (!config.usageEnabled || target === null) return null;
  const { provider } = target;
  const priceOf = (model: string): Price | null => prices.priceOf({ provider, model });
  const { usage, responseId = "", servedModel = null, isNameKnown = usage !== null } = result;
  const ownPrice = prices.priceOf(target);
  const pricedTarget =
    ownPrice === null && servedModel !== null ? { provider, model: servedModel } : target;
  const price = ownPrice ?? prices.priceOf(pricedTarget);
  return usageRecord(result, {
    requestId: exchange.id,
    endpoint: exchange.path,
    target: {
      provider,
      // A background response is priced and counted again once its usage is known.
      model: responseId === "" ? recordedModels.nameOf(target, isNameKnown) : target.model,
    },
    providerType: isOfMcp(target) ? "mcp" : providerOf(gateway, target).config.type,
    keyId: record.keyId,
    requestedModel: record.requestedModel,
    session: record.session,
    startedMonoMs: record.startedMonoMs,
    endedMonoMs: monoMs(),
    savedBytes: record.savedBytes,
    loop: record.loop?.times,
    price,
    priceSource: prices.sourceOf(pricedTarget),
    isPart: result.status === interimStatus,
    priceOf,
    // The usage of a batch is known only once the batch has ended.
    isUnmetered:
      usage === null &&
      responseId === "" &&
      isAnsweredPassthrough(exchange.path, target.model, result.status),
  });
}

/** Whether it is the passthrough answer of a model whose operation is unknown. */
function isAnsweredPassthrough(path: string, model: string, status: number): boolean {
  return path.startsWith("/p/") && model !== "" && status >= 200 && status < 300;
}

/** The limits' headers of a response, with the names of the client's dialect. */
export function limitHeaders(
  { exchange, gateway }: RequestContext<"nowMs">,
  admitted: AdmittedRequest,
): string[] {
  const headers = admittedHeaders(admitted);
  const measures = admitted.headers?.measures;
  if (measures === undefined || !speaksMessages(exchange)) return headers;
  const nowMs = gateway.nowMs();
  return [
    ...headers,
    ...Object.entries(measures).flatMap(([measure, remaining]) =>
      messagesHeaders(measure as Measure, remaining, nowMs),
    ),
  ];
}

/**
 * Ends an admitted request that can't be sent: it stays counted, like one that the provider
 * refuses. `failure` is null if the client disconnected.
 */
export function refuseAfterAdmission(
  { gateway, exchange, record }: RequestContext<"limiter" | "log">,
  { admission, headers }: AdmittedRequest,
  failure: Failure | null,
): void {
  if (failure === null || exchange.gone) record.markGone(exchange);
  else record.end(failure.status, outcomeOf(failure));
  gateway.limiter.settle(admission, nothingSpent, () =>
    finishRequest({ gateway, exchange }, () => {
      if (failure !== null && !exchange.gone)
        replyFailure(exchange, "model", failure, [
          ...admittedHeaders({ admission, headers }),
          ...retryAfter(failure),
        ]);
    }),
  );
}
