/**
 * Tries the next target after one failed (docs/reference/http-api.md, "Failover"): ends the
 * attempt, lets the daemon choose among the targets not tried yet, and sends the request again,
 * until one answers or none is left. Only while the client is connected and has received nothing.
 */
import { assert } from "../../../shared/assert.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Metered } from "../../../shared/wire/message-to-daemon.js";
import type { Gateway } from "../../gateway.js";
import type { Admission, AdmissionOutcome } from "../../limiter/admission.js";
import type { RequestContext } from "../../request-context.js";
import { isMoreUseful } from "../../upstream/errors/failover-reason.js";
import { abandonedResult, type ForwardResult } from "../../upstream/forwarded.js";
import { limitHeaders, type RecordingParts, settleAttempt } from "../admit-and-settle.js";

export interface FailOver {
  readonly admission: Admission;
  /** All targets of the route, in order. A target that had no capacity may have some now. */
  readonly targets: readonly Target[];
  /** The most that the request may use at targets, for hard caps; undefined without any. */
  readonly metersOf?: ((targets: readonly Target[]) => Metered) | undefined;
  /** Sends the request to a target. `hasFallback`: whether another target is left after it. */
  readonly send: (
    target: Target,
    headers: string[],
    hasFallback: boolean,
  ) => Promise<ForwardResult>;
}

/**
 * The result after `first` failed at the admission's target: the first answer, or the most useful
 * failure. `record.target` is the target that gave it, also in the usage record; the settle counts
 * the admission's target. When the other targets have no capacity or the daemon doesn't answer, the
 * result is still the provider's failure, as that is the cause.
 */
export async function failOver(
  context: RequestContext<RecordingParts | "limiter" | "nowMs">,
  { admission, targets, metersOf, send }: FailOver,
  first: ForwardResult,
): Promise<ForwardResult> {
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
    record.addEarlierFailure(target, last.failed.why);
    if (last !== best && isMoreUseful(last.failed, best.failed)) {
      best = last;
      bestTarget = target;
    }
    record.target = bestTarget;
    untried = untried.filter(
      (candidate) => candidate !== target && mayFollow(gateway, admission, candidate),
    );
    if (exchange.gone) return abandonedResult(best, exchange);
    if (untried.length === 0) return best;
    const metered = admission.metering === undefined ? undefined : metersOf?.(untried);
    const outcome = await gateway.limiter.reroute(admission, untried, metered);
    if (exchange.gone) return abandonedResult(best, exchange);
    if (outcome.kind !== "admitted")
      return { ...best, note: `no other target: ${whyNotAdmitted(outcome)}` };
    record.target = admission.target;
    const { isAnswered, status } = last.failed;
    gateway.metrics.counts.failedOver(target, isAnswered ? String(status) : "no_answer");
    last = await send(admission.target!, limitHeaders(context, outcome), untried.length > 1);
    if (last.failed === null) return last;
  }
}

/** Excludes a target without a price if a budget of the caller refuses such targets. */
function mayFollow(
  { prices }: Pick<Gateway, "prices">,
  { pricedOnly }: Admission,
  next: Target,
): boolean {
  return pricedOnly !== true || prices.priceOf(next) !== null;
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
