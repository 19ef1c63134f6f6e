/**
 * What every limited request goes through, whatever it asks for: it is admitted or answered, and
 * settled when it has ended.
 */

import { refusalMessage } from "../../shared/domain/refusal-message.js";
import type { Failure } from "../../shared/error-code.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { SuccessHeaders, Target } from "../../shared/wire/message.js";
import type { Caller } from "../auth/authenticate.js";
import { authorizeCaller } from "../auth/authorize-caller.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { replyFailure, replyRefused } from "../http/respond.js";
import { limiterUnavailable } from "../limiter/daemon-calls.js";
import type { Admission } from "../limiter/limiter.js";
import type { RequestRecord } from "../request-record.js";
import type { Forwarded } from "../upstream/forwarded.js";
import { usageRecord } from "../usage/usage-record.js";
import { refuseCaller } from "./refuse-caller.js";

export interface Admitted {
  readonly admission: Admission;
  readonly headers: SuccessHeaders | null;
}

export interface Asked {
  readonly caller: Caller;
  readonly targets: readonly Target[];
  /** As the client named it, for who asks later why it was refused; empty when it named none. */
  readonly model: string;
  /** See `Limiter.admit`. */
  readonly submission?: boolean;
}

/**
 * Asks the daemon. Null: the exchange is answered already, or the client has gone meanwhile, and
 * all is settled.
 */
export async function admitRequest(
  gateway: Gateway,
  exchange: Exchange,
  { caller, targets, model, submission = false }: Asked,
  record: RequestRecord,
): Promise<Admitted | null> {
  const { limiter, config } = gateway;
  const outcome = await limiter.admit(caller, targets, submission);
  if (outcome.kind === "unavailable") {
    record.end(503, "limiter_unavailable");
    replyFailure(exchange, "model", limiterUnavailable(), ["retry-after", "1"]);
    return null;
  }
  if (outcome.kind === "denied") {
    refuseCaller(exchange, "model", record, { ok: false, failure: caller.denial });
    return null;
  }
  record.identified(
    outcome.kind === "admitted"
      ? outcome.admission
      : (outcome.key ?? { userPath: caller.userPath, keyId: "" }),
  );
  if (outcome.kind !== "admitted") {
    record.end(429, outcome.kind === "refused" ? "rate_limited" : "over_budget");
    record.note = refusalMessage(outcome.breach);
    limiter.noteRefusal(outcome.id, exchange.id, model);
    replyRefused(exchange, outcome, { requestIdInBody: config.server.requestIdInRefusals });
    return null;
  }
  const { admission } = outcome;
  // A submission is counted at no target, and goes to its first one.
  record.target = admission.target ?? targets[0]!;
  if (!exchange.gone) return outcome;
  record.end(499, "client_gone");
  limiter.settle(admission, { tokens: 0, estimated: false, record: null }, () => {});
  return null;
}

/**
 * Ends an admission with what became of the request, and then the response. The admission's target
 * is what is counted, `record.target` what is recorded.
 */
export function settleRequest(
  gateway: Gateway,
  exchange: Exchange,
  admission: Admission,
  forwarded: Forwarded,
  record: RequestRecord,
): void {
  record.forwarded(forwarded);
  const executed = executionOf(gateway, exchange, record, forwarded);
  record.cost = executed === null ? null : executed.totalCost;
  const { usage, estimated, finish } = forwarded;
  gateway.limiter.settle(
    admission,
    { tokens: usage === null ? 0 : usage.totalTokens, estimated, record: executed },
    finish,
  );
}

/** For the usage record; null when there is nothing to record. */
function executionOf(
  { config, prices, providers, monoMs }: Gateway,
  exchange: Exchange,
  record: RequestRecord,
  forwarded: Forwarded,
): Execution | null {
  const { target } = record;
  if (!config.usageEnabled || target === null) return null;
  return usageRecord(forwarded, {
    requestId: exchange.id,
    endpoint: exchange.path,
    target,
    providerType: providers.get(target.provider)!.type,
    keyId: record.keyId,
    startedMonoMs: record.startedMonoMs,
    endedMonoMs: monoMs(),
    savedBytes: record.savedBytes,
    price: prices.priceOf(target),
  });
}

/**
 * Before the admission nobody has judged the caller's key yet: a wrong one gets its 401, whatever
 * else is wrong.
 */
export async function refuseUnadmitted(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
  record: RequestRecord,
  what: Failure,
  headers: readonly string[] = [],
): Promise<void> {
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  if (!authorized.ok) return refuseCaller(exchange, "model", record, authorized);
  record.identified(authorized.caller);
  record.end(what.status, "refused");
  if (what.status >= 500) record.note = what.message;
  replyFailure(exchange, "model", what, headers);
}
