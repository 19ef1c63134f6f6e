/**
 * The counts of the open batch of the journal: for each half of a window, one sum of requests and
 * one of tokens for any number of messages. The batch is written with the result of `take`
 * (`store/writer.ts`), and a restart counts it again (`lifecycle/restore.ts`).
 */
import { isCount } from "../../shared/checked.js";
import type { Counter, Rule } from "./counter.js";

/** Fields of a half in the store: rule id, child, number of the period, requests and tokens. */
const fieldsPerHalf = 5;
/** Numbers of a half in memory: start, requests and tokens. */
const numbersPerHalf = 3;

export class CountedLog {
  /** Whether counts are dropped, because the store fails and too many batches wait. */
  isPaused = false;
  size = 0;
  /**
   * The counters of the halves, by index. Entries from `size` on are left from an earlier batch.
   */
  readonly #counters: Counter[] = [];
  #numbers = new Float64Array(1024 * numbersPerHalf);
  /** The number of the batch: a counter's index is valid for one batch. */
  #batch = 1;

  /** `startMs`: the start of the half. Negative requests take back. */
  add(counter: Counter, startMs: number, requests: number, tokens: number): void {
    if (this.isPaused) return;
    const logged = counter.loggedAt * numbersPerHalf;
    if (counter.loggedBatch === this.#batch && this.#numbers[logged] === startMs) {
      this.#numbers[logged + 1]! += requests;
      // Costs in pico-dollars may add up to more than an integer holds.
      this.#numbers[logged + 2] = Math.min(
        this.#numbers[logged + 2]! + tokens,
        Number.MAX_SAFE_INTEGER,
      );
      return;
    }
    const first = this.size * numbersPerHalf;
    if (first === this.#numbers.length) this.#enlarge();
    this.#numbers[first] = startMs;
    this.#numbers[first + 1] = requests;
    this.#numbers[first + 2] = tokens;
    this.#counters[this.size] = counter;
    counter.loggedBatch = this.#batch;
    counter.loggedAt = this.size++;
  }

  /** Returns the counts in the form of the store, and starts a new batch. */
  take(): readonly unknown[] {
    const fields: unknown[] = [];
    let lastRule: Rule | null = null;
    for (let i = 0; i < this.size; i++) {
      const { rule, child } = this.#counters[i]!;
      const first = i * numbersPerHalf;
      fields.push(
        rule === lastRule ? null : rule.id,
        child,
        this.#numbers[first]! / rule.periodMs,
        this.#numbers[first + 1],
        this.#numbers[first + 2],
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

/** The counts of one batch in one half of a window. */
export interface BatchCount {
  readonly ruleId: string;
  /** Empty for a rule's own window. */
  readonly child: string;
  /** The start of the half, in periods of the rule since the epoch. */
  readonly period: number;
  readonly requests: number;
  readonly tokens: number;
}

/**
 * Reads what `take` returned; null for anything else. A half without a rule id has that of the half
 * before it.
 */
export function countedFromStored(fields: readonly unknown[]): BatchCount[] | null {
  if (fields.length % fieldsPerHalf !== 0) return null;
  const counted: BatchCount[] = [];
  let ruleId: string | null = null;
  for (let i = 0; i < fields.length; i += fieldsPerHalf) {
    const [ruleName, child, period, requests, tokens] = fields.slice(i, i + fieldsPerHalf);
    if (typeof ruleName === "string") ruleId = ruleName;
    else if (ruleName !== null) return null;
    if (ruleId === null || typeof child !== "string") return null;
    if (!isCount(period) || !Number.isSafeInteger(requests) || !isCount(tokens)) return null;
    counted.push({ ruleId, child, period, requests: requests as number, tokens });
  }
  return counted;
}
