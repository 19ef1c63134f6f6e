/**
 * What running requests hold of hard caps (`docs/hard-caps.md`). A request gets an allowance of
 * output at its admission, more with each draw, and a new one at the next target; after a reconnect
 * it holds the same again. The arithmetic is in `rules/hard-limits.ts`; the end of a lease gives
 * back what it holds (`rules/slots.ts`).
 */
import { drawWaitMsMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { limitInWords } from "../../shared/domain/refusal-message.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import type { Admit, Draw, Lease, Settle } from "../../shared/wire/message-to-daemon.js";
import {
  breachOfAccount,
  hardBudgets,
  judgeBudgets,
  lacksClaim,
  renewClaim,
  wantClaim,
} from "../budgets/judge-budgets.js";
import { Counter, shareOf } from "../counters/counter.js";
import { rollWindow } from "../counters/window.js";
import type { HeldLease, PeerState } from "../peer.js";
import { countersOfLease } from "../rules/charge.js";
import {
  allowOutput,
  chargedAll,
  type Demand,
  type Demands,
  demandAt,
  demandsOf,
  giveBack,
  type HardLimit,
  hardRules,
  heldByOthers,
  holdOn,
  isHardCap,
  type LeaseHold,
  nothingCharged,
  outputAmount,
  unclaimedLimits,
  wantedAtFirst,
} from "../rules/hard-limits.js";
import { reportBreach, shareBreach, waitOfTokens } from "../rules/judge.js";
import { breachShownTo, viewerAt } from "../rules/limits-above.js";
import { allCountersOf } from "../rules/rule-book.js";
import { type DaemonState, enforcedBudgets } from "../state.js";
import type { Judged, Waited } from "../waiting/waiting-draws.js";
import { beginTurn } from "./wait-for-hosts.js";

/** The facts of a request that hard caps need. */
type MeteredRequest = Pick<LeaseHold, "demand" | "promptTokensMax" | "keyId" | "session" | "uses">;

/** What a request may use at `targets`, which are some of the message's targets. */
export function demandsAt(
  { learnedPrompts }: Pick<DaemonState, "learnedPrompts">,
  { metered, targets: requested }: Pick<Admit, "metered" | "targets">,
  targets: readonly Target[],
): Demands | undefined {
  if (metered === undefined) return undefined;
  if (targets === requested) return demandsOf(metered, targets, learnedPrompts);
  const rates = targets.map((target) => metered.rates[requested.indexOf(target)] ?? null);
  return demandsOf({ ...metered, rates }, targets, learnedPrompts);
}

/** The hard caps that count a request. Renews this host's claims to the hard budgets among them. */
function hardLimitsOf(
  state: DaemonState,
  { userPath, target, counters }: Pick<HeldLease, "userPath" | "target" | "counters">,
  { demand, keyId, session, uses }: Omit<MeteredRequest, "promptTokensMax">,
  nowMs: number,
): HardLimit[] {
  const { book, settings } = state;
  const limits =
    settings.usageEnabled && book.ruleSet.hasHard
      ? hardRules(counters, demand, { nowMs, tokenWeights: settings.tokenWeights, uses })
      : [];
  const budgets = enforcedBudgets(state);
  if (budgets === null || budgets.hardIds.size === 0) return limits;
  const caller = { userPath, session };
  const accounts = [
    ...budgets.match(caller, state.labelsOf(keyId), nowMs),
    ...(target === null ? [] : budgets.matchTarget(target, caller, nowMs)),
  ];
  const ofBudgets = hardBudgets(budgets, accounts, { demand, uses }, nowMs);
  for (const { source } of ofBudgets)
    if (!(source instanceof Counter)) renewClaim(budgets, source, nowMs);
  return [...limits, ...ofBudgets];
}

/**
 * Adds to the lease of an admitted request what the request holds. Like each draw, it begins its
 * own turn with the other hosts: end the verdict's turn first. `mustDecide` as in `beginTurn`.
 */
export function holdFirst(
  state: DaemonState,
  lease: HeldLease,
  metered: MeteredRequest,
  { nowMs, mustDecide }: { readonly nowMs: number; readonly mustDecide: boolean },
): FirstHold {
  const turn = state.shares === null ? null : beginTurn(state.shares, mustDecide);
  const limits = hardLimitsOf(state, lease, metered, nowMs);
  turn?.end();
  if (limits.length === 0) return { lease, allowance: undefined, cap: undefined };
  const { output: before = 0, charged = nothingCharged } = lease.hold ?? {};
  const hold = { ...metered, charged, output: before };
  const { output, tightest } = allowOutput(limits, hold, before + wantedAtFirst(metered.demand));
  const { isStreamed, outputMax } = metered.demand;
  const isLowered = !isStreamed && tightest !== null && output - before < (outputMax ?? Infinity);
  return {
    lease: { ...lease, hold: holdOn(limits, { ...hold, output }) },
    allowance: output,
    cap: isLowered ? inWords(state, tightest, lease, nowMs) : undefined,
  };
}

interface FirstHold {
  readonly lease: HeldLease;
  /** The output that it may use; undefined if no hard cap counts it. */
  readonly allowance: number | undefined;
  /** As in `Admitted`. */
  readonly cap: string | undefined;
}

/** Returns false if the peer violated the protocol. */
export function drawMore(
  state: DaemonState,
  peer: PeerState,
  message: Draw,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.isWelcomed || proxy === null) return false;
  const mayWait = message.waitMs !== 0;
  answerDraw(state, { peer, draw: message, mustDecide: false, waited: null, mayWait }, nowMs);
  return true;
}

