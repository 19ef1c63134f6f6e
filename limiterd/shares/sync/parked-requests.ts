/**
 * Requests that wait for the engine's answers about some counters or accounts. Each is judged again
 * when all of these are answered, or when its time is up. A waiting request holds no slots or
 * units.
 */

import { parkedMax, parkedMs, roundsMax } from "../../bounds.js";
import type { Unsure } from "../cluster-turn.js";

/** Judges a request that has waited; `final`: it can't wait again. */
export type JudgeAgain = (final: boolean) => void;

interface Parked {
  readonly shares: readonly Unsure[];
  readonly judgeAgain: JudgeAgain;
  readonly atMonoMs: number;
  readonly round: number;
  /** The number of its shares without an answer. */
  missing: number;
}

export class ParkedRequests {
  readonly #parked = new Set<Parked>();
  /** By share: the requests that wait for the next question, and for the pending one. */
  readonly #next = new Map<Unsure, Parked[]>();
  readonly #asked = new Map<Unsure, Parked[]>();
  /** The request that is being judged again. */
  #current: Parked | null = null;

  get size(): number {
    return this.#parked.size;
  }

  get isFull(): boolean {
    return this.#parked.size >= parkedMax;
  }

  /** Parks a request. If it is the one that is being judged again, keeps its time and round. */
  park(shares: Iterable<Unsure>, monoMs: number, judgeAgain: JudgeAgain): void {
    const unique = [...new Set(shares)];
    const parked = {
      shares: unique,
      judgeAgain,
      atMonoMs: this.#current?.atMonoMs ?? monoMs,
      round: (this.#current?.round ?? 0) + 1,
      missing: unique.length,
    };
    this.#parked.add(parked);
    for (const share of unique) {
      share.waiting++;
      const others = this.#next.get(share);
      if (others === undefined) this.#next.set(share, [parked]);
      else others.push(parked);
    }
  }

  /** Whether requests wait for the next question about it. */
  isAwaited(share: Unsure): boolean {
    return this.#next.has(share);
  }

  /** Call when a question about a share is sent. */
  sent(share: Unsure): void {
    const waiting = this.#next.get(share);
    if (waiting === undefined) return;
    this.#next.delete(share);
    this.#asked.set(share, waiting);
  }

  /**
   * Call when the questions about these shares are answered: judges the requests that waited for
   * them.
   */
  ended(shares: Iterable<Unsure>, monoMs: number): void {
    const ready = new Set<Parked>();
    for (const share of shares) {
      for (const parked of this.#asked.get(share) ?? []) {
        parked.missing--;
        if (parked.missing === 0 && this.#parked.has(parked)) ready.add(parked);
      }
      this.#asked.delete(share);
    }
    for (const parked of ready) this.#judge(parked, monoMs);
  }

  /** Judges the requests whose time is up, or all. */
  expire(monoMs: number, all = false): void {
    for (const parked of [...this.#parked])
      if (all || monoMs - parked.atMonoMs >= parkedMs) this.#judge(parked, monoMs, true);
    if (this.#parked.size > 0) return;
    this.#next.clear();
    this.#asked.clear();
  }

  /** Drops all requests: the daemon is stopping. */
  drop(): void {
    for (const parked of this.#parked) leave(parked);
    this.#parked.clear();
    this.#next.clear();
    this.#asked.clear();
  }

  #judge(parked: Parked, monoMs: number, final = false): void {
    this.#parked.delete(parked);
    leave(parked);
    this.#current = parked;
    parked.judgeAgain(final || parked.round >= roundsMax || monoMs - parked.atMonoMs >= parkedMs);
    this.#current = null;
  }
}

function leave({ shares }: Parked): void {
  for (const share of shares) share.waiting--;
}
