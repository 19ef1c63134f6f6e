/**
 * This host's share of one counter that all hosts share: the grants of the engine, this host's use
 * of them, and the counts of the other hosts. Verdicts use units that are already granted, so they
 * need no fresh view of the other hosts. One question to the engine at a time reports this host's
 * use in absolute values and asks for what it needs. Not here: the arithmetic of a window
 * (`counters/window.ts`), and when a question is due (`share-schedule.ts`).
 */
import { assert } from "../../shared/assert.js";
import {
  farRenewMs,
  farTokensFreshMs,
  freshMs,
  parkedMs,
  renewMs,
  tokensFreshMs,
} from "../bounds.js";
import { noHalves } from "../cluster/halves.js";
import type { CounterTotals, SyncQuestion, SyncReply } from "../cluster/shared-limits.js";
import { capsAt, type Rule } from "../counters/counter.js";
import {
  type ClaimNeeds,
  type CounterShare,
  estimateRequests,
  type SharedView,
  slidingTokens,
  type Window,
  waitForRequests,
  waitForTokens,
} from "../counters/window.js";
import { isHardCap } from "../rules/hard-limits.js";
import { requestsLeft } from "./cap-distance.js";
import type { ClusterTurn } from "./cluster-turn.js";
import type { Exchange } from "./engine-clock.js";
import { ShareDemand } from "./share-demand.js";
import { ShareSchedule, type Standing } from "./share-schedule.js";
import { ShareSlots } from "./share-slots.js";
import { ShareTokens } from "./share-tokens.js";
import { ShareUnits } from "./share-units.js";

/** This host's own counts, as a question reports them. */
export interface OwnCounts {
  readonly window: Window;
  readonly inFlight: number;
}

interface ShareOptions {
  readonly rule: Rule;
  readonly child: string;
  /** The window of this host. */
  readonly own: Window;
  readonly turn: ClusterTurn<Share>;
  /** Called when the engine should be asked soon. */
  readonly need: (share: Share) => void;
  readonly generation: number;
}

const never = Number.POSITIVE_INFINITY;

export class Share implements CounterShare {
  readonly rule: Rule;
  readonly child: string;
  readonly units: ShareUnits;
  readonly slots = new ShareSlots();
  readonly demand: ShareDemand;
  readonly tokens: ShareTokens;
  readonly #schedule: ShareSchedule;
  readonly #turn: ClusterTurn<Share>;
  readonly #need: (share: Share) => void;
  #generation: number;
  #settledAtMonoMs = 0;
  #openQuestion: SyncQuestion | null = null;
  /** The number of units asked for in advance, and the cap, at the last question. */
  #ahead = 0;
  #cap = never;
  /** Whether a change must be reported to the engine soon, or a report of one wasn't confirmed. */
  #isUrgent = false;
  waiting = 0;

  constructor({ rule, child, own, turn, need, generation }: ShareOptions) {
    this.rule = rule;
    this.child = child;
    this.#turn = turn;
    this.#need = need;
    this.#generation = generation;
    this.tokens = new ShareTokens(rule, child);
    this.units = new ShareUnits(rule.periodMs, own, turn.lsn);
    this.demand = new ShareDemand(turn.monoMs);
    this.#schedule = new ShareSchedule(turn.monoMs);
  }

