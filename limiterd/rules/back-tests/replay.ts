/**
 * Replays past requests against a proposed rule, in the order of their starts and ends, to find
 * those that it would have refused. Tokens and slots of a refused request don't count: an enforced
 * rule would have prevented the request. A second copy of the rule without caps counts all
 * requests; its highest counts give the lowest caps that refuse nothing.
 *
 * Records are in the order in which requests ended. They are buffered until so many later records
 * are known that an earlier start is unlikely.
 */
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Breach } from "../../../shared/domain/verdict.js";
import { heldMax } from "../../bounds.js";
import type { Counter } from "../../counters/counter.js";
import { BackTestSums } from "./back-test-sums.js";
import { type PastRequest, ReplayedRule, type RuleNames } from "./replayed-rule.js";

interface ReplayOptions {
  /** Earlier requests warm up the counters and aren't reported. */
  readonly fromMs: number;
  readonly heldMax?: number;
}

/** A running request, with the counters that count it until its end. */
interface Running {
  readonly request: PastRequest;
  /** Null: the rule has refused the request. */
  readonly counters: readonly Counter[] | null;
  readonly freeCounters: readonly Counter[];
}

export class Replay {
  readonly sums: BackTestSums;
  /** Requests that weren't judged, because later ones had already been replayed. */
  late = 0;
  readonly #rule: ReplayedRule;
  /** The rule without caps. */
  readonly #free: ReplayedRule;
  readonly #definition: RuleDefinition;
  readonly #fromMs: number;
  readonly #heldMax: number;
  readonly #starts = new TimeQueue<PastRequest>();
  readonly #ends = new TimeQueue<Running>();
  /** The time of the last replayed event. */
  #nowMs = 0;

  constructor(definition: RuleDefinition, names: RuleNames, options: ReplayOptions) {
    const { fromMs } = options;
    this.#definition = definition;
    this.#rule = new ReplayedRule(asReplayed(definition), names, {
      nowMs: fromMs,
      tokensEnforced: true,
    });
    this.#free = new ReplayedRule(withoutCaps(definition), names, {
      nowMs: fromMs,
      tokensEnforced: false,
    });
    this.#fromMs = fromMs;
    this.#heldMax = options.heldMax ?? heldMax;
    this.sums = new BackTestSums(definition);
  }

  /** How many requests are buffered. */
  get held(): number {
    return this.#starts.size;
  }

  /**
   * Adds a request, in the order of recording, and replays the first one if enough are buffered.
   */
  add(request: PastRequest): void {
    if (!this.#covers(request)) return;
    this.#starts.add(request.kind === "part" ? request.endMs : request.startMs, request);
    if (this.#starts.size > this.#heldMax) this.playNext();
  }

  /**
   * Replays the first buffered request, and every end before it: at the same time, ends come first.
   */
  playNext(): void {
    const startMs = this.#starts.firstMs;
    const request = this.#starts.take();
    if (request === undefined) return;
    while (this.#ends.firstMs <= startMs) this.#end();
    if (request.kind === "part" || startMs < this.#nowMs) return this.#count(request);
    this.#nowMs = startMs;
    const { counters, breach } = this.#rule.admit(request, startMs);
    const freeCounters = this.#free.admit(request, startMs).counters ?? [];
    this.#ends.add(Math.max(request.endMs, startMs), { request, counters, freeCounters });
    if (startMs < this.#fromMs) return;
    const passesAnyway = breach !== null && (counters !== null || this.#usesOtherModel(breach));
    if (passesAnyway) this.sums.addWentOn();
    this.sums.add(request, passesAnyway ? null : breach, startMs);
    this.sums.addUse(freeCounters, startMs);
  }

  /** Whether the request goes to another model, which this rule doesn't count. */
  #usesOtherModel({ dimension }: Breach): boolean {
    const { onExhausted } = this.#definition;
    return typeof onExhausted === "object" && dimension !== "children" && dimension !== "banned";
  }

  #end(): void {
    const endMs = this.#ends.firstMs;
    const { request, counters, freeCounters } = this.#ends.take()!;
    this.#nowMs = Math.max(this.#nowMs, endMs);
    if (counters !== null) this.#rule.end(request, counters, this.#nowMs);
    this.#free.end(request, freeCounters, this.#nowMs);
  }

  /**
   * Counts a late request, or a part of one, without judging it, in the windows of its start and
   * end that still count.
   */
  #count(request: PastRequest): void {
    const isLate = request.kind !== "part";
    if (!isLate) this.#nowMs = Math.max(this.#nowMs, request.endMs);
    for (const rule of [this.#rule, this.#free]) rule.count(request, isLate ? 1 : 0, this.#nowMs);
    if (isLate && request.startMs >= this.#fromMs) this.late++;
  }

  /** Whether the rule applies to the request. */
  #covers({ userPath, target, kind }: PastRequest): boolean {
    const { scope, subject, perChild, models } = this.#definition;
    if (scope !== "user_path" || models !== undefined)
      return kind !== "submission" && this.#rule.isOf(target, userPath);
    if (userPath === subject) return !perChild;
    return userPath.startsWith(subject === "/" ? "/" : `${subject}/`);
  }
}

/**
 * The rule as it is replayed, if it sends requests to another model when it is exhausted. A rule
 * for all models still counts such a request; one for some models, a model or a provider doesn't.
 */
function asReplayed(definition: RuleDefinition): RuleDefinition {
  const { scope, models, onExhausted } = definition;
  if (typeof onExhausted !== "object") return definition;
  const isForAll = scope === "user_path" && models === undefined;
  return { ...definition, onExhausted: isForAll ? "warn" : undefined };
}

/**
 * The rule without the cap on requests. Its other caps refuse nothing, because tokens aren't
 * enforced.
 */
function withoutCaps(definition: RuleDefinition): RuleDefinition {
  return { ...definition, maxRequests: Number.MAX_SAFE_INTEGER, onExhausted: undefined };
}

interface Entry<T> {
  readonly atMs: number;
  readonly number: number;
  readonly item: T;
}

/**
 * A binary heap of events by time; events of the same time are in the order in which they were
 * added.
 */
export class TimeQueue<T> {
  readonly #heap: Entry<T>[] = [];
  #added = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** The time of the first event; infinite if the queue is empty. */
  get firstMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  add(atMs: number, item: T): void {
    const heap = this.#heap;
    const entry = { atMs, number: this.#added++, item };
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(entry, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = entry;
  }

  /** Removes and returns the first event; undefined if the queue is empty. */
  take(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return undefined;
    const { length } = heap;
    if (length === 0) return first.item;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
    return first.item;
  }
}

function isBefore(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}
