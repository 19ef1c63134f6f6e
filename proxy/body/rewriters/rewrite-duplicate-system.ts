/**
 * The rewriter `drop_duplicate_system`: of system messages that are the same, byte for byte, only
 * the first stays.
 */
import type { Cut, Cuts, Prompt } from "./rewrite-places.js";

/**
 * Whole messages of the roles `system` and `developer`, and text blocks of Anthropic's `system`.
 * One that carries `cache_control` stays: it says where the provider's own cache ends, which the
 * first one doesn't.
 */
export function dropDuplicateSystem(body: string, { instructions }: Prompt): Cuts {
  const seen = new Set<string>();
  const cuts: Cut[] = [];
  let savedBytes = 0;
  for (const { start, end, after } of instructions) {
    const text = body.slice(start, end);
    if (!seen.has(text)) {
      seen.add(text);
      continue;
    }
    if (text.includes('"cache_control"')) continue;
    // The one that was seen stands before it, so there is a comma in between to go with it.
    cuts.push({ start: after ?? start, end });
    savedBytes += end - start;
  }
  return { cuts, savedBytes };
}
