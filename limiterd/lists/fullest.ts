/**
 * Finds the fullest of up to a million children of a template, or of 100,000 rules. It examines
 * them in slices and keeps only a few times as many as it lists.
 */
import { childrenPerSweep } from "../../shared/bounds.js";
import { Turns } from "../../shared/long-lists.js";
import type { ChildCounters } from "../counters/counter.js";
import type { ListQuery } from "./list-query.js";

export interface Slices {
  readonly nowMs: number;
  yieldToEventLoop(): Promise<void>;
}

interface Ranked {
  readonly name: string;
  readonly usedRatio: number;
}

/** About 5 ms of the event loop. */
const namesPerSlice = childrenPerSweep / 10;

/**
 * Up to `limit` names, the fullest first, equally full ones by name. `usedRatio` returns the used
 * ratio of a name, or null to leave it out.
 */
export async function fullest(
  names: Iterable<string>,
  limit: number,
  usedRatio: (name: string) => number | null,
  { yieldToEventLoop }: Pick<Slices, "yieldToEventLoop">,
): Promise<readonly string[]> {
  // By name, because a walk may visit a child twice.
  let found = new Map<string, Ranked>();
  let last: Ranked | null = null;
  const turns = new Turns(namesPerSlice);
  for (const name of names) {
    const ratio = usedRatio(name);
    if (ratio !== null) {
      const ranked = { name, usedRatio: ratio };
      if (last === null || compare(ranked, last) < 0) found.set(name, ranked);
      if (found.size >= 4 * limit) {
        found = firstOf(found, limit);
        last = [...found.values()].at(-1)!;
      }
    }
    if (turns.isOver()) await yieldToEventLoop();
  }
  return [...firstOf(found, limit).keys()];
}

export function* childNames(children: ChildCounters): Generator<string> {
  const walk = children.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) yield children.name(place);
}

/** Between a template's id and its child's name; neither has it. */
const childSeparator = "\u0000";

/** A name for `fullest` of a template's child. */
export function childRef(id: string, child: string): string {
  return id + childSeparator + child;
}

/** The id, and the child's name; null for a rule or budget itself. */
export function splitRef(ref: string): readonly [id: string, child: string | null] {
  const at = ref.indexOf(childSeparator);
  return at === -1 ? [ref, null] : [ref.slice(0, at), ref.slice(at + childSeparator.length)];
}

/** A walk over this many names is repeated once a second at most, a longer one more seldom. */
const namesPerSecond = 50_000;

/**
 * The last ranking of rules or budgets with their children. `sluice top` and the dashboard ask each
 * second; a ranking of a million children is reused for 20 s, with the present counts.
 */
export class LastRanking {
  #key = "";
  #refs: readonly string[] = [];
  #fromMs = 0;
  #untilMs = 0;

  /** As `fullest`. */
  async of(
    query: ListQuery,
    refs: Iterable<string>,
    usedRatio: (ref: string) => number | null,
    slices: Slices,
  ): Promise<readonly string[]> {
    const { nowMs } = slices;
    const key = JSON.stringify(query);
    const isFresh = nowMs >= this.#fromMs && nowMs < this.#untilMs;
    if (key === this.#key && isFresh) return this.#refs;
    let walked = 0;
    const ratio = (ref: string): number | null => {
      walked++;
      return usedRatio(ref);
    };
    this.#refs = await fullest(refs, query.limit, ratio, slices);
    this.#key = key;
    this.#fromMs = nowMs;
    this.#untilMs = walked < namesPerSecond ? 0 : nowMs + (1000 * walked) / namesPerSecond;
    return this.#refs;
  }
}

interface Asked {
  readonly key: string;
  /** How many names the answer's walk visits. */
  readonly walked: number;
  readonly nowMs: number;
}

/** The tree of the dashboard asks once for each open level. */
const answersMax = 16;

interface KeptAnswer<T> {
  readonly answer: Promise<T>;
  readonly fromMs: number;
  untilMs: number;
}

/**
 * The last answers to questions that walk over all children, reused as `LastRanking` does. Who asks
 * while an answer is being made gets that one.
 */
export class LastAnswers<T> {
  readonly #kept = new Map<string, KeptAnswer<T>>();

  of({ key, walked, nowMs }: Asked, make: () => Promise<T>): Promise<T> {
    if (walked < namesPerSecond) return make();
    const known = this.#kept.get(key);
    if (known !== undefined && nowMs >= known.fromMs && nowMs < known.untilMs) return known.answer;
    const kept = { answer: make(), fromMs: nowMs, untilMs: Number.POSITIVE_INFINITY };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const oldest of this.#kept.keys())
      if (this.#kept.size > answersMax) this.#kept.delete(oldest);
    kept.answer.then(
      () => {
        kept.untilMs = nowMs + (1000 * walked) / namesPerSecond;
      },
      // Who asked gets the error; the next one asks again.
      () => {
        kept.untilMs = 0;
      },
    );
    return kept.answer;
  }
}

function compare(a: Ranked, b: Ranked): number {
  return b.usedRatio - a.usedRatio || (a.name < b.name ? -1 : 1);
}

function firstOf(found: ReadonlyMap<string, Ranked>, limit: number): Map<string, Ranked> {
  const sorted = [...found.values()].sort(compare).slice(0, limit);
  return new Map(sorted.map((ranked) => [ranked.name, ranked]));
}
