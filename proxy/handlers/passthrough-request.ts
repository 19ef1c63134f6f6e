/**
 * A request that passes to a provider unchanged, in the order of its steps: route, find the model
 * in its body, admit, relay, settle.
 */
import { largeBodyBytes } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { modelNameProblem, type Target } from "../../shared/domain/target-name.js";
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import {
  deploymentInPath,
  modelInPath,
  modelsInQuery,
  needsModel,
  operationAt,
  plainPath,
} from "../body/passed/passthrough-model.js";
import { isJson, PeekedBody } from "../body/passed/peeked-body.js";
import { requestPieces, wholeBodies } from "../capacity/memory-ledger.js";
import { reasonsByDefault, showsReasoning } from "../dialects/fit/model-families.js";
import { namedLike, outputTokensMaxOf } from "../dialects/fit/target-traits.js";
import type { Gateway } from "../gateway.js";
import { withOutputMaximum } from "../hard-caps/output-maximum.js";
import { type RequestBounds, requestBounds } from "../hard-caps/request-bounds.js";
import {
  NoMemory,
  noMemory,
  UploadGone,
  UploadRefused,
  UploadTooLarge,
  unreadBody,
} from "../http/body-spool.js";
import { contentCoding, forwardRequestHeaders, type PassedHeaders } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { admittedHeaders } from "../http/limit-headers.js";
import { targetHeader } from "../http/respond.js";
import { submittedBatch } from "../objects/batches.js";
import type { RequestContext } from "../request-context.js";
import { targetAt } from "../routing/resolve-model.js";
import { sessionOf } from "../routing/session.js";
import { endedUpstream } from "../upstream/ended-upstream.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import { sizeClass } from "../upstream/limit-reports.js";
import type { PassthroughUpstream } from "../upstream/passthrough/passthrough-upstream.js";
import { relayAnswer } from "../upstream/passthrough/relay-answer.js";
import {
  bodyTypeProblem,
  originPath,
  passedQuery,
  queryProblem,
  restProblem,
  splitPassthrough,
} from "../upstream/passthrough-path.js";
import { SentBody } from "../upstream/sent-body.js";
import { wantsEvents } from "../upstream/upstream-path.js";
import { isWithoutModel } from "../usage/count-usage.js";
import { boundFields, requestedOutput } from "../usage/usage-bound.js";
import {
  type AdmittedRequest,
  admitRequest,
  refuseAfterAdmission,
  settleRequest,
} from "./admit-and-settle.js";
import { grantedTo, streamCap } from "./hard-cap.js";
import {
  isAboutObject,
  type StoredObjects,
  settleBeforeDeletions,
  settleEndedObjects,
  storedObjectsAt,
} from "./objects/passthrough-objects.js";
import { hasEnqueuedCap } from "./objects/submit-batch.js";
import { ownOrigin } from "./own-origin.js";
import { refuseBeforeAdmission } from "./refuse-request.js";

/** Never rejects. */
export async function passthroughRequest(context: RequestContext): Promise<void> {
  const { gateway, exchange } = context;
  const routed = passthroughRoute(context);
  if (!routed.ok) return refuseBeforeAdmission(context, routed.failure);
  const { route } = routed;
  const read = await readPassed(gateway, exchange);
  if (!read.ok) return refuseBeforeAdmission(context, read.failure);
  const { body } = read;
  const { bodyBytesMax } = gateway.config.server;
  const requestedModel = await namedModel(exchange, route, { body, bodyBytesMax });
  if (!requestedModel.ok) return refuseBeforeAdmission(context, requestedModel.failure);
  const operation = operationAt(exchange.method, route.path);
  const bounds = gateway.limiter.notices.hasHardLimits ? boundsOf(exchange, operation, body) : null;
  const admission = await admitAt(context, route, requestedModel.model, bounds);
  if (admission === null) return;
  const { target, admitted } = admission;
  const objects = storedObjectsAt(exchange.method, route.path);
  const problem =
    objects.submitsBatch && (await hasEnqueuedCap(gateway, admitted.admission))
      ? uncountableBatch()
      : await settleBeforeDeletions(gateway, target, objects);
  if (problem !== null) return refuseAfterAdmission(context, admitted, problem);
  const { forwarded, objectText } = await relay(context, {
    route,
    body,
    operation,
    bounds,
    admission,
    objects,
  });
  const answer =
    objectText === "" ? undefined : parseJson(Buffer.from(objectText, "latin1").toString("utf8"));
  await settleEndedObjects(gateway, target, { objects, forwarded, answer });
  const isSubmitted = objects.submitsBatch && forwarded.status < 300;
  const responseId = isSubmitted ? submittedBatch(answer) : "";
  const submitted = responseId === "" ? forwarded : { ...forwarded, responseId, batchTokens: 0 };
  settleRequest(context, admitted.admission, submitted);
}

