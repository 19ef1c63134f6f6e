/**
 * The oracle: what all hosts together have admitted and charged, as lists of events by the engine's
 * clock. It has no rolling windows, and shares no code with the product.
 */
import type { RuleDefinition } from "../../../shared/domain/rule.js";

export interface Admitted {
  readonly atMs: number;
  readonly hostId: string;
  readonly userPath: string;
  withdrawn: boolean;
}

export interface Charged {
  readonly atMs: number;
  readonly userPath: string;
  readonly tokens: number;
}

/** The child of a rule that counts a path: empty without a template; null if the rule doesn't. */
export function counterOn({ subject, perChild }: RuleDefinition, userPath: string): string | null {
  const segments = userPath.split("/").filter((each) => each !== "");
  const ruleSegments = subject.split("/").filter((each) => each !== "");
  if (ruleSegments.some((each, i) => segments[i] !== each)) return null;
  if (!perChild) return "";
  return segments[ruleSegments.length] ?? null;
}

export class UnionTruth {
  readonly admitted: Admitted[] = [];
  readonly charged: Charged[] = [];

  /**
   * The requests of a counter in the engine's window of a moment, and in the window before it.
   * Counts only those for which `isCounted` returns true.
   */
  requests(
    rule: RuleDefinition,
    child: string,
    atMs: number,
    isCounted: (admitted: Admitted) => boolean = () => true,
  ): readonly [number, number] {
    const counts = this.admitted.filter(
      (each) => !each.withdrawn && counterOn(rule, each.userPath) === child && isCounted(each),
    );
    return this.#halves(
      rule,
      atMs,
      counts.map((each) => [each.atMs, 1] as const),
    );
  }

  /** The sliding estimate of a counter's tokens at `atMs`, of those charged until `beforeMs`. */
  tokens(rule: RuleDefinition, child: string, atMs: number, beforeMs: number): number {
    const counts = this.charged.filter(
      (each) => each.atMs <= beforeMs && counterOn(rule, each.userPath) === child,
    );
    const halves = this.#halves(
      rule,
      atMs,
      counts.map((each) => [each.atMs, each.tokens] as const),
    );
    return estimate(rule, halves, atMs);
  }

  #halves(
    { periodSeconds }: RuleDefinition,
    atMs: number,
    counts: readonly (readonly [atMs: number, count: number])[],
  ): readonly [number, number] {
    const periodMs = periodSeconds * 1000;
    const window = Math.floor(atMs / periodMs);
    let [current, before] = [0, 0];
    for (const [ms, count] of counts) {
      if (Math.floor(ms / periodMs) === window) current += count;
      if (Math.floor(ms / periodMs) === window - 1) before += count;
    }
    return [current, before];
  }
}

/** The sliding estimate, as the documentation defines it. */
export function estimate(
  { periodSeconds }: RuleDefinition,
  [current, before]: readonly [number, number],
  atMs: number,
): number {
  const periodMs = BigInt(periodSeconds * 1000);
  const left = periodMs - (BigInt(atMs) % periodMs);
  return Number((BigInt(before) * left) / periodMs) + current;
}
