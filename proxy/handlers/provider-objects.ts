/**
 * What providers keep for their callers: files, batches, stored responses, conversations. Such
 * requests name no model and meet no limits, but for the submission of a batch, which is one
 * request of its user path.
 *
 * Sluice doesn't remember which provider has an object. A request for an id is sent to each
 * provider that may have it, in the order of the configuration, until one has it; ids can't be
 * guessed. A new object goes to the first, or to the one that the caller names.
 */
import { assert } from "../../shared/assert.js";
import { isObject } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { kindOf, parseJson } from "../body/json-value.js";
import { boundaryOf } from "../body/multipart.js";
import type { Provider } from "../gateway.js";
import { unreadBody } from "../http/body-spool.js";
import { describeJson, forwardRequestHeaders } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { successHeaders } from "../http/rate-limit-headers.js";
import { targetHeader } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { forward } from "../upstream/forward.js";
import type { Forwarded } from "../upstream/forwarded.js";
import type { RequestBody, UpstreamRequest } from "../upstream/upstream.js";
import { clientPath, upstreamPath } from "../upstream/upstream-path.js";
import { admitRequest, refuseUnadmitted, settleRequest } from "./admit-and-settle.js";
import { noForm } from "./multipart-call.js";

type BatchOperation = Extract<Operation, "batches" | "message_batches">;

export type StoredOperation =
  | BatchOperation
  | Extract<
      Operation,
      "files" | "responses" | "uploads" | "containers" | "conversations" | "message_files"
    >;

/** The header in which a caller names the provider instance. */
const providerHeader = "x-sluice-provider";

/** A request that no limit applies to. Never rejects. */
export async function providerObjectRequest(
  context: RequestContext,
  operation: StoredOperation,
): Promise<void> {
  const { exchange, record } = context;
  const able = providersFor(context, operation);
  if (!able.ok) return refuseUnadmitted(context, able.failure);
  const read = await readBody(context);
  if (!read.ok) return refuseUnadmitted(context, read.failure);
  const hasId = exchange.path !== clientPath(operation);
  // What passes while it is read can't be sent to a second one.
  const isRepeatable = read.body === null || Buffer.isBuffer(read.body);
  const providers = hasId && isRepeatable ? able.providers : able.providers.slice(0, 1);
  let result: Forwarded | null = null;
  for (const [i, provider] of providers.entries()) {
    const next = await send(context, {
      provider,
      operation,
      body: read.body,
      headers: [],
      hasFallback: i < providers.length - 1,
    });
    const found = next.status < 300 || exchange.begun || exchange.gone;
    // A provider that fails may have the object: the answer is 404 only if all of them say so.
    if (result === null || found || result.status === 404) {
      result = next;
      record.target = { provider: provider.config.name, model: "" };
    }
    if (found) break;
  }
  assert(result !== null, "there is a provider to ask");
  record.end(result.status, result.outcome);
  record.note = result.note;
  record.bug = result.bug;
  result.finish();
}

/** A batch counts as one request of the user path, and holds no slot. */
export async function submitBatch(
  context: RequestContext,
  operation: BatchOperation,
): Promise<void> {
  const able = providersFor(context, operation);
  if (!able.ok) return refuseUnadmitted(context, able.failure);
  const read = await readBody(context);
  if (!read.ok) return refuseUnadmitted(context, read.failure);
  const problem = batchProblem(read.body, operation);
  if (problem !== null) return refuseUnadmitted(context, problem);
  const provider = able.providers[0]!;
  const target = { provider: provider.config.name, model: "" };
  const admitted = await admitRequest(context, { targets: [target], model: "", submission: true });
  if (admitted === null) return;
  context.record.target = target;
  const forwarded = await send(context, {
    provider,
    operation,
    body: read.body,
    headers: successHeaders(admitted.headers),
    hasFallback: false,
  });
  settleRequest(context, admitted.admission, forwarded);
}

type AbleProviders =
  | { readonly ok: true; readonly providers: readonly Provider[] }
  | { readonly ok: false; readonly failure: Failure };

/** The providers that may be asked, or why none may. */
function providersFor(
  { gateway, exchange }: RequestContext<"providers">,
  operation: StoredOperation,
): AbleProviders {
  const named = exchange.header(providerHeader);
  if (named !== undefined) {
    const provider = gateway.providers.get(named.trim().toLowerCase());
    if (provider === undefined)
      return wrong(
        `X-Sluice-Provider: no provider ${JSON.stringify(named.slice(0, 64))} is configured`,
      );
    return provider.config.operations.has(operation)
      ? { ok: true, providers: [provider] }
      : wrong(`X-Sluice-Provider: provider ${provider.config.name} does not offer ${operation}`);
  }
  const able = [...gateway.providers.values()].filter(({ config }) =>
    config.operations.has(operation),
  );
  return able.length === 0
    ? wrong(`no configured provider offers ${operation}`)
    : { ok: true, providers: able };
}

