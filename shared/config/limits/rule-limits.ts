/**
 * The limits of rules, `{period or period_seconds, models, max_requests, max_tokens, host_only}` or
 * the compact `rpm=100, tpm=50000; concurrent=8`, as the file and the variables write them
 * (docs/reference/configuration.md). `../../domain/rule.ts` checks single values, as for the admin
 * API.
 */

import { isAbsent, show } from "../../checked.js";
import type { Shareable } from "../../domain/child-shares.js";
import type { Holdable } from "../../domain/hold.js";
import { type ModeField, parseMode, parsePeriod } from "../../domain/limit-key.js";
import {
  type LimitedModels,
  parseLimitedModels,
  subjectWithModels,
} from "../../domain/limited-models.js";
import type { LoopsField } from "../../domain/loop-rule.js";
import type { Exhaustible } from "../../domain/on-exhausted.js";
import {
  type CappedMeasure,
  capFieldNames,
  type MeasureCaps,
  parseCaps,
  parseRuleValues,
  periodLabel,
  type RuleKey,
  ruleGrammar,
  ruleId,
  type Scope,
} from "../../domain/rule.js";
import { parseWhen, type RuleHours } from "../../domain/rule-hours.js";
import { numberAdvice } from "../../text/written-number.js";
import { boolean, loopsOf } from "../kinds/choice-kinds.js";
import { amountOf, numberOf, sharesOf, weightsOf } from "../kinds/number-kinds.js";
import type { Mapping } from "../read-mapping.js";
import { checkedValue, type LimitForm, readPairs } from "./limit-form.js";

export interface RuleLimit
  extends MeasureCaps,
    Exhaustible,
    Holdable,
    Shareable,
    LoopsField,
    ModeField {
  readonly periodSeconds: number;
  readonly models?: LimitedModels | undefined;
  readonly when?: RuleHours | undefined;
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
  readonly hostOnly?: boolean;
}

