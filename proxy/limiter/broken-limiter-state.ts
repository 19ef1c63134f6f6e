/**
 * The one error that ends a proxy while it serves: what the proxy knows of its leases and settles
 * can't be trusted any more. It is thrown by the assertions of this folder, and in place of any
 * exception in the handling of the daemon's messages, connections and deadlines. Everything else
 * that goes wrong is one request's, and `handlers/fail-request.ts` ends that.
 */
import type { Admission } from "./limiter.js";

export class BrokenLimiterState extends Error {
  override name = "BrokenLimiterState";
}

/** As `assert` of `shared/assert.ts`, for what the limiter client holds. */
export function assertLimiter(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BrokenLimiterState(`assertion failed: ${message}`);
}

/** For an exception half-way through a step of the limiter client that belongs to no request. */
export function asBrokenLimiterState(error: unknown): BrokenLimiterState {
  return error instanceof BrokenLimiterState
    ? error
    : new BrokenLimiterState("the limiter client failed half-way", { cause: error });
}

/** An admission that isn't settled, between its verdicts. */
export function assertRuns({ settled, target }: Pick<Admission, "settled" | "target">): void {
  assertLimiter(!settled && target !== null, "the request runs at a target");
}
