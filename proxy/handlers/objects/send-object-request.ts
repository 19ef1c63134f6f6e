/**
 * Sends a request about stored objects to one provider: reads its body, and records the owners of
 * the objects that it creates.
 */
import type { ProviderConfig } from "../../../shared/config/config.js";
import { type Failure, invalid } from "../../../shared/error-code.js";
import { isNativeToGoogle, type Operation } from "../../../shared/operation.js";
import { denialOfDense } from "../../auth/caller.js";
import { withoutMark } from "../../body/byte-order-mark.js";
import { hasMoreValues, unauthenticatedValuesMax } from "../../body/count-values.js";
import { boundaryOf, FieldFinder } from "../../body/multipart.js";
import type { Gateway, Provider } from "../../gateway.js";
import { UploadRefused, unreadBody } from "../../http/body-spool.js";
import { describeAsJson, forwardRequestHeaders } from "../../http/copy-headers.js";
import type { Exchange } from "../../http/exchange.js";
import { targetHeader } from "../../http/respond.js";
import { watchedUpstream } from "../../objects/answer-watch.js";
import {
  endOf,
  type ResponseEnd,
  settleEndedResponse,
  settleTrackedBatch,
} from "../../objects/background-responses.js";
import { parseBatchRequests } from "../../objects/batch-requests.js";
import { batchEndIn, batchReadAt, submittedBatch } from "../../objects/batches.js";
import { rememberOwner, remembersOwners } from "../../objects/object-access.js";
import { parseObjectBody } from "../../objects/object-body.js";
import { madeIds, type NamedIds } from "../../objects/object-ids.js";
import type { RequestContext } from "../../request-context.js";
import { forward } from "../../upstream/forward.js";
import type { ForwardResult } from "../../upstream/forwarded.js";
import { relinkedBatches, relinkedJson } from "../../upstream/provider-links.js";
import type { RequestBody, UpstreamRequest } from "../../upstream/upstream.js";
import { clientPath, upstreamPath } from "../../upstream/upstream-path.js";
import { nextSliceOf } from "../model-call.js";
import { noForm } from "../multipart-call.js";
import { ownOrigin } from "../own-origin.js";

export type BatchOperation = Extract<Operation, "batches" | "message_batches">;

export type StoredOperation =
  | BatchOperation
  | Extract<
      Operation,
      | "files"
      | "responses"
      | "interactions"
      | "uploads"
      | "containers"
      | "conversations"
      | "message_files"
    >;

type ReadBodyResult =
  | {
      readonly ok: true;
      readonly body: RequestBody;
      /** The JSON body; null without one. */
      readonly fields: Readonly<Record<string, unknown>> | null;
      /** The objects that it names; null if too many. */
      readonly named: NamedIds | null;
    }
  /** Null if the client disconnected. */
  | { readonly ok: false; readonly failure: Failure | null };

/** An upload is streamed; any other body is JSON or empty. */
export async function readObjectBody(
  {
    gateway,
    exchange,
    caller,
  }: RequestContext<"bodySlices" | "config" | "isUtf8" | "limiter" | "providers">,
  operation: StoredOperation,
): Promise<ReadBodyResult> {
  if (exchange.method !== "POST") return withoutFields(null);
  const { bodyBytesMax, uploadBytesMax } = gateway.config.server;
  const boundary = boundaryOf(exchange.header("content-type") ?? "");
  const isForm = boundary !== null;
  const mustBeForm = exchange.path === "/v1/files" || exchange.path.endsWith("/parts");
  if (mustBeForm && !isForm) return { ok: false, failure: noForm() };
  // Files of a container are uploaded, or named in JSON.
  const mayNameFile = isForm && exchange.path.startsWith("/v1/containers/");
  const isUpload = mustBeForm || mayNameFile;
  const bytesMax = isUpload ? uploadBytesMax : bodyBytesMax;
  const length = exchange.header("content-length");
  if (isUpload && Number(length ?? 0) <= bytesMax) {
    const pieces = exchange.readPieces(bytesMax);
    return withoutFields({
      pieces: mayNameFile && !caller.isOperator ? formWithoutIds(pieces, boundary) : pieces,
      bytes: length === undefined ? null : Number(length),
    });
  }
  const result = await exchange.readBody(bytesMax);
  if (!result.ok) return { ok: false, failure: unreadBody(result, bytesMax) };
  const bytes = withoutMark(result.bytes);
  if (bytes.length === 0) return withoutFields(null);
  const { isUtf8 } = gateway;
  const denial = denialOfDense(gateway.limiter, caller, () =>
    hasMoreValues(bytes, unauthenticatedValuesMax),
  );
  const denied = denial === null ? null : await denial;
  if (denied !== null) return { ok: false, failure: denied };
  const parsed =
    operation === "message_batches"
      ? await parseBatchRequests(bytes, isUtf8, {
          nextTurn: nextSliceOf(caller, gateway),
          modelProblem: (model, param) => modelProblem(gateway, model, param),
        })
      : parseObjectBody(bytes, isUtf8);
  return parsed.ok ? { ...parsed, body: bytes } : parsed;
}