/**
 * Sends an admitted request and relays the answer. `objectText`: the text of an answer that
 * describes a stored object, in Latin-1; empty for any other answer.
 */
async function relay(
  context: RequestContext,
  {
    route,
    body,
    operation,
    bounds,
    admission: { target, admitted },
    objects,
  }: {
    readonly route: PassthroughRoute;
    readonly body: PeekedBody | null;
    readonly operation: Operation | null;
    readonly bounds: RequestBounds | null;
    readonly admission: AdmittedTarget;
    readonly objects: StoredObjects;
  },
): Promise<{ readonly forwarded: ForwardResult; readonly objectText: string }> {
  const { gateway, exchange, record } = context;
  const { upstream, provider, passed, path, query } = route;
  const startedMonoMs = gateway.monoMs();
  const traced = { target, operation, stream: false, resent: 0 };
  const trace = record.trace?.attempt(traced, startedMonoMs) ?? null;
  const granted = bounds === null ? null : grantedTo(record, bounds);
  const sent = body === null ? null : wholeBody(route, operation, { body, granted });
  const promptBytes = (): number => body?.bytes ?? 0;
  const cap =
    bounds === null || operation === null
      ? null
      : streamCap(context, target, { operation, bounds, promptBytes });
  let answerText = "";
  const forwarded = await relayAnswer(exchange, {
    upstream: endedUpstream(upstream, operation, gateway.setTimer),
    provider: target.provider,
    request: {
      method: exchange.method,
      path: path + query,
      headers: forwardRequestHeaders(exchange.rawHeaders, passed, trace),
      body: sent ?? (body === null ? null : { pieces: body.pieces(), bytes: body.length }),
    },
    links: {
      baseUrl: provider.baseUrl,
      place: () => `${ownOrigin(exchange, gateway.config.server)}/p/${target.provider}`,
    },
    limits: admittedHeaders(admitted),
    headers: ["x-sluice-target", targetHeader(target)],
    operation,
    promptBytes: cap?.promptBytes ?? promptBytes,
    onAnswer: isAboutObject(objects)
      ? (text) => {
          answerText = text;
        }
      : undefined,
    modelOutputMax: () => outputTokensMaxOf(provider, target.model),
    reasonsByDefault: () => reasonsByDefault(namedLike(provider, target.model)),
    showsReasoning: () => showsReasoning(namedLike(provider, target.model)),
    readsModel: gateway.prices.mayBePricedByAnswer(target),
    cap,
    granted,
    // The caller chooses the path, and some paths, such as those that count tokens, have limits of
    // their own.
    onBegun: () => {
      if (sent === null || operation === "speech") return;
      sent.release(operation === null ? null : boundFields(sent.wholeBody()));
      body!.release();
    },
    observeLimits:
      target.model === "" || !runsModel(path, operation)
        ? undefined
        : gateway.limitReports.observerOf({
            config: provider,
            upstream: null,
            target,
            size: () => sizeClass(body?.bytes ?? 0, false),
          }),
    monoMs: gateway.monoMs,
  });
  const endedMonoMs = gateway.monoMs();
  trace?.ended(forwarded, endedMonoMs);
  record.addAttempt({ target, ms: endedMonoMs - startedMonoMs, retry: 0, forwarded });
  if (operation !== null) {
    gateway.targetHealth.noteDirect(target, startedMonoMs, forwarded);
    const attempt = { target, operation, stream: false, startedMonoMs, endedMonoMs, forwarded };
    gateway.metrics.counts.countAttempt(attempt);
    gateway.metrics.reports.noteAttempt(attempt);
  }
  return { forwarded, objectText: answerText };
}

/**
 * The most that a request may use; null if unknown. A body that isn't in memory may request a
 * stream.
 */
function boundsOf(
  { query }: Pick<Exchange, "query">,
  operation: Operation | null,
  body: PeekedBody | null,
): RequestBounds | null {
  if (operation === null || body === null || isWithoutModel(operation)) return null;
  const { complete } = body;
  const isOfGoogle = operation === "stream_generate_content";
  const isStream = isOfGoogle ? wantsEvents(query) : requestsStream(operation, complete);
  const bytes = body.length ?? body.bytes;
  return requestBounds({ operation, body: complete, bytes, isStream });
}

