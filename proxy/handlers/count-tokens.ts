/**
 * POST /v1/messages/count_tokens: not limited, and answered by the first target whose provider
 * counts tokens.
 */
import { providerOf } from "../gateway.js";
import { forwardRequestHeaders, setJsonContentType } from "../http/copy-headers.js";
import { targetHeader } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned } from "../routing/model-catalog.js";
import { forward } from "../upstream/forward.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { refuseUnadmitted, refuseUnknownModel } from "./admit-and-settle.js";
import { readJsonCall } from "./json-call.js";

/** Never rejects. */
export async function countTokens(context: RequestContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const { config, isUtf8, newSpool, nowMs, monoMs } = gateway;
  const read = await readJsonCall("count_tokens", {
    exchange,
    bodyBytesMax: config.server.bodyBytesMax,
    uploadBytesMax: 0,
    isUtf8,
    newSpool,
    nowMs,
  });
  if (!read.ok) return refuseUnadmitted(context, read.failure);
  const { call } = read;
  record.model = call.model;
  const route = await resolveOnceLearned(gateway, call.model);
  if (route === null) return refuseUnknownModel(context, call.model);
  const targets = gateway.targetOrder.peek(route);
  const target = targets.find(
    (target) => call.problemAt(providerOf(gateway, target).config, target.model) === null,
  );
  if (target === undefined)
    return refuseUnadmitted(
      context,
      call.problemAt(providerOf(gateway, targets[0]!).config, targets[0]!.model)!,
    );
  record.target = target;
  const provider = providerOf(gateway, target);
  const sent = forwardRequestHeaders(exchange.rawHeaders, provider.passed);
  setJsonContentType(sent, exchange.header("content-type"));
  const forwarded = await forward(exchange, {
    upstream: provider.upstream,
    provider: target.provider,
    request: {
      method: "POST",
      path: upstreamPath(provider.config, "count_tokens", target.model, exchange.query),
      headers: sent,
      body: call.requestTo(
        provider.config,
        target.model,
        gateway.rewriters(record.userPath ?? "/", target),
      ).body,
      isRepeatable: true,
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
  record.bug = forwarded.bug;
  forwarded.finish();
}
