/**
 * Finds the rules that cover a path or a target, and their counters: a rule's own, or that of the
 * child on the path. The cost depends on the depth of the path, not on the number of rules.
 */
import { type LimitFilter, limitFilter } from "../../shared/config/model-filter.js";
import { type ModelNamings, modelSubjects } from "../../shared/config/model-name.js";
import {
  compareRules,
  effectiveSubject,
  namesProvider,
  type RuleKey,
} from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Counter, Rule } from "../counters/counter.js";
import { pathItself, sharerName } from "../counters/shared-cap.js";

interface RuleIndexPorts {
  /** The configured providers. */
  readonly providers: ModelNamings;
  /** Applies the last reset of all rules to this one. */
  fresh(rule: Rule): Rule;
}

/** A request's path, and the function that finds counters of templates' children. */
interface PathMatching {
  readonly userPath: string;
  readonly nowMs: number;
  readonly findChild: FindChild;
}

/** Finds the counter of one child of a template. */
export type FindChild = (rule: Rule, child: string, nowMs: number) => Counter;

const noCounters: Counter[] = [];

export class RuleIndex {
  readonly #ports: RuleIndexPorts;
  readonly #byPath = new Map<string, Rule[]>();
  readonly #byProvider = new Map<string, Rule[]>();
  readonly #byModel = new Map<string, Rule[]>();
  /** The rules on user paths that are for some models, by path. */
  readonly #forModels = new Map<string, Rule[]>();
  readonly #filters = new Map<Rule, LimitFilter>();

  constructor(ports: RuleIndexPorts) {
    this.#ports = ports;
  }

  add(rule: Rule): void {
    const { models } = rule.definition;
    if (models !== undefined) this.#filters.set(rule, limitFilter(models, this.#ports.providers));
    const bySubject = this.#mapOfScope(rule);
    for (const subject of this.subjectsOf(rule.definition)) {
      const existing = bySubject.get(subject);
      // The usual case, kept fast because a start may add 100,000 rules.
      if (existing === undefined) bySubject.set(subject, [rule]);
      else
        bySubject.set(
          subject,
          [...existing, rule].sort((a, b) => compareRules(a.definition, b.definition)),
        );
    }
  }

  remove(rule: Rule): void {
    this.#filters.delete(rule);
    const bySubject = this.#mapOfScope(rule);
    for (const subject of this.subjectsOf(rule.definition)) {
      const remaining = bySubject.get(subject)!.filter((indexed) => indexed !== rule);
      if (remaining.length === 0) bySubject.delete(subject);
      else bySubject.set(subject, remaining);
    }
  }

