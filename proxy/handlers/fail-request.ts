/**
 * The error boundary of one request: an exception in any step ends this request and no other. The
 * client gets a 500 or a cut answer, the admission is settled once, and the stack is logged with
 * the request's id.
 *
 * Not here: exceptions in an event of a provider's answer (`upstream/answer-relay.ts`,
 * `upstream/passthrough/tunnel-session.ts`), which end the request like a failure of the provider.
 */
import { isCount } from "../../shared/checked.js";
import { areaOf } from "../http/match-route.js";
import { replyInternalError } from "../http/respond.js";
import { BrokenLimiterState } from "../limiter/broken-limiter-state.js";
import type { RequestContext } from "../request-context.js";

/**
 * Ends a request after an exception. An unsettled request is charged its known usage, without a
 * usage record. Rethrows `BrokenLimiterState`, which must end the process.
 */
export function failRequest(
  {
    gateway,
    exchange,
    record,
  }: Pick<RequestContext<"limiter" | "log">, "gateway" | "exchange" | "record">,
  error: unknown,
): void {
  if (error instanceof BrokenLimiterState) throw error;
  record.end(500, "internal_error");
  record.bug = error;
  const finish = (): void => replyInternalError(exchange, areaOf(exchange.path));
  const { admission, usage } = record;
  if (admission === null || admission.isSettled) return finish();
  const tokens = isCount(usage?.totalTokens) ? usage.totalTokens : 0;
  gateway.limiter.settle(admission, { tokens, estimated: true, record: null }, finish);
}
