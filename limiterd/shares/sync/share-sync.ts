/**
 * Asks the engine for what this host's shares need and reports what they have used: immediately for
 * waiting requests, ten times a second for urgent changes, twice a second or less for the rest. At
 * most one question per counter is pending; questions that are due in one turn are sent in one
 * batch.
 */
import { limiterMetrics } from "../../../shared/metrics/limiter-metrics.js";
import { newSeries, observe, type Series } from "../../../shared/metrics/series.js";
import {
  lookMs,
  looksPerRound,
  parkedMs,
  questionsPerBatch,
  retryMs,
  sharesMax,
} from "../../bounds.js";
import type { SharedLimits, SyncQuestion, SyncReply } from "../../cluster/shared-limits.js";
import type { Counter, Rule } from "../../counters/counter.js";
import type { CounterShare, RuleShares, Window } from "../../counters/window.js";
import { isHardCap } from "../../rules/hard-limits.js";
import type { Awaited, ClusterTurn } from "../cluster-turn.js";
import { type OwnCounts, Share } from "../share.js";
import { type JudgeAgain, ParkedRequests } from "./parked-requests.js";

export interface SyncPorts {
  readonly shared: SharedLimits;
  monoMs(): number;
  nowMs(): number;
  /** The lsn of the open batch of the journal. */
  lsn(): number;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /**
   * This host's counts, with the window rolled to now; null if the rule no longer exists or isn't
   * shared.
   */
  ownCounts(share: Share): OwnCounts | null;
  /** Whether, after a restart, proxies haven't reported yet what their requests hold. */
  isRestoring(): boolean;
  /** A number that grows with each reset of the rule. */
  generationOf(rule: Rule): number;
}

/** Statistics of the exchange with the engine since the start. */
export class ClusterCounts {
  /** Questions, each about one counter. */
  questions = 0;
  /** Granted units and slots. */
  granted = 0;
  /** How often a request has waited. */
  parked = 0;
  /** Requests refused because the engine couldn't be asked. */
  refusedAway = 0;
  /** Requests refused because too many waited. */
  refusedFull = 0;
  readonly syncs: Series = newSeries(limiterMetrics.clusterSync);

  answered(seconds: number): void {
    observe(this.syncs, limiterMetrics.clusterSync.buckets, seconds);
  }
}

type SentQuestion = readonly [Share, SyncQuestion];

export class ShareSync {
  /** Wall time, for requests that are judged again. */
  readonly nowMs: () => number;
  readonly turn: ClusterTurn<Share>;
  readonly counts: ClusterCounts;
  readonly #ports: SyncPorts;
  readonly #parked = new ParkedRequests();
  /** All shares in use. */
  readonly #live = new Set<Share>();
  /** Shares that the next batch must include. */
  readonly #due = new Set<Share>();
  #seq = 0;
  #looks = 0;
  #isStopped = false;
  readonly #askSoon: Later;
  readonly #lookLater: Later;
  readonly #expireLater: Later;
  #triedMonoMs = Number.NEGATIVE_INFINITY;

  constructor(turn: ClusterTurn<Share>, counts: ClusterCounts, ports: SyncPorts) {
    this.turn = turn;
    this.counts = counts;
    this.#ports = ports;
    this.nowMs = ports.nowMs;
    this.turn.wallMs = ports.nowMs;
    const later = (ms: number, run: () => void): Later =>
      new Later(ports.schedule, ms, () => {
        if (this.#isStopped) return;
        this.enter();
        run();
      });
    this.#askSoon = later(0, () => this.#ask());
    this.#lookLater = later(lookMs, () => this.#look());
    // A delayed process first reads the answers that have arrived, then expires requests.
    const expireNow = later(0, () => this.#expire());
    this.#expireLater = later(parkedMs, () => expireNow.begin());
  }

  /** The number of counters that this host has used recently. */
  get size(): number {
    return this.#live.size;
  }

  /** Call first in each turn of the event loop that uses counters. */
  enter(): void {
    this.turn.monoMs = this.#ports.monoMs();
    this.turn.lsn = this.#ports.lsn();
    if (this.turn.looked.size > 0) this.turn.looked.clear();
  }

  /** The shares of one rule's counters. */
  sharesOf(rule: Rule): RuleShares {
    return new SharesOfRule({
      make: (child, own) => this.#make(rule, child, own),
      generation: () => this.#ports.generationOf(rule),
      hasRoom: () => this.#live.size < sharesMax,
    });
  }

  #make(rule: Rule, child: string, own: Window): Share {
    const share = new Share({
      rule,
      child,
      own,
      turn: this.turn,
      need: (share) => this.need(share),
      generation: this.#ports.generationOf(rule),
    });
    this.#live.add(share);
    this.#lookLater.begin();
    return share;
  }

  /**
   * For lists: makes these counters show the current counts of all hosts, if they are shared and
   * the engine answers. Reports nothing to the engine, and asks for no units.
   */
  refresh(counters: Iterable<Counter>): Promise<void> {
    for (const { rule, child, window } of counters) rule.shares?.of(child, window).look();
    return this.refreshLooked();
  }

  /** As `refresh`, for the counters that an explanation has used. */
  async refreshLooked(): Promise<void> {
    const shares = [...this.turn.looked];
    for (let i = 0; i < shares.length; i += questionsPerBatch)
      await this.#read(shares.slice(i, i + questionsPerBatch));
  }

  async #read(shares: readonly Share[]): Promise<void> {
    this.enter();
    const sentMonoMs = this.turn.monoMs;
    const names = shares.map(({ rule, child, generation }) => {
      return { ruleId: rule.id, child, periodMs: rule.periodMs, generation };
    });
    const answers = await this.#ports.shared.read(names).catch(() => null);
    if (answers === null) return;
    this.enter();
    for (const [i, share] of shares.entries()) {
      const totals = answers[i]!;
      // At 0 the engine has no answer for this counter.
      if (totals.nowMs > 0) share.seen(totals, { sentMonoMs, receivedMonoMs: this.turn.monoMs });
    }
  }

