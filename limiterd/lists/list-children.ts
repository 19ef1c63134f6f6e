/**
 * The fullest children of a template, for GET /admin/rate-limits/children
 * (docs/reference/admin-api.md). Reading changes nothing.
 */
import type { ChildItem, ChildList } from "../../shared/api/rule-item.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { periodLabel, type RuleKey } from "../../shared/domain/rule.js";
import { type Failure, failure } from "../../shared/error-code.js";
import { formatMillis } from "../../shared/time.js";
import type { Counter, Rule } from "../counters/counter.js";
import { countersOf, type RuleBook } from "../rules/rule-book.js";
import { childNames, fullest, type Slices } from "./fullest.js";
import { type ListQuery, matches } from "./list-query.js";
import { liveCounts, usedRatio } from "./list-rules.js";

/**
 * Up to `limit` children, the fullest first; `after` is ignored. Children without requests and
 * unfinished batches on this host aren't listed.
 */
export async function listChildren(
  { book, rule, query }: ChildrenQuestion,
  slices: Slices,
  others: OtherHosts | null = null,
): Promise<ChildList> {
  const { nowMs } = slices;
  const uncounted = book.uncountedChildren(rule, nowMs);
  const total = rule.children.size + uncounted.length;
  const copyOf = (name: string) => book.copyOfKnown(rule, name, nowMs);
  const names = await fullest(
    childNames(rule, uncounted),
    query.limit,
    (name) => (matches(query, name) ? usedRatio(countersOf(copyOf(name)!), nowMs) : null),
    slices,
  );
  const counters = names.map(copyOf).filter((child) => child !== undefined);
  await others?.refresh(counters.flatMap((child) => [child, ...countersOf(child).parts]));
  const items = names.flatMap((name) => {
    // A child that was removed meanwhile is no longer full.
    const child = copyOf(name);
    return child === undefined ? [] : [childItem(child, nowMs)];
  });
  return {
    children: items,
    total,
    ...(others === null || rule.shares === null ? {} : { other_hosts: others.count }),
    server_time: formatMillis(nowMs),
  };
}

interface ChildrenQuestion {
  readonly book: Pick<RuleBook, "uncountedChildren" | "copyOfKnown">;
  readonly rule: Rule;
  readonly query: ListQuery;
}

export interface OtherHosts {
  readonly count: number;
  /** Reads the other hosts' counts of these counters. */
  refresh(counters: readonly Counter[]): Promise<void>;
}

/** The counter is a copy: its window is advanced to the current time. */
function childItem(counter: Counter, nowMs: number): ChildItem {
  return {
    subject: counter.subject,
    ...liveCounts(countersOf(counter), nowMs),
    used_ratio: usedRatio(countersOf(counter), nowMs),
  };
}

/** `above`: a path above it that has one. */
export function unknownRule(key: RuleKey, above: string | null = null): Failure {
  return failure("rate_limit_not_found", `no ${nameOfRule(key)}${thereIsOne(above)}`);
}

export function thereIsOne(above: string | null): string {
  return above === null ? "" : `; there is one on ${above}`;
}

/** A rule's name in messages to clients: `minute rule on user_path /team`. */
export function nameOfRule(key: RuleKey): string {
  return `${periodLabel(key.periodSeconds)} rule on ${key.scope} ${subjectWithModels(key)}`;
}
