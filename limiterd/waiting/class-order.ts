/** In which order the classes of the requests that wait for one counter take their turns. */
import type { Counter } from "../counters/counter.js";

/** Which class of the waiting requests of one counter is next. */
export interface ClassOrder {
  /** The class has its first waiting request. */
  joins(name: string, nowMs: number): void;
  /** The class has none left. */
  leaves(name: string): void;
  /** The waiting classes, the next one first. Changes nothing. */
  inOrder(nowMs: number): Iterable<string>;
  /** A waiting request of the class was admitted. */
  admitted(name: string, nowMs: number): void;
  /**
   * Whether the counter may refuse one class and admit another. Otherwise a refusal of the first
   * class is one of all.
   */
  readonly perClass?: boolean;
  /** Whether a new request of the class needn't wait behind the others. */
  passes?(name: string): boolean;
}

/** The order of the classes that wait for a counter; null: for a budget. */
export function orderOf(_counter: Counter | null): ClassOrder {
  return new TakingTurns();
}

/** Each class in turn. */
class TakingTurns implements ClassOrder {
  readonly #names = new Set<string>();

  joins(name: string): void {
    this.#names.add(name);
  }

  leaves(name: string): void {
    this.#names.delete(name);
  }

  inOrder(): Iterable<string> {
    return this.#names;
  }

  admitted(name: string): void {
    if (this.#names.delete(name)) this.#names.add(name);
  }
}
