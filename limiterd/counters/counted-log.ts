/**
 * What the open batch of the journal has counted in windows: for each half of a window one sum of
 * requests and one of tokens, however many messages have moved it. A batch is written with what is
 * taken here (`store/writer.ts`), and a restart counts it again (`lifecycle/restore.ts`).
 */
import { isCount } from "../../shared/checked.js";
import type { Counter, Rule } from "./counter.js";

/** Of each half in the store: its rule's id, its child, the number of its period, and two sums. */
const fieldsPerHalf = 5;
/** In memory: when it begins, requests and tokens. */
const numbersPerHalf = 3;

export class CountedLog {
  /** Nothing is taken down: the store fails, and too much waits for it already. */
  paused = false;
  size = 0;
  /** Of each half, in order. What lies beyond `size` is of an earlier batch. */
  readonly #counters: Counter[] = [];
  #numbers = new Float64Array(1024 * numbersPerHalf);
  /** How often it was taken: where a counter stands in the list is known for one batch. */
  #batch = 1;

  /** `startMs`: when the half begins. Requests below 0 are withdrawn. */
  add(counter: Counter, startMs: number, requests: number, tokens: number): void {
    if (this.paused) return;
    const known = counter.loggedAt * numbersPerHalf;
    if (counter.loggedBatch === this.#batch && this.#numbers[known] === startMs) {
      this.#numbers[known + 1]! += requests;
      this.#numbers[known + 2]! += tokens;
      return;
    }
    const at = this.size * numbersPerHalf;
    if (at === this.#numbers.length) this.#enlarge();
    this.#numbers[at] = startMs;
    this.#numbers[at + 1] = requests;
    this.#numbers[at + 2] = tokens;
    this.#counters[this.size] = counter;
    counter.loggedBatch = this.#batch;
    counter.loggedAt = this.size++;
  }

  /** Hands out all of it, as the store keeps it, and begins anew. */
  take(): readonly unknown[] {
    const fields: unknown[] = [];
    let lastRule: Rule | null = null;
    for (let i = 0; i < this.size; i++) {
      const { rule, child } = this.#counters[i]!;
      const at = i * numbersPerHalf;
      fields.push(
        rule === lastRule ? null : rule.id,
        child,
        this.#numbers[at]! / rule.periodMs,
        this.#numbers[at + 1],
        this.#numbers[at + 2],
      );
      lastRule = rule;
    }
    this.size = 0;
    this.#batch++;
    return fields;
  }

  #enlarge(): void {
    const larger = new Float64Array(2 * this.#numbers.length);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}

/** What one batch has counted in one half of a window. */
export interface Counted {
  readonly ruleId: string;
  /** Empty for a rule's own window. */
  readonly child: string;
  /** When the half begins, in periods of the rule since the epoch. */
  readonly period: number;
  readonly requests: number;
  readonly tokens: number;
}

/**
 * A rule's id stands for the halves behind it too, up to the next. Null for what `take` never made.
 */
export function countedFromStored(fields: readonly unknown[]): Counted[] | null {
  if (fields.length % fieldsPerHalf !== 0) return null;
  const counted: Counted[] = [];
  let ruleId: string | null = null;
  for (let i = 0; i < fields.length; i += fieldsPerHalf) {
    const [named, child, period, requests, tokens] = fields.slice(i, i + fieldsPerHalf);
    if (typeof named === "string") ruleId = named;
    else if (named !== null) return null;
    if (ruleId === null || typeof child !== "string") return null;
    if (!isCount(period) || !Number.isSafeInteger(requests) || !isCount(tokens)) return null;
    counted.push({ ruleId, child, period, requests: requests as number, tokens });
  }
  return counted;
}
