/**
 * Answers a request that only prepares a provider's prompt cache, if no target can prepare one: the
 * model doesn't run, so nothing is admitted, counted or charged.
 */
import { authorizeCaller, modelProblem } from "../auth/caller.js";
import { parseObjectExactly, writeExactly } from "../body/exact-json.js";
import { warmUpResponse } from "../dialects/responses-to-chat/warm-up.js";
import { replyJson, requestIdHeaders } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import type { ModelCall } from "./model-call.js";
import { refuseCaller } from "./refuse-request.js";

interface WarmUpRequest {
  readonly call: Pick<ModelCall, "body" | "stream">;
  /** See `allowableNames`. */
  readonly modelNames: readonly string[];
}

export async function answerWarmUp(
  context: RequestContext<"limiter" | "nowMs">,
  { call, modelNames }: WarmUpRequest,
): Promise<void> {
  const { gateway, exchange, caller, record } = context;
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  if (!authorized.ok) return refuseCaller(context, "model", authorized);
  record.setCaller(authorized.caller);
  const failure = modelProblem(authorized.caller, modelNames);
  if (failure !== null)
    return refuseCaller(context, "model", { ok: false, failure, note: failure.message });
  if (exchange.gone) return record.markGone(exchange);
  record.end(200, "answered");
  const body = call.body === null ? {} : parseObjectExactly(call.body);
  const { response, events } = warmUpResponse(body, exchange.ownId, gateway.nowMs());
  if (!call.stream) return replyJson(exchange, 200, response);
  exchange.begin(200, ["content-type", "text/event-stream", ...requestIdHeaders(exchange)]);
  for (const event of events)
    exchange.write(
      Buffer.from(`event: ${String(event["type"])}\ndata: ${writeExactly(event)}\n\n`),
    );
  exchange.end();
}
