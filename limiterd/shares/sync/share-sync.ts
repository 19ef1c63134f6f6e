/**
 * Asks the engine for what this host's shares need, and tells it what they have used: at once for
 * requests that wait, ten times a second for what can't wait, twice a second or less for the rest.
 * One question about a counter at a time; what is due in one turn travels together.
 */
import type { SyncQuestion, SyncReply } from "../../cluster/shared-limits.js";
import type { Rule } from "../../counters/counter.js";
import type { RuleShares, Window } from "../../counters/window.js";
import type { ClusterTurn } from "../cluster-turn.js";
import { Share } from "../share.js";
import {
  lookMs,
  looksPerRound,
  parkedMs,
  questionsPerBatch,
  retryMs,
  sharesMax,
} from "../share-bounds.js";
import type { ClusterCounts } from "./cluster-counts.js";
import { Later } from "./later.js";
import { type JudgeAgain, ParkedRequests } from "./parked-requests.js";
import { ShareReader } from "./share-reader.js";
import { SharesOfRule } from "./shares-of-rule.js";
import type { SyncPorts } from "./sync-ports.js";

type Asked = readonly [Share, SyncQuestion];

export class ShareSync {
  /** Wall time, for requests that are judged again. */
  readonly nowMs: () => number;
  /** For lists and explanations. */
  readonly reader: ShareReader;
  readonly turn: ClusterTurn<Share>;
  readonly counts: ClusterCounts;
  readonly #ports: SyncPorts;
  readonly #parked = new ParkedRequests();
  /** All that aren't forgotten. */
  readonly #live = new Set<Share>();
  /** Those to be asked about with the next batch, whatever else they say. */
  readonly #due = new Set<Share>();
  #seq = 0;
  #looks = 0;
  #stopped = false;
  readonly #askSoon: Later;
  readonly #lookLater: Later;
  readonly #expireLater: Later;
  #triedMonoMs = Number.NEGATIVE_INFINITY;

