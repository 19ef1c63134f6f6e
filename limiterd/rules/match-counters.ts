/**
 * Which counters a request meets: those of its target, then those of its path. How they are found
 * is in `rule-book.ts`; what they decide, in `judge.ts`.
 */
import type { Target } from "../../shared/domain/target-name.js";
import type { Counter } from "../counters/counter.js";
import type { RuleBook } from "./rule-book.js";

/**
 * Where the counters of a request are found: the rule book, or a copy of what would be found there.
 */
export type Matching = Pick<RuleBook, "matchPath" | "matchTarget">;

/** The rules while rate limits are off: none. */
export const noRules: Matching & Pick<RuleBook, "count" | "copyPath"> = {
  matchPath: () => [],
  copyPath: () => [],
  matchTarget: () => [],
  count: () => {},
};

/**
 * The rules that a request meets at its next target: that target's alone. Its path's have admitted
 * it already.
 */
export class TargetRules implements Matching {
  readonly #book: RuleBook;

  constructor(book: RuleBook) {
    this.#book = book;
  }

  matchPath(): Counter[] {
    return [];
  }

  matchTarget(target: Target): Counter[] {
    return this.#book.matchTarget(target);
  }
}

/** The counters of a target and of a path in the order of the rules: model, provider, user path. */
export function inOrder(
  ofTarget: readonly Counter[],
  ofPath: readonly Counter[],
): readonly Counter[] {
  if (ofTarget.length === 0) return ofPath;
  return [...ofTarget, ...ofPath];
}

/**
 * All counters that a request to this target meets now; the user path's alone while it has none.
 */
export function matchAll(
  book: RuleBook,
  userPath: string,
  target: Target | null,
  nowMs: number,
): readonly Counter[] {
  return inOrder(matchTarget(book, target), book.matchPath(userPath, nowMs));
}

/** The target's alone; none while there is no target. */
export function matchTarget(book: RuleBook, target: Target | null): readonly Counter[] {
  return target === null ? [] : book.matchTarget(target);
}

export function isSameTarget(a: Target | null, b: Target | null): boolean {
  return a === b || (a !== null && b !== null && a.provider === b.provider && a.model === b.model);
}

/**
 * Whether a counter counts requests or tokens over time: the others are gauges, which a submission
 * doesn't meet.
 */
export function hasWindow({ rule }: Counter): boolean {
  return rule.periodMs > 0;
}