  /**
   * The counters of the user-path rules that cover a path with all models, in the order (subject,
   * period).
   */
  matchPath(userPath: string, nowMs: number, findChild: FindChild): Counter[] {
    if (this.#byPath.size === 0) return noCounters;
    const matched: Counter[] = [];
    this.#collectOnPath(this.#byPath, { userPath, nowMs, findChild }, matched);
    return matched;
  }

  /** The counters of the user-path rules that cover a path with some models, for any models. */
  matchPathForModels(userPath: string, nowMs: number, findChild: FindChild): Counter[] {
    if (this.#forModels.size === 0) return noCounters;
    const matched: Counter[] = [];
    this.#collectOnPath(this.#forModels, { userPath, nowMs, findChild }, matched);
    return matched;
  }

  /**
   * Adds the counters of the rules on each ancestor of a path, and on the path itself. `end` is the
   * end of the ancestor in the path.
   */
  #collectOnPath(
    byPath: ReadonlyMap<string, readonly Rule[]>,
    { userPath, nowMs, findChild }: PathMatching,
    matched: Counter[],
    target?: Target,
  ): void {
    for (let end = 0; end !== -1; end = nextEnd(userPath, end)) {
      const rules = byPath.get(end === 0 ? "/" : userPath.slice(0, end));
      if (rules === undefined) continue;
      for (const rule of rules) {
        if (target !== undefined && !this.#filters.get(rule)!.covers(target)) continue;
        const { own, tenants } = this.#ports.fresh(rule);
        if (own !== null) matched.push(own);
        else if (end + 1 < userPath.length)
          matched.push(findChild(rule, userPath.slice(end + 1, nextEnd(userPath, end)), nowMs));
        else continue;
        if (tenants !== null)
          matched.push(findChild(tenants, tenantOnPath(userPath, end, own === null), nowMs));
      }
    }
  }

  /**
   * The counters of the model rules, then of the provider rules that cover a target, then of the
   * rules that cover the path with this model.
   */
  matchTarget(target: Target, userPath: string, nowMs: number, findChild: FindChild): Counter[] {
    const byModel = this.#byModel;
    const byProvider = this.#byProvider;
    const forModels = this.#forModels;
    if (byModel.size === 0 && byProvider.size === 0 && forModels.size === 0) return noCounters;
    const matched: Counter[] = [];
    const called = { userPath, nowMs, findChild };
    const provider = target.provider.toLowerCase();
    if (byModel.size > 0) {
      const bare = target.model.toLowerCase();
      const qualified = `${provider}/${bare}`;
      // A rule on `openai/gpt-4o` applies to OpenAI's model, not to groq's `openai/gpt-4o`.
      const bareRules = namesProvider(bare, this.#ports.providers) ? undefined : byModel.get(bare);
      this.#collect(mergeRules(bareRules, byModel.get(qualified)), called, matched);
    }
    this.#collect(byProvider.get(provider), called, matched);
    if (forModels.size > 0) this.#collectOnPath(forModels, called, matched, target);
    return matched;
  }

  #collect(
    rules: readonly Rule[] | undefined,
    { userPath, nowMs, findChild }: PathMatching,
    matched: Counter[],
  ): void {
    if (rules === undefined) return;
    for (const rule of rules) {
      const { own, tenants } = this.#ports.fresh(rule);
      matched.push(own!);
      if (tenants !== null)
        matched.push(findChild(tenants, tenantOnPath(userPath, 0, false), nowMs));
    }
  }

  /** The subjects under which a rule is indexed; the effective one comes first. */
  subjectsOf({ scope, subject }: RuleKey): readonly [string, ...string[]] {
    return scope === "model"
      ? modelSubjects(subject, this.#ports.providers)
      : [effectiveSubject(scope, subject)];
  }

  #mapOfScope({ definition }: Rule): Map<string, Rule[]> {
    switch (definition.scope) {
      case "user_path":
        return definition.models === undefined ? this.#byPath : this.#forModels;
      case "provider":
        return this.#byProvider;
      case "model":
        return this.#byModel;
    }
  }
}

/**
 * The name of the child on a path that shares a rule's cap. `end`: the end of the rule's subject in
 * the path; for a template, the name of its child comes first.
 */
function tenantOnPath(userPath: string, end: number, isTemplate: boolean): string {
  const name = segmentAfter(userPath, isTemplate ? nextEnd(userPath, end) : end);
  return isTemplate ? sharerName(segmentAfter(userPath, end), name) : name;
}

function segmentAfter(userPath: string, end: number): string {
  return end + 1 < userPath.length ? userPath.slice(end + 1, nextEnd(userPath, end)) : pathItself;
}

/** Merges two lists in the order of rules. */
function mergeRules(
  a: readonly Rule[] | undefined,
  b: readonly Rule[] | undefined,
): readonly Rule[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return [...a, ...b].sort((left, right) => compareRules(left.definition, right.definition));
}

/** The end of the next segment of a path; −1 after the last one. */
export function nextEnd(userPath: string, end: number): number {
  if (end + 1 >= userPath.length) return -1;
  const slash = userPath.indexOf("/", end + 1);
  return slash === -1 ? userPath.length : slash;
}
