/**
 * The limits of rules, `{period or period_seconds, max_requests, max_tokens}`, as the file and the
 * variables write them. The rules for single values are those of the admin API and stand in
 * `../rule.ts`.
 */
import { parsePeriod } from "../../domain/limit-key.js";
import {
  parseCaps,
  periodLabel,
  type RuleKey,
  ruleGrammar,
  ruleId,
  type Scope,
} from "../../domain/rule.js";
import type { Mapping } from "../read-mapping.js";
import { numberOf } from "../settings/setting-kind.js";
import { parseCompactLimits } from "./compact-limits.js";
import { type LimitForm, valueOf } from "./limit-form.js";

export interface Limit {
  readonly periodSeconds: number;
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
}

export const ruleForm: LimitForm<Scope, Limit> = {
  grammar: ruleGrammar,
  singular: "rule",
  fields: { period: null, period_seconds: numberOf, max_requests: numberOf, max_tokens: numberOf },
  parse: parseLimit,
  variables: [
    { prefix: "SET_RATE_LIMIT_", scope: "user_path" },
    { prefix: "SET_PROVIDER_RATE_LIMIT_", scope: "provider" },
  ],
  example: "rpm=100",
  parseCompact: parseCompactLimits,
  id: ruleId,
  name: ruleName,
};

function parseLimit(fields: Mapping, at: string, problems: string[]): Limit | null {
  const before = problems.length;
  const periodSeconds = valueOf(parsePeriod(ruleGrammar, fields, `${at}.`), problems);
  // Each cap by itself first, against a period that allows both, so that a wrong one doesn't hide
  // the other.
  for (const cap of ["max_requests", "max_tokens"] as const) {
    if (fields[cap] !== undefined && fields[cap] !== null)
      valueOf(parseCaps({ [cap]: fields[cap] }, 60, `${at}.`), problems);
  }
  if (problems.length > before || periodSeconds === null) return null;
  const caps = valueOf(parseCaps(fields, periodSeconds, `${at}.`), problems);
  return caps === null ? null : { periodSeconds, ...caps };
}

/** A rule as messages call it: `/team minute`, `provider openai day`. */
export function ruleName({ scope, subject, periodSeconds }: RuleKey): string {
  return `${scope === "user_path" ? "" : `${scope} `}${subject} ${periodLabel(periodSeconds)}`;
}
