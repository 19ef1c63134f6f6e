/** A rule while it is written in its dialog, and the body that saves it. Pure. */
import type { RuleItem } from "../../../../shared/api/rule-item.js";
import {
  isElsewhere,
  itemKey,
  type KeyDraft,
  keyBody,
  keyDraftOf,
  parseAmount,
} from "./limit-draft.js";

export const rulePeriods = ["minute", "hour", "day", "concurrent"] as const;

export interface RuleDraft extends KeyDraft {
  /** As they are written; empty is no cap. */
  readonly maxRequests: string;
  readonly maxTokens: string;
}

export function newRule(scope: string, subject: string): RuleDraft {
  const caps = { maxRequests: "", maxTokens: "" };
  return { scope, subject, period: "minute", seconds: "", perChild: false, ...caps };
}

export function ruleDraftOf(rule: RuleItem): RuleDraft {
  return {
    ...keyDraftOf(rule, rulePeriods),
    maxRequests: rule.max_requests === undefined ? "" : String(rule.max_requests),
    maxTokens: rule.max_tokens === undefined ? "" : String(rule.max_tokens),
  };
}

type RuleBody =
  | { readonly ok: true; readonly body: Record<string, unknown> }
  /** The gateway's name of the field that is no number. */
  | { readonly ok: false; readonly field: string };

/** `original`: the rule that was opened; null for a new one. */
export function ruleBody(draft: RuleDraft, original: RuleItem | null): RuleBody {
  const body = keyBody(draft, "limit_key");
  for (const [field, text] of [
    ["max_requests", draft.maxRequests],
    ["max_tokens", draft.period === "concurrent" ? "" : draft.maxTokens],
  ] as const) {
    if (text.trim() === "") continue;
    const cap = parseAmount(text);
    if (cap === null) return { ok: false, field };
    body[field] = cap;
  }
  if (original !== null && isElsewhere(draft, original))
    body["replaces"] = itemKey(original, "limit_key");
  return { ok: true, body };
}
