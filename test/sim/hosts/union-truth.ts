/**
 * What all hosts together have admitted and charged, as a list of events by the engine's clock: no
 * rolling windows, and no code in common with the product.
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

/** The counter of a rule that covers a path: the name of the child, or empty; null: none does. */
export function counterOn({ subject, perChild }: RuleDefinition, userPath: string): string | null {
  const segments = userPath.split("/").filter((each) => each !== "");
  const of = subject.split("/").filter((each) => each !== "");
  if (of.some((each, i) => segments[i] !== each)) return null;
  if (!perChild) return "";
  return segments[of.length] ?? null;
}

export class UnionTruth {
  readonly admitted: Admitted[] = [];
  readonly charged: Charged[] = [];

  /**
   * Requests of one counter in the engine's window of a moment, and in the one before; of those
   * alone that are meant.
   */
  requests(
    rule: RuleDefinition,
    child: string,
    atMs: number,
    isMeant: (admitted: Admitted) => boolean = () => true,
  ): readonly [number, number] {
    const counts = this.admitted.filter(
      (each) => !each.withdrawn && counterOn(rule, each.userPath) === child && isMeant(each),
    );
    return this.#halves(
      rule,
      atMs,
      counts.map((each) => [each.atMs, 1] as const),
    );
  }

  /** The same of tokens that were charged before a moment. */
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

/** The sliding estimate, by its definition. */
export function estimate(
  { periodSeconds }: RuleDefinition,
  [current, before]: readonly [number, number],
  atMs: number,
): number {
  const periodMs = BigInt(periodSeconds * 1000);
  const left = periodMs - (BigInt(atMs) % periodMs);
  return Number((BigInt(before) * left) / periodMs) + current;
}
