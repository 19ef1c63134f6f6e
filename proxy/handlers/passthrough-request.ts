/**
 * A request that passes to a provider as it is, in the order in which it happens: route, peek,
 * admit, relay, settle.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import type { Caller } from "../auth/authenticate.js";
import { modelInPath, operationAt } from "../body/passthrough-model.js";
import { PeekedBody } from "../body/peeked-body.js";
import type { Gateway } from "../gateway.js";
import { forwardRequestHeaders } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { successHeaders, targetHeader } from "../http/respond.js";
import { UploadGone, UploadTooLarge } from "../http/upload.js";
import type { RequestRecord } from "../request-record.js";
import type { PassthroughUpstream } from "../upstream/passthrough/passthrough-upstream.js";
import { relayAnswer } from "../upstream/passthrough/relay-answer.js";
import {
  isCleanQuery,
  originPath,
  passedQuery,
  restProblem,
  splitPassthrough,
} from "../upstream/passthrough-path.js";
import { admitRequest, refuseUnadmitted, settleRequest } from "./admitted-request.js";

/** Answers the exchange; the record learns what the log line tells. Never rejects. */
export async function passthroughRequest(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what);
  const route = passthroughRoute(gateway, exchange);
  if ("status" in route) return refuse(route);
  const coding = exchange.header("transfer-encoding")?.trim().toLowerCase() ?? "chunked";
  if (coding !== "chunked")
    return refuse(
      plainFailure(
        501,
        "invalid_request_error",
        `the transfer coding ${JSON.stringify(coding.slice(0, 64))} is not understood`,
      ),
    );
  const body = bodyOf(gateway, exchange);
  const model = await namedModel(exchange, route.path, body);
  if (model === "gone") return record.end(499, "client_gone");
  if (typeof model !== "string") return refuse(model);
  record.model = model === "" ? null : model;
  const target = { provider: route.provider.name, model };
  const admitted = await admitRequest(
    gateway,
    exchange,
    { caller, targets: [target], model },
    record,
  );
  if (admitted === null) return;
  const forwarded = await relayAnswer(exchange, {
    upstream: route.upstream,
    provider: target.provider,
    request: {
      method: exchange.method,
      path: route.path + route.query,
      headers: forwardRequestHeaders(exchange.rawHeaders, gateway.config.server.userPathHeader),
      body:
        body === null ? null : (body.whole ?? { pieces: body.pieces(), bytes: lengthOf(exchange) }),
    },
    limits: successHeaders(admitted.headers),
    headers: ["x-sluice-target", targetHeader(target)],
    operation: operationAt(exchange.method, route.path),
    promptBytes: () => body?.bytes ?? 0,
    monoMs: gateway.monoMs,
  });
  settleRequest(gateway, exchange, admitted.admission, forwarded, record);
}

export interface PassthroughRoute {
  readonly provider: ProviderConfig;
  readonly upstream: PassthroughUpstream;
  /** At the provider's origin. */
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
}

/** Where a request to `/p/…` goes, or why it goes nowhere. */
export function passthroughRoute(
  { config, models, providers, passthroughUpstreams }: Gateway,
  { path, query }: Exchange,
): PassthroughRoute | Failure {
  if (!config.server.passthrough)
    return plainFailure(404, "not_found_error", "passthrough is off: server.passthrough");
  const { provider: named, rest } = splitPassthrough(path)!;
  const name = models.current().providerByLowerName.get(named.toLowerCase());
  if (name === undefined)
    return plainFailure(
      404,
      "not_found_error",
      `no provider ${JSON.stringify(named.slice(0, 64))} is configured`,
    );
  const upstream = passthroughUpstreams.get(name);
  if (upstream === undefined)
    return invalid(
      `provider ${name} is a simulator: there is nothing behind it to which a request could be passed`,
    );
  const problem =
    restProblem(rest) ??
    (isCleanQuery(query) ? null : "its query holds a character that has no place there");
  if (problem !== null) return invalid(`this path can't be passed on: ${problem}`);
  const provider = providers.get(name)!;
  return {
    provider,
    upstream,
    path: originPath(provider.baseUrl, rest),
    query: passedQuery(query, provider.apiVersion),
  };
}

/** Null when the request has none. */
function bodyOf({ config }: Gateway, exchange: Exchange): PeekedBody | null {
  const bytes = lengthOf(exchange);
  if (bytes === 0 || (bytes === null && exchange.header("transfer-encoding") === undefined))
    return null;
  return new PeekedBody(exchange.readPieces(config.server.uploadBytesMax), bytes);
}

function lengthOf(exchange: Exchange): number | null {
  const length = exchange.header("content-length");
  return length === undefined ? null : Number(length);
}

/** Empty when none is named; or why the body can't be read. */
async function namedModel(
  exchange: Exchange,
  path: string,
  body: PeekedBody | null,
): Promise<string | Failure | "gone"> {
  const inPath = modelInPath(path);
  if (inPath !== "" || body === null) return inPath;
  try {
    return await body.model(
      exchange.header("content-type") ?? "",
      exchange.header("content-encoding") ?? "",
    );
  } catch (error) {
    if (error instanceof UploadGone) return "gone";
    if (error instanceof UploadTooLarge) return failure("request_too_large", error.message);
    throw error;
  }
}
