/**
 * What a share tells the engine and hears from it: one question at a time, which says in absolute
 * values what this host has used of the counter and asks for what it needs. What verdicts make of
 * it is in `share.ts`; when it is asked, in `share-schedule.ts`.
 */
import { assert } from "../../shared/assert.js";
import type { CounterTotals, SyncQuestion, SyncReply } from "../cluster/shared-limits.js";
import type { Rule } from "../counters/counter.js";
import { estimateRequests, type SharedView, type Window } from "../counters/window.js";
import type { ClusterTurn } from "./cluster-turn.js";
import { DemandRate } from "./demand-rate.js";
import { retryMs } from "./share-bounds.js";
import { ShareSchedule } from "./share-schedule.js";
import { ShareSlots } from "./share-slots.js";
import { ShareTokens, tokensOf } from "./share-tokens.js";
import { ShareUnits } from "./share-units.js";

/** What a counter is of this host alone, as a question tells it. */
export interface OwnCounts {
  readonly window: Window;
  readonly inFlight: number;
}

/** When the engine was asked, and when its answer was here, on the monotonic clock. */
interface Exchange {
  readonly sentMonoMs: number;
  readonly receivedMonoMs: number;
}

type SyncTurn = Pick<ClusterTurn, "monoMs" | "lsn" | "hosts" | "settling">;

export class SyncedShare {
  readonly rule: Rule;
  readonly child: string;
  readonly units: ShareUnits;
  protected readonly slots = new ShareSlots();
  protected readonly schedule: ShareSchedule;
  protected readonly rate: DemandRate;
  readonly #turn: SyncTurn;
  readonly #tokens = new ShareTokens();
  #generation: number;
  /** Tokens or slots aren't those that were told last. */
  #untold = false;
  #settledAtMonoMs = 0;
  #asked: SyncQuestion | null = null;
  /** Its part of the engine doesn't answer: it is asked again then; null: it does. */
  #retryMonoMs: number | null = null;
  /** What it asks for beside what waits. */
  #ahead = 0;
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
    this.units = new ShareUnits(rule.periodMs, own, turn.lsn);
    this.rate = new DemandRate(turn.monoMs);
    this.schedule = new ShareSchedule(turn.monoMs);
  }

  /** Whether the engine has lost data, and hosts tell it again what they have used. */
  protected get isSettling(): boolean {
    return this.#turn.settling || this.#turn.monoMs < this.#settledAtMonoMs;
  }

  /** How often the rule was reset, as this host knows. */
  get generation(): number {
    return this.#generation;
  }

  changed(): void {
    this.#untold = true;
  }

  view(own: Window, inFlight: number, nowMs: number): SharedView {
    const { periodMs } = this.rule;
    const engineMs = this.units.engineMs(this.#turn.monoMs);
    if (periodMs === 0) return { window: own, nowMs, inFlight: this.slots.counted(inFlight) };
    if (engineMs === null) return { window: own, nowMs, inFlight };
    const window = this.units.view(Math.floor(engineMs / periodMs));
    this.#tokens.addTo(window, own, periodMs);
    return { window, nowMs: engineMs, inFlight };
  }

  /** When the engine is to be asked next; infinite while it is asked, or has been told all. */
  get dueMonoMs(): number {
    if (this.#asked !== null) return Number.POSITIVE_INFINITY;
    if (this.waiting > 0) return 0;
    const units = this.units;
    return this.schedule.dueMonoMs({
      isUntold: this.#untold || units.isUntold,
      keeps: units.held > 0 || this.slots.keeps,
      holds: units.held > 0 || this.slots.holds,
      isTold: units.isTold,
    });
  }

  /** Whether the engine may be asked about it now. */
  get canAsk(): boolean {
    return this.#asked === null && (this.#retryMonoMs ?? 0) <= this.#turn.monoMs;
  }

  /** Whether its part of the engine doesn't answer, although others do. */
  get isAway(): boolean {
    return this.#retryMonoMs !== null;
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
      !this.#untold &&
      !this.units.isTold &&
      !this.units.isUntold
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
    const idle = this.schedule.isIdle(monoMs);
    if (this.schedule.isForgotten(monoMs)) {
      if (inFlight > 0) this.keep();
      else units.fold();
    }
    const view = this.view(own, inFlight, 0);
    const left = isGauge
      ? (maxRequests ?? 0) - view.inFlight
      : (maxRequests ?? 0) - estimateRequests(view.window, rule.periodMs, view.nowMs);
    const ahead = idle ? 0 : Math.min(this.rate.ahead(monoMs), Math.floor(left / (2 * hosts)));
    this.#ahead = Math.max(0, ahead);
    const desired = isLast || this.isSettling ? 0 : Math.max(ahead, this.waiting, 0);
    if (isGauge) this.slots.tell(inFlight, desired);
    this.schedule.sent(monoMs);
    this.#untold = false;
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
      tokens: tokensOf(own, rule.periodMs),
      slots: { inUse: isGauge ? inFlight : 0, wanted: isGauge ? desired : 0 },
    };
    return this.#asked;
  }

  /** Takes the engine's answer. False: it doesn't say what was asked. */
  answered(question: SyncQuestion, reply: SyncReply, exchange: Exchange): boolean {
    if (!this.#ends(question)) return false;
    // As for an engine that is away as a whole.
    const isLost = reply.status === "away" || reply.status === "unusable";
    this.#retryMonoMs = isLost ? this.#turn.monoMs + retryMs : null;
    const isSynced = reply.status === "synced" && question.generation === this.#generation;
    if (!isSynced) {
      this.#untold = true;
      return false;
    }
    const { slotsGranted, settlingMs } = reply;
    this.#settledAtMonoMs = settlingMs > 0 ? exchange.receivedMonoMs + settlingMs : 0;
    const settling = this.isSettling;
    this.units.synced(question, reply, { ...exchange, lsn: this.#turn.lsn, settling });
    this.units.aim(this.#ahead);
    this.#tokens.told(question.tokens);
    this.#tokens.seen(reply, settling);
    this.slots.granted(question.slots.inUse, slotsGranted, exchange.sentMonoMs);
    this.slots.seen(reply.totals.slots, settling);
    return true;
  }

  /** What all hosts count, where nothing was asked for. */
  seen(totals: CounterTotals, exchange: Exchange): void {
    if (this.#asked !== null) return;
    const settling = this.isSettling;
    this.units.seen(totals, { ...exchange, lsn: this.#turn.lsn, settling });
    this.#tokens.seen(totals, settling);
    this.slots.seen(totals.totals.slots, settling);
  }

  /** The engine hasn't answered: it may have heard it or not. */
  unanswered(question: SyncQuestion): void {
    if (this.#ends(question)) this.#untold = true;
  }

  #ends(question: SyncQuestion): boolean {
    if (this.#asked !== question) return false;
    this.#asked = null;
    return true;
  }

  /** Tells the engine all again. */
  restate(): void {
    this.#untold = true;
    this.schedule.restate();
  }

  /** The rule was reset: all begins anew under this generation. */
  restart(generation: number): void {
    this.#generation = generation;
    this.units.clear();
    this.#tokens.clear();
    this.rate.clear(this.#turn.monoMs);
    this.restate();
  }
}
