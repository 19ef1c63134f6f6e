/**
 * Sends a request to one target, and retries it as the provider's `retries` allow, while the
 * failure may be temporary (docs/reference/http-api.md, "Retries"). If the target refuses an
 * optional part of the request, it sends the request once more without that part. The limiter
 * counts one request at one target.
 */
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Operation } from "../../../shared/operation.js";
import { refusedPartsMax } from "../../bounds.js";
import { nothingRefused, type RefusedParts } from "../../dialects/fit/own-reasoning.js";
import { type Gateway, providerOf } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import type { AttemptTrace } from "../../metrics/spans/request-trace.js";
import type { RequestContext } from "../../request-context.js";
import type { TargetFailure } from "../../upstream/errors/failover-reason.js";
import type { RefusedPart } from "../../upstream/errors/refused-part.js";
import { abandonedResult, type ForwardResult } from "../../upstream/forwarded.js";
import { retryWaitMs } from "../../upstream/retry-wait.js";
import { type RecordingParts, settleAttempt } from "../admit-and-settle.js";

interface RetriedRequest {
  readonly target: Target;
  /** Whether the request can be sent more than once. */
  readonly isRepeatable: boolean;
  readonly operation: Operation;
  readonly stream: boolean;
  /**
   * Sends the request once. `trace`: the span of the attempt, whose id the provider gets in
   * traceparent; null without tracing.
   */
  readonly send: (trace: AttemptTrace | null, refused: RefusedParts) => Promise<ForwardResult>;
  /** Whether the request may be sent without this part. */
  readonly mayLose: (part: RefusedPart) => boolean;
}

type AttemptParts =
  | RecordingParts
  | "limiter"
  | "random"
  | "refusals"
  | "setTimer"
  | "targetHealth"
  | "targetLoad";

/** Sends a request with `send`, and again as its target's retries allow. */
export async function withRetries(
  context: RequestContext<AttemptParts>,
  { target, isRepeatable, operation, stream, send, mayLose }: RetriedRequest,
): Promise<ForwardResult> {
  const { gateway, exchange, record } = context;
  const { config, upstream } = providerOf(gateway, target);
  const { targetHealth, targetLoad } = gateway;
  const firstMonoMs = gateway.monoMs();
  let startedMonoMs = firstMonoMs;
  /** Retries as `retries` allows; `resent` also counts requests sent again without a part. */
  let retried = 0;
  let refused =
    gateway.refusals.refused.size === 0
      ? nothingRefused
      : { reasoning: false, fields: gateway.refusals.of(target, operation) };
  let partsRemoved = 0;
  const refusedPaths: string[] = [];
  for (let resent = 0; ; resent++) {
    record.attemptCount++;
    const attempted = { target, operation, stream, resent };
    const trace = record.trace?.attempt(attempted, startedMonoMs) ?? null;
    let forwarded: ForwardResult | null = null;
    targetLoad?.begin(target);
    try {
      forwarded = await send(trace, refused);
    } finally {
      targetLoad?.end(target, firstByteMs(forwarded, startedMonoMs));
    }
    targetHealth.note(target, startedMonoMs, forwarded);
    const endedMonoMs = gateway.monoMs();
    const attempt = { target, operation, stream, startedMonoMs, endedMonoMs, forwarded };
    gateway.metrics.counts.countAttempt(attempt);
    gateway.metrics.reports.noteAttempt(attempt);
    trace?.ended(forwarded, endedMonoMs);
    record.addAttempt({ target, ms: endedMonoMs - startedMonoMs, retry: resent, forwarded });
    const part = forwarded.refused ?? null;
    if (forwarded.outcome === "complete")
      for (const path of refusedPaths) gateway.refusals.learn(target, operation, path);
    if (part === null && forwarded.failed === null) return forwarded;
    const mayRemove =
      part !== null && isRepeatable && partsRemoved < refusedPartsMax && !exchange.gone;
    if (mayRemove && !isRemoved(refused, part) && mayLose(part)) {
      partsRemoved++;
      refused = withPart(refused, part);
      if (part.kind === "field" && part.isLasting) refusedPaths.push(part.path);
      record.addEarlierFailure(target, `${forwarded.status} ${nameOf(part)}`);
      forwarded = settleAttempt(context, forwarded);
      startedMonoMs = endedMonoMs;
      continue;
    }
    if (forwarded.failed === null || !isRepeatable || exchange.gone) return forwarded;
    if (targetHealth.isOpen(target)) return forwarded;
    const elapsedMs = endedMonoMs - firstMonoMs;
    const attempts = { retried, elapsedMs, random: gateway.random() };
    const { failed } = forwarded;
    const hasOtherKey =
      (failed.refusesCredentials || failed.status === 429) && upstream.hasReadyKey?.();
    if (hasOtherKey !== true && waitsForDaemon(failed, config)) return forwarded;
    const waitMs = retryWaitMs(hasOtherKey === true ? withOtherKey : failed, attempts, config);
    if (waitMs === null) return forwarded;
    record.addEarlierFailure(target, forwarded.failed.why);
    forwarded = settleAttempt(context, forwarded);
    if (!(await staysDuring(gateway, exchange, waitMs)))
      return abandonedResult(forwarded, exchange);
    startedMonoMs = gateway.monoMs();
    retried++;
  }
}

/** Whether the request was already sent without a part. */
function isRemoved({ reasoning, fields }: RefusedParts, part: RefusedPart): boolean {
  return part.kind === "reasoning" ? reasoning : fields.includes(part.path);
}

function withPart(refused: RefusedParts, part: RefusedPart): RefusedParts {
  if (part.kind === "reasoning") return { ...refused, reasoning: true };
  return { ...refused, fields: [...refused.fields, part.path] };
}

function nameOf(part: RefusedPart): string {
  return part.kind === "reasoning" ? "reasoning of another account" : part.path;
}

/** From the start of the attempt; null without a complete answer. */
function firstByteMs(forwarded: ForwardResult | null, startedMonoMs: number): number | null {
  if (forwarded === null || forwarded.outcome !== "complete") return null;
  const { firstByteMonoMs } = forwarded;
  return firstByteMonoMs === null ? null : firstByteMonoMs - startedMonoMs;
}

/** Whether the daemon sends the target no request before the time that the provider named. */
function waitsForDaemon(
  { status, retryAfterMs }: Pick<TargetFailure, "status" | "retryAfterMs">,
  { upstreamLimits }: Pick<ProviderConfig, "upstreamLimits">,
): boolean {
  return status === 429 && retryAfterMs !== null && upstreamLimits.mode === "avoid";
}

/** A retry with another key, to which the Retry-After doesn't apply. */
const withOtherKey = { isWorthRetrying: true, retryAfterMs: null };

/** Waits. Returns false as soon as the client disconnects. */
function staysDuring(
  { setTimer }: Pick<Gateway, "setTimer">,
  exchange: Exchange,
  ms: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = setTimer(ms, () => resolve(true));
    exchange.onGone(() => {
      cancel();
      resolve(false);
    });
  });
}