  /** Whether the engine's last answer about the other hosts is still fresh. */
  get isFresh(): boolean {
    return this.units.ageMs(this.#turn.monoMs) <= freshMs;
  }

  /** Whether there is no usable fresh answer of the engine. */
  get isUnknown(): boolean {
    return !this.isFresh || this.#settlingMs > 0;
  }

  /** How long the engine still collects the hosts' use after it has lost data; 0 if it doesn't. */
  get #settlingMs(): number {
    const { monoMs, settlingMs } = this.#turn;
    return Math.max(settlingMs, this.#settledAtMonoMs - monoMs);
  }

  ask(): void {
    this.#need(this);
  }

  /** Whether a question would repeat the last answer and grant nothing. */
  get wouldGrantNothing(): boolean {
    return this.#settlingMs > 0 && this.isFresh && !this.#hasNews;
  }

  /** Whether the engine will grant nothing before a waiting request times out. */
  get willTimeOut(): boolean {
    return this.isAway || (this.isFresh && this.#settlingMs > parkedMs);
  }

  /** Whether the held units were granted under a higher cap than the current one. */
  get isLowered(): boolean {
    return this.#capNow < this.#cap;
  }

  get #caps(): ReturnType<typeof capsAt> {
    const { rule, child } = this;
    // Without raises the time doesn't matter.
    return rule.raises === null
      ? rule.definition
      : capsAt(rule, child, this.timeMs(this.#turn.wallMs()));
  }

  get #capNow(): number {
    return this.#caps.maxRequests ?? never;
  }

  /** The rule's generation, as known to this host. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * The failure mode while it decides in place of the engine; null while the engine can be asked.
   */
  get #decidingMode(): ClusterTurn["failureMode"] | null {
    const { purpose, failureMode } = this.#turn;
    if (this.#turn.isAway || this.isAway) return failureMode;
    // While hosts report again, a first answer is still useful, because it has their reports so
    // far.
    if (this.#settlingMs > 0) return purpose !== "ask" || this.isFresh ? failureMode : null;
    return purpose === "decide" && !this.isFresh ? failureMode : null;
  }

  /**
   * Whether the known use of other hosts counts although the failure mode decides: the engine has
   * lost data, but it answers, and the hosts report their use again.
   */
  get #countsKnownUse(): boolean {
    return this.#settlingMs > 0 && !this.#turn.isAway && !this.isAway;
  }

  waitOfRequests(own: Window, cap: number, nowMs: number): number {
    const { periodMs } = this.rule;
    this.look();
    if (!this.isLowered && this.units.has(this.#turn.monoMs)) return 0;
    const mode = this.#decidingMode;
    const isFree = mode === "open" || mode === "local";
    const alone = mode === "local" ? waitForRequests(own, periodMs, nowMs, this.#localCap(cap)) : 0;
    if (isFree && !this.#countsKnownUse) return alone;
    const view = this.view(own, 0, nowMs);
    const waitSeconds = waitForRequests(view.window, periodMs, view.nowMs, cap);
    return isFree ? Math.max(alone, waitSeconds) : this.#waitWithoutUnit(waitSeconds);
  }

  waitOfTokens(own: Window, cap: number, nowMs: number): number {
    const { periodMs } = this.rule;
    this.look();
    const view = this.view(own, 0, nowMs);
    const waitSeconds = waitForTokens(view.window, periodMs, view.nowMs, cap);
    // Charged tokens are never taken back, so even an old answer is enough to refuse. Of a hard
    // cap, though, other hosts take claims back.
    if (waitSeconds > 0)
      return isHardCap(this.rule) && !this.#turn.isAway && !this.isAway
        ? this.#waitWithoutUnit(waitSeconds)
        : waitSeconds;
    const tokensValidMs = this.tokens.isFar ? farTokensFreshMs : tokensFreshMs;
    if (this.units.ageMs(this.#turn.monoMs) <= tokensValidMs) return 0;
    const mode = this.#decidingMode;
    if (mode === "open") return 0;
    if (mode === "local") return waitForTokens(own, periodMs, nowMs, this.#localCap(cap));
    return this.#waitWithoutUnit(0);
  }

  waitOfClaim(own: Window, { held, need, want }: ClaimNeeds, nowMs: number): number {
    const { purpose } = this.#turn;
    const least = purpose === "ask" ? want : need;
    if (this.leftOfClaim(own, nowMs) >= held + least) return 0;
    if (purpose !== "look") this.tokens.want(want);
    return this.#waitWithoutUnit(0);
  }

  leftOfClaim(own: Window, nowMs: number): number {
    const mode = this.#decidingMode;
    if (mode === "open") return never;
    const engineMs = this.units.engineMs(this.#turn.monoMs);
    const left = engineMs === null ? 0 : this.tokens.leftOfClaim(own, engineMs);
    if (this.#turn.purpose !== "look" && engineMs !== null && this.canAsk)
      if (this.tokens.isClaimLow(own, engineMs)) this.#need(this);
    if (mode !== "local") return left;
    const cap = this.#localCap(this.#caps.maxTokens ?? never);
    return Math.max(left, cap - slidingTokens(own, this.rule.periodMs, nowMs));
  }

  isFull(inFlight: number, cap: number): boolean {
    this.look();
    if (!this.isLowered && this.slots.has(inFlight, this.#turn.monoMs)) return false;
    const mode = this.#decidingMode;
    const isFree = mode === "open" || mode === "local";
    const isFullAlone = mode === "local" && inFlight >= this.#localCap(cap);
    if (isFree && !this.#countsKnownUse) return isFullAlone;
    const isFullForAll = this.slots.counted(inFlight) >= cap;
    return isFree ? isFullAlone || isFullForAll : this.#waitWithoutUnit(isFullForAll ? 1 : 0) > 0;
  }

  /** The wait when no unit is held. An admission also notes that the engine must be asked. */
  #waitWithoutUnit(waitSeconds: number): number {
    const { purpose, lacking } = this.#turn;
    if (purpose === "look") return waitSeconds;
    if (waitSeconds === 0 || !this.isFresh) lacking.push(this);
    return Math.max(1, waitSeconds);
  }

  /** The part of the cap that this host may use on its own. */
  #localCap(cap: number): number {
    return Math.max(1, Math.floor(cap / this.#turn.hostCount));
  }

  timeMs(ownNowMs: number): number {
    return this.units.engineMs(this.#turn.monoMs) ?? ownNowMs;
  }

  look(): void {
    if (this.#turn.purpose === "look" && !this.isFresh) this.#turn.looked.add(this);
  }

  counted(own: Window): void {
    const { monoMs, lsn } = this.#turn;
    this.#schedule.used(monoMs);
    this.demand.used();
    if (this.rule.periodMs === 0) return;
    this.units.use(own, monoMs, lsn);
    if ((this.units.isLow || this.demand.isSurprising) && this.canAsk) this.#need(this);
  }

  charged(tokens: number): void {
    if (!this.tokens.charged(tokens)) this.#isUrgent = true;
  }

  changed(): void {
    // Held slots are reported each second anyway.
    if (!this.demand.isFew || !this.slots.holds) this.#isUrgent = true;
  }

  withdrawn(lsn: number): void {
    this.units.takeBack(lsn);
  }

  view(own: Window, inFlight: number, nowMs: number): SharedView {
    const { periodMs } = this.rule;
    const engineMs = this.units.engineMs(this.#turn.monoMs);
    if (periodMs === 0) return { window: own, nowMs, inFlight: this.slots.counted(inFlight) };
    if (engineMs === null) return { window: own, nowMs, inFlight };
    const window = this.units.view(Math.floor(engineMs / periodMs));
    this.tokens.addTo(window, own);
    return { window, nowMs: engineMs, inFlight };
  }

  /** When the next question is due; infinite while one is pending or there is nothing to report. */
  get dueMonoMs(): number {
    if (this.#openQuestion !== null) return never;
    if (this.waiting > 0) return 0;
    return this.#schedule.dueMonoMs(this.#standing);
  }

  get #standing(): Standing {
    const { rule, units, slots, tokens, demand, isLowered } = this;
    const hasCap = rule.definition.maxRequests !== null;
    // Far from the caps, reports every few seconds suffice, because they wouldn't change another
    // host's verdict.
    const isFar = demand.isFew && tokens.isFar && !slots.holds;
    const keeps = units.held > 0 || slots.keeps;
    return {
      // Under a lower cap other hosts may need even a few units.
      isUnsent:
        this.#isUrgent || (isLowered && keeps) || (hasCap && !demand.isFew && units.isUnsent),
      idleMs: keeps ? demand.idleMs : never,
      renewMs: this.mustReport ? (isFar ? farRenewMs : renewMs) : never,
      isSent: units.isSent,
    };
  }

  /** Whether there is anything unreported, urgent or not. */
  get #hasNews(): boolean {
    return this.#isUrgent || this.tokens.isUnsent || this.units.isUnsent;
  }

  /**
   * Whether the share must still report something, or give something back, before the host stops.
   */
  get mustReport(): boolean {
    return this.units.held > 0 || this.slots.holds || this.#hasNews;
  }

  /** Whether the share joins a batch that is due twice a second, although it is not due itself. */
  get joinsRound(): boolean {
    const { units, tokens, demand } = this;
    if (!this.canAsk) return false;
    if (this.#isUrgent || units.isUsed) return true;
    return (!demand.isFew && units.isUnsent) || (!tokens.isFar && tokens.isUnsent);
  }

  /** As `joinsRound`, if the batch is sent for other shares in any case. */
  get mayJoinRound(): boolean {
    return this.canAsk && this.units.isHalfUsed;
  }

  /** Whether the engine may be asked about this counter now. */
  get canAsk(): boolean {
    return this.#openQuestion === null && this.#schedule.mayAsk(this.#turn.monoMs);
  }

  /** Whether this counter's server of the engine doesn't answer. Other servers may. */
  get isAway(): boolean {
    return this.#schedule.isLost;
  }

  /**
   * Whether the share can be dropped: it is unused, and everything is reported. The caller checks
   * that no request of this host is in flight.
   */
  get isForgettable(): boolean {
    return (
      this.#schedule.isForgotten(this.#turn.monoMs) &&
      this.#openQuestion === null &&
      this.waiting === 0 &&
      !this.slots.holds &&
      !this.units.isSent &&
      !this.#hasNews
    );
  }

  /** Keeps the share while requests of this host run. */
  keep(): void {
    this.#schedule.keep(this.#turn.monoMs);
  }

  /**
   * The question to send now. Units that it gives back can't be used from here on; the last
   * question of a stopping host gives back all of them.
   */
  question({ window: own, inFlight }: OwnCounts, seq: number, isLast = false): SyncQuestion {
    const { monoMs, lsn, hostCount } = this.#turn;
    const { rule, child, units } = this;
    const { maxRequests } = this.#caps;
    const isGauge = rule.periodMs === 0;
    assert(this.#openQuestion === null, "one question about a counter at a time");
    units.pass(monoMs, lsn);
    const idle = this.#schedule.isIdle(monoMs, this.demand.idleMs);
    if (this.#schedule.isForgotten(monoMs)) {
      if (inFlight > 0) this.keep();
      else units.fold();
    }
    const view = this.view(own, inFlight, 0);
    if (this.isLowered) units.giveBack();
    this.#cap = this.#capNow;
    const used = isGauge ? view.inFlight : estimateRequests(view.window, rule.periodMs, view.nowMs);
    // Before the first answer the use of other hosts is unknown.
    const left = units.syncedMs === 0 ? 0 : this.#cap - used;
    const ahead = this.demand.ahead(monoMs, { left, hosts: hostCount, periodMs: rule.periodMs });
    this.#ahead = idle ? 0 : Math.max(0, ahead);
    const desired = isLast || this.#settlingMs > 0 ? 0 : Math.max(this.#ahead, this.waiting);
    if (isGauge) this.slots.report(inFlight, desired);
    this.#schedule.sent(monoMs);
    this.#isUrgent = false;
    this.#openQuestion = {
      ruleId: rule.id,
      child,
      generation: this.#generation,
      seq,
      syncedMs: units.syncedMs,
      periodMs: rule.periodMs,
      capRequests: isGauge ? null : maxRequests,
      capSlots: isGauge ? maxRequests : null,
      units: units.state(isGauge || maxRequests === null ? 0 : desired, monoMs),
      tokens: this.tokens.report(own, {
        monoMs,
        hosts: hostCount,
        engineMs: units.engineMs(monoMs),
        isLast,
      }),
      slots: { inUse: isGauge ? inFlight : 0, wanted: isGauge ? desired : 0 },
    };
    return this.#openQuestion;
  }

  /** Applies the engine's answer. False if it isn't a `synced` answer to the pending question. */
  answered(question: SyncQuestion, reply: SyncReply, exchange: Exchange): boolean {
    if (!this.#ends(question)) return false;
    const isLost = reply.status === "away" || reply.status === "unusable";
    this.#schedule.answered(this.#turn.monoMs, isLost);
    const isSynced = reply.status === "synced" && question.generation === this.#generation;
    if (!isSynced) {
      this.#isUrgent = true;
      return false;
    }
    const { slotsGranted, settlingMs } = reply;
    this.#settledAtMonoMs = settlingMs > 0 ? exchange.receivedMonoMs + settlingMs : 0;
    const isSettling = this.#settlingMs > 0;
    this.units.synced(question, reply, { ...exchange, lsn: this.#turn.lsn, isSettling });
    this.units.aim(this.#ahead, this.demand.isFew);
    this.tokens.seen(reply, question.tokens, isSettling);
    const cap = this.#caps.maxTokens ?? never;
    this.tokens.confirmed(question.tokens, { nowMs: reply.nowMs, cap, isSettling });
    this.tokens.setUnsentMax(reply, this.#turn.hostCount, isSettling);
    this.slots.granted(question.slots.inUse, slotsGranted, exchange.sentMonoMs);
    this.slots.seen(reply.totals.slots - question.slots.inUse - slotsGranted, isSettling);
    // Other hosts have used so much that they may need this host's units: give them back soon.
    if (
      this.demand.areNoLongerFew(
        this.units.held,
        requestsLeft(this.rule.periodMs, this.#caps, reply),
        this.#turn.hostCount,
      )
    )
      this.#isUrgent = true;
    return true;
  }

  /** Notes the counts from an answer that was only for display (`SharedLimits.read`). */
  seen(totals: CounterTotals, exchange: Exchange): void {
    if (this.#openQuestion !== null) return;
    const isSettling = this.#settlingMs > 0;
    this.units.seen(totals, { ...exchange, lsn: this.#turn.lsn, isSettling });
    this.tokens.seen(totals, noHalves, isSettling);
    this.slots.seen(totals.totals.slots, isSettling);
  }

  /** Call when the engine hasn't answered; it may have received the question. */
  unanswered(question: SyncQuestion): void {
    if (this.#ends(question)) this.#isUrgent = true;
  }

  #ends(question: SyncQuestion): boolean {
    if (this.#openQuestion !== question) return false;
    this.#openQuestion = null;
    return true;
  }

  /** Makes the share report everything again. */
  restate(): void {
    this.#isUrgent = true;
    this.#schedule.restate();
  }

  /** Starts again under a new generation, after the rule was reset. */
  restart(generation: number): void {
    this.#generation = generation;
    this.units.clear();
    this.tokens.clear();
    this.demand.clear(this.#turn.monoMs);
    this.restate();
  }
}
