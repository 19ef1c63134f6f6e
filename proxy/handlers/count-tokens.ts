/**
 * POST /v1/messages/count_tokens and /v1/responses/input_tokens, which aren't limited: the first
 * target whose provider counts tokens answers. If none does, Sluice estimates, since agents need
 * the number to know when their conversation is too long.
 */
import { sentModel, type Target } from "../../shared/domain/target-name.js";
import { isGoogleOperation, type Operation } from "../../shared/operation.js";
import { modelProblem } from "../auth/caller.js";
import { translatedUpstream } from "../dialects/translated-upstream.js";
import { providerOf } from "../gateway.js";
import { describeJson, forwardRequestHeaders, withoutDialect } from "../http/copy-headers.js";
import { replyJson, targetHeader } from "../http/respond.js";
import { foreignInCall, mayContinue, targetsOfMaker } from "../objects/object-access.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned } from "../routing/model-catalog.js";
import { requestedName } from "../routing/resolve-model.js";
import { withoutBetas } from "../upstream/errors/refused-betas.js";
import { forward } from "../upstream/forward.js";
import type { Upstream } from "../upstream/upstream.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { estimateTokens } from "../usage/count-usage.js";
import { readJsonCall } from "./json-call.js";
import { namesOf, problemAt } from "./model-call.js";
import { refuseBeforeAdmission, refuseUnknownModel } from "./refuse-request.js";

type CountOperation = Extract<Operation, "count_tokens" | "input_tokens" | "count_content_tokens">;

/** Four bytes of the body per token; a header marks the estimate. */
function answerEstimate(
  { exchange, record }: RequestContext<never>,
  operation: CountOperation,
  { target, promptBytes }: { readonly target: Target; readonly promptBytes: number },
): void {
  const { inputTokens } = estimateTokens({ promptBytes, contentChars: 0 });
  record.target = target;
  record.end(200, "answered");
  const answers = {
    count_tokens: { input_tokens: inputTokens },
    input_tokens: { object: "response.input_tokens", input_tokens: inputTokens },
    count_content_tokens: { totalTokens: inputTokens },
  };
  replyJson(exchange, 200, answers[operation], [
    "x-sluice-target",
    targetHeader(target),
    "x-sluice-estimated",
    "true",
  ]);
}

/** Statuses of hosts that speak the dialect but don't count tokens; 403 means not with this key. */
const notCounted: ReadonlySet<number> = new Set([403, 404, 405]);

/** A 400 to a translated request isn't the client's mistake, so an estimate is better. */
function lacksCounts(status: number, isTranslated: boolean): boolean {
  return notCounted.has(status) || (isTranslated && status === 400);
}

/** Records the provider's own status: the client gets another one for a 403. */
function withStatusWatch(upstream: Upstream, onStatus: (status: number) => void): Upstream {
  return {
    send: (request, sink) =>
      upstream.send(request, {
        onHead: (status, rawHeaders) => {
          onStatus(status);
          sink.onHead(status, rawHeaders);
        },
        onData: (chunk) => sink.onData(chunk),
        onEnd: () => sink.onEnd(),
        onFailure: (failure) => sink.onFailure(failure),
        onBug: (error) => sink.onBug(error),
      }),
    redact: (text) => upstream.redact(text),
    close: () => upstream.close(),
  };
}

/** The operations of the counted requests: a refused part there is also left out here. */
const countedOperations: Readonly<Record<CountOperation, Operation>> = {
  count_tokens: "messages",
  input_tokens: "responses",
  count_content_tokens: "generate_content",
};

/** Never rejects. */
export async function countTokens(
  context: RequestContext,
  operation: CountOperation,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const { monoMs } = gateway;
  const result = await readJsonCall(operation, context);
  if (!result.ok) return refuseBeforeAdmission(context, result.failure);
  const { call } = result;
  record.model = call.model;
  const { naming } = call;
  const foreign = naming === null ? null : await foreignInCall(gateway, context.caller, naming);
  if (foreign !== null) return refuseBeforeAdmission(context, foreign);
  const route = await resolveOnceLearned(gateway, call.model);
  if (route === null) return refuseUnknownModel(context, call.model);
  const names = namesOf(gateway, call, route);
  const notAllowed = modelProblem(context.caller, names);
  if (notAllowed !== null) return refuseBeforeAdmission(context, notAllowed);
  const ordered = gateway.targetOrder.peek(route);
  const targets = mayContinue(call) ? await targetsOfMaker(gateway, call, ordered) : ordered;
  const ableTargets = targets.filter((target) => problemAt(gateway, call, target) === null);
  const [target] = gateway.targetHealth.healthyFirst(ableTargets);
  if (target === undefined)
    return answerEstimate(context, operation, {
      target: targets[0]!,
      promptBytes: call.promptBytes,
    });
  record.target = target;
  const provider = providerOf(gateway, target);
  const startedMonoMs = monoMs();
  const traced = { target, operation, stream: false, resent: 0 };
  const trace = record.trace?.attempt(traced, startedMonoMs) ?? null;
  const refused = {
    reasoning: false,
    fields: gateway.refusals.of(target, countedOperations[operation]),
  };
  const { headers: headersWithoutBetas } = withoutBetas(exchange.rawHeaders, refused.fields);
  const sent = forwardRequestHeaders(headersWithoutBetas, provider.passed, trace);
  describeJson(sent, exchange);
  const {
    operation: sentOperation,
    body,
    translator,
  } = call.requestTo(provider.config, sentModel(target), {
    rewriters: gateway.rewriters?.(record.userPath ?? "/", target),
    isNamed: requestedName(route) === "",
    refused,
  });
  const query = translator === null ? exchange.query : "";
  let providerStatus = 0;
  const upstream = withStatusWatch(provider.upstream, (status) => (providerStatus = status));
  const forwarded = await forward(exchange, {
    upstream: translator === null ? upstream : translatedUpstream(upstream, translator),
    provider: target.provider,
    request: {
      method: "POST",
      isNative: isGoogleOperation(sentOperation),
      path: upstreamPath(provider.config, sentOperation, sentModel(target), query),
      headers: translator === null ? sent : withoutDialect(sent),
      body,
      isRepeatable: true,
    },
    headers: ["x-sluice-target", targetHeader(target)],
    operation,
    translator,
    hideUsageChunk: false,
    promptBytes: () => 0,
    holdsHead: false,
    monoMs,
  });
  trace?.ended(forwarded, monoMs());
  const isNotCounted =
    lacksCounts(providerStatus, translator !== null) || (forwarded.refused ?? null) !== null;
  if (forwarded.outcome === "upstream_error" && isNotCounted) {
    record.note = `the provider answered ${providerStatus}`;
    return answerEstimate(context, operation, { target, promptBytes: call.promptBytes });
  }
  gateway.targetHealth.note(target, startedMonoMs, forwarded);
  record.end(forwarded.status, forwarded.outcome);
  record.note = forwarded.note;
  record.bug = forwarded.bug;
  forwarded.finish();
}
