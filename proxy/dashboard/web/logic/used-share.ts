/** How much of a limit is used: of the cap of which most is used. Pure. */

/** One cap with its use. */
interface CapUse {
  readonly kind: "requests" | "tokens" | "concurrent";
  readonly used: number;
  readonly cap: number;
}

/** From 0; above 1 where tokens went beyond the cap. */
export function shareOf({ used, cap }: Pick<CapUse, "used" | "cap">): number {
  return cap === 0 ? 0 : used / cap;
}

/** What is read of a rule. */
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

/** The cap of which most is used; null if none is set. */
export function fullestCap(rule: CountedRule): CapUse | null {
  let fullest: CapUse | null = null;
  for (const use of capUses(rule))
    if (fullest === null || shareOf(use) > shareOf(fullest)) fullest = use;
  return fullest;
}

/** In words, so that colour is never alone. */
type Level = "room" | "near" | "full";

export function levelOf(share: number): Level {
  return share >= 1 ? "full" : share >= 0.8 ? "near" : "room";
}
