/**
 * The next target after one has failed (docs/reference/http-api.md, "Failover"): its attempt ends,
 * the daemon chooses among the targets that weren't tried, and the request is sent again, until
 * one answers or none is left. Only while nothing has gone to the client, and while the client is
 * there.
 */
import { assert } from "../../../shared/assert.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Gateway } from "../../gateway.js";
import { successHeaders } from "../../http/respond.js";
import type { Admission, AdmissionOutcome } from "../../limiter/limiter.js";
import type { RequestContext } from "../../request-context.js";
import { isMoreUseful } from "../../upstream/errors/failover-reason.js";
import { abandoned, type Forwarded } from "../../upstream/forwarded.js";
import { type RecordingParts, settleAttempt } from "../admit-and-settle.js";

export interface FailOver {
  readonly admission: Admission;
  /** All of the route, in order. Those that had no capacity before may have it now. */
  readonly targets: readonly Target[];
  /** Sends the request to a target; `hasFallback`: another one is left after it. */
  readonly send: (target: Target, headers: string[], hasFallback: boolean) => Promise<Forwarded>;
}

/**
 * The result after `first` failed at the admission's target: the first answer, or the most useful
 * of the failures. Either way `record.target` is the target that gave it, for the usage record too;
 * the admission's target is the one that the settle counts. When the others have no capacity, or
 * the daemon doesn't answer, the result is the failure all the same: it is why there is no answer,
 * and our own limits are not.
 */
export async function failOver(
  context: RequestContext<RecordingParts | "limiter">,
  { admission, targets, send }: FailOver,
  first: Forwarded,
): Promise<Forwarded> {
  const { gateway, exchange, record } = context;
  let best = first;
  let bestTarget = admission.target;
  let last = first;
  let untried = targets;
  for (;;) {
    const { target } = admission;
    const uncharged = settleAttempt(context, last);
    if (last === best) best = uncharged;
    last = uncharged;
    assert(target !== null && last.failed !== null && best.failed !== null, "a target has failed");
    record.failedAt(target, last.failed.why);
    if (last !== best && isMoreUseful(last.failed, best.failed)) {
      best = last;
      bestTarget = target;
    }
    record.target = bestTarget;
    untried = untried.filter((other) => other !== target && mayFollow(gateway, target, other));
    if (exchange.gone) return abandoned(best, exchange);
    if (untried.length === 0) return best;
    const outcome = await gateway.limiter.reroute(admission, untried);
    if (exchange.gone) return abandoned(best, exchange);
    if (outcome.kind !== "admitted")
      return { ...best, note: `no other target: ${whyNotAdmitted(outcome)}` };
    record.target = admission.target;
    const { answered, status } = last.failed;
    gateway.metrics.counts.failedOver(target, answered ? String(status) : "no_answer");
    last = await send(admission.target!, successHeaders(outcome.headers), untried.length > 1);
    if (last.failed === null) return last;
  }
}

/** A caller who was admitted to a model with a price may be under a budget (`budgets.unpriced`). */
function mayFollow(
  { config, prices }: Pick<Gateway, "config" | "prices">,
  target: Target,
  next: Target,
): boolean {
  if (config.budgets.unpriced === "allow") return true;
  return prices.priceOf(next) !== null || prices.priceOf(target) === null;
}

function whyNotAdmitted(outcome: Exclude<AdmissionOutcome, { readonly kind: "admitted" }>): string {
  switch (outcome.kind) {
    case "refused":
    case "exceeded":
      return refusalMessage(outcome.breach);
    case "failed":
      return outcome.failure.message;
    default:
      return "the limiter daemon does not answer";
  }
}
