/**
 * What a share tells the engine and hears from it: one question at a time, which says in absolute
 * values what this host has used of the counter and asks for what it needs. What verdicts make of
 * it is in `share.ts`; when it is asked, in `share-schedule.ts`.
 */
import { assert } from "../../shared/assert.js";
import type { CounterTotals, SyncQuestion, SyncReply } from "../cluster/shared-limits.js";
import type { Rule } from "../counters/counter.js";
import { estimateRequests, type SharedView, type Window } from "../counters/window.js";
import { requestsLeft } from "./cap-distance.js";
import type { ClusterTurn } from "./cluster-turn.js";
import type { Exchange } from "./engine-clock.js";
import { freshMs, parkedMs } from "./share-bounds.js";
import { ShareDemand } from "./share-demand.js";
import { ShareNews } from "./share-news.js";
import { ShareSchedule } from "./share-schedule.js";
import { ShareSlots } from "./share-slots.js";
import { ShareTokens } from "./share-tokens.js";
import { ShareUnits } from "./share-units.js";

/** What a counter is of this host alone, as a question tells it. */
export interface OwnCounts {
  readonly window: Window;
  readonly inFlight: number;
}

type SyncTurn = Pick<ClusterTurn, "monoMs" | "lsn" | "hosts" | "settlingMs">;

export class SyncedShare {
  readonly rule: Rule;
  readonly child: string;
  readonly units: ShareUnits;
  readonly slots = new ShareSlots();
  protected readonly schedule: ShareSchedule;
  readonly demand: ShareDemand;
  readonly tokens: ShareTokens;
  readonly news: ShareNews;
  readonly #turn: SyncTurn;
  #generation: number;
  #settledAtMonoMs = 0;
  #asked: SyncQuestion | null = null;
  /** What it asks for beside what waits, and under which cap. */
  #ahead = 0;
  #cap = Number.POSITIVE_INFINITY;
  /** Requests that wait for an answer. */
  waiting = 0;

  constructor(
    { rule, child }: Pick<SyncedShare, "rule" | "child">,
    own: Window,
    { turn, generation }: { readonly turn: SyncTurn; readonly generation: number },
  ) {
    this.rule = rule;
    this.child = child;
    this.#turn = turn;
    this.#generation = generation;
    this.tokens = new ShareTokens(rule);
    this.units = new ShareUnits(rule.periodMs, own, turn.lsn);
    this.demand = new ShareDemand(turn.monoMs);
    this.schedule = new ShareSchedule(turn.monoMs);
    this.news = new ShareNews(this);
  }

