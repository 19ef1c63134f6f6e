/**
 * The shadow rules of a book, which refuse nothing (docs/limit-options.md). Not here: how a request
 * is judged by them (`admit.ts`).
 */
import type { Target } from "../../shared/domain/target-name.js";
import { type Counter, copyCounter, type Rule } from "../counters/counter.js";
import type { FindChild, RuleIndex } from "./rule-index.js";

interface FindChildren {
  readonly findChild: FindChild;
  /** As `findChild`, without keeping a child that doesn't exist yet. */
  readonly copyChild: FindChild;
}

/** A request, or an attempt at its next target. */
export interface ShadowedRequest {
  readonly userPath: string;
  /** Null for a submission, which only rules of its path count. */
  readonly target: Target | null;
  /** False for a reroute, which only the rules of the target count. */
  readonly atPath: boolean;
}

export class ShadowRules {
  readonly #index: RuleIndex;
  readonly #children: FindChildren;
  readonly #rules = new Set<Rule>();

  constructor(index: RuleIndex, children: FindChildren) {
    this.#index = index;
    this.#children = children;
  }

  /** The number of shadow rules, their parts included. */
  get size(): number {
    return this.#rules.size;
  }

  add(rule: Rule): void {
    this.#rules.add(rule);
    this.#index.add(rule);
  }

  remove(rule: Rule): void {
    this.#rules.delete(rule);
    this.#index.remove(rule);
  }

  /** The counters that cover a request, except those of the rules with the ids `except`. */
  match(request: ShadowedRequest, nowMs: number, except: readonly string[] = none): Counter[] {
    const counters = this.#match(request, nowMs, this.#children.findChild);
    return except.length === 0
      ? counters
      : counters.filter(({ rule }) => !except.includes(rule.ruleId));
  }

  /** Copies of the counters of `match`. */
  copy(request: ShadowedRequest, nowMs: number): Counter[] {
    return this.#match(request, nowMs, this.#children.copyChild).map(copyCounter);
  }

  #match(
    { userPath, target, atPath }: ShadowedRequest,
    nowMs: number,
    findChild: FindChild,
  ): Counter[] {
    return [
      ...(target === null ? [] : this.#index.matchTarget(target, userPath, nowMs, findChild)),
      ...(atPath ? this.#index.matchPath(userPath, nowMs, findChild) : []),
    ];
  }
}

const none: readonly string[] = [];