/** The provider reads a batch as it is, and reports a name that it doesn't know hours later. */
function modelProblem(
  { providers }: Pick<Gateway, "providers">,
  model: string,
  param: string,
): Failure | null {
  const [name = ""] = model.split("/", 1);
  if (name === model || !providers.has(name)) return null;
  for (const { config } of providers.values()) if (config.models?.includes(model)) return null;
  const problem = `must be the provider's own name of the model, without "${name}/": a batch passes as it is`;
  return invalid(`${param} ${problem}`, param);
}

function withoutFields(body: RequestBody): ReadBodyResult {
  return { ok: true, body, fields: null, named: new Map() };
}

interface Sending {
  readonly provider: Provider;
  readonly operation: StoredOperation;
  readonly body: RequestBody;
  readonly headers: string[];
  /** Whether another provider is left to ask. */
  readonly hasFallback: boolean;
  /** The id of the response or interaction in the path; null without one. */
  readonly id?: string | null;
  /** The owner of the created object; null if none is created or recorded. */
  readonly userPath: string | null;
}

/** The answer, after the owners of its objects are recorded. */
export async function sendObjectRequest(
  { gateway, exchange, record }: RequestContext<SendingParts>,
  { provider, operation, body, headers, hasFallback, userPath, id = null }: Sending,
): Promise<ForwardResult> {
  let remembered: Promise<void> | null = null;
  const object = { provider: provider.config.name, id: id ?? "" };
  const isOfBatches = operation === "batches" || operation === "message_batches";
  const batchRead = isOfBatches ? batchReadAt(exchange.method, exchange.path) : null;
  const isCreating =
    userPath !== null && remembersOwners(gateway) && mayCreate(operation, exchange);
  let seenAnswer: unknown;
  const noteAnswer = (answer: unknown): void => {
    seenAnswer = answer;
    if (!isCreating) return;
    const created = { operation, provider: provider.config.name, userPath: userPath! };
    remembered = rememberOwner(gateway, { ...created, ids: madeIds(operation, answer) });
  };
  const startedMonoMs = gateway.monoMs();
  const target = { provider: provider.config.name, model: "" };
  headers.push("x-sluice-target", targetHeader(target));
  const traced = { target, operation, stream: false, resent: 0 };
  const trace = record.trace?.attempt(traced, startedMonoMs) ?? null;
  const sent = forwardRequestHeaders(exchange.rawHeaders, provider.passed, trace);
  if (Buffer.isBuffer(body)) describeAsJson(sent);
  const forwarded = await forward(exchange, {
    upstream:
      isCreating || id !== null || (isOfBatches && batchRead?.isResults !== true)
        ? watchedUpstream(provider.upstream, noteAnswer)
        : provider.upstream,
    provider: provider.config.name,
    request: {
      method: methodOf(exchange),
      isNative: isNativeToGoogle(operation),
      path: objectPath(provider.config, operation, {
        rest: exchange.path.slice(clientPath(operation).length),
        query: exchange.query,
      }),
      headers: sent,
      body,
      isRepeatable: exchange.method !== "POST",
    },
    headers,
    operation,
    translator: null,
    hideUsageChunk: false,
    promptBytes: () => 0,
    rewrite: rewriteOf(gateway, exchange, operation, provider.config),
    holdsHead: hasFallback,
    monoMs: gateway.monoMs,
  });
  trace?.ended(forwarded, gateway.monoMs());
  const end = id === null ? null : responseEndIn(exchange, forwarded, seenAnswer);
  if (end !== null) await settleEndedResponse(gateway, { ...object, end });
  if (
    forwarded.status < 300 &&
    batchRead !== null &&
    (batchRead.isResults || batchEndIn(seenAnswer) !== null)
  )
    void settleTrackedBatch(gateway, object.provider, batchRead.id);
  // The owner must be known before the client asks for the object.
  await remembered;
  const isSubmitted = isOfBatches && batchRead === null && exchange.method === "POST";
  return isSubmitted && forwarded.status < 300
    ? { ...forwarded, responseId: submittedBatch(seenAnswer), batchTokens: 0 }
    : forwarded;
}

