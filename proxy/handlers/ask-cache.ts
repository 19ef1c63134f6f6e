/**
 * The response cache on the way of a request: before its admission, so that a hit takes nothing
 * from any limit, but behind the same question who is calling. A hit is answered and recorded here;
 * otherwise the answer to come may be kept.
 */
import { assert } from "../../shared/assert.js";
import type { Operation } from "../../shared/operation.js";
import type { Target } from "../../shared/wire/message.js";
import type { Caller } from "../auth/authenticate.js";
import { authorizeCaller } from "../auth/authorize-caller.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { requestIdHeaders, targetHeader } from "../http/respond.js";
import type { RequestRecord } from "../request-record.js";
import type { Route } from "../routing/resolve-model.js";
import type { Forwarded } from "../upstream/forwarded.js";
import { cachedRecord } from "../usage/usage-record.js";
import { readCacheControl } from "./cache/cache-control.js";
import { cacheHead, isCacheableRequest, isWholeAnswer } from "./cache/cacheable.js";
import { RecordingExchange } from "./cache/recording-exchange.js";
import type { CacheHit, ResponseCache } from "./cache/response-cache.js";
import type { ModelCall } from "./model-call.js";
import { refuseCaller } from "./refuse-caller.js";

export interface CacheQuestion {
  readonly call: ModelCall;
  readonly caller: Caller;
  readonly route: Route;
}

/** A request that is to be answered by a provider, with its answer on the way into the cache. */
export interface CacheMiss {
  /** In place of the request's own. */
  readonly exchange: Exchange;
  /**
   * How it ended, with the answer kept if it is worth it, once the client has it. `target`: who
   * gave it.
   */
  keepAfter(forwarded: Forwarded, target: Target | null): Forwarded;
}

/** Null: the cache has nothing to do with it. */
export async function askCache(
  gateway: Gateway,
  exchange: Exchange,
  { call, caller, route }: CacheQuestion,
  record: RequestRecord,
): Promise<CacheMiss | "answered" | null> {
  const { responseCache, limiter } = gateway;
  const { body, operation } = call;
  if (responseCache === null || body === null || !isCacheableRequest(operation, body)) return null;
  // Who has an id was asked about already, for this very request.
  const authorized =
    caller.keyId === ""
      ? await authorizeCaller(limiter, caller, "model")
      : { ok: true as const, caller };
  if (!authorized.ok) {
    refuseCaller(exchange, "model", record, authorized);
    return "answered";
  }
  const control = readCacheControl(exchange.header("cache-control"));
  const userPath = responseCache.shareAcrossPaths ? null : authorized.caller.userPath;
  const key = responseCache.digest(
    cacheHead({
      operation,
      userPath,
      targets: route.targets,
      rawHeaders: exchange.rawHeaders,
      query: exchange.query,
    }),
    body,
  );
  const hit = responseCache.cache.find(key, gateway.monoMs(), control.ageMsMax);
  if (hit !== null) {
    record.identified(authorized.caller);
    answer(gateway, exchange, hit, record);
    return "answered";
  }
  return cacheMiss(gateway, exchange, operation, control.store ? key : null, responseCache.cache);
}

/** The answer as it was, with its age. */
function answer(
  gateway: Gateway,
  exchange: Exchange,
  { answer, ageMs }: CacheHit,
  record: RequestRecord,
): void {
  if (exchange.gone) return record.end(499, "client_gone");
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
  assert(record.userPath !== null, "who gets an answer is known");
  const told = cachedRecord(usage, {
    requestId: exchange.id,
    endpoint: exchange.path,
    target,
    providerType: gateway.providers.get(target.provider)!.type,
    keyId: record.keyId,
    startedMonoMs: record.startedMonoMs,
    endedMonoMs: gateway.monoMs(),
  });
  gateway.limiter.settleCached(
    { userPath: record.userPath, startedMonoMs: record.startedMonoMs, estimated, record: told },
    finish,
  );
}

/** `key`: what the answer is to be kept under; null: it isn't. */
function cacheMiss(
  { monoMs }: Gateway,
  exchange: Exchange,
  operation: Operation,
  key: string | null,
  cache: ResponseCache,
): CacheMiss {
  const recording = new RecordingExchange(exchange, key === null ? null : cache);
  return {
    exchange: recording,
    keepAfter(forwarded, target) {
      const { status, usage, estimated, executed, outcome, firstByteMonoMs, note, failed } =
        forwarded;
      const finish = (): void => {
        forwarded.finish();
        const recorded = recording.take();
        if (
          recorded === null ||
          key === null ||
          target === null ||
          usage === null ||
          status !== 200 ||
          outcome !== "complete"
        )
          return;
        const { contentType, body } = recorded;
        if (isWholeAnswer(operation, contentType, body))
          cache.keep(key, { contentType, body, target, usage, estimated }, monoMs());
      };
      return { status, usage, estimated, executed, outcome, firstByteMonoMs, note, failed, finish };
    },
  };
}
