/**
 * Looks a request up in the response cache before its admission, so that a hit counts against no
 * limit, but after checking the caller's key. Answers and records a hit. After a miss, the
 * provider's answer may be stored.
 */
import { assert } from "../../shared/assert.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Operation } from "../../shared/operation.js";
import { authorizeCaller, modelProblem } from "../auth/caller.js";
import { providerOf } from "../gateway.js";
import { requestIdHeaders, targetHeader } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import type { Route } from "../routing/resolve-model.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import { cachedRecord } from "../usage/usage-record.js";
import { finishRequest } from "./admit-and-settle.js";
import {
  cacheHead,
  isCacheableRequest,
  isCompleteAnswer,
  readCacheControl,
} from "./cache/cacheable.js";
import { RecordingExchange } from "./cache/recording-exchange.js";
import type { CacheHit, ResponseCache } from "./cache/response-cache.js";
import type { ModelCall } from "./model-call.js";
import { refuseCaller } from "./refuse-request.js";

interface CacheQuestion {
  readonly call: ModelCall;
  readonly route: Route;
  /** See `allowableNames`. */
  readonly modelNames: readonly string[];
}

type CacheOutcome =
  /** The cache is off, or doesn't apply to this request. */
  | { readonly kind: "bypassed" }
  /** Answered from the cache, or the caller was refused. */
  | { readonly kind: "answered" }
  | CacheMiss;

/** A miss: a provider answers, and the answer may be stored. */
interface CacheMiss {
  readonly kind: "miss";
  /** Replaces the request's context; its exchange records the answer. */
  readonly context: RequestContext;
  /**
   * Returns `forwarded`, and stores its answer if it is cacheable once the client has it. `target`:
   * the one that answered.
   */
  keepAfter(forwarded: ForwardResult, target: Target | null): ForwardResult;
}

export const bypassed: CacheOutcome = { kind: "bypassed" };
const answered: CacheOutcome = { kind: "answered" };

export async function askCache(
  context: RequestContext,
  { call, route, modelNames }: CacheQuestion,
): Promise<CacheOutcome> {
  const { gateway, exchange, caller, record } = context;
  const { caching, limiter } = gateway;
  const { body, operation } = call;
  if (caching === null || body === null || !isCacheableRequest(call)) return bypassed;
  // A caller with a key id is already checked for this request.
  const authorized =
    caller.keyId === ""
      ? await authorizeCaller(limiter, caller, "model")
      : { ok: true as const, caller };
  if (!authorized.ok) {
    refuseCaller(context, "model", authorized);
    return answered;
  }
  const notAllowed = modelProblem(authorized.caller, modelNames);
  if (notAllowed !== null) {
    record.setCaller(authorized.caller);
    refuseCaller(context, "model", { ok: false, failure: notAllowed, note: notAllowed.message });
    return answered;
  }
  const control = readCacheControl(exchange.header("cache-control"));
  const userPath = caching.shareAcrossPaths ? null : authorized.caller.userPath;
  const key = caching.digest(
    cacheHead({
      operation,
      userPath,
      targets: route.targets,
      rawHeaders: exchange.rawHeaders,
      query: exchange.query,
    }),
    body,
  );
  const hit = caching.cache.find(key, gateway.monoMs(), control.ageMsMax);
  gateway.metrics.counts.countCacheLookup(hit === null ? "miss" : "hit");
  if (hit !== null) {
    record.setCaller(authorized.caller);
    answerHit(context, hit);
    return answered;
  }
  return control.store
    ? missAndKeep(context, { operation, key, cache: caching.cache })
    : missOnly(context);
}

/** Answers from the cache, with the age. */
function answerHit(
  {
    gateway,
    exchange,
    record,
  }: RequestContext<"config" | "providers" | "limiter" | "recordedModels" | "monoMs" | "log">,
  { answer, ageMs }: CacheHit,
): void {
  if (exchange.gone) return record.markGone(exchange);
  const { contentType, body, target, usage, estimated } = answer;
  record.target = target;
  record.end(200, "cache_hit");
  const headers = [
    "content-type",
    contentType,
    ...requestIdHeaders(exchange),
    "x-sluice-target",
    targetHeader(target),
    "x-cache",
    "HIT",
    "age",
    String(Math.floor(ageMs / 1000)),
  ];
  const finish = (): void => {
    if (!contentType.startsWith("text/event-stream"))
      return exchange.reply(200, headers, body.toString("latin1"), "latin1");
    exchange.begin(200, headers);
    exchange.write(body);
    exchange.end();
  };
  if (!gateway.config.usageEnabled) return finish();
  assert(record.userPath !== null, "the caller of an answered request is known");
  const execution = cachedRecord(usage, {
    requestId: exchange.id,
    endpoint: exchange.path,
    target: { provider: target.provider, model: gateway.recordedModels.nameOf(target, true) },
    providerType: providerOf(gateway, target).config.type,
    keyId: record.keyId,
    requestedModel: record.requestedModel,
    session: record.session,
    startedMonoMs: record.startedMonoMs,
    endedMonoMs: gateway.monoMs(),
  });
  gateway.limiter.settleUnadmitted(
    {
      userPath: record.userPath,
      startedMonoMs: record.startedMonoMs,
      estimated,
      record: execution,
    },
    () => finishRequest({ gateway, exchange }, finish),
  );
}

/** A miss that only sends `x-cache: MISS`, because the client asked not to store the answer. */
function missOnly(context: RequestContext): CacheMiss {
  return {
    kind: "miss",
    context: withExchange(context, new RecordingExchange(context.exchange, null)),
    keepAfter: (forwarded) => forwarded,
  };
}

function missAndKeep(
  context: RequestContext,
  {
    operation,
    key,
    cache,
  }: { readonly operation: Operation; readonly key: string; readonly cache: ResponseCache },
): CacheMiss {
  const recording = new RecordingExchange(context.exchange, cache);
  return {
    kind: "miss",
    context: withExchange(context, recording),
    keepAfter(forwarded, target) {
      const { status, usage, estimated, outcome, cutBy = "" } = forwarded;
      const finish = (): void => {
        forwarded.finish();
        const recorded = recording.take();
        if (
          recorded === null ||
          target === null ||
          usage === null ||
          status !== 200 ||
          outcome !== "complete" ||
          cutBy !== ""
        )
          return;
        const { contentType, body } = recorded;
        if (isCompleteAnswer(operation, contentType, body))
          cache.keep(
            key,
            { contentType, body, target, usage, estimated },
            context.gateway.monoMs(),
          );
      };
      return { ...forwarded, finish };
    },
  };
}

function withExchange(
  { gateway, caller, record }: RequestContext,
  exchange: RecordingExchange,
): RequestContext {
  return { gateway, exchange, caller, record };
}
