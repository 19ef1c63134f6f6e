/**
 * The rewriter `drop_duplicate_system`: of system messages that are equal, byte for byte, only the
 * first stays.
 */
import type { Cut, Cuts, Prompt } from "./rewrite-places.js";

/**
 * Messages of the roles `system` and `developer`, and text blocks of Anthropic's `system`. One with
 * `cache_control` stays: it marks where the provider's own cache ends, which the first one doesn't.
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
    // Its equal precedes it, so the comma between them goes too.
    cuts.push({ start: after ?? start, end });
    savedBytes += end - start;
  }
  return { cuts, savedBytes };
}
