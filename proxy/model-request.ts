/** A request to a model, in the order in which it happens: read, resolve, admit, forward, fail over, settle. */
import { assert } from "../shared/assert.js";
import { type Failure, failure } from "../shared/error-code.js";
import { refusalMessage } from "../shared/refusal-message.js";
import type { Execution } from "../shared/wire/execution.js";
import type { Target } from "../shared/wire/message.js";
import type { Caller } from "./authenticate.js";
import { authorizeCaller, refuseCaller } from "./authorize-caller.js";
import { forwardRequestHeaders } from "./copy-headers.js";
import type { Exchange } from "./exchange.js";
import { failOver } from "./fail-over.js";
import { type Forwarded, forward } from "./forward.js";
import { limiterUnavailable } from "./daemon-calls.js";
import type { Gateway, RequestRecord } from "./gateway.js";
import { readJsonCall } from "./json-call.js";
import type { LimitedOperation } from "./match-route.js";
import type { CallSource, ModelCall, ReadCall } from "./model-call.js";
import { readMultipartCall } from "./multipart-call.js";
import { resolveModel, type Route } from "./resolve-model.js";
import { upstreamPath } from "./upstream-path.js";
import { translatedUpstream } from "./translated-upstream.js";
import { usageRecord } from "./usage-record.js";
import { replyFailure, replyRefused, successHeaders, targetHeader } from "./respond.js";

/** Answers the exchange; the record learns what the log line tells. Never rejects. */
export async function modelRequest(gateway: Gateway, exchange: Exchange, operation: LimitedOperation, caller: Caller, record: RequestRecord): Promise<void> {
  const refuse = (what: Failure): Promise<void> => refuseBeforeAdmission(gateway, exchange, caller, record, what);
  const read = await readCall(gateway, exchange, operation);
  if (!read.ok) return read.failure === null ? record.end(499, "client_gone") : refuse(read.failure);
  await serveCall(gateway, exchange, read.call, caller, record);
  read.call.close();
}

function readCall({ config, isUtf8, newSpool, nowMs }: Gateway, exchange: Exchange, operation: LimitedOperation): Promise<ReadCall> {
  const { bodyBytesMax, uploadBytesMax } = config.server;
  const source: CallSource = { exchange, bodyBytesMax, uploadBytesMax, isUtf8, newSpool, nowMs };
  return operation === "transcriptions" || operation === "translations" ? readMultipartCall(operation, source) : readJsonCall(operation, source);
}

async function serveCall(gateway: Gateway, exchange: Exchange, call: ModelCall, caller: Caller, record: RequestRecord): Promise<void> {
  const { limiter, config } = gateway;
  const refuse = (what: Failure): Promise<void> => refuseBeforeAdmission(gateway, exchange, caller, record, what);
  record.model = call.model;
  const route = resolveModel(gateway.models.current(), call.model) ?? (await resolveOnceLearned(gateway, call.model));
  if (route === null) return refuse(failure("model_not_found", `the model ${JSON.stringify(call.model)} does not exist: GET /v1/models lists those that do`, "model"));
  const targets = withoutProblem(gateway, call, gateway.targetOrder.order(route));
  if ("status" in targets) return refuse(targets);
  const outcome = await limiter.admit(caller, targets);
  if (outcome.kind === "unavailable") {
    record.end(503, "limiter_unavailable");
    return replyFailure(exchange, "model", limiterUnavailable(), ["retry-after", "1"]);
  }
  if (outcome.kind === "denied") return refuseCaller(exchange, "model", record, { ok: false, failure: caller.denial });
  record.identified(outcome.kind === "admitted" ? outcome.admission : (outcome.key ?? { userPath: caller.userPath, keyId: "" }));
  if (outcome.kind !== "admitted") {
    record.end(429, outcome.kind === "refused" ? "rate_limited" : "over_budget");
    record.note = refusalMessage(outcome.breach);
    limiter.noteRefusal(outcome.id, exchange.id, call.model);
    return replyRefused(exchange, outcome, { requestIdInBody: config.server.requestIdInRefusals });
  }
  const { admission } = outcome;
  const { target } = admission;
  assert(target !== null, "who is admitted has a target");
  record.target = target;
  if (exchange.gone) {
    record.end(499, "client_gone");
    return limiter.settle(admission, { tokens: 0, estimated: false, record: null }, () => {});
  }
  const standIn = targets.length > 1 && call.repeatable;
  let forwarded = await send(gateway, exchange, { target, call, headers: successHeaders(outcome.headers), standIn });
  if (standIn && forwarded.failed !== null) {
    const again = (next: Target, headers: string[], more: boolean): Promise<Forwarded> => send(gateway, exchange, { target: next, call, headers, standIn: more });
    forwarded = await failOver({ limiter, exchange, admission, targets, record, send: again }, forwarded);
  }
  record.forwarded(forwarded);
  const executed = executionOf(gateway, exchange, { record, target: admission.target, forwarded });
  record.cost = executed === null ? null : executed.totalCost;
  const { usage, estimated, finish } = forwarded;
  limiter.settle(admission, { tokens: usage === null ? 0 : usage.totalTokens, estimated, record: executed }, finish);
}