/** A draw that is being judged, or judged again. */
interface JudgedDraw {
  readonly peer: PeerState;
  readonly draw: Draw;
  /** As in `beginTurn`. */
  readonly mustDecide: boolean;
  /** Since when it waits for what other requests hold; null if it doesn't. */
  readonly waited: Waited | null;
  /** Whether it may wait (longer) for what other requests hold. */
  readonly mayWait: boolean;
}

/** Answers a draw, or makes it wait for those who may give it what it lacks. */
function answerDraw(state: DaemonState, judged: JudgedDraw, nowMs: number): Judged {
  const { peer, draw, mustDecide, mayWait } = judged;
  const { id, total } = draw;
  // The proxy has a newer connection, on which it repeats the draw.
  if (peer.proxy?.peer !== peer) return "answered";
  const heldLease = peer.leases.get(id);
  const hold = heldLease?.hold ?? null;
  if (heldLease === undefined || hold === null) {
    peer.send({ kind: "drawn", id, total });
    return "answered";
  }
  giveBack(hold);
  const turn = state.shares === null ? null : beginTurn(state.shares, mustDecide);
  const demand = withCountedPrompt(hold.demand, draw);
  const { book } = state;
  const counters = countersOfLease(heldLease, book) ?? allCountersOf(book, heldLease, nowMs);
  const limits = hardLimitsOf(state, { ...heldLease, counters }, { ...hold, demand }, nowMs);
  // Until the provider reports its tokens, the proxy counts more than there are. So its count may
  // exceed the request's own maximum, which only the provider enforces.
  const before = { ...hold, demand: { ...demand, outputMax: null } };
  // Both need a request that holds nothing.
  const { output, cap } = allowOutput(limits, before, total);
  const shortage = cap === null ? noShortage : shortageOf(limits, before, { total, output, cap });
  peer.leases.set(id, { ...heldLease, hold: holdOn(limits, { ...hold, demand, output }) });
  if (turn !== null && shortage.kind === "unclaimed")
    claimMore(state, limits, shortage.output, nowMs);
  noteDrawDemand(limits, cap, nowMs);
  const asksEngine =
    turn !== null && shortage.kind === "unclaimed" && turn.isUnsure && !turn.willTimeOut;
  turn?.end();
  if (asksEngine && waitForClaims(state, judged)) return "asking";
  if (shortage.kind === "held" && mayWait && waitForHolds(state, judged, shortage.cap))
    return "refused";
  const words = cap === null ? undefined : inWords(state, cap, heldLease, nowMs);
  peer.send({ kind: "drawn", id, total: output, cap: words });
  return "answered";
}

function withCountedPrompt(demand: Demand, { promptTokens }: Draw): Demand {
  return promptTokens === undefined
    ? demand
    : { ...demand, promptTokens, likelyPrompt: promptTokens };
}

/** Who may give a draw what it lacks. */
type Shortage =
  /** It lacks nothing. */
  | { readonly kind: "none" }
  /** The engine: so much more output is left that this host hasn't claimed. */
  | { readonly kind: "unclaimed"; readonly output: number }
  /** The requests that hold the rest of the cap: most give some of it back. */
  | { readonly kind: "held"; readonly cap: HardLimit }
  /** Nobody. */
  | { readonly kind: "used up" };