  /** Adds a share to the next batch. */
  need(share: Share): void {
    this.#due.add(share);
    if (this.turn.isAway) this.#lookLater.begin();
    else this.#askSoon.begin();
  }

  /**
   * Parks a request until the engine has answered about the shares that its judgement lacked. False
   * if too many requests wait.
   */
  park(judgeAgain: JudgeAgain): boolean {
    if (this.#parked.isFull) {
      this.counts.refusedFull++;
      return false;
    }
    const { lacking, monoMs } = this.turn;
    this.#parked.park(lacking, monoMs, judgeAgain);
    for (const share of lacking) share.ask();
    this.counts.parked++;
    this.#expireLater.begin();
    return true;
  }

  /**
   * Counts a refusal that is due to the absence of the engine; asks about its shares once the
   * engine is back.
   */
  refusedAway(): void {
    this.counts.refusedAway++;
    for (const share of this.turn.lacking) share.ask();
  }

  /** Call when a question about a claim to a budget is sent. */
  claimAsked(claim: Awaited): void {
    this.#parked.sent(claim);
  }

  /**
   * Call when questions about claims have ended. Judges the requests that waited for them, and asks
   * again if further requests wait.
   */
  claimsAnswered(claims: readonly Awaited[]): void {
    if (this.#isStopped || claims.length === 0) return;
    this.enter();
    this.#parked.ended(claims, this.turn.monoMs);
    for (const claim of claims) if (this.#parked.isAwaited(claim)) claim.ask();
  }

  /**
   * Reports everything again, because the engine may have lost it. For `settleMs`, this host asks
   * for no units.
   */
  restateAll(settleMs: number): void {
    this.enter();
    this.turn.settledAtMonoMs = Math.max(this.turn.settledAtMonoMs, this.turn.monoMs + settleMs);
    for (const share of this.#live) {
      share.restate();
      this.need(share);
    }
  }

  /** As `restateAll`, for one counter, which may have no share yet. */
  restate(rule: Rule, child: string, own: Window): void {
    const share = rule.shares?.of(child, own);
    if (share instanceof Share) this.need(share);
  }

  /** Gives back held units and slots and reports unsent counts. No question follows. */
  async stop(): Promise<void> {
    this.enter();
    this.#isStopped = true;
    this.#parked.drop();
    const questions: SyncQuestion[] = [];
    for (const share of this.#live) {
      const asks = share.canAsk && share.mustReport;
      const own = asks ? this.#ports.ownCounts(share) : null;
      if (own !== null) questions.push(share.question(own, ++this.#seq, true));
    }
    if (questions.length > 0) await this.#ports.shared.sync(questions).catch(() => {});
  }

  /** Collects the shares that are due, asks about them, and drops unused shares. */
  #look(): void {
    const { monoMs, isAway } = this.turn;
    const all = ++this.#looks % looksPerRound === 0;
    for (const share of this.#live) {
      if (share.dueMonoMs <= monoMs || (all && share.joinsRound)) this.#due.add(share);
      else if (share.isForgettable) this.#forget(share);
    }
    if (all && this.#due.size > 0)
      for (const share of this.#live) if (share.mayJoinRound) this.#due.add(share);
    if (!isAway || monoMs - this.#triedMonoMs >= retryMs) this.#ask();
    if (this.#live.size > 0 || this.#due.size > 0) this.#lookLater.begin();
  }

  #forget(share: Share): void {
    const own = this.#ports.ownCounts(share);
    if (own === null || own.inFlight === 0) this.#drop(share);
    else share.keep();
  }

  #drop(share: Share): void {
    this.#live.delete(share);
    this.#due.delete(share);
    const { rule, child } = share;
    if (rule.counted?.share === share) rule.counted.share = null;
    if (rule.shares?.find(child) === share) rule.shares.delete(child);
  }

  #ask(): void {
    const batch: SentQuestion[] = [];
    // Questions to a server that may not answer are sent separately, so that they don't delay the
    // other questions.
    const doubtful: SentQuestion[] = [];
    for (const share of this.#due) {
      if (batch.length >= questionsPerBatch) {
        this.#send(batch.splice(0));
        // While the engine is away, one batch is enough to test it.
        if (this.turn.isAway) return;
      }
      if (doubtful.length >= questionsPerBatch) this.#send(doubtful.splice(0));
      if (!share.canAsk || share.wouldGrantNothing) continue;
      // After a restart, a report that lacks what running requests hold would let other hosts use
      // it.
      if (isHardCap(share.rule) && this.#ports.isRestoring()) continue;
      this.#due.delete(share);
      const own = this.#ports.ownCounts(share);
      if (own === null) {
        this.#drop(share);
        this.#parked.sent(share);
        this.#parked.ended([share], this.turn.monoMs);
        continue;
      }
      (share.isAway ? doubtful : batch).push([share, share.question(own, ++this.#seq)]);
      this.#parked.sent(share);
    }
    if (batch.length > 0) this.#send(batch);
    if (doubtful.length > 0) this.#send(doubtful);
  }

  #send(batch: readonly SentQuestion[]): void {
    const sentMonoMs = this.turn.monoMs;
    this.#triedMonoMs = sentMonoMs;
    this.counts.questions += batch.length;
    this.#ports.shared.sync(batch.map(([, question]) => question)).then(
      (replies) => this.#answered(batch, replies, sentMonoMs),
      () => this.#unanswered(batch),
    );
  }

  #answered(
    batch: readonly SentQuestion[],
    replies: readonly SyncReply[],
    sentMonoMs: number,
  ): void {
    if (this.#isStopped) return;
    this.enter();
    const receivedMonoMs = this.turn.monoMs;
    this.counts.answered((receivedMonoMs - sentMonoMs) / 1000);
    if (this.turn.isAway) this.#back();
    batch.forEach(([share, question], i) => {
      const reply = replies[i]!;
      this.counts.granted += reply.granted + reply.slotsGranted;
      share.answered(question, reply, { sentMonoMs, receivedMonoMs });
    });
    this.#parked.ended(
      batch.map(([share]) => share),
      receivedMonoMs,
    );
    for (const [share] of batch) if (this.#parked.isAwaited(share)) this.need(share);
  }

  #unanswered(batch: readonly SentQuestion[]): void {
    if (this.#isStopped) return;
    this.enter();
    for (const [share, question] of batch) share.unanswered(question);
    this.turn.isAway = true;
    this.#parked.expire(this.turn.monoMs, true);
    this.#lookLater.begin();
  }

  #back(): void {
    this.turn.isAway = false;
    for (const share of this.#due) this.need(share);
  }

  #expire(): void {
    this.#parked.expire(this.turn.monoMs);
    if (this.#parked.size > 0) this.#expireLater.begin();
  }
}

/** Runs something once after a delay, however often it is requested meanwhile. */
class Later {
  readonly #schedule: (ms: number, run: () => void) => void;
  readonly #ms: number;
  readonly #run: () => void;
  #hasBegun = false;

  constructor(schedule: (ms: number, run: () => void) => void, ms: number, run: () => void) {
    this.#schedule = schedule;
    this.#ms = ms;
    this.#run = run;
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#schedule(this.#ms, () => {
      this.#hasBegun = false;
      this.#run();
    });
  }
}

interface SharesOfRulePorts {
  make(child: string, own: Window): Share;
  generation(): number;
  /** Whether another share may be made. */
  hasRoom(): boolean;
}

/** The shares of one rule: that of its own counter, or those of its children in use. */
class SharesOfRule implements RuleShares {
  readonly #ports: SharesOfRulePorts;
  readonly #byChild = new Map<string, Share>();

  constructor(ports: SharesOfRulePorts) {
    this.#ports = ports;
  }

  of(child: string, own: Window): CounterShare {
    const existing = this.#byChild.get(child);
    if (existing !== undefined) return existing;
    // A rule's own counter always has a share: the number of rules bounds these.
    if (child !== "" && !this.#ports.hasRoom()) return noRoom;
    const newShare = this.#ports.make(child, own);
    this.#byChild.set(child, newShare);
    return newShare;
  }

  find(child: string): Share | null {
    return this.#byChild.get(child) ?? null;
  }

  delete(child: string): void {
    this.#byChild.delete(child);
  }

  reset(): void {
    for (const share of this.#byChild.values()) share.restart(this.#ports.generation());
  }
}

/** For a counter beyond the bound: it refuses until other shares are dropped. */
const noRoom: CounterShare = {
  waitOfRequests: () => 1,
  waitOfTokens: () => 1,
  waitOfClaim: () => 1,
  leftOfClaim: () => 0,
  isFull: () => true,
  timeMs: (ownNowMs) => ownNowMs,
  counted: () => {},
  withdrawn: () => {},
  charged: () => {},
  changed: () => {},
  look: () => {},
  view: (window, inFlight, nowMs) => ({ window, inFlight, nowMs }),
};
