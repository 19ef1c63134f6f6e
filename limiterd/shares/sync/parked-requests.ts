/**
 * Requests that wait until the engine has said what it has of some counters: each is judged again
 * when all of them are answered, or when its time is over. Nothing is held for them meanwhile.
 */

import { parkedMax, parkedMs, roundsMax } from "../../bounds.js";
import type { Share } from "../share.js";

/** What becomes of a request that has waited; `final`: it can't wait again. */
export type JudgeAgain = (final: boolean) => void;

interface Parked {
  readonly shares: readonly Share[];
  readonly judgeAgain: JudgeAgain;
  readonly atMonoMs: number;
  readonly round: number;
  /** So many of its shares aren't answered. */
  missing: number;
}

export class ParkedRequests {
  readonly #parked = new Set<Parked>();
  /** By share: those that wait for a question that isn't sent yet, and for the one that is. */
  readonly #next = new Map<Share, Parked[]>();
  readonly #asked = new Map<Share, Parked[]>();
  /** The request that is judged again now. */
  #current: Parked | null = null;

  get size(): number {
    return this.#parked.size;
  }

  get isFull(): boolean {
    return this.#parked.size >= parkedMax;
  }

  /** Parks a request, or once more the one that is judged again now. */
  park(shares: Iterable<Share>, monoMs: number, judgeAgain: JudgeAgain): void {
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

  /** A question about a share is sent. */
  sent(share: Share): void {
    const waiting = this.#next.get(share);
    if (waiting === undefined) return;
    this.#next.delete(share);
    this.#asked.set(share, waiting);
  }

  /** The questions about these shares are answered: who has waited for them is judged. */
  ended(shares: Iterable<Share>, monoMs: number): void {
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

  /** Judges those whose time is over, or all of them. */
  expire(monoMs: number, all = false): void {
    for (const parked of [...this.#parked])
      if (all || monoMs - parked.atMonoMs >= parkedMs) this.#judge(parked, monoMs, true);
    if (this.#parked.size > 0) return;
    this.#next.clear();
    this.#asked.clear();
  }

  /** Forgets all: the daemon is being stopped. */
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