  constructor(turn: ClusterTurn<Share>, counts: ClusterCounts, ports: SyncPorts) {
    this.turn = turn;
    this.counts = counts;
    this.#ports = ports;
    this.nowMs = ports.nowMs;
    this.reader = new ShareReader(this, ports.shared);
    const later = (ms: number, run: () => void): Later =>
      new Later(ports.schedule, ms, () => {
        if (this.#stopped) return;
        this.enter();
        run();
      });
    this.#askSoon = later(0, () => this.#ask());
    this.#lookLater = later(lookMs, () => this.#look());
    // A process that was late reads what has arrived meanwhile before it gives anybody up.
    const expireNow = later(0, () => this.#expire());
    this.#expireLater = later(parkedMs, () => expireNow.begin());
  }

  /** How many counters this host has used lately. */
  get size(): number {
    return this.#live.size;
  }

  /** To be called first in each turn of the event loop that meets counters. */
  enter(): void {
    this.turn.monoMs = this.#ports.monoMs();
    this.turn.lsn = this.#ports.lsn();
    if (this.turn.looked.size > 0) this.turn.looked.clear();
  }

  /** What a rule's counters share. */
  sharesOf(rule: Rule): RuleShares {
    return new SharesOfRule({
      make: (child, own) => this.#make(rule, child, own),
      generation: () => this.#ports.generationOf(rule),
      hasRoom: () => this.#live.size < sharesMax,
    });
  }

  #make(rule: Rule, child: string, own: Window): Share {
    const share = new Share({ rule, child }, own, {
      turn: this.turn,
      need: (share) => this.need(share),
      generation: this.#ports.generationOf(rule),
    });
    this.#live.add(share);
    this.#lookLater.begin();
    return share;
  }

  /** Asks about a share with the next batch. */
  need(share: Share): void {
    this.#due.add(share);
    if (this.turn.away) this.#lookLater.begin();
    else this.#askSoon.begin();
  }

  /**
   * Lets a request wait for what its judgement lacked. False: so many wait already that it can't.
   */
  park(judgeAgain: JudgeAgain): boolean {
    if (this.#parked.isFull) {
      this.counts.refusedFull++;
      return false;
    }
    const { lacking, monoMs } = this.turn;
    this.#parked.park(lacking, monoMs, judgeAgain);
    for (const share of lacking) this.need(share);
    this.counts.parked++;
    this.#expireLater.begin();
    return true;
  }

  /** A request was refused because the engine couldn't be asked: it is asked when it can be. */
  refusedAway(): void {
    this.counts.refusedAway++;
    for (const share of this.turn.lacking) this.need(share);
  }

  /** Tells the engine all again: it may have lost what it was told. Until then nothing is asked. */
  restateAll(settleMs: number): void {
    this.enter();
    this.turn.settledAtMonoMs = Math.max(this.turn.settledAtMonoMs, this.turn.monoMs + settleMs);
    for (const share of this.#live) {
      share.restate();
      this.need(share);
    }
  }

  /** The same for a counter that may have no share. */
  restate(rule: Rule, child: string, own: Window): void {
    const share = rule.shares?.of(child, own);
    if (share instanceof Share) this.need(share);
  }

  /** Gives back what is held, and tells what isn't told; nothing is asked afterwards. */
  async stop(): Promise<void> {
    this.enter();
    this.#stopped = true;
    this.#parked.drop();
    const questions: SyncQuestion[] = [];
    for (const share of this.#live) {
      const asks = share.canAsk && share.news.owes;
      const own = asks ? this.#ports.ownCounts(share) : null;
      if (own !== null) questions.push(share.question(own, ++this.#seq, true));
    }
    if (questions.length > 0) await this.#ports.shared.sync(questions).catch(() => {});
  }

  /** Which shares are due, and which are forgotten. */
  #look(): void {
    const { monoMs, away } = this.turn;
    const all = ++this.#looks % looksPerRound === 0;
    for (const share of this.#live) {
      if (share.dueMonoMs <= monoMs || (all && share.goesAlong)) this.#due.add(share);
      else if (share.isForgettable) this.#forget(share);
    }
    if (all && this.#due.size > 0)
      for (const share of this.#live) if (share.mayGoAlong) this.#due.add(share);
    if (!away || monoMs - this.#triedMonoMs >= retryMs) this.#ask();
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
    const asked: Asked[] = [];
    // Those on a part of the engine that may not answer hold nobody else up.
    const doubtful: Asked[] = [];
    for (const share of this.#due) {
      if (asked.length >= questionsPerBatch) {
        this.#send(asked.splice(0));
        // While it is away one batch finds out whether it is back.
        if (this.turn.away) return;
      }
      if (doubtful.length >= questionsPerBatch) this.#send(doubtful.splice(0));
      if (!share.canAsk || share.isAskedInVain) continue;
      this.#due.delete(share);
      const own = this.#ports.ownCounts(share);
      if (own === null) {
        this.#drop(share);
        this.#parked.sent(share);
        this.#parked.ended([share], this.turn.monoMs);
        continue;
      }
      (share.isAway ? doubtful : asked).push([share, share.question(own, ++this.#seq)]);
      this.#parked.sent(share);
    }
    if (asked.length > 0) this.#send(asked);
    if (doubtful.length > 0) this.#send(doubtful);
  }

  #send(asked: readonly Asked[]): void {
    const sentMonoMs = this.turn.monoMs;
    this.#triedMonoMs = sentMonoMs;
    this.counts.questions += asked.length;
    this.#ports.shared.sync(asked.map(([, question]) => question)).then(
      (replies) => this.#answered(asked, replies, sentMonoMs),
      () => this.#unanswered(asked),
    );
  }

  #answered(asked: readonly Asked[], replies: readonly SyncReply[], sentMonoMs: number): void {
    if (this.#stopped) return;
    this.enter();
    const receivedMonoMs = this.turn.monoMs;
    this.counts.answered((receivedMonoMs - sentMonoMs) / 1000);
    if (this.turn.away) this.#back();
    asked.forEach(([share, question], i) => {
      const reply = replies[i]!;
      this.counts.granted += reply.granted + reply.slotsGranted;
      share.answered(question, reply, { sentMonoMs, receivedMonoMs });
    });
    this.#parked.ended(
      asked.map(([share]) => share),
      receivedMonoMs,
    );
    for (const [share] of asked) if (share.waiting > 0) this.need(share);
  }

  #unanswered(asked: readonly Asked[]): void {
    if (this.#stopped) return;
    this.enter();
    for (const [share, question] of asked) share.unanswered(question);
    this.turn.away = true;
    this.#parked.expire(this.turn.monoMs, true);
    this.#lookLater.begin();
  }

  #back(): void {
    this.turn.away = false;
    for (const share of this.#due) this.need(share);
  }

  #expire(): void {
    this.#parked.expire(this.turn.monoMs);
    if (this.#parked.size > 0) this.#expireLater.begin();
  }
}