/** Operations whose answers describe objects and contain no text of a model. */
const describedOperations: readonly Operation[] = [
  "files",
  "batches",
  "uploads",
  "containers",
  "message_files",
];

/**
 * Rewrites the provider's addresses in the description of an object; null for the content of a
 * file, and for text of a model.
 */
export function rewriteOf(
  { config }: Pick<RequestContext<"config">["gateway"], "config">,
  exchange: Exchange,
  operation: Operation,
  { name, baseUrl }: Pick<ProviderConfig, "name" | "baseUrl">,
): ((json: string) => string) | null {
  if (/\/(?:content|results)$/.test(exchange.path)) return null;
  const origin = (): string => ownOrigin(exchange, config.server);
  if (operation === "message_batches") return (json) => relinkedBatches(origin(), json);
  if (!describedOperations.includes(operation)) return null;
  return (json) => relinkedJson({ baseUrl, place: () => `${origin()}/p/${name}` }, json);
}

type SendingParts =
  | "batchReads"
  | "config"
  | "credentials"
  | "limiter"
  | "log"
  | "monoMs"
  | "prices"
  | "providers"
  | "setTimer";

/**
 * The usage of a response; null if it hasn't ended. A JSON answer has a status. A stream, which may
 * begin at any event, has ended if it reports usage.
 */
function responseEndIn(
  { query }: Exchange,
  { status, outcome, usage, estimated }: ForwardResult,
  answer: unknown,
): ResponseEnd | null {
  if (status >= 300 || outcome !== "complete") return null;
  const isStream = /(?:^|[?&])stream=true(?:&|$)/.test(query);
  if (!isStream && answer !== undefined) return endOf(answer);
  return usage === null || estimated ? null : { kind: "used", usage };
}

/** Requests without an id create an object; a batch and an upload create files later. */
function mayCreate(operation: StoredOperation, { method, path }: Exchange): boolean {
  if (method === "DELETE") return false;
  return path === clientPath(operation) || operation === "batches" || operation === "uploads";
}

/** The answer to a HEAD has no body. */
function methodOf({ method }: Exchange): UpstreamRequest["method"] {
  return method === "POST" || method === "DELETE" ? method : "GET";
}

/** `rest`: the client's path after the operation, with its slash. */
export function objectPath(
  provider: ProviderConfig,
  operation: StoredOperation,
  { rest, query }: { readonly rest: string; readonly query: string },
): string {
  const pathAndQuery = upstreamPath(provider, operation, "", query);
  const base = pathAndQuery.split("?", 1)[0]!;
  return base + rest + pathAndQuery.slice(base.length);
}

const field = "file_id";

/**
 * Streams a form that must not name stored objects. Checks each piece before it is sent, because
 * the name may come after the file. Throws `UploadRefused`: then neither the name nor the end of
 * the form was sent.
 */
export async function* formWithoutIds(
  pieces: AsyncIterable<Buffer>,
  boundary: string,
): AsyncIterable<Buffer> {
  const finder = new FieldFinder(boundary, field);
  for await (const piece of pieces) {
    finder.push(piece);
    if (finder.problem !== null)
      throw new UploadRefused(`the body is not a readable form: ${finder.problem}`);
    if (finder.begun)
      throw new UploadRefused(`${field} can't be taken from a form: send it as JSON`);
    yield piece;
  }
}
