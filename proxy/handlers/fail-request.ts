/**
 * The boundary around one request: what is thrown on its way, at whichever step, ends this request
 * and no other. The client gets a 500, or sees its answer cut; the admission is settled, once; the
 * stack goes to the log with the request's id.
 *
 * Not here: what is thrown in an event of a provider's answer (`upstream/answer-relay.ts`,
 * `upstream/passthrough/tunnel-session.ts`) ends the request by the usual way.
 */
import { isCount } from "../../shared/checked.js";
import { areaOf } from "../http/match-route.js";
import { replyInternalError } from "../http/respond.js";
import { BrokenLimiterState } from "../limiter/broken-limiter-state.js";
import type { RequestContext } from "../request-context.js";
import { logBug } from "./report-request.js";

/**
 * Ends a request that has thrown. A request that is already settled was charged what it used; any
 * other is charged what is known of that, without a usage record. Throws `BrokenLimiterState` on:
 * that is nothing that a request could survive.
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
  if (admission === null || admission.settled) return finish();
  const tokens = isCount(usage?.totalTokens) ? usage.totalTokens : 0;
  gateway.limiter.settle(admission, { tokens, estimated: true, record: null }, finish);
}

/** Sends the last of a response, once its settle has left: no promise waits for that any more. */
export function finishRequest(
  { gateway, exchange }: Pick<RequestContext<"log">, "gateway" | "exchange">,
  finish: () => void,
): void {
  try {
    finish();
  } catch (error) {
    logBug(gateway.log, exchange.id, error);
    replyInternalError(exchange, areaOf(exchange.path));
  }
}