function requestsStream(operation: Operation, body: Buffer | null): boolean {
  return body === null || requestedOutput(operation, body).isStream;
}

/** The body with the maximum of output that hard caps allow; null if it isn't in memory. */
function wholeBody(
  { provider }: Pick<PassthroughRoute, "provider">,
  operation: Operation | null,
  { body, granted }: { readonly body: PeekedBody; readonly granted: ReturnType<typeof grantedTo> },
): SentBody | null {
  const bytes = body.complete;
  if (bytes === null) return null;
  const isCapped = granted !== null && operation !== null;
  if (!isCapped || !isObject(parseJson(bytes.toString("latin1")))) return new SentBody(bytes);
  const chatField = provider.chat.maxTokensField;
  return new SentBody(withOutputMaximum(operation, bytes, { ...granted, chatField }));
}

function uncountableBatch(): Failure {
  return plainFailure(
    403,
    "permission_error",
    "a batch can't be submitted by passthrough here: its tokens can't be counted for max_enqueued_tokens",
  );
}

/** Whether a model answers at this path. */
function runsModel(path: string, operation: Operation | null): boolean {
  return (
    (operation !== null && operation !== "count_tokens") ||
    /:(?:stream)?generatecontent$|:(?:batch)?embedcontents?$/.test(plainPath(path).toLowerCase())
  );
}

interface AdmittedTarget {
  readonly target: Target;
  readonly admitted: AdmittedRequest;
}

/**
 * Admits a passthrough request for the model that it names, if any. A caller with an allow list
 * must name one. Null if the request was refused and answered.
 */
export async function admitAt(
  context: RequestContext,
  route: Pick<PassthroughRoute, "provider">,
  model: string,
  bounds: RequestBounds | null = null,
): Promise<AdmittedTarget | null> {
  const problem = modelNameProblem(model);
  if (problem !== null) {
    await refuseBeforeAdmission(context, invalid(problem, "model"));
    return null;
  }
  context.record.model = model === "" ? null : model;
  context.record.session = sessionOf(context.exchange, null);
  const target = passthroughTarget(context, route, model);
  const admitted = await admitRequest(context, {
    targets: [target],
    model,
    modelNames: [],
    bounds,
  });
  return admitted === null ? null : { target, admitted };
}

interface PassthroughRoute {
  readonly provider: ProviderConfig;
  readonly upstream: PassthroughUpstream;
  /** The caller's headers that are forwarded. */
  readonly passed: PassedHeaders;
  /** The path at the provider's origin. */
  readonly path: string;
  /** The query with its question mark; may be empty. */
  readonly query: string;
}

type RouteResult =
  | { readonly ok: true; readonly route: PassthroughRoute }
  | { readonly ok: false; readonly failure: Failure };

/** The provider of a request to `/p/…`, or why there is none. */
export function passthroughRoute({
  gateway: { config, models, providers },
  exchange: { method, path, query, rawHeaders },
  caller,
}: Pick<
  RequestContext<"config" | "models" | "providers">,
  "gateway" | "exchange" | "caller"
>): RouteResult {
  const { provider: providerName, rest } = splitPassthrough(path)!;
  const name = models.current().providerByLowerName.get(providerName.toLowerCase());
  const provider = name === undefined ? undefined : providers.get(name);
  if (provider === undefined)
    return notFoundRoute(`no provider ${JSON.stringify(providerName.slice(0, 64))} is configured`);
  const { config: providerConfig, passthrough: upstream } = provider;
  const access = providerConfig.passthrough ?? config.server.passthrough;
  if (access === "off") return notFoundRoute(`passthrough to ${providerConfig.name} is off`);
  if (access === "master_key" && !caller.isOperator)
    return {
      ok: false,
      failure: plainFailure(
        403,
        "permission_error",
        `passthrough to ${providerConfig.name} needs the master key: it opens the provider's whole account (server.passthrough)`,
      ),
    };
  if (upstream === null)
    return {
      ok: false,
      failure: invalid(`provider ${providerConfig.name} is a simulator, which has no passthrough`),
    };
  const problem =
    restProblem(rest) ??
    queryProblem(method, query, providerConfig) ??
    bodyTypeProblem(rest, rawHeaders, providerConfig);
  if (problem !== null)
    return { ok: false, failure: invalid(`this path can't be passed on: ${problem}`) };
  return {
    ok: true,
    route: {
      provider: providerConfig,
      upstream,
      passed: provider.passed,
      path: originPath(providerConfig.baseUrl, rest),
      query: passedQuery(query, providerConfig.apiVersion),
    },
  };
}

