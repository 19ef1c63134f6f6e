/**
 * The order in which requests that wait for one counter are served: each request belongs to a
 * class, and the order is one of classes.
 */
import type { Counter } from "../counters/counter.js";
import { pathItself, type SharedCap } from "../counters/shared-cap.js";

/** Which class of the waiting requests of one counter is next. */
export interface ClassOrder {
  /** The class has its first waiting request. */
  addClass(name: string, nowMs: number): void;
  /** The class has none left. */
  removeClass(name: string): void;
  /** The waiting classes, the next one first. Changes nothing. */
  inOrder(nowMs: number): Iterable<string>;
  /** A waiting request of the class was admitted. */
  admitted(name: string, nowMs: number): void;
  /**
   * Whether the counter may refuse one class and admit another. Otherwise a refusal of the first
   * class is one of all.
   */
  readonly refusesByClass?: boolean;
  /**
   * How many requests of the class `other` come before request `index` (from 1) of the class
   * `name`; absent or undefined if the classes take turns.
   */
  ahead?(name: string, index: number, other: string): number | undefined;
}

/** The order of the classes that wait for a counter; null: for a budget. */
export function classOrderOf(counter: Counter | null): ClassOrder {
  return counter === null ? new TakingTurns() : new CounterOrder(counter);
}

/** By the shares of the counter's rule while it has some, else in turn. */
class CounterOrder implements ClassOrder {
  readonly #counter: Pick<Counter, "rule" | "child">;
  readonly #names = new Set<string>();
  readonly #turns = new TakingTurns();
  /** The shared cap that knows who waits. */
  #sharedCap: SharedCap | null = null;

  constructor({ rule, child }: Counter) {
    this.#counter = { rule, child };
  }

  get refusesByClass(): boolean {
    return this.#cap?.isLastRefusalByShare === true;
  }

  addClass(name: string): void {
    this.#names.add(name);
    this.#turns.addClass(name);
    this.#cap?.startWaiting(childOfClass(name));
  }

  removeClass(name: string): void {
    this.#names.delete(name);
    this.#turns.removeClass(name);
    this.#cap?.stopWaiting(childOfClass(name));
  }

  *inOrder(): Generator<string, void> {
    const cap = this.#cap;
    if (cap === null) return yield* this.#turns.inOrder();
    for (const name of cap.waitingInOrder()) yield name === pathItself ? "" : name;
    // Then the classes beyond the number that the shared cap remembers.
    for (const name of this.#turns.inOrder()) if (!cap.isWaiting(childOfClass(name))) yield name;
  }

  ahead(name: string, index: number, other: string): number | undefined {
    return this.#cap?.countAhead(childOfClass(name), index, childOfClass(other));
  }

  admitted(name: string): void {
    this.#turns.admitted(name);
    this.#cap?.noteAdmitted(childOfClass(name));
  }

  /** Null without shares. They may be set and removed while requests wait. */
  get #cap(): SharedCap | null {
    const { rule, child } = this.#counter;
    const cap = rule.tenants?.sharing?.findOrMake(child) ?? null;
    if (cap !== this.#sharedCap) {
      this.#sharedCap = cap;
      for (const name of this.#names) cap?.startWaiting(childOfClass(name));
    }
    return cap;
  }
}

function childOfClass(className: string): string {
  return className === "" ? pathItself : className;
}

/** Each class in turn. */
class TakingTurns implements ClassOrder {
  readonly #names = new Set<string>();

  addClass(name: string): void {
    this.#names.add(name);
  }

  removeClass(name: string): void {
    this.#names.delete(name);
  }

  inOrder(): Iterable<string> {
    return this.#names;
  }

  admitted(name: string): void {
    if (this.#names.delete(name)) this.#names.add(name);
  }
}
