/**
 * The rules of the daemon part: 10,000 of them, of which every admission matches exactly five. Both
 * sides get their caps from here. The caps are never reached: this measures admitting, not
 * refusing.
 */
import { assert } from "../../../shared/assert.js";

export const ruleCount = 10_000;
const rulesPerTenant = 4;
export const tenantCount = Math.floor((ruleCount - 1) / rulesPerTenant);

/** Tokens of every settle. */
export const tokensPerSettle = 100;

export interface MatchingRule {
  readonly path: string;
  /** 0: in flight. */
  readonly periodSeconds: number;
  readonly maxRequests: number;
  readonly maxTokens: number | null;
}

/** The cap of the rule that has the least left, and so gives the headers of a success. */
export const leastCap = 1_000_000_000;

/** The path of the admissions of one tenant. */
export function tenantPath(tenant: number): string {
  return `/t${tenant}/a`;
}

/** The five that an admission of this tenant matches; the gauge is the last. */
export function matchingRules(tenant: number): readonly MatchingRule[] {
  return [
    { path: "/", periodSeconds: 60, maxRequests: 4 * leastCap, maxTokens: 400 * leastCap },
    {
      path: `/t${tenant}`,
      periodSeconds: 60,
      maxRequests: 2 * leastCap,
      maxTokens: 200 * leastCap,
    },
    {
      path: `/t${tenant}`,
      periodSeconds: 3600,
      maxRequests: 3 * leastCap,
      maxTokens: 300 * leastCap,
    },
    { path: `/t${tenant}/a`, periodSeconds: 60, maxRequests: leastCap, maxTokens: null },
    { path: `/t${tenant}/a`, periodSeconds: 0, maxRequests: 100_000, maxTokens: null },
  ];
}

/** All rules as `rate_limits.user_paths` of a configuration. */
export function userPathsConfig(): readonly {
  readonly path: string;
  readonly limits: readonly object[];
}[] {
  const byPath = new Map<string, object[]>();
  let rules = 0;
  const add = (rule: MatchingRule): void => {
    const limits = byPath.get(rule.path) ?? [];
    limits.push({
      period_seconds: rule.periodSeconds,
      max_requests: rule.maxRequests,
      ...(rule.maxTokens === null ? {} : { max_tokens: rule.maxTokens }),
    });
    byPath.set(rule.path, limits);
    rules++;
  };
  for (let tenant = 0; tenant < tenantCount; tenant++) {
    for (const rule of matchingRules(tenant)) if (tenant === 0 || rule.path !== "/") add(rule);
  }
  // The rest lies beside every tenant and matches nothing.
  for (let n = 0; rules < ruleCount; n++)
    add({ path: `/beside${n}`, periodSeconds: 60, maxRequests: leastCap, maxTokens: null });
  assert(rules === ruleCount, "the configuration holds the rules it claims");
  return [...byPath].map(([path, limits]) => ({ path, limits }));
}
