/**
 * Sends a request to one target, and retries it as the provider's `retries` allow, while the
 * failure may be temporary (docs/reference/http-api.md, "Retries"). The limiter counts one request
 * at one target.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { Operation } from "../../../shared/operation.js";
import type { Gateway } from "../../gateway.js";
import { providerOf } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import type { AttemptTrace } from "../../metrics/spans/request-trace.js";
import type { RequestContext } from "../../request-context.js";
import { abandoned, type Forwarded } from "../../upstream/forwarded.js";
import { retryWaitMs } from "../../upstream/retry-wait.js";
import { type RecordingParts, settleAttempt } from "../admit-and-settle.js";

interface TargetSending {
  readonly target: Target;
  /** Whether the request can be sent more than once. */
  readonly isRepeatable: boolean;
  readonly operation: Operation;
  readonly stream: boolean;
  /**
   * `trace`: the span of the attempt, which the provider's traceparent names; null without tracing.
   */
  readonly send: (trace: AttemptTrace | null) => Promise<Forwarded>;
}

type AttemptParts =
  | RecordingParts
  | "limiter"
  | "random"
  | "setTimer"
  | "targetHealth"
  | "targetLoad";

/** The first answer, or the last failure. The record lists earlier failures. */
export async function sendToTarget(
  context: RequestContext<AttemptParts>,
  { target, isRepeatable, operation, stream, send }: TargetSending,
): Promise<Forwarded> {
  const { gateway, exchange, record } = context;
  const { config, upstream } = providerOf(gateway, target);
  const { targetHealth, targetLoad } = gateway;
  const firstMonoMs = gateway.monoMs();
  let startedMonoMs = firstMonoMs;
  for (let retried = 0; ; retried++) {
    record.tries++;
    const what = { target, operation, stream, resent: retried };
    const trace = record.trace?.attempt(what, startedMonoMs) ?? null;
    let forwarded: Forwarded | null = null;
    targetLoad.begin(target);
    try {
      forwarded = await send(trace);
    } finally {
      targetLoad.end(target, firstByteMs(forwarded, startedMonoMs));
    }
    targetHealth.note(target, startedMonoMs, forwarded);
    const endedMonoMs = gateway.monoMs();
    const attempt = { target, operation, stream, startedMonoMs, endedMonoMs, forwarded };
    gateway.metrics.counts.attemptEnded(attempt);
    trace?.ended(forwarded, endedMonoMs);
    if (forwarded.failed === null || !isRepeatable || exchange.gone) return forwarded;
    if (targetHealth.isOpen(target)) return forwarded;
    const elapsedMs = endedMonoMs - firstMonoMs;
    const attempts = { retried, elapsedMs, random: gateway.random() };
    const { failed } = forwarded;
    const hasOtherKey = (failed.credentials || failed.status === 429) && upstream.hasReadyKey?.();
    const waitMs = retryWaitMs(hasOtherKey === true ? withOtherKey : failed, attempts, config);
    if (waitMs === null) return forwarded;
    record.failedAt(target, forwarded.failed.why);
    forwarded = settleAttempt(context, forwarded);
    if (!(await stays(gateway, exchange, waitMs))) return abandoned(forwarded, exchange);
    startedMonoMs = gateway.monoMs();
  }
}

/** From the start of the attempt; null without a complete answer. */
function firstByteMs(forwarded: Forwarded | null, startedMonoMs: number): number | null {
  if (forwarded === null || forwarded.outcome !== "complete") return null;
  const { firstByteMonoMs } = forwarded;
  return firstByteMonoMs === null ? null : firstByteMonoMs - startedMonoMs;
}

/** A Retry-After for one key doesn't apply to another. */
const withOtherKey = { worthRetrying: true, retryAfterMs: null };

/** Waits; false as soon as the client disconnects. */
function stays(
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
