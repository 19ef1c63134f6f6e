/** The error for a limiter client whose state is broken, and the assertions that throw it. */
import type { Admission } from "./admission.js";

/**
 * The only error that ends a running proxy: the state of its leases and settles is no longer
 * consistent. The assertions of this folder throw it, and it replaces any exception while handling
 * the daemon's messages, connections and deadlines. Any other error belongs to one request, which
 * `handlers/fail-request.ts` ends.
 */
export class BrokenLimiterState extends Error {
  override name = "BrokenLimiterState";
}

/** Like `assert` of `shared/assert.ts`, for the state of the limiter client. */
export function assertLimiter(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BrokenLimiterState(`assertion failed: ${message}`);
}

/** Wraps an exception in a step of the limiter client that belongs to no request. */
export function asBrokenLimiterState(error: unknown): BrokenLimiterState {
  return error instanceof BrokenLimiterState
    ? error
    : new BrokenLimiterState("the limiter client failed half-way", { cause: error });
}

/** The admission isn't settled, and no verdict is pending. */
export function assertRuns({ isSettled, target }: Pick<Admission, "isSettled" | "target">): void {
  assertLimiter(!isSettled && target !== null, "the request runs at a target");
}
