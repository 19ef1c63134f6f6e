/**
 * A rule being edited in its dialog, the body that saves it, and what it would have refused. Pure.
 */

import type { BackTestReport, RuleItem } from "../../../../shared/api/rule-item.js";
import { sharesOfText, textOfShares } from "../../../../shared/domain/child-shares.js";
import { loopsOfText, textOfLoops } from "../../../../shared/domain/loop-rule.js";
import { roundedUpUsd } from "../../../../shared/domain/money.js";
import { textOfWeights, weightsOfText } from "../../../../shared/domain/token-weights.js";
import { formatPercent } from "../../../../shared/text/percent.js";
import { daysBetween } from "../../../../shared/time.js";
import {
  type DraftBody,
  type ExhaustedDraft,
  exhaustedBody,
  exhaustedDraftOf,
  holdBody,
  isElsewhere,
  itemKey,
  type KeyDraft,
  keyBody,
  keyDraftOf,
  noSubject,
  parseAmount,
  refusesWhenExhausted,
} from "./limit-draft.js";
import { formatCount, formatMoney } from "./numbers.js";

export const rulePeriods = ["minute", "hour", "day", "concurrent"] as const;

export interface RuleDraft extends KeyDraft, ExhaustedDraft {
  /** Caps as typed; empty for no cap. */
  readonly maxRequests: string;
  readonly maxTokens: string;
  readonly maxInputTokens: string;
  readonly maxOutputTokens: string;
  /** US dollars. */
  readonly maxCost: string;
  readonly maxToolCalls: string;
  /** Only for `concurrent` on a user path. */
  readonly maxEnqueuedTokens: string;
  /**
   * Only for `concurrent` on a user path. As typed: `warn_after=5, refuse_after=20`; empty for
   * none.
   */
  readonly loops: string;
  /** As typed: `cached=0.1, cache_write=1.25`. */
  readonly tokenWeights: string;
  /** As typed: `a: weight=3, floor=0.2; *: weight=1`, or `equal`; empty for none. */
  readonly shares: string;
  /** Whether each host counts for itself. */
  readonly hostOnly: boolean;
}

export function newRule(scope: string, subject: string): RuleDraft {
  const key = {
    scope,
    subject,
    period: "minute",
    seconds: "",
    perChild: false,
    models: "",
    when: "",
    shadow: false,
  };
  return {
    ...key,
    ...refusesWhenExhausted,
    maxRequests: "",
    maxTokens: "",
    maxInputTokens: "",
    maxOutputTokens: "",
    maxCost: "",
    maxToolCalls: "",
    maxEnqueuedTokens: "",
    loops: "",
    tokenWeights: "",
    shares: "",
    hostOnly: false,
  };
}

export function ruleDraftOf(rule: RuleItem): RuleDraft {
  return {
    ...keyDraftOf(rule, rulePeriods),
    ...exhaustedDraftOf(rule),
    maxRequests: capText(rule.max_requests),
    maxTokens: capText(rule.max_tokens),
    maxInputTokens: capText(rule.max_input_tokens),
    maxOutputTokens: capText(rule.max_output_tokens),
    maxCost: capText(rule.max_cost),
    maxToolCalls: capText(rule.max_tool_calls),
    maxEnqueuedTokens: capText(rule.max_enqueued_tokens),
    loops: rule.loops === undefined ? "" : textOfLoops(rule.loops),
    tokenWeights: rule.token_weights === undefined ? "" : textOfWeights(rule.token_weights),
    shares: rule.shares === undefined ? "" : textOfShares(rule.shares),
    hostOnly: rule.host_only === true,
  };
}

function capText(cap: number | undefined): string {
  return cap === undefined ? "" : String(cap);
}

