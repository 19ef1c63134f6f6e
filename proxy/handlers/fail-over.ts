/**
 * The next target after one has failed (CONTRACT section 5): its attempt ends, the daemon chooses
 * among those that weren't tried, and the request is sent again, until one answers or none is left.
 * Only while nothing has gone to the client, and while there is one.
 */
import { assert } from "../../shared/assert.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import type { Target } from "../../shared/wire/message.js";
import type { Exchange } from "../http/exchange.js";
import { successHeaders } from "../http/respond.js";
import type { Admission, Limiter } from "../limiter/limiter.js";
import type { RequestRecord, Tried } from "../request-record.js";
import { isMoreUseful } from "../upstream/errors/failover-reason.js";
import type { Forwarded } from "../upstream/forwarded.js";

export interface FailOver {
  readonly limiter: Limiter;
  readonly exchange: Exchange;
  readonly admission: Admission;
  /** All of the route, in order. Those that had no capacity before may have it now. */
  readonly targets: readonly Target[];
  readonly record: RequestRecord;
  /** Sends the request to a target; `hasFallback`: another one is left after it. */
  readonly send: (target: Target, headers: string[], hasFallback: boolean) => Promise<Forwarded>;
}

/**
 * How it ended, after `first` failed at the admission's target: the first answer that stands, or
 * the most useful of the failures. Either way `record.target` is whose answer or failure that is,
 * for the usage record too; the admission's target is what the settle counts. When the others have
 * no capacity, or the daemon doesn't say, that is the failure too: it is why there is no answer,
 * and our own limits are not.
 */
export async function failOver(
  { limiter, exchange, admission, targets, record, send }: FailOver,
  first: Forwarded,
): Promise<Forwarded> {
  let told = first;
  let toldTarget = admission.target;
  let last = first;
  let untried = targets;
  const tried: Tried[] = [];
  record.tried = tried;
  record.tries = 1;
  for (;;) {
    const { target } = admission;
    assert(target !== null && last.failed !== null && told.failed !== null, "a target has failed");
    tried.push({ target, why: last.failed.why });
    if (last !== told && isMoreUseful(last.failed, told.failed)) {
      told = last;
      toldTarget = target;
    }
    record.target = toldTarget;
    untried = untried.filter((other) => other !== target);
    if (exchange.gone) return gone(told);
    if (untried.length === 0) return told;
    const outcome = await limiter.reroute(admission, untried);
    if (exchange.gone) return gone(told);
    if (outcome.kind !== "admitted")
      return {
        ...told,
        note: `no other target: ${"breach" in outcome ? refusalMessage(outcome.breach) : "the limiter daemon does not answer"}`,
      };
    record.target = admission.target;
    record.tries++;
    last = await send(admission.target!, successHeaders(outcome.headers), untried.length > 1);
    if (last.failed === null) return last;
  }
}

function gone(told: Forwarded): Forwarded {
  return { ...told, status: 499, outcome: "client_gone", finish: () => {} };
}
