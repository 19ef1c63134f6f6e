/**
 * POST /v1/messages/count_tokens: free of limits, and answered by the first target whose provider
 * can count.
 */
import type { Failure } from "../../shared/error-code.js";
import type { Caller } from "../auth/authenticate.js";
import type { Gateway } from "../gateway.js";
import { forwardRequestHeaders, setJsonContentType } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { targetHeader } from "../http/respond.js";
import type { RequestRecord } from "../request-record.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import { forward } from "../upstream/forward.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { refuseUnadmitted } from "./admitted-request.js";
import { readJsonCall } from "./json-call.js";

/** Never rejects. */
export async function countTokens(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
  record: RequestRecord,
): Promise<void> {
  const { config, isUtf8, newSpool, nowMs, monoMs } = gateway;
  const refuse = (what: Failure): Promise<void> =>
    refuseUnadmitted(gateway, exchange, caller, record, what);
  const read = await readJsonCall("count_tokens", {
    exchange,
    bodyBytesMax: config.server.bodyBytesMax,
    uploadBytesMax: 0,
    isUtf8,
    newSpool,
    nowMs,
  });
  if (!read.ok)
    return read.failure === null ? record.end(499, "client_gone") : refuse(read.failure);
  const { call } = read;
  record.model = call.model;
  const route = await resolveOnceLearned(gateway, call.model);
  if (route === null) return refuse(unknownModel(call.model));
  const targets = gateway.targetOrder.peek(route);
  const target = targets.find(
    ({ provider }) => call.problemAt(gateway.providers.get(provider)!) === null,
  );
  if (target === undefined)
    return refuse(call.problemAt(gateway.providers.get(targets[0]!.provider)!)!);
  record.target = target;
  const provider = gateway.providers.get(target.provider)!;
  const sent = forwardRequestHeaders(exchange.rawHeaders, config.server.userPathHeader);
  setJsonContentType(sent, exchange.header("content-type"));
  const forwarded = await forward(exchange, {
    upstream: gateway.upstreams.get(target.provider)!,
    provider: target.provider,
    request: {
      method: "POST",
      path: upstreamPath(provider, "count_tokens", target.model, exchange.query),
      headers: sent,
      body: call.requestTo(
        provider,
        target.model,
        gateway.rewriters(record.userPath ?? "/", target),
      ).body,
    },
    headers: ["x-sluice-target", targetHeader(target)],
    operation: "count_tokens",
    translator: null,
    hideUsageChunk: false,
    promptBytes: () => 0,
    hasFallback: false,
    monoMs,
  });
  record.end(forwarded.status, forwarded.outcome);
  record.note = forwarded.note;
  forwarded.finish();
}