const noShortage: Shortage = { kind: "none" };

/** `output` is what `limits` allow of the `total` that a draw asks for; `cap` allows no more. */
function shortageOf(
  limits: readonly HardLimit[],
  before: Parameters<typeof allowOutput>[1],
  { total, output, cap }: { readonly total: number; readonly output: number; cap: HardLimit },
): Shortage {
  const most = allowOutput(unclaimedLimits(limits), before, total).output;
  if (most > output) return { kind: "unclaimed", output: most - output };
  return heldByOthers(cap) > 0 ? { kind: "held", cap } : { kind: "used up" };
}

/** Judges a draw again when the engine has answered; false if too many requests wait for it. */
function waitForClaims(state: DaemonState, judged: JudgedDraw): boolean {
  const shares = state.shares!;
  return shares.park((mustDecide) => {
    if (state.isStopping || !state.peers.has(judged.peer)) return;
    answerDraw(state, { ...judged, mustDecide }, shares.nowMs());
    state.book.reclaim();
  });
}

/** Makes a draw wait for what other requests hold of a cap; false if too many wait. */
function waitForHolds(state: DaemonState, judged: JudgedDraw, cap: HardLimit): boolean {
  const { peer, draw } = judged;
  const { held, child } = cap.share?.within ?? cap;
  const share = cap.share?.name ?? null;
  const judge = (waited: Waited, isLast: boolean): Judged => {
    if (state.isStopping || !state.peers.has(peer)) return "answered";
    const nowMs = state.shares?.nowMs() ?? state.wallMs();
    const outcome = answerDraw(state, { ...judged, waited, mayWait: !isLast }, nowMs);
    state.book.reclaim();
    return outcome;
  };
  const waitMs = Math.min(draw.waitMs ?? drawWaitMsMax, drawWaitMsMax);
  const waiting = { peer, lease: draw.id, held, child, share, waitMs, judge };
  return state.draws.add(waiting, judged.waited);
}

/** Notes on each shared cap that a child asks for more of it, and on `cap` that it gave no more. */
function noteDrawDemand(limits: readonly HardLimit[], cap: HardLimit | null, nowMs: number): void {
  for (const { source, share } of limits) {
    if (share === undefined || !(source instanceof Counter)) continue;
    const sharedCap = source.rule.tenants?.sharing?.findOrMake(source.child, nowMs);
    if (cap?.source === source) sharedCap?.noteRefusal(share.name, nowMs);
    else sharedCap?.noteRequest(share.name, nowMs);
  }
}

/** Notes that this host wants to claim `output` more of the caps that hosts share. */
function claimMore(
  { budgets }: DaemonState,
  limits: readonly HardLimit[],
  output: number,
  nowMs: number,
): void {
  for (const limit of limits) {
    const { source, share } = limit;
    if (share !== undefined) continue;
    const want = Math.max(1, outputAmount(limit, output));
    const needs = { held: limit.held.of(limit.child), need: want, want };
    // This call also notes in the turn what the counter's share lacks.
    if (source instanceof Counter) shareOf(source)?.waitOfClaim(source.window, needs, nowMs);
    else if (lacksClaim(budgets, source, needs, nowMs)) wantClaim(budgets, source, want);
  }
}

function inWords(
  state: DaemonState,
  limit: HardLimit,
  { userPath }: Pick<HeldLease, "userPath">,
  nowMs: number,
): string {
  return limitInWords(breachShownTo(viewerAt(state, userPath), breachOf(state, limit, nowMs)));
}

function breachOf(
  state: DaemonState,
  { source, cap, share }: HardLimit,
  nowMs: number,
): Breach | BudgetBreach {
  if (!(source instanceof Counter)) return breachOfAccount(state.budgets, source, nowMs);
  return reportBreach({
    counter: source,
    dimension: source.rule.measure ?? "tokens",
    cap,
    waitSeconds: 1,
    ...(share === undefined ? {} : { share: share.name }),
  });
}

/** Lowers what a running request holds by the tokens that a settle has charged. */
export function lowerHold(
  state: DaemonState,
  heldLease: HeldLease,
  used: { readonly inputTokens: number; readonly outputTokens: number },
  nowMs: number,
): HeldLease {
  const { hold } = heldLease;
  if (hold === null) return heldLease;
  giveBack(hold);
  const { before, prompt, output } = hold.charged;
  const charged = {
    before,
    prompt: prompt + used.inputTokens,
    output: output + used.outputTokens,
  };
  const limits = hardLimitsOf(state, heldLease, hold, nowMs);
  return { ...heldLease, hold: holdOn(limits, { ...hold, charged }) };
}

