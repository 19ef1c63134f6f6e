/**
 * Watches for agents that repeat themselves (`loop-breaker.ts`). A call has a turn only if there
 * are rules on loops.
 */
import type { LoopRule } from "../../shared/domain/loop-rule.js";
import { authorizeCaller } from "../auth/caller.js";
import type { RequestContext } from "../request-context.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import { type AgentTurn, loopFailure, loopHeader, type WatchedTurn } from "./loop-breaker.js";
import type { ModelCall } from "./model-call.js";
import { refuseBeforeAdmission } from "./refuse-request.js";

/** The turn of an agent, if it is or could become a part of a loop. */
export function watchTurn(
  { gateway, exchange, caller, record }: RequestContext,
  { model }: ModelCall,
  turn: AgentTurn,
): WatchedTurn {
  // SDKs send a request again although it may have been answered.
  const retries = exchange.header("x-stainless-retry-count") ?? "0";
  const sender = { caller, session: record.session, model };
  const isRetry = retries !== "0";
  return gateway.loops.watch(turn, isRetry ? null : sender, gateway.monoMs());
}

/**
 * Warns of an agent that repeats itself, or refuses and answers its request. Returns whether it
 * refused it.
 */
export async function refuseLoop(context: RequestContext, watched: WatchedTurn): Promise<boolean> {
  const { gateway, caller, record } = context;
  const authorized = await authorizeCaller(gateway.limiter, caller, "model");
  // The admission answers unknown callers.
  if (!authorized.ok) return false;
  const answer = await gateway.limiter.call("loops.find", {
    user_path: authorized.caller.userPath,
  });
  // Without the daemon the rule is unknown: `failure_mode` decides.
  const rule = answer.ok ? (answer.body as { readonly loops: LoopRule | null }).loops : null;
  const judgement = rule === null ? null : gateway.loops.judge(watched, rule);
  if (judgement === null) return false;
  record.loop = judgement.loop;
  gateway.metrics.counts.countLoop(judgement.isRefused ? "refused" : "warned");
  if (!judgement.isRefused) return false;
  const refused = loopFailure(judgement.loop);
  record.note = refused.message;
  await refuseBeforeAdmission(context, refused, [
    "x-should-retry",
    "false",
    "x-sluice-loop",
    loopHeader(judgement.loop),
  ]);
  return true;
}

/** Notes a complete answer: the caller's next turn is compared with this one. */
export function noteAnsweredTurn(
  { gateway, record }: RequestContext,
  watched: WatchedTurn,
  { outcome, status }: ForwardResult,
): void {
  if (outcome === "complete" && status === 200)
    gateway.loops.noteAnswer(watched, record.startedMonoMs, gateway.monoMs());
}