function notFoundRoute(message: string): RouteResult {
  return { ok: false, failure: plainFailure(404, "not_found_error", message) };
}

type BodyRead =
  /** Null without a body. */
  | { readonly ok: true; readonly body: PeekedBody | null }
  /** Null if the client disconnected. */
  | { readonly ok: false; readonly failure: Failure | null };

/**
 * Reads a small JSON body as a whole, which takes less time than in pieces. Any other body passes
 * as it arrives.
 */
async function readPassed(
  { config }: Pick<Gateway, "config">,
  exchange: Exchange,
): Promise<BodyRead> {
  const { bodyBytesMax, uploadBytesMax } = config.server;
  const length = exchange.header("content-length");
  const bytes = length === undefined ? null : Number(length);
  if (bytes === 0 || (bytes === null && exchange.header("transfer-encoding") === undefined))
    return { ok: true, body: null };
  const wholeBytesMax = Math.min(largeBodyBytes - 1, bodyBytesMax, uploadBytesMax);
  const isWhole =
    bytes !== null &&
    bytes <= wholeBytesMax &&
    isJson(exchange.header("content-type") ?? "") &&
    contentCoding(exchange.header("content-encoding")) === "";
  const { memory } = exchange;
  const reading = {
    bytesAnnounced: bytes,
    memory: isWhole ? wholeBodies(memory) : requestPieces(memory),
    noMemory: () => new NoMemory(),
    refused: (problem: string) => new UploadRefused(problem),
  };
  if (!isWhole)
    return { ok: true, body: new PeekedBody(exchange.readPieces(uploadBytesMax), reading) };
  const read = await exchange.readBody(wholeBytesMax);
  return read.ok
    ? { ok: true, body: new PeekedBody(read.bytes, reading) }
    : { ok: false, failure: unreadBody(read, wholeBytesMax) };
}

type ModelResult =
  /** Empty without a named model. */
  | { readonly ok: true; readonly model: string }
  /** Why the body can't be read; null if the client disconnected. */
  | { readonly ok: false; readonly failure: Failure | null };

/**
 * In Gemini's and Azure's APIs the path decides the model. Elsewhere path, query and body must not
 * name different models, since it is unknown which one the provider reads.
 */
async function namedModel(
  exchange: Exchange,
  { path, provider: { type } }: Pick<PassthroughRoute, "path" | "provider">,
  { body, bodyBytesMax }: { readonly body: PeekedBody | null; readonly bodyBytesMax: number },
): Promise<ModelResult> {
  const deployment = deploymentInPath(path);
  const inPath = modelInPath(path) || (type === "azure" ? deployment : "");
  if (inPath !== "") return { ok: true, model: inPath };
  const models = [deployment, ...modelsInQuery(exchange.query)].filter((model) => model !== "");
  const isRequired = models.length === 0 && needsModel(exchange.method, path);
  const inBody = await modelInBody(exchange, body, isRequired ? bodyBytesMax : null);
  if (!inBody.ok) return inBody;
  if (inBody.model !== "") models.push(inBody.model);
  if (models.some((model) => model !== models[0]))
    return { ok: false, failure: invalid("model is given more than once", "model") };
  return { ok: true, model: models[0] ?? "" };
}

/**
 * `requiredWithin`: how many bytes of the body may precede a required model; null if none is
 * required.
 */
async function modelInBody(
  exchange: Exchange,
  body: PeekedBody | null,
  requiredWithin: number | null,
): Promise<ModelResult> {
  if (body === null)
    return requiredWithin === null
      ? { ok: true, model: "" }
      : { ok: false, failure: invalid("model is required", "model") };
  if (exchange.isRepeated("content-type"))
    return { ok: false, failure: invalid("content-type is given more than once") };
  try {
    const bodyModel = await body.model({
      contentType: exchange.header("content-type") ?? "",
      contentEncoding: exchange.header("content-encoding") ?? "",
      requiredWithin,
    });
    return bodyModel.ok ? bodyModel : { ok: false, failure: invalid(bodyModel.problem, "model") };
  } catch (error) {
    if (error instanceof UploadGone) return { ok: false, failure: null };
    if (error instanceof NoMemory) return { ok: false, failure: noMemory() };
    if (error instanceof UploadTooLarge)
      return { ok: false, failure: failure("request_too_large", error.message) };
    throw error;
  }
}

export function passthroughTarget(
  { gateway: { models } }: RequestContext<"models">,
  { provider: { name } }: { readonly provider: { readonly name: string } },
  model: string,
): Target {
  return targetAt(models.current(), name, model);
}
