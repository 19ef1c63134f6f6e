/**
 * Requests that wait for the engine's answers about some counters or accounts (`Awaited`). Each
 * request is judged again when the engine has answered about all of them, or when its time is up. A
 * waiting request holds no slots or units.
 */

import { parkedMax, parkedMs, roundsMax } from "../../bounds.js";
import type { Awaited } from "../cluster-turn.js";

/** Judges a request that has waited; `mustDecide`: it can't wait again. */
export type JudgeAgain = (mustDecide: boolean) => void;

interface Parked {
  readonly awaited: readonly Awaited[];
  readonly judgeAgain: JudgeAgain;
  readonly atMonoMs: number;
  readonly round: number;
  /** The number of `awaited` without an answer. */
  missing: number;
}

export class ParkedRequests {
  readonly #parked = new Set<Parked>();
  /** By counter or account: the requests that wait for a question that hasn't been sent. */
  readonly #next = new Map<Awaited, Parked[]>();
  /** By counter or account: the requests that wait for the answer to the question sent. */
  readonly #waiting = new Map<Awaited, Parked[]>();
  /** The request that is being judged again. */
  #current: Parked | null = null;

  get size(): number {
    return this.#parked.size;
  }

  get isFull(): boolean {
    return this.#parked.size >= parkedMax;
  }

  /**
   * Parks a request. One that is parked again while it is judged keeps its time, and begins its
   * next round.
   */
  park(awaited: Iterable<Awaited>, monoMs: number, judgeAgain: JudgeAgain): void {
    const unique = [...new Set(awaited)];
    const parked = {
      awaited: unique,
      judgeAgain,
      atMonoMs: this.#current?.atMonoMs ?? monoMs,
      round: (this.#current?.round ?? 0) + 1,
      missing: unique.length,
    };
    this.#parked.add(parked);
    for (const share of unique) {
      share.waiting++;
      const sameShare = this.#next.get(share);
      if (sameShare === undefined) this.#next.set(share, [parked]);
      else sameShare.push(parked);
    }
  }

  /** Whether requests wait for a question about a counter or account that hasn't been sent. */
  isAwaited(share: Awaited): boolean {
    return this.#next.has(share);
  }

  /** Call when a question about a counter or account is sent. */
  sent(share: Awaited): void {
    const waiting = this.#next.get(share);
    if (waiting === undefined) return;
    this.#next.delete(share);
    this.#waiting.set(share, waiting);
  }

  /** Call when questions are answered: judges the requests that waited for the last of them. */
  ended(awaited: Iterable<Awaited>, monoMs: number): void {
    const ready = new Set<Parked>();
    for (const share of awaited) {
      for (const parked of this.#waiting.get(share) ?? []) {
        parked.missing--;
        if (parked.missing === 0 && this.#parked.has(parked)) ready.add(parked);
      }
      this.#waiting.delete(share);
    }
    for (const parked of ready) this.#judge(parked, monoMs);
  }

  /** Judges the requests whose time is up, or all requests. */
  expire(monoMs: number, all = false): void {
    for (const parked of [...this.#parked])
      if (all || monoMs - parked.atMonoMs >= parkedMs) this.#judge(parked, monoMs, true);
    if (this.#parked.size > 0) return;
    this.#next.clear();
    this.#waiting.clear();
  }

  /** Drops all requests: the daemon is stopping. */
  drop(): void {
    for (const parked of this.#parked) leave(parked);
    this.#parked.clear();
    this.#next.clear();
    this.#waiting.clear();
  }

  #judge(parked: Parked, monoMs: number, isTimeUp = false): void {
    this.#parked.delete(parked);
    leave(parked);
    this.#current = parked;
    const isTooLate = isTimeUp || monoMs - parked.atMonoMs >= parkedMs;
    parked.judgeAgain(isTooLate || parked.round >= roundsMax);
    this.#current = null;
  }
}

function leave({ awaited }: Parked): void {
  for (const share of awaited) share.waiting--;
}
