/**
 * The rewriter `minify_tool_json`: a tool's answer that is a JSON object or array, and nothing
 * else, loses the white space outside of its strings. What JSON means stays as it was written:
 * keys, their order, numbers and escapes.
 */

import { stringEnd } from "../scan-json.js";
import type { Cut, Cuts, Prompt } from "./rewrite-places.js";
import { cutTexts } from "./rewrite-places.js";

export function minifyToolJson(body: string, { texts }: Prompt): Cuts {
  return cutTexts(
    body,
    texts.filter(({ by }) => by === "tool"),
    (text) => (isJsonDocument(text) ? minify(text) : []),
  );
}

/** Whether a text is a JSON object or array as a whole. */
export function isJsonDocument(text: string): boolean {
  if (!/^[ \t\r\n]*[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // It looked like JSON, and is something else: a text as any other.
    return false;
  }
}

function minify(text: string): readonly Cut[] {
  const cuts: Cut[] = [];
  const spaceOrString = /[ \t\r\n]+|"/g;
  for (let found = spaceOrString.exec(text); found !== null; found = spaceOrString.exec(text)) {
    if (found[0] === '"') spaceOrString.lastIndex = stringEnd(text, found.index);
    else cuts.push({ start: found.index, end: spaceOrString.lastIndex });
  }
  return cuts;
}
