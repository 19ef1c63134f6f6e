/**
 * The gateway's rates per second, from totals that only grow. A lost sample can't cause a spike: a
 * rate is a difference divided by its own time. Smaller totals mean that the daemon was restarted;
 * the line restarts, too. Pure.
 */

/** The daemon's totals at one moment, by its own clock. */
export interface Sample {
  readonly atMs: number;
  readonly admitted: number;
  /** Requests refused by rules and by budgets. */
  readonly refused: number;
  /** The part of `refused` that budgets refused. */
  readonly overBudget: number;
  /** Null if usage isn't tracked. */
  readonly tokens: number | null;
  /** US dollars of the day in UTC; null if unknown. */
  readonly costToday: number | null;
  readonly inFlight: number;
}

/** The rate between two samples, at the time of the later one. */
interface Rate {
  readonly atMs: number;
  /** Per second. */
  readonly admitted: number;
  /** By rules and by budgets. */
  readonly refused: number;
  readonly byRules: number;
  readonly overBudget: number;
  /** Per minute; null if unknown. */
  readonly tokens: number | null;
}

/** Adds a sample and drops those older than `keepMs`; restarts if the totals are smaller. */
export function withSample(
  samples: readonly Sample[],
  next: Sample,
  keepMs: number,
): readonly Sample[] {
  const last = samples.at(-1);
  if (last === undefined || restarted(last, next)) return [next];
  if (next.atMs <= last.atMs) return samples;
  return [...samples.filter(({ atMs }) => atMs >= next.atMs - keepMs), next];
}

function restarted(before: Sample, after: Sample): boolean {
  return (
    after.admitted < before.admitted ||
    after.refused < before.refused ||
    after.overBudget < before.overBudget ||
    (after.tokens ?? 0) < (before.tokens ?? 0)
  );
}

export function rateBetween(before: Sample, after: Sample): Rate {
  const seconds = Math.max(0.001, (after.atMs - before.atMs) / 1000);
  const tokens =
    before.tokens === null || after.tokens === null
      ? null
      : ((after.tokens - before.tokens) * 60) / seconds;
  const refused = after.refused - before.refused;
  const overBudget = after.overBudget - before.overBudget;
  return {
    atMs: after.atMs,
    admitted: (after.admitted - before.admitted) / seconds,
    refused: refused / seconds,
    byRules: (refused - overBudget) / seconds,
    overBudget: overBudget / seconds,
    tokens,
  };
}

/**
 * The rate over the last `overMs`, which smooths one busy second; null if there are too few
 * samples.
 */
export function currentRate(samples: readonly Sample[], overMs: number): Rate | null {
  const last = samples.at(-1);
  if (last === undefined) return null;
  const first = samples.find(({ atMs }) => atMs >= last.atMs - overMs);
  return first === undefined || first === last ? null : rateBetween(first, last);
}
