/**
 * A request to a model, in the order in which it happens: read, resolve, admit, forward, fail over,
 * settle.
 */
import { assert } from "../../shared/assert.js";
import type { Failure } from "../../shared/error-code.js";
import type { Target } from "../../shared/wire/message.js";
import type { Caller } from "../auth/authenticate.js";
import { translatedUpstream } from "../dialects/translated-upstream.js";
import type { Gateway } from "../gateway.js";
import { forwardRequestHeaders, setJsonContentType, withoutDialect } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import type { LimitedOperation } from "../http/match-route.js";
import { successHeaders, targetHeader } from "../http/respond.js";
import type { RequestRecord } from "../request-record.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import { resolveModel } from "../routing/resolve-model.js";
import { forward } from "../upstream/forward.js";
import type { Forwarded } from "../upstream/forwarded.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { admitRequest, refuseUnadmitted, settleRequest } from "./admitted-request.js";
import { askCache } from "./ask-cache.js";
import { failOver } from "./fail-over.js";
import { readJsonCall } from "./json-call.js";
import type { CallSource, ModelCall, ReadCall } from "./model-call.js";
import { readMultipartCall } from "./multipart-call.js";

/** Answers the exchange; the record learns what the log line tells. Never rejects. */
export async function modelRequest(
  gateway: Gateway,
  exchange: Exchange,
  operation: LimitedOperation,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what);
  const read = await readCall(gateway, exchange, operation);
  if (!read.ok)
    return read.failure === null ? record.end(499, "client_gone") : refuse(read.failure);
  await serveCall(gateway, exchange, read.call, caller, record);
  read.call.close();
}

function readCall(
  { config, isUtf8, newSpool, nowMs }: Gateway,
  exchange: Exchange,
  operation: LimitedOperation,
): Promise<ReadCall> {
  const { bodyBytesMax, uploadBytesMax } = config.server;
  const source: CallSource = { exchange, bodyBytesMax, uploadBytesMax, isUtf8, newSpool, nowMs };
  return operation === "transcriptions" || operation === "translations"
    ? readMultipartCall(operation, source)
    : readJsonCall(operation, source);
}

async function serveCall(
  gateway: Gateway,
  incoming: Exchange,
  call: ModelCall,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, incoming, caller, record, what);
  record.model = call.model;
  const route =
    resolveModel(gateway.models.current(), call.model) ??
    (await resolveOnceLearned(gateway, call.model));
  if (route === null) return refuse(unknownModel(call.model));
  const cacheMiss =
    gateway.responseCache === null
      ? null
      : await askCache(gateway, incoming, { call, caller, route }, record);
  if (cacheMiss === "answered") return;
  const exchange = cacheMiss === null ? incoming : cacheMiss.exchange;
  const targets = withoutProblem(gateway, call, gateway.targetOrder.order(route));
  if ("status" in targets) return refuse(targets);
  const admitted = await admitRequest(
    gateway,
    exchange,
    { caller, targets, model: call.model },
    record,
  );
  if (admitted === null) return;
  const { admission } = admitted;
  const { target } = admission;
  assert(target !== null, "who is admitted has a target");
  const hasFallback = targets.length > 1 && call.repeatable;
  let forwarded = await send(
    gateway,
    exchange,
    { target, call, headers: successHeaders(admitted.headers), hasFallback },
    record,
  );
  if (hasFallback && forwarded.failed !== null) {
    const again = (next: Target, headers: string[], more: boolean): Promise<Forwarded> =>
      send(gateway, exchange, { target: next, call, headers, hasFallback: more }, record);
    forwarded = await failOver(
      { limiter: gateway.limiter, exchange, admission, targets, record, send: again },
      forwarded,
    );
  }
  settleRequest(
    gateway,
    exchange,
    admission,
    cacheMiss === null ? forwarded : cacheMiss.keepAfter(forwarded, admission.target),
    record,
  );
}

/**
 * The targets that can be asked this, or the first one's problem when none can. Nearly always they
 * all are, in the order's own array.
 */
function withoutProblem(
  { providers }: Gateway,
  call: ModelCall,
  targets: readonly Target[],
): readonly Target[] | Failure {
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

interface Sending {
  readonly target: Target;
  readonly call: ModelCall;
  /** Those of the limits; the target is added to them. */
  readonly headers: string[];
  /** Whether another target is left. */
  readonly hasFallback: boolean;
}

function send(
  gateway: Gateway,
  exchange: Exchange,
  { target, call, headers, hasFallback }: Sending,
  record: RequestRecord,
): Promise<Forwarded> {
  const provider = gateway.providers.get(target.provider)!;
  const { operation, body, savedBytes, hideUsageChunk, translator } = call.requestTo(
    provider,
    target.model,
    gateway.rewriters(record.userPath ?? "/", target),
  );
  record.savedBytes = savedBytes;
  headers.push("x-sluice-target", targetHeader(target));
  const upstream = gateway.upstreams.get(target.provider)!;
  const sent = forwardRequestHeaders(exchange.rawHeaders, gateway.config.server.userPathHeader);
  if (Buffer.isBuffer(body)) setJsonContentType(sent, exchange.header("content-type"));
  return forward(exchange, {
    upstream: translator === null ? upstream : translatedUpstream(upstream, translator),
    provider: target.provider,
    request: {
      method: "POST",
      path: upstreamPath(
        provider,
        operation,
        target.model,
        translator === null ? exchange.query : "",
      ),
      headers: translator === null ? sent : withoutDialect(sent),
      body,
    },
    headers,
    operation: call.operation,
    translator,
    hideUsageChunk,
    promptBytes: () => call.promptBytes - savedBytes,
    hasFallback,
    monoMs: gateway.monoMs,
  });
}
