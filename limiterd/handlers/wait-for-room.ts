/**
 * Admissions that wait for room (docs/limit-options.md, "Waiting"). They hold no slots; they are
 * judged again when there may be room, and are refused at their deadline. Not here: their order
 * (`waiting/`).
 */
import type { Admit, Wait } from "../../shared/wire/message-to-daemon.js";
import { isDenied } from "../keys/identify-caller.js";
import type { KnownProxy, PeerState } from "../peer.js";
import { type admit, type ExceededVerdict, headersOfCounters } from "../rules/admit.js";
import {
  type AdmissionOptions,
  type JudgedRequest,
  judge,
  type RefusedVerdict,
} from "../rules/judge.js";
import type { DaemonState } from "../state.js";
import type { WaitOutcome } from "../waiting/wait-queues.js";
import { type RefusedByLimit, type Waiter, waitMsOf } from "../waiting/waiters.js";

export interface AdmitRequest {
  readonly peer: PeerState;
  readonly proxy: KnownProxy;
  readonly message: Admit;
  /** Null or absent until it waits for room. */
  readonly waiter?: Waiter | null;
}

/**
 * `may ask`: its verdict may wait for the counts of other hosts. `must decide`: it has waited for
 * them and can't wait again. `overdue`: its wait for room is over, so it is refused.
 */
export type Stage = "may ask" | "must decide" | "overdue";

export function stageOf(mustDecide: boolean): Stage {
  return mustDecide ? "must decide" : "may ask";
}

export const answered: WaitOutcome = { kind: "answered" };

interface RefusedRequest {
  readonly verdict: RefusedByLimit;
  readonly userPath: string;
  readonly nowMs: number;
}

/** Judges a waiting request again, and answers it unless it keeps waiting. */
type JudgeAgain = (waiter: Waiter, nowMs: number, stage: Stage) => WaitOutcome;

/**
 * Makes a refused request wait, or keep waiting. Null if it must not wait, so that it is refused.
 */
export function waitForRoom(
  state: DaemonState,
  admission: AdmitRequest,
  { verdict, userPath, nowMs }: RefusedRequest,
  judgeAgain: JudgeAgain,
): WaitOutcome | null {
  const { settings, waiters } = state;
  const { peer, message } = admission;
  const { id, wait } = message;
  if (wait === undefined) return null;
  const arrivedMs = admission.waiter?.arrivedMs ?? waiters.monoMs - wait.waitedMs;
  const deadlineMs =
    admission.waiter?.deadlineMs ?? arrivedMs + waitMsOf(settings.waiting, userPath, wait);
  const place = waiters.placeFor(verdict, { userPath, deadlineMs }, nowMs);
  if (place === null || deadlineMs <= waiters.monoMs) return null;
  if (admission.waiter != null) {
    admission.waiter.breach = verdict.breach;
    const isBehind = verdict.kind === "refused" && verdict.isBehind === true;
    return isBehind ? { kind: "behind", place } : { kind: "refused", place };
  }
  const waiter: Waiter = {
    peer,
    id,
    userPath,
    arrivedMs,
    deadlineMs,
    breach: verdict.breach,
    positionReports: positionReports(wait, waiters.monoMs),
    isDenied: (laterMs) => isDenied(state.keys, message, laterMs),
    judge(self, laterMs, mustDecide) {
      // If the proxy has a newer connection, it asks again there.
      const isConnected = admission.proxy.peer === peer;
      const outcome = isConnected ? judgeAgain(self, laterMs, stageOf(mustDecide)) : answered;
      if (outcome.kind === "admitted" || outcome.kind === "answered") waiters.answered(self);
      return outcome;
    },
    refuse: (self, laterMs) => void judgeAgain(self, laterMs, "overdue"),
  };
  if (!waiters.add(waiter, place)) return null;
  peer.send({ kind: "queued", id });
  return answered;
}

/** When the proxy gets reports of the position. The interval continues across a reconnect. */
function positionReports(
  { placeEveryMs: everyMs, waitedMs }: Wait,
  nowMs: number,
): Waiter["positionReports"] {
  return everyMs === undefined ? null : { everyMs, dueMs: nowMs + everyMs - (waitedMs % everyMs) };
}

/**
 * Asks the engine for the counts of the other hosts, and judges the waiting request again when it
 * has answered. The outcome says whether the engine was asked.
 */
export function askOtherHosts(state: DaemonState, waiter: Waiter): WaitOutcome {
  const { waiters } = state;
  const shares = state.shares!;
  const isAway = shares.turn.willTimeOut;
  shares.turn.end();
  const isAsked =
    !isAway &&
    shares.park((mustDecide) => {
      if (state.isStopping) return;
      waiters.judgeAgain(waiter, shares.nowMs(), mustDecide);
      state.book.reclaim();
    });
  return { kind: isAsked ? "asking" : "later" };
}

/** The refusal of a request whose wait is over, with the present `waitSeconds`. Counts nothing. */
export function overdueRefusal(
  rules: Parameters<typeof admit>[0],
  request: JudgedRequest,
  options: AdmissionOptions,
  { breach: last }: Waiter,
): RefusedVerdict | ExceededVerdict {
  const judgement = judge(rules, request, options);
  if (judgement.kind === "refused") return judgement;
  if (judgement.kind === "exceeded") {
    const { breach, counters } = judgement;
    return { kind: "exceeded", breach, headers: headersOfCounters(counters, options) };
  }
  // There is room by now, but the request is refused by the last breach.
  return last.dimension === "budget"
    ? { kind: "exceeded", breach: { ...last, waitSeconds: 1 }, headers: null }
    : { kind: "refused", breach: { ...last, waitSeconds: 1 } };
}
