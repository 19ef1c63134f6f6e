/** POST /v1/chat/completions, in the order in which it happens: read, resolve, admit, forward, fail over, settle. */
import { assert } from "../shared/assert.js";
import { type Failure, failure, plainFailure } from "../shared/error-code.js";
import { refusalMessage } from "../shared/refusal-message.js";
import type { Execution } from "../shared/wire/execution.js";
import type { Target } from "../shared/wire/message.js";
import type { Caller } from "./authenticate.js";
import { authorizeCaller, refuseCaller } from "./authorize-caller.js";
import { type ChatBody, parseChatBody, rewriteChatBody } from "./chat-body.js";
import { forwardRequestHeaders } from "./copy-headers.js";
import type { Exchange } from "./exchange.js";
import { failOver } from "./fail-over.js";
import { type Forwarded, forward } from "./forward.js";
import { limiterUnavailable } from "./daemon-calls.js";
import type { Gateway, RequestRecord } from "./gateway.js";
import { resolveModel, type Route } from "./resolve-model.js";
import { usageRecord } from "./usage-record.js";
import { replyFailure, replyRefused, successHeaders, targetHeader } from "./respond.js";

/** Answers the exchange; the record learns what the log line tells. Never rejects. */
export async function chatCompletions(gateway: Gateway, exchange: Exchange, caller: Caller, record: RequestRecord): Promise<void> {
  const { limiter, config } = gateway;
  const refuse = (what: Failure): Promise<void> => refuseBeforeAdmission(gateway, exchange, caller, record, what);
  const body = await exchange.readBody(config.server.bodyBytesMax);
  if (!body.ok) {
    if (body.reason === "gone") return record.end(499, "client_gone");
    return refuse(failure("request_too_large", `the body is larger than ${config.server.bodyBytesMax} bytes`));
  }
  const chat = parseChatBody(body.bytes, gateway.isUtf8);
  if (!chat.ok) return refuse(chat.failure);
  record.model = chat.body.model;
  const route = resolveModel(gateway.models.current(), chat.body.model) ?? (await resolveOnceLearned(gateway, chat.body.model));
  if (route === null) return refuse(failure("model_not_found", `the model ${JSON.stringify(chat.body.model)} does not exist: GET /v1/models lists those that do`, "model"));
  const targets = gateway.targetOrder.order(route);
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
    limiter.noteRefusal(outcome.id, exchange.id, chat.body.model);
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
  const standIn = targets.length > 1;
  let forwarded = await send(gateway, exchange, { target, bytes: body.bytes, chat: chat.body, headers: successHeaders(outcome.headers), standIn });
  if (standIn && forwarded.failed !== null) {
    const again = (next: Target, headers: string[], more: boolean): Promise<Forwarded> => send(gateway, exchange, { target: next, bytes: body.bytes, chat: chat.body, headers, standIn: more });
    forwarded = await failOver({ limiter, exchange, admission, targets, record, send: again }, forwarded);
  }
  record.forwarded(forwarded);
  const executed = executionOf(gateway, exchange, { record, target: admission.target, forwarded });
  record.cost = executed === null ? null : executed.totalCost;
  const { usage, estimated, finish } = forwarded;
  limiter.settle(admission, { tokens: usage === null ? 0 : usage.totalTokens, estimated, record: executed }, finish);
}

/** For the usage record; null when there is nothing to record. */
function executionOf({ config, prices, providerTypes, monoMs }: Gateway, exchange: Exchange, { record, target, forwarded }: { readonly record: RequestRecord; readonly target: Target | null; readonly forwarded: Forwarded }): Execution | null {
  if (!config.usageEnabled || target === null) return null;
  return usageRecord(forwarded, {
    requestId: exchange.id,
    endpoint: exchange.path,
    providerType: providerTypes.get(target.provider) ?? "unknown",
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
  readonly bytes: Buffer;
  readonly chat: ChatBody;
  /** Those of the limits; the target is added to them. */
  readonly headers: string[];
  /** Whether another target is left. */
  readonly standIn: boolean;
}

function send(gateway: Gateway, exchange: Exchange, what: Sending): Promise<Forwarded> {
  const { provider, model } = what.target;
  const upstream = gateway.upstreams.get(provider);
  const { chat } = what;
  const askUsage = chat.stream && !chat.includeUsage;
  const body = rewriteChatBody(what.bytes, { ...(model === chat.model ? {} : { model }), ...(askUsage ? { includeUsage: true } : {}) }, chat.members);
  if (upstream === undefined) {
    const finish = (): void => replyFailure(exchange, "model", plainFailure(500, "internal_error", `provider ${provider} is not configured`));
    return Promise.resolve({ status: 500, usage: null, estimated: false, executed: false, outcome: "upstream_error", firstByteMonoMs: null, note: null, failed: null, finish });
  }
  what.headers.push("x-sluice-target", targetHeader(what.target));
  return forward(exchange, {
    upstream,
    provider,
    request: { method: "POST", path: "/chat/completions", headers: forwardRequestHeaders(exchange.rawHeaders, gateway.config.server.userPathHeader), body },
    headers: what.headers,
    hideUsageChunk: askUsage,
    promptBytes: what.bytes.length,
    standIn: what.standIn,
    monoMs: gateway.monoMs,
  });
}
