/** The used share of a limit: that of its fullest cap. Pure. */

/** One cap with its use. */
interface CapUse {
  readonly kind: "requests" | "tokens" | "concurrent";
  readonly used: number;
  readonly cap: number;
}

/** From 0; above 1 if tokens exceed the cap. */
export function shareOf({ used, cap }: Pick<CapUse, "used" | "cap">): number {
  return cap === 0 ? 0 : used / cap;
}

/** The fields read from a rule. */
interface CountedRule {
  readonly period_seconds: number;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly requests_used: number;
  readonly tokens_used: number;
  readonly in_flight: number;
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
  if (rule.max_tokens !== undefined)
    uses.push({ kind: "tokens", used: rule.tokens_used, cap: rule.max_tokens });
  return uses;
}

/** The cap with the highest used share; null if none is set. */
export function fullestCap(rule: CountedRule): CapUse | null {
  let fullest: CapUse | null = null;
  for (const use of capUses(rule))
    if (fullest === null || shareOf(use) > shareOf(fullest)) fullest = use;
  return fullest;
}

/** In words, so that colour isn't the only sign. */
type Level = "room" | "near" | "full";

export function levelOf(share: number): Level {
  return share >= 1 ? "full" : share >= 0.8 ? "near" : "room";
}