/** The targets that can be asked this, or the first one's problem when none can. Nearly always they all are, in the order's own array. */
function withoutProblem({ providers }: Gateway, call: ModelCall, targets: readonly Target[]): readonly Target[] | Failure {
  let first: Failure | null = null;
  let able: Target[] | null = null;
  for (let i = 0; i < targets.length; i++) {
    const target = targets[i]!;
    const problem = call.problemAt(providers.get(target.provider)!);
    if (problem === null) {
      able?.push(target);
      continue;
    }
    first ??= problem;
    able ??= targets.slice(0, i);
  }
  if (able === null) return targets;
  return able.length === 0 ? first! : able;
}

/** For the usage record; null when there is nothing to record. */
function executionOf({ config, prices, providers, monoMs }: Gateway, exchange: Exchange, { record, target, forwarded }: { readonly record: RequestRecord; readonly target: Target | null; readonly forwarded: Forwarded }): Execution | null {
  if (!config.usageEnabled || target === null) return null;
  return usageRecord(forwarded, {
    requestId: exchange.id,
    endpoint: exchange.path,
    providerType: providers.get(target.provider)!.type,
    keyId: record.keyId,
    startedMonoMs: record.startedMonoMs,
    endedMonoMs: monoMs(),
    price: prices.priceOf(target),
  });
}

/** Before the admission nobody has judged the caller's key yet: a wrong one gets its 401, whatever else is wrong. */
async function refuseBeforeAdmission(gateway: Gateway, exchange: Exchange, caller: Caller, record: RequestRecord, what: Failure): Promise<void> {
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  if (!authorized.ok) return refuseCaller(exchange, "model", record, authorized);
  record.identified(authorized.caller);
  record.end(what.status, "refused");
  replyFailure(exchange, "model", what);
}

/** A bare id may be one that a provider is just being asked about. */
async function resolveOnceLearned(gateway: Gateway, name: string): Promise<Route | null> {
  await gateway.models.firstLearned();
  return resolveModel(gateway.models.current(), name);
}

interface Sending {
  readonly target: Target;
  readonly call: ModelCall;
  /** Those of the limits; the target is added to them. */
  readonly headers: string[];
  /** Whether another target is left. */
  readonly standIn: boolean;
}

function send(gateway: Gateway, exchange: Exchange, { target, call, headers, standIn }: Sending): Promise<Forwarded> {
  const provider = gateway.providers.get(target.provider)!;
  const { operation, body, hideUsageChunk, translator } = call.requestTo(provider, target.model);
  headers.push("x-sluice-target", targetHeader(target));
  const upstream = gateway.upstreams.get(target.provider)!;
  return forward(exchange, {
    upstream: translator === null ? upstream : translatedUpstream(upstream, translator),
    provider: target.provider,
    request: { method: "POST", path: upstreamPath(provider, operation, target.model), headers: forwardRequestHeaders(exchange.rawHeaders, gateway.config.server.userPathHeader), body },
    headers,
    operation: call.operation,
    hideUsageChunk,
    promptBytes: call.promptBytes,
    standIn,
    monoMs: gateway.monoMs,
  });
}
