/** The used share of a limit: that of its fullest cap. Pure. */
import type { RuleCaps, RuleCounts } from "../../../../shared/api/rule-item.js";
import { formatCount, formatMoney } from "./numbers.js";

/** `cost` is in US dollars. */
export type CapKind = "requests" | "concurrent" | (typeof kindsOverTime)[number];

/** The caps on amounts that are known only after a request. */
export const kindsOverTime = [
  "tokens",
  "input_tokens",
  "output_tokens",
  "cost",
  "tool_calls",
  "enqueued_tokens",
] as const;

/** One cap with its use. */
export interface CapUse {
  readonly kind: CapKind;
  readonly used: number;
  readonly cap: number;
}

/** From 0; above 1 if tokens exceed the cap. */
export function shareOf({ used, cap }: Pick<CapUse, "used" | "cap">): number {
  return cap === 0 ? 0 : used / cap;
}

/** The fields read from a rule. */
type CountedRule = RuleCaps & RuleCounts & { readonly period_seconds: number };

/** The caps of tokens and cost that are set. */
export function usesOverTime(rule: CountedRule): readonly CapUse[] {
  return capUses(rule).filter(({ kind }) => kind !== "requests" && kind !== "concurrent");
}

/** The caps that are set. */
export function capUses(rule: CountedRule): readonly CapUse[] {
  const uses: CapUse[] = [];
  if (rule.max_requests !== undefined)
    uses.push(
      rule.period_seconds === 0
        ? { kind: "concurrent", used: rule.in_flight, cap: rule.max_requests }
        : { kind: "requests", used: rule.requests_used, cap: rule.max_requests },
    );
  for (const kind of kindsOverTime) {
    const cap = rule[`max_${kind}`];
    if (cap !== undefined) uses.push({ kind, used: rule[`${kind}_used`] ?? 0, cap });
  }
  return uses;
}

/** The cap with the highest used share; null if none is set. */
export function fullestCap(rule: CountedRule): CapUse | null {
  let fullest: CapUse | null = null;
  for (const use of capUses(rule))
    if (fullest === null || shareOf(use) > shareOf(fullest)) fullest = use;
  return fullest;
}

/** Whether it has no counts of its own: its children, or sessions, have them. */
export function isTemplate(item: {
  readonly per_child: boolean;
  readonly period_label: string;
  readonly template?: string;
}): boolean {
  return (item.per_child || isOfSessions(item)) && item.template === undefined;
}

/** Whether it is a budget whose amount applies to each session separately. */
export function isOfSessions(item: { readonly period_label: string }): boolean {
  return item.period_label === "session";
}

/** In words, so that colour isn't the only sign. */
type Level = "room" | "near" | "full";

export function levelOf(share: number): Level {
  return share >= 1 ? "full" : share >= 0.8 ? "near" : "room";
}

/** How the use of a cap is shown. */
export function formatOf(kind: CapKind): (value: number) => string {
  return kind === "cost" ? formatMoney : formatCount;
}