  /** Whether what is known of the others is of just now. */
  get isFresh(): boolean {
    return this.units.ageMs(this.#turn.monoMs) <= freshMs;
  }

  /** For how long the engine, which has lost data, is told again what hosts have used; 0: not. */
  protected get settlingMs(): number {
    const { monoMs, settlingMs } = this.#turn;
    return Math.max(settlingMs, this.#settledAtMonoMs - monoMs);
  }

  /** Whether the engine would say what it has said just now, and grant nothing. */
  get isAskedInVain(): boolean {
    return this.settlingMs > 0 && this.isFresh && !this.news.isThere;
  }

  /** Whether nothing is granted for as long as a request waits. */
  get isHopeless(): boolean {
    return this.isAway || (this.isFresh && this.settlingMs > parkedMs);
  }

  /** Whether what is held was granted under a higher cap than there is now. */
  get isLowered(): boolean {
    return this.#capNow < this.#cap;
  }

  get #capNow(): number {
    return this.rule.definition.maxRequests ?? Number.POSITIVE_INFINITY;
  }

  /** How often the rule was reset, as this host knows. */
  get generation(): number {
    return this.#generation;
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

  /** When the engine is to be asked next; infinite while it is asked, or has been told all. */
  get dueMonoMs(): number {
    if (this.#asked !== null) return Number.POSITIVE_INFINITY;
    if (this.waiting > 0) return 0;
    return this.schedule.dueMonoMs(this.news.standing);
  }

  /** Whether it may as well be asked about when others are. */
  get goesAlong(): boolean {
    return this.canAsk && this.news.goesAlong;
  }

  /** The same where the engine is asked in any case. */
  get mayGoAlong(): boolean {
    return this.canAsk && this.units.isHalfUsed;
  }

  /** Whether the engine may be asked about it now. */
  get canAsk(): boolean {
    return this.#asked === null && this.schedule.mayAsk(this.#turn.monoMs);
  }

  /** Whether its part of the engine doesn't answer, although others do. */
  get isAway(): boolean {
    return this.schedule.isLost;
  }

  /**
   * Whether nothing is lost when it is forgotten, since the engine keeps what it was told; as long
   * as no request of this host runs.
   */
  get isForgettable(): boolean {
    return (
      this.schedule.isForgotten(this.#turn.monoMs) &&
      this.#asked === null &&
      this.waiting === 0 &&
      !this.slots.holds &&
      !this.units.isTold &&
      !this.news.isThere
    );
  }

  /** Requests of this host run. */
  keep(): void {
    this.schedule.keep(this.#turn.monoMs);
  }

  /**
   * What the engine is asked and told now. What it gives back isn't used from here on: all, if it
   * is the last question.
   */
  question({ window: own, inFlight }: OwnCounts, seq: number, isLast = false): SyncQuestion {
    const { monoMs, lsn, hosts } = this.#turn;
    const { rule, child, units } = this;
    const { maxRequests } = rule.definition;
    const isGauge = rule.periodMs === 0;
    assert(this.#asked === null, "one question about a counter at a time");
    units.pass(monoMs, lsn);
    const idle = this.schedule.isIdle(monoMs, this.demand.idleMs);
    if (this.schedule.isForgotten(monoMs)) {
      if (inFlight > 0) this.keep();
      else units.fold();
    }
    const view = this.view(own, inFlight, 0);
    if (this.isLowered) units.giveBack();
    this.#cap = this.#capNow;
    const used = isGauge ? view.inFlight : estimateRequests(view.window, rule.periodMs, view.nowMs);
    // What others have used isn't known before the first answer.
    const left = units.syncedMs === 0 ? 0 : this.#cap - used;
    const ahead = this.demand.ahead(monoMs, { left, hosts, periodMs: rule.periodMs });
    this.#ahead = idle ? 0 : Math.max(0, ahead);
    const desired = isLast || this.settlingMs > 0 ? 0 : Math.max(this.#ahead, this.waiting);
    if (isGauge) this.slots.tell(inFlight, desired);
    this.schedule.sent(monoMs);
    this.news.isUrgent = false;
    this.#asked = {
      ruleId: rule.id,
      child,
      generation: this.#generation,
      seq,
      syncedMs: units.syncedMs,
      periodMs: rule.periodMs,
      capRequests: isGauge ? null : maxRequests,
      capSlots: isGauge ? maxRequests : null,
      units: units.state(isGauge || maxRequests === null ? 0 : desired, monoMs),
      tokens: this.tokens.tell(own),
      slots: { inUse: isGauge ? inFlight : 0, wanted: isGauge ? desired : 0 },
    };
    return this.#asked;
  }

  /** Takes the engine's answer. False: it doesn't say what was asked. */
  answered(question: SyncQuestion, reply: SyncReply, exchange: Exchange): boolean {
    if (!this.#ends(question)) return false;
    const isLost = reply.status === "away" || reply.status === "unusable";
    this.schedule.answered(this.#turn.monoMs, isLost);
    const isSynced = reply.status === "synced" && question.generation === this.#generation;
    if (!isSynced) {
      this.news.isUrgent = true;
      return false;
    }
    const { slotsGranted, settlingMs } = reply;
    this.#settledAtMonoMs = settlingMs > 0 ? exchange.receivedMonoMs + settlingMs : 0;
    const settling = this.settlingMs > 0;
    this.units.synced(question, reply, { ...exchange, lsn: this.#turn.lsn, settling });
    this.units.aim(this.#ahead, this.demand.isFew);
    this.tokens.told(question.tokens);
    this.tokens.seen(reply, settling);
    this.tokens.letWait(reply, this.#turn.hosts, settling);
    this.slots.granted(question.slots.inUse, slotsGranted, exchange.sentMonoMs);
    this.slots.seen(reply.totals.slots, settling);
    // Others have used much meanwhile: what they may need is given back soon.
    if (this.demand.isMuch(this.units.held, requestsLeft(this.rule, reply), this.#turn.hosts))
      this.news.isUrgent = true;
    return true;
  }

  /** What all hosts count, where nothing was asked for. */
  seen(totals: CounterTotals, exchange: Exchange): void {
    if (this.#asked !== null) return;
    const settling = this.settlingMs > 0;
    this.units.seen(totals, { ...exchange, lsn: this.#turn.lsn, settling });
    this.tokens.seen(totals, settling);
    this.slots.seen(totals.totals.slots, settling);
  }

  /** The engine hasn't answered: it may have heard it or not. */
  unanswered(question: SyncQuestion): void {
    if (this.#ends(question)) this.news.isUrgent = true;
  }

  #ends(question: SyncQuestion): boolean {
    if (this.#asked !== question) return false;
    this.#asked = null;
    return true;
  }

  /** Tells the engine all again. */
  restate(): void {
    this.news.isUrgent = true;
    this.schedule.restate();
  }

  /** The rule was reset: all begins anew under this generation. */
  restart(generation: number): void {
    this.#generation = generation;
    this.units.clear();
    this.tokens.clear();
    this.demand.clear(this.#turn.monoMs);
    this.restate();
  }
}