/**
 * The hold of a lease that a proxy reports after a restart. `interrupted`: what the request held
 * when it was charged, because its proxy was away for too long: windows still count that.
 */
export function holdReported(
  state: DaemonState,
  { userPath, target, holding }: Lease,
  { counters, interrupted = null }: ReportedLease,
  nowMs: number,
): LeaseHold | null {
  if (holding === undefined) return null;
  const { promptTokens, output, rates, keyId, session } = holding;
  // Whether the provider has counted the prompt isn't known.
  const demand = {
    ...{ promptTokens, likelyPrompt: promptTokens },
    ...{ outputMax: null, isStreamed: true, rates },
  };
  const hold = {
    ...{ demand, promptTokensMax: 0, keyId, session, uses: undefined },
    ...{ charged: nothingCharged, output },
  };
  const limits = hardLimitsOf(state, { userPath, target, counters }, hold, nowMs);
  // A settle moves what a budget was charged to its own period, so it is held there until then.
  const isKept = interrupted !== null && limits.every(({ source }) => source instanceof Counter);
  return holdOn(limits, isKept ? { ...hold, charged: chargedAll(interrupted) } : hold);
}

interface ReportedLease {
  readonly counters: HeldLease["counters"];
  readonly interrupted?: LeaseHold | null;
}

/**
 * Why the hard caps of a request's path refuse its next target, which may be dearer than the failed
 * one; null if they admit it. The request holds nothing meanwhile.
 */
export function breachOnPath(
  state: DaemonState,
  { userPath, counters }: Pick<HeldLease, "userPath" | "counters">,
  { demand, keyId, session, uses }: MeteredRequest,
  nowMs: number,
): Breach | BudgetBreach | null {
  const { settings, book } = state;
  const { usageEnabled: tokensEnforced, tokenWeights } = settings;
  const options = { nowMs, tokensEnforced, tokenWeights, demand, uses };
  for (const [i, counter] of (book.ruleSet.hasHard ? counters : []).entries()) {
    const { rule } = counter;
    if (!isHardCap(rule)) continue;
    rollWindow(counter.window, rule.periodMs, nowMs);
    const waitSeconds = waitOfTokens(counter, options);
    const cap = rule.definition.maxTokens!;
    if (waitSeconds > 0)
      return reportBreach({ counter, dimension: rule.measure ?? "tokens", cap, waitSeconds });
    const childCounter = counters[i + 1];
    const isShared = rule.tenants !== null && childCounter?.rule === rule.tenants;
    const breach = isShared ? shareBreach({ counter, childCounter }, options) : null;
    if (breach !== null) return reportBreach(breach);
  }
  const budgets = enforcedBudgets(state);
  if (budgets === null || budgets.hardIds.size === 0) return null;
  const labels = state.labelsOf(keyId);
  const caller = { userPath, session, labels };
  return judgeBudgets(budgets, { ...caller, uses, demand, isHardOnly: true }, nowMs);
}

/** The facts of a request for its next target; null if the message doesn't say what it may use. */
export function meteredAtNext(
  hold: LeaseHold | null,
  demands: Demands | undefined,
  { index, ...others }: Pick<LeaseHold, "session" | "uses"> & { readonly index: number },
): MeteredRequest | null {
  return demands === undefined
    ? null
    : meteredRequest(demandAt(demands, index), { keyId: hold?.keyId ?? "", ...others });
}

export function meteredRequest(
  demand: Demand,
  caller: Pick<LeaseHold, "keyId" | "session" | "uses">,
): MeteredRequest {
  return { demand, promptTokensMax: demand.promptTokens, ...caller };
}

/** Learns how many tokens the prompt of a request had, if its provider has counted them. */
export function learnPrompt(
  { learnedPrompts }: Pick<DaemonState, "learnedPrompts">,
  { target, hold }: HeldLease,
  { part, estimated, record }: Settle,
): void {
  if (part !== "request" || hold === null || target === null) return;
  if (record === null || record.cacheHit || !isCount(record.inputTokens)) return;
  if (estimated || record.atMost !== null) return;
  const { before, prompt, output } = hold.charged;
  // Of several calls the prompts aren't known, only their sum.
  if (before + prompt + output > 0) return;
  learnedPrompts.learn(target, hold.promptTokensMax, record.inputTokens);
}