export const ruleForm: LimitForm<Scope, RuleLimit> = {
  grammar: ruleGrammar,
  singular: "rule",
  fields: {
    period: null,
    period_seconds: numberOf,
    models: null,
    when: null,
    mode: null,
    max_requests: numberOf,
    max_tokens: numberOf,
    max_input_tokens: numberOf,
    max_output_tokens: numberOf,
    max_cost: amountOf,
    max_tool_calls: numberOf,
    max_enqueued_tokens: numberOf,
    token_weights: weightsOf,
    host_only: (raw) => boolean.parse(raw),
    on_exhausted: null,
    hold: null,
    shares: sharesOf,
    loops: loopsOf,
  },
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

function parseLimit(fields: Mapping, path: string, problems: string[]): RuleLimit | null {
  const before = problems.length;
  const periodSeconds = checkedValue(parsePeriod(ruleGrammar, fields, `${path}.`), problems);
  // First each cap separately, with a period that allows both, so that a wrong cap doesn't hide the
  // other.
  for (const cap of capFieldNames) {
    if (!isNoCap(cap) && !isAbsent(fields[cap]))
      checkedValue(
        parseCaps(
          { [cap]: fields[cap], models: cap === "max_enqueued_tokens" ? null : fields["models"] },
          cap === "max_enqueued_tokens" ? 0 : 60,
          `${path}.`,
        ),
        problems,
      );
  }
  const models = checkedValue(parseLimitedModels(fields["models"], `${path}.models`), problems);
  const when = checkedValue(parseWhen(fields["when"], `${path}.when`), problems);
  const mode = checkedValue(parseMode(fields["mode"], `${path}.mode`), problems);
  if (problems.length > before || periodSeconds === null) return null;
  const values = checkedValue(parseRuleValues(fields, periodSeconds, `${path}.`), problems);
  if (values === null) return null;
  return {
    periodSeconds,
    ...(typeof models === "string" ? { models } : {}),
    ...(typeof when === "string" ? { when } : {}),
    ...mode,
    ...values,
  };
}

function isNoCap(field: (typeof capFieldNames)[number]): boolean {
  return ["token_weights", "on_exhausted", "hold", "shares", "loops"].includes(field);
}

/** A rule's name in messages: `/team minute`, `/team on gpt-4o minute`, `provider openai day`. */
export function ruleName(key: RuleKey): string {
  const subject = subjectWithModels(key);
  return `${key.scope === "user_path" ? "" : `${key.scope} `}${subject} ${periodLabel(key.periodSeconds)}`;
}

type Dimension = "maxRequests" | "maxTokens" | Exclude<CappedMeasure, "cost">;

const compactKeys: ReadonlyMap<
  string,
  { readonly periodSeconds: number; readonly dimension: Dimension }
> = new Map<string, { readonly periodSeconds: number; readonly dimension: Dimension }>([
  ["rpm", { periodSeconds: 60, dimension: "maxRequests" }],
  ["tpm", { periodSeconds: 60, dimension: "maxTokens" }],
  ["rph", { periodSeconds: 3600, dimension: "maxRequests" }],
  ["tph", { periodSeconds: 3600, dimension: "maxTokens" }],
  ["rpd", { periodSeconds: 86_400, dimension: "maxRequests" }],
  ["tpd", { periodSeconds: 86_400, dimension: "maxTokens" }],
  ["itpm", { periodSeconds: 60, dimension: "input_tokens" }],
  ["otpm", { periodSeconds: 60, dimension: "output_tokens" }],
  ["itph", { periodSeconds: 3600, dimension: "input_tokens" }],
  ["otph", { periodSeconds: 3600, dimension: "output_tokens" }],
  ["itpd", { periodSeconds: 86_400, dimension: "input_tokens" }],
  ["otpd", { periodSeconds: 86_400, dimension: "output_tokens" }],
  ["concurrent", { periodSeconds: 0, dimension: "maxRequests" }],
  ["enqueued", { periodSeconds: 0, dimension: "enqueued_tokens" }],
]);

/**
 * Parses the compact form. The last value of a repeated name wins; the caps of one period make one
 * limit; limits are sorted by period, shortest first. A blank text has none.
 * Problems name `variable`.
 */
export function parseCompactLimits(
  text: string,
  variable: string,
  problems: string[],
  scope: Scope = "user_path",
): readonly RuleLimit[] {
  const byPeriod = new Map<
    number,
    {
      maxRequests: number | null;
      maxTokens: number | null;
      measureCaps?: Partial<Record<CappedMeasure, number>>;
    }
  >();
  for (const { name, value } of readPairs(
    text,
    { variable, example: "rpm=100", keys: [...compactKeys.keys()] },
    problems,
  )) {
    const key = compactKeys.get(name)!;
    if (key.dimension === "enqueued_tokens" && scope !== "user_path") {
      problems.push(`${variable}: ${name} is for user-path rules only`);
      continue;
    }
    const cap = parseCap(value);
    if (typeof cap === "string") {
      problems.push(`${variable}: ${name} ${cap}`);
      continue;
    }
    const caps = byPeriod.get(key.periodSeconds) ?? { maxRequests: null, maxTokens: null };
    const { dimension } = key;
    if (dimension === "maxRequests" || dimension === "maxTokens") caps[dimension] = cap;
    else caps.measureCaps = { ...caps.measureCaps, [dimension]: cap };
    byPeriod.set(key.periodSeconds, caps);
  }
  return [...byPeriod]
    .sort(([a], [b]) => a - b)
    .map(([periodSeconds, caps]) => ({ periodSeconds, ...caps }));
}

/** The cap; for a wrong text, the rest of the message about it. */
function parseCap(text: string): number | string {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (value <= 0) return `must be greater than 0, not ${show(text)}`;
  if (!Number.isSafeInteger(value))
    return `must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}, not ${show(text)}${numberAdvice(text)}`;
  return value;
}