/** `original`: the rule being edited; null for a new one. */
export function ruleBody(draft: RuleDraft, original: RuleItem | null): DraftBody {
  if (draft.subject.trim() === "") return noSubject;
  const body = { ...keyBody(draft, "limit_key"), ...exhaustedBody(draft, original) };
  if (draft.hostOnly) body["host_only"] = true;
  Object.assign(body, holdBody(draft, original));
  const isGauge = draft.period === "concurrent";
  const furtherCaps = capsBatches(draft)
    ? ([["max_enqueued_tokens", draft.maxEnqueuedTokens]] as const)
    : isGauge
      ? []
      : ([
          ["max_tokens", draft.maxTokens],
          ["max_input_tokens", draft.maxInputTokens],
          ["max_output_tokens", draft.maxOutputTokens],
          ["max_cost", draft.maxCost],
          ["max_tool_calls", draft.maxToolCalls],
        ] as const);
  if (!isGauge && draft.tokenWeights.trim() !== "")
    body["token_weights"] = weightsOfText(draft.tokenWeights);
  if (draft.shares.trim() !== "") body["shares"] = sharesOfText(draft.shares);
  // An absent field would keep the rule's shares.
  else if (original?.shares !== undefined) body["shares"] = null;
  if (capsBatches(draft) && draft.loops.trim() !== "") body["loops"] = loopsOfText(draft.loops);
  else if (original?.loops !== undefined) body["loops"] = null;
  // A text that can't be parsed is still a text.
  const unparsed = textFields.find((field) => typeof body[field] === "string");
  if (unparsed !== undefined) return { ok: false, field: unparsed };
  for (const [field, text] of [["max_requests", draft.maxRequests] as const, ...furtherCaps]) {
    if (text.trim() === "") continue;
    const cap = parseAmount(text);
    if (cap === null) return { ok: false, field };
    body[field] = cap;
  }
  if (original !== null && isElsewhere(draft, original))
    body["replaces"] = itemKey(original, "limit_key");
  return { ok: true, body };
}

/** Fields of several values that are typed as one text. */
const textFields = ["when", "token_weights", "shares", "loops"] as const;

/** The gateway's message about such a field, with the names that the dialog uses. */
export function typedWords(message: string): string {
  return message
    .replace(/^when /, "it ")
    .replaceAll(/\bshares\.children\.([^\s.]+)\./g, "$1: ")
    .replaceAll(/\b(?:when|token_weights|shares|loops)\./g, "");
}

/** Whether the rule may cap the tokens of unfinished batches, and be on loops. */
export function capsBatches({ period, scope }: Pick<RuleDraft, "period" | "scope">): boolean {
  return period === "concurrent" && scope === "user_path";
}

/**
 * The body without the fields that only matter when saving: a tested rule replaces no other rule.
 */
export function backTestBody(ruleBody: Readonly<Record<string, unknown>>): object {
  const { replaces: _, ...rule } = ruleBody;
  return rule;
}

/** For example 2.4%; 0.0% is exact. */
export function refusedShare({ requests, refused }: BackTestReport): string {
  const share = requests === 0 ? 0 : refused / requests;
  return share > 0 && share < 0.001 ? "<0.1%" : formatPercent(share, share < 0.1 ? 1 : 0);
}

interface DayBar {
  readonly date: string;
  readonly requests: number;
  readonly refused: number;
  /** The share of the highest day, from 0 to 1. */
  readonly height: number;
  readonly refusedHeight: number;
}

/** All days of the range, including days without requests. */
export function dayBars({ start, end, days }: BackTestReport): readonly DayBar[] {
  const daysByDate = new Map(days.map((day) => [day.date, day]));
  const top = Math.max(1, ...days.map(({ requests }) => requests));
  return daysBetween(start.slice(0, 10), end.slice(0, 10)).map((date) => {
    const { requests, refused } = daysByDate.get(date) ?? { requests: 0, refused: 0 };
    return { date, requests, refused, height: requests / top, refusedHeight: refused / top };
  });
}

const countedUnits = ["requests", "tokens", "input_tokens", "output_tokens", "tool_calls"] as const;

/** `87 requests, 12,001 tokens`; null if unknown. */
export function lowestCaps(
  { lowest_caps: lowest }: BackTestReport,
  words: Readonly<Record<(typeof countedUnits)[number], string>>,
): string | null {
  const caps = [
    ...countedUnits.flatMap((unit) => {
      const cap = lowest[`max_${unit}`];
      return cap === undefined ? [] : [`${formatCount(cap)} ${words[unit]}`];
    }),
    ...(lowest.max_cost === undefined ? [] : [formatMoney(roundedUpUsd(lowest.max_cost))]),
  ];
  return caps.length === 0 ? null : caps.join(", ");
}

/** Whether the records begin later than the range. */
export function beginsLater({ start, oldest_record_at: oldest }: BackTestReport): boolean {
  return oldest === null || oldest > start;
}
