/**
 * Rules in the order (scope, subject, period). A list of 100,000 is sorted once; after that each
 * rule is inserted where it belongs.
 */
import { compareRules, type RuleKey } from "../../shared/domain/rule.js";
import type { Rule } from "../counters/counter.js";

/** Where the rules after this key begin. */
export function firstAfter(sorted: readonly Rule[], key: RuleKey): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRules(sorted[middle]!.definition, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface SortedRules {
  /** All of them. The first call sorts; rules that are added later are inserted. */
  all(rules: ReadonlyMap<string, Rule>): readonly Rule[];
  add(rule: Rule): void;
  remove(rule: Rule): void;
}

export function createSortedRules(): SortedRules {
  let sorted: Rule[] | null = null;
  return {
    all(rules) {
      sorted ??= [...rules.values()].sort((a, b) => compareRules(a.definition, b.definition));
      return sorted;
    },
    add: (rule) => void sorted?.splice(firstAfter(sorted, rule.definition), 0, rule),
    remove: (rule) => void sorted?.splice(firstAfter(sorted, rule.definition) - 1, 1),
  };
}
