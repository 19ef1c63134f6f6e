/**
 * An admission: identifies the caller, asks rules and budgets, and gives an admitted request a
 * lease, which it holds until its settle arrives or its connection ends. The decision itself is in
 * `rules/judge.ts`.
 */
import { leasesPerPeerMax, shadowNamesMax, usesMax } from "../../shared/bounds.js";
import { ruleName } from "../../shared/config/limits/rule-limits.js";
import { limitInWords } from "../../shared/domain/refusal-message.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import { type Failure, failure } from "../../shared/error-code.js";
import { uncountedLsn } from "../../shared/wire/lsn.js";
import type { KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type { Admit, Cancel } from "../../shared/wire/message-to-daemon.js";
import type { BudgetBook } from "../budgets/budget-book.js";
import { exhaustedBudgets } from "../budgets/judge-budgets.js";
import {
  type IdentifiedCaller,
  identifyCaller,
  keyOf,
  modelProblem,
} from "../keys/identify-caller.js";
import { acknowledgeVerdicts, type HeldLease, noteVerdict, type PeerState } from "../peer.js";
import {
  type AdmittedVerdict,
  admit,
  admitShadows,
  type ExceededVerdict,
  type ShadowVerdict,
  type UnsureVerdict,
  type Verdict,
} from "../rules/admit.js";
import { demandAt } from "../rules/hard-limits.js";
import type { AdmissionOptions, JudgedRequest, RefusedVerdict } from "../rules/judge.js";
import { breachShownTo, type Viewer, viewerAt } from "../rules/limits-above.js";
import { noRules } from "../rules/rule-book.js";
import type { ClusterTurn } from "../shares/cluster-turn.js";
import { type DaemonState, enforcedBudgets, hasWaiters, judgingUpstream } from "../state.js";
import type { WaitOutcome } from "../waiting/wait-queues.js";
import { mayWait } from "../waiting/waiters.js";
import { deny, sendAuthorized } from "./authorize.js";
import { demandsAt, holdFirst, meteredRequest } from "./hold-output.js";
import { forgetUnread } from "./interrupted-requests.js";
import { usableTargets } from "./usable-targets.js";
import { beginTurn, waitForHosts } from "./wait-for-hosts.js";
import {
  type AdmitRequest,
  answered,
  askOtherHosts,
  overdueRefusal,
  type Stage,
  stageOf,
  waitForRoom,
} from "./wait-for-room.js";

const tooManyLeases = `the limiter daemon holds ${leasesPerPeerMax} requests of this proxy, and admits no more until some have ended`;

/** Returns false if the peer violated the protocol. */
export function handleAdmit(
  state: DaemonState,
  peer: PeerState,
  message: Admit,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  const { id } = message;
  if (peer.role !== "proxy" || !peer.isWelcomed || proxy === null || id === 0) return false;
  // The proxy has a newer connection, on which it repeats the request.
  if (proxy.peer !== peer) return true;
  if (!acknowledgeVerdicts(peer, proxy, message.read)) return false;
  if (peer.leases.get(id) !== undefined || peer.parked.has(id)) return false;
  if (hasWaiters(state) && state.waiters.find(peer, id) !== undefined) return false;
  if (peer.leases.size + peer.parked.size >= leasesPerPeerMax) {
    // Closing the connection would lose its leases, and the proxy would reconnect and repeat this.
    peer.send({ kind: "failed", id, failure: failure("overloaded", tooManyLeases) });
    return true;
  }
  forgetUnread(state, proxy, id);
  answerAdmit(state, { peer, proxy, message }, nowMs, "may ask");
  return true;
}

/** Returns false if the peer violated the protocol. */
export function cancelAdmit({ waiters }: DaemonState, peer: PeerState, { id }: Cancel): boolean {
  if (peer.role !== "proxy" || !peer.isWelcomed) return false;
  const waiter = waiters.find(peer, id);
  if (waiter === undefined) return true;
  waiters.remove(waiter);
  peer.send({ kind: "cancelled", id });
  return true;
}

const noLabels: readonly string[] = [];

/** Answers a request, or makes it wait for room. The outcome is for the queues of waiters. */
function answerAdmit(
  state: DaemonState,
  admission: AdmitRequest,
  nowMs: number,
  stage: Stage,
): WaitOutcome {
  const { peer, message, waiter = null } = admission;
  const request = identifyRequest(state, admission, nowMs, stage);
  if (request === null) return answered;
  const turn = state.shares === null ? null : beginTurn(state.shares, stage !== "may ask");
  const verdict = verdictOn(state, admission, request, turn);
  if (verdict.kind === "unsure") {
    if (waiter !== null && stage !== "overdue") return askOtherHosts(state, waiter);
    const outcome = waitForEngine(state, admission, request, verdict);
    if (outcome !== null) return outcome;
    waitForHosts(state, peer, message.id, answerAgain(state, admission));
    return answered;
  }
  turn?.end();
  if (verdict.kind !== "admitted") return waitOrRefuse(state, admission, request, verdict);
  if (request.targets.length === 0) {
    sendAuthorized(peer, message.id, request.caller);
    return answered;
  }
  return leaseAndAnswer(state, admission, request, verdict);
}

/** A request with its caller and the targets that the caller may use; made for each judgement. */
interface IdentifiedRequest extends JudgedRequest {
  readonly caller: IdentifiedCaller;
  readonly key: KeyOfCaller | null;
  /** Null if no budget is judged. */
  readonly budgets: BudgetBook | null;
  readonly labels: readonly string[];
  readonly nowMs: number;
  readonly stage: Stage;
}

/**
 * Identifies the caller, and finds the targets that it may use. Null if the caller is denied or may
 * use none: then the request has been answered.
 */
function identifyRequest(
  state: DaemonState,
  { peer, message }: AdmitRequest,
  nowMs: number,
  stage: Stage,
): IdentifiedRequest | null {
  const { id, submission, session } = message;
  const caller = identifyCaller(state.keys, message, nowMs);
  if (caller.kind === "denied") {
    deny(state, peer, id, caller.ended);
    return null;
  }
  const notAllowed = modelProblem(caller.key, message);
  if (notAllowed !== null) return sendDenial(state, peer, id, notAllowed);
  const key = keyOf(caller);
  const { userPath } = caller;
  const budgets = enforcedBudgets(state);
  const labels = budgets === null ? noLabels : state.labelsOf(key?.keyId ?? "");
  const usable = usableTargets(state, { userPath, session, budgets, labels, message }, nowMs);
  if (!usable.ok) return sendDenial(state, peer, id, usable.failure);
  const { targets } = usable;
  const demands = demandsAt(state, message, targets);
  // Field by field (docs/contributing/decisions.md).
  return {
    userPath,
    session,
    targets,
    submission,
    demands,
    caller,
    key,
    budgets,
    labels,
    nowMs,
    stage,
  };
}

function sendDenial({ counts }: DaemonState, peer: PeerState, id: number, why: Failure): null {
  counts.denied++;
  peer.send({ kind: "failed", id, failure: why });
  return null;
}

function verdictOn(
  state: DaemonState,
  { message, waiter = null }: AdmitRequest,
  request: IdentifiedRequest,
  turn: ClusterTurn | null,
): Verdict | UnsureVerdict {
  const { settings, book } = state;
  const { userPath, budgets, labels, nowMs, stage } = request;
  const options: AdmissionOptions = {
    nowMs,
    tokensEnforced: settings.usageEnabled,
    budgets: budgets === null ? null : { book: budgets, labels },
    turn,
    uses: message.uses,
    tokenWeights: settings.tokenWeights,
    upstream: judgingUpstream(state),
    waiters: hasWaiters(state) ? state.waiters.aheadOf(userPath) : null,
    waits: waiter !== null || mayWait(settings.waiting, userPath, message.wait),
    viewer: viewerAt(state, userPath),
  };
  const rules = settings.rateLimitsEnabled ? book : noRules;
  if (waiter === null || stage !== "overdue") return admit(rules, request, options);
  const refusal = overdueRefusal(rules, request, options, waiter);
  const isUnknown = turn?.isUnsure === true && turn.isCutOff;
  return isUnknown ? { kind: "unsure", judgement: refusal } : refusal;
}

/** Gives an admitted request its lease, and answers it. */
function leaseAndAnswer(
  state: DaemonState,
  admission: AdmitRequest,
  request: IdentifiedRequest,
  verdict: AdmittedVerdict,
): WaitOutcome {
  const { peer, proxy, message } = admission;
  const { id, uses, session } = message;
  const { targets, submission, demands, key, nowMs, stage } = request;
  const { target, headers } = verdict;
  state.counts.admitted++;
  const shadowed = shadowsOf(state, request, verdict);
  const counting = leaseOf(state, request, verdict, shadowed);
  const { lease, allowance, cap } =
    demands === undefined || submission
      ? { lease: counting, allowance: undefined, cap: undefined }
      : holdFirst(
          state,
          counting,
          meteredRequest(demandAt(demands, target), { keyId: key?.keyId ?? "", session, uses }),
          { nowMs, mustDecide: stage !== "may ask" },
        );
  peer.leases.set(id, lease);
  const { userPath, lsn, refusedBy } = lease;
  const countedVerdict = {
    userPath,
    atPath: true,
    target: lease.target,
    lsn,
    atMs: nowMs,
    refusedBy,
  };
  noteVerdict(state.proxies, peer, proxy, countedVerdict);
  // The proxy numbers the targets as it has sent them, with those that a budget leaves out.
  const usesAllTargets = targets === message.targets;
  peer.send({
    kind: "admitted",
    id,
    target: usesAllTargets ? target : message.targets.indexOf(targets[target]!),
    admittedAtMs: nowMs,
    lsn: lease.lsn,
    headers,
    key,
    pricedOnly: usesAllTargets ? undefined : true,
    exhausted: exhaustedText(state, request, verdict, uses),
    shadow: shadowNames(shadowed),
    allowance,
    cap,
  });
  state.writer.noteCounted();
  return { kind: "admitted" };
}

/** Makes a request without room wait for it if it may, or refuses it. */
function waitOrRefuse(
  state: DaemonState,
  admission: AdmitRequest,
  { userPath, session, targets, submission, key, nowMs, stage }: IdentifiedRequest,
  verdict: RefusedVerdict | ExceededVerdict,
): WaitOutcome {
  const { peer, proxy, message } = admission;
  const { counts } = state;
  const { id } = message;
  const viewer = viewerAt(state, userPath);
  // The proxy asks again with another model, so this is no refusal of the request yet.
  if (mayUseAnother(message, verdict.breach)) {
    sendRefusal(peer, id, shownTo(viewer, verdict), key);
    return answered;
  }
  if (message.wait !== undefined && stage !== "overdue") {
    const outcome = wait(state, admission, { verdict, userPath, nowMs });
    if (outcome !== null) return outcome;
  }
  counts.refused++;
  if (verdict.kind === "exceeded") counts.overBudget++;
  // Field by field (docs/contributing/decisions.md).
  state.refusals.add({
    atMs: nowMs,
    proxyId: proxy.id,
    admitId: id,
    userPath,
    keyId: key?.keyId ?? "",
    session,
    targets,
    submission,
    breach: verdict.breach,
  });
  sendRefusal(peer, id, shownTo(viewer, withoutUse(verdict)), key);
  return answered;
}

/** Null if it may not wait. */
function wait(
  state: DaemonState,
  admission: AdmitRequest,
  refused: Parameters<typeof waitForRoom>[2],
): WaitOutcome | null {
  return waitForRoom(state, admission, refused, (waiter, laterMs, again) =>
    answerAdmit(state, { ...admission, waiter }, laterMs, again),
  );
}

/** Makes a request wait while the engine doesn't answer. Null if it may not, or the engine does. */
function waitForEngine(
  state: DaemonState,
  admission: AdmitRequest,
  { userPath, nowMs, stage }: IdentifiedRequest,
  { judgement }: UnsureVerdict,
): WaitOutcome | null {
  const { turn } = state.shares!;
  if (!turn.willTimeOut || stage === "overdue" || judgement.kind === "admitted") return null;
  const outcome = wait(state, admission, { verdict: judgement, userPath, nowMs });
  if (outcome === null) return null;
  for (const share of turn.lacking) share.ask();
  turn.end();
  return outcome;
}

/** Whether the refusing rule or budget names a model to which the request can still go. */
function mayUseAnother(
  { uses = [], fixed, submission }: Admit,
  { use }: Breach | BudgetBreach,
): boolean {
  return (
    use !== undefined &&
    fixed !== true &&
    !submission &&
    uses.length < usesMax &&
    !uses.includes(use)
  );
}

function shownTo(
  viewer: Viewer,
  verdict: RefusedVerdict | ExceededVerdict,
): RefusedVerdict | ExceededVerdict {
  return verdict.kind === "exceeded"
    ? { ...verdict, breach: breachShownTo(viewer, verdict.breach) }
    : { ...verdict, breach: breachShownTo(viewer, verdict.breach) };
}

function withoutUse<V extends Exclude<Verdict, AdmittedVerdict>>(verdict: V): V {
  if (verdict.breach.use === undefined) return verdict;
  const { use: _, ...breach } = verdict.breach;
  return { ...verdict, breach } as V;
}

/** The exhausted rules and budgets that don't refuse a request, in words. */
function exhaustedText(
  state: DaemonState,
  { userPath, session, targets, submission, budgets, labels, nowMs }: IdentifiedRequest,
  verdict: AdmittedVerdict,
  uses: Admit["uses"],
): string | undefined {
  const hasLenient = budgets !== null && budgets.lenientIds.size > 0;
  if (verdict.exhausted.length === 0 && !hasLenient) return undefined;
  const target = submission ? null : targets[verdict.target]!;
  const request = { userPath, session, labels, target, uses };
  const breaches = [
    ...verdict.exhausted,
    ...(hasLenient ? exhaustedBudgets(budgets, request, nowMs) : []),
  ];
  if (breaches.length === 0) return undefined;
  const viewer = viewerAt(state, userPath);
  const limits = breaches.map((breach) => limitInWords(breachShownTo(viewer, breach)));
  return [...new Set(limits)].join("; ");
}

/** Answers a request once other hosts' counts are known. Outside of `answerAdmit` for speed. */
function answerAgain(state: DaemonState, admission: AdmitRequest) {
  return (nowMs: number, mustDecide: boolean): void => {
    // A connection that the proxy has left gets no answer.
    if (admission.proxy.peer === admission.peer)
      answerAdmit(state, admission, nowMs, stageOf(mustDecide));
  };
}

/** Judges an admitted request by the shadow rules. */
function shadowsOf(
  { book, settings }: DaemonState,
  { userPath, targets, submission, nowMs }: IdentifiedRequest,
  { target }: AdmittedVerdict,
): ShadowVerdict | null {
  if (book.shadows === null || !settings.rateLimitsEnabled) return null;
  return admitShadows(
    book,
    { userPath, target: submission ? null : targets[target]!, atPath: true, submission },
    { nowMs, tokensEnforced: settings.usageEnabled },
  );
}

/** The ids of the shadow rules that would refuse a request; undefined without any. */
export function refusedByOf(shadowed: ShadowVerdict | null): readonly string[] | undefined {
  return shadowed === null || shadowed.refusing.length === 0
    ? undefined
    : shadowed.refusing.map(({ id }) => id);
}

/** The names of the shadow rules that would refuse a request; undefined without any. */
export function shadowNames(shadowed: ShadowVerdict | null): readonly string[] | undefined {
  return shadowed === null || shadowed.refusing.length === 0
    ? undefined
    : shadowed.refusing
        .slice(0, shadowNamesMax)
        .map(({ definition }) => ruleName({ ...definition, mode: undefined }));
}

function leaseOf(
  state: DaemonState,
  { userPath, targets, submission, nowMs }: IdentifiedRequest,
  { target: chosen, counters }: AdmittedVerdict,
  shadowed: ShadowVerdict | null,
): HeldLease {
  const lsn = admissionLsn(state);
  return {
    userPath,
    target: submission ? null : targets[chosen]!,
    admittedAtMs: nowMs,
    lsn,
    targetAtMs: submission ? 0 : nowMs,
    targetLsn: submission ? 0 : lsn,
    submission,
    counters: shadowed === null ? counters : [...counters, ...shadowed.counters],
    bookVersion: state.book.version,
    refusedBy: refusedByOf(shadowed),
    hold: null,
  };
}

/**
 * The log sequence number of an admission: that of the batch that counts it. The proxy returns it
 * with the lease and the settle, so that a restarted daemon knows whether the windows include the
 * request.
 */
export function admissionLsn({ settings, writer }: DaemonState): number {
  return settings.rateLimitsEnabled ? writer.lsn : uncountedLsn;
}

function sendRefusal(
  peer: PeerState,
  id: number,
  verdict: Exclude<Verdict, AdmittedVerdict>,
  key: KeyOfCaller | null,
): void {
  if (verdict.kind === "exceeded")
    peer.send({ kind: "exceeded", id, ...verdict.breach, headers: verdict.headers, key });
  else peer.send({ kind: "refused", id, ...verdict.breach, key });
}
