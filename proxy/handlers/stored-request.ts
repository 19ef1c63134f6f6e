/**
 * What providers keep for their callers: files, batches, stored responses. Such requests name no
 * model and meet no limits, but for the submission of a batch, which is one request of its user
 * path.
 *
 * Who made a thing isn't remembered here. One that is asked for by its id is looked for at each
 * provider that may have it, in the order of the configuration; ids can't be guessed. A new one
 * goes to the first, or to the one that the caller names.
 */
import { assert, isObject } from "../../shared/assert.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Failure, failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import type { Caller } from "../auth/authenticate.js";
import { kindOf, parseJson } from "../body/json-value.js";
import { boundaryOf } from "../body/multipart.js";
import type { Gateway } from "../gateway.js";
import { forwardRequestHeaders, setJsonContentType } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { successHeaders, targetHeader } from "../http/respond.js";
import type { RequestRecord } from "../request-record.js";
import { forward } from "../upstream/forward.js";
import type { Forwarded } from "../upstream/forwarded.js";
import type { RequestBody, UpstreamRequest } from "../upstream/upstream.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { admitRequest, refuseUnadmitted, settleRequest } from "./admitted-request.js";
import { noForm } from "./multipart-call.js";

export type StoredOperation = Extract<Operation, "files" | "batches" | "responses">;

/** The header in which a caller names the provider instance. */
const providerHeader = "x-sluice-provider";

/** Answers a request that meets no limits. Never rejects. */
export async function storedRequest(
  gateway: Gateway,
  exchange: Exchange,
  operation: StoredOperation,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what);
  const providers = providersFor(gateway, exchange, operation);
  if ("status" in providers) return refuse(providers);
  const body = await readBody(gateway, exchange);
  if (body === "gone") return record.end(499, "client_gone");
  if (body !== null && "status" in body) return refuse(body);
  const byId = exchange.path !== `/v1/${operation}`;
  const asked = byId ? providers : providers.slice(0, 1);
  let told: Forwarded | null = null;
  for (const [i, provider] of asked.entries()) {
    const next = await send(gateway, exchange, {
      provider,
      operation,
      body,
      headers: [],
      more: i < asked.length - 1,
    });
    const found = next.status < 300 || exchange.begun || exchange.gone;
    // One that fails may have it: that nobody has is told only when all have said so.
    if (told === null || found || told.status === 404) {
      told = next;
      record.target = { provider: provider.name, model: "" };
    }
    if (found) break;
  }
  assert(told !== null, "there is a provider to ask");
  record.end(told.status, told.outcome);
  record.note = told.note;
  told.finish();
}

/** POST /v1/batches: the whole of it counts as one request of the user path, and holds no slot. */
export async function submitBatch(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what);
  const providers = providersFor(gateway, exchange, "batches");
  if ("status" in providers) return refuse(providers);
  const body = await readBody(gateway, exchange);
  if (body === "gone") return record.end(499, "client_gone");
  if (body !== null && "status" in body) return refuse(body);
  const problem = batchProblem(body as Buffer | null);
  if (problem !== null) return refuse(problem);
  const provider = providers[0]!;
  const target = { provider: provider.name, model: "" };
  const admitted = await admitRequest(
    gateway,
    exchange,
    { caller, targets: [target], model: "", submission: true },
    record,
  );
  if (admitted === null) return;
  record.target = target;
  const forwarded = await send(gateway, exchange, {
    provider,
    operation: "batches",
    body,
    headers: successHeaders(admitted.headers),
    more: false,
  });
  settleRequest(gateway, exchange, admitted.admission, forwarded, record);
}

/** Those that may be asked, or why none may. */
function providersFor(
  { config, providers }: Gateway,
  exchange: Exchange,
  operation: StoredOperation,
): readonly ProviderConfig[] | Failure {
  const named = exchange.header(providerHeader);
  if (named !== undefined) {
    const provider = providers.get(named.trim().toLowerCase());
    if (provider === undefined)
      return invalid(
        `X-Sluice-Provider: no provider ${JSON.stringify(named.slice(0, 64))} is configured`,
        null,
      );
    return provider.operations.has(operation)
      ? [provider]
      : invalid(`X-Sluice-Provider: provider ${provider.name} does not offer ${operation}`, null);
  }
  const able = config.providers.filter(({ operations }) => operations.has(operation));
  return able.length === 0 ? invalid(`no configured provider offers ${operation}`, null) : able;
}

/** An upload passes as it comes; everything else is small, and is JSON or nothing. */
async function readBody(
  { config }: Gateway,
  exchange: Exchange,
): Promise<RequestBody | Failure | "gone"> {
  if (exchange.method === "GET" || exchange.method === "DELETE") return null;
  const { bodyBytesMax, uploadBytesMax } = config.server;
  const isUpload = exchange.path === "/v1/files";
  if (isUpload && boundaryOf(exchange.header("content-type") ?? "") === null) return noForm();
  const bytesMax = isUpload ? uploadBytesMax : bodyBytesMax;
  const length = exchange.header("content-length");
  if (isUpload && Number(length ?? 0) <= bytesMax)
    return {
      pieces: exchange.readPieces(bytesMax),
      bytes: length === undefined ? null : Number(length),
    };
  const read = await exchange.readBody(bytesMax);
  if (!read.ok)
    return read.reason === "gone"
      ? "gone"
      : failure("request_too_large", `the body is larger than ${bytesMax} bytes`);
  return read.bytes.length === 0 ? null : read.bytes;
}

/** What a batch is without which no provider can take it. */
function batchProblem(body: Buffer | null): Failure | null {
  const value = parseJson(body === null ? "" : body.toString("utf8"));
  if (!isObject(value))
    return invalid(
      `the body must be a JSON object${value === undefined ? ": it is not valid JSON" : `, not ${kindOf(value)}`}`,
      "body",
    );
  for (const field of ["input_file_id", "endpoint", "completion_window"]) {
    const given = value[field];
    if (given === undefined || given === null) return invalid(`${field} is required`, field);
    if (typeof given !== "string")
      return invalid(`${field} must be a string, not ${kindOf(given)}`, field);
  }
  return null;
}

interface Sending {
  readonly provider: ProviderConfig;
  readonly operation: StoredOperation;
  readonly body: RequestBody;
  readonly headers: string[];
  /** Whether another provider is left to be asked. */
  readonly more: boolean;
}

function send(
  gateway: Gateway,
  exchange: Exchange,
  { provider, operation, body, headers, more }: Sending,
): Promise<Forwarded> {
  headers.push("x-sluice-target", targetHeader({ provider: provider.name, model: "" }));
  const sent = forwardRequestHeaders(exchange.rawHeaders, gateway.config.server.userPathHeader);
  if (Buffer.isBuffer(body)) setJsonContentType(sent, exchange.header("content-type"));
  return forward(exchange, {
    upstream: gateway.upstreams.get(provider.name)!,
    provider: provider.name,
    request: {
      method: exchange.method as UpstreamRequest["method"],
      path: pathAt(provider, operation, exchange),
      headers: sent,
      body,
    },
    headers,
    operation,
    translator: null,
    hideUsageChunk: false,
    promptBytes: () => 0,
    hasFallback: more,
    monoMs: gateway.monoMs,
  });
}

/**
 * What stands behind the operation in the client's path, and its query, are for the provider too.
 */
function pathAt(provider: ProviderConfig, operation: StoredOperation, exchange: Exchange): string {
  const whole = upstreamPath(provider, operation, "", exchange.query);
  const base = whole.split("?", 1)[0]!;
  return base + exchange.path.slice(`/v1/${operation}`.length) + whole.slice(base.length);
}
