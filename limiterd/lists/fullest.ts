/**
 * Finds the fullest of up to a million children of a template, or of 100,000 rules. It examines
 * them in slices and keeps only a few times as many as it lists.
 */
import { childrenPerSweep } from "../../shared/bounds.js";
import { Turns } from "../../shared/long-lists.js";

export interface Slices {
  readonly nowMs: number;
  yieldToEventLoop(): Promise<void>;
}

interface Ranked {
  readonly name: string;
  readonly usedRatio: number;
}

/** About 5 ms of the event loop. */
const namesPerSlice = childrenPerSweep / 10;

/**
 * Up to `limit` names, the fullest first, equally full ones by name. `usedRatio` returns the used
 * ratio of a name, or null to leave it out.
 */
export async function fullest(
  names: Iterable<string>,
  limit: number,
  usedRatio: (name: string) => number | null,
  { yieldToEventLoop }: Pick<Slices, "yieldToEventLoop">,
): Promise<readonly string[]> {
  // By name, because a walk may visit a child twice.
  let found = new Map<string, Ranked>();
  let last: Ranked | null = null;
  const turns = new Turns(namesPerSlice);
  for (const name of names) {
    const ratio = usedRatio(name);
    if (ratio !== null) {
      const ranked = { name, usedRatio: ratio };
      if (last === null || compare(ranked, last) < 0) found.set(name, ranked);
      if (found.size >= 4 * limit) {
        found = firstOf(found, limit);
        last = [...found.values()].at(-1)!;
      }
    }
    if (turns.isOver()) await yieldToEventLoop();
  }
  return [...firstOf(found, limit).keys()];
}

function compare(a: Ranked, b: Ranked): number {
  return b.usedRatio - a.usedRatio || (a.name < b.name ? -1 : 1);
}

function firstOf(found: ReadonlyMap<string, Ranked>, limit: number): Map<string, Ranked> {
  const sorted = [...found.values()].sort(compare).slice(0, limit);
  return new Map(sorted.map((ranked) => [ranked.name, ranked]));
}