function wrong(message: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: invalid(message) };
}

type BodyRead =
  | { readonly ok: true; readonly body: RequestBody }
  /** Null: the client is gone. */
  | { readonly ok: false; readonly failure: Failure | null };

/** An upload is passed on while it is read; any other body is small, and JSON or empty. */
async function readBody({ gateway, exchange }: RequestContext<"config">): Promise<BodyRead> {
  if (exchange.method !== "POST") return { ok: true, body: null };
  const { bodyBytesMax, uploadBytesMax } = gateway.config.server;
  const isForm = boundaryOf(exchange.header("content-type") ?? "") !== null;
  const mustBeForm = exchange.path === "/v1/files" || exchange.path.endsWith("/parts");
  if (mustBeForm && !isForm) return { ok: false, failure: noForm() };
  // Files of a container are uploaded, or named in JSON.
  const isUpload = mustBeForm || (isForm && exchange.path.startsWith("/v1/containers/"));
  const bytesMax = isUpload ? uploadBytesMax : bodyBytesMax;
  const length = exchange.header("content-length");
  if (isUpload && Number(length ?? 0) <= bytesMax)
    return {
      ok: true,
      body: {
        pieces: exchange.readPieces(bytesMax),
        bytes: length === undefined ? null : Number(length),
      },
    };
  const read = await exchange.readBody(bytesMax);
  return read.ok
    ? { ok: true, body: read.bytes.length === 0 ? null : read.bytes }
    : { ok: false, failure: unreadBody(read, bytesMax) };
}

/** What makes a batch one that no provider can take. */
function batchProblem(body: RequestBody, operation: BatchOperation): Failure | null {
  const value = Buffer.isBuffer(body) ? parseJson(body.toString("utf8")) : undefined;
  if (value === undefined)
    return invalid("the body must be a JSON object: it is not valid JSON", "body");
  if (!isObject(value))
    return invalid(`the body must be a JSON object, not ${kindOf(value)}`, "body");
  if (operation === "message_batches") {
    const { requests } = value;
    if (Array.isArray(requests)) return null;
    return requests === undefined
      ? invalid("requests is required", "requests")
      : invalid(`requests must be an array, not ${kindOf(requests)}`, "requests");
  }
  for (const field of ["input_file_id", "endpoint", "completion_window"]) {
    const given = value[field];
    if (given === undefined || given === null) return invalid(`${field} is required`, field);
    if (typeof given !== "string")
      return invalid(`${field} must be a string, not ${kindOf(given)}`, field);
  }
  return null;
}

interface Sending {
  readonly provider: Provider;
  readonly operation: StoredOperation;
  readonly body: RequestBody;
  readonly headers: string[];
  /** Whether another provider is left to ask. */
  readonly hasFallback: boolean;
}

function send(
  { gateway, exchange }: RequestContext<"config" | "monoMs">,
  { provider, operation, body, headers, hasFallback }: Sending,
): Promise<Forwarded> {
  headers.push("x-sluice-target", targetHeader({ provider: provider.config.name, model: "" }));
  const sent = forwardRequestHeaders(exchange.rawHeaders, provider.passed);
  if (Buffer.isBuffer(body)) describeJson(sent, exchange);
  return forward(exchange, {
    upstream: provider.upstream,
    provider: provider.config.name,
    request: {
      method: methodOf(exchange),
      path: pathAt(provider.config, operation, exchange),
      headers: sent,
      body,
      isRepeatable: exchange.method !== "POST",
    },
    headers,
    operation,
    translator: null,
    hideUsageChunk: false,
    promptBytes: () => 0,
    hasFallback,
    monoMs: gateway.monoMs,
  });
}

/** Of an answer to HEAD the client gets the head. */
function methodOf({ method }: Exchange): UpstreamRequest["method"] {
  return method === "POST" || method === "DELETE" ? method : "GET";
}

/** Of the client's path, what follows the operation goes to the provider, and so does its query. */
function pathAt(
  provider: ProviderConfig,
  operation: StoredOperation,
  { path, query }: Exchange,
): string {
  const pathAndQuery = upstreamPath(provider, operation, "", query);
  const base = pathAndQuery.split("?", 1)[0]!;
  return base + path.slice(clientPath(operation).length) + pathAndQuery.slice(base.length);
}
