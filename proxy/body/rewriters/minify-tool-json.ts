/**
 * The rewriter `minify_tool_json`: removes the white space outside strings from a tool's result
 * that is a JSON object or array, and nothing else. Keys, their order, numbers and escapes keep
 * their spelling.
 */

import { stringEnd } from "../scan-json.js";
import type { Cuts, Prompt, TextRange } from "./rewrite-places.js";
import { cutTexts } from "./rewrite-places.js";

export function minifyToolJson(body: string, { texts }: Prompt): Cuts {
  return cutTexts(
    body,
    texts.filter(({ by }) => by === "tool"),
    (text) => (isJsonDocument(text) ? minify(text) : []),
  );
}

/** Whether a text is one JSON object or array. */
export function isJsonDocument(text: string): boolean {
  if (!/^[ \t\r\n]*[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The text only looks like JSON.
    return false;
  }
}

function minify(text: string): readonly TextRange[] {
  const cuts: TextRange[] = [];
  const spaceOrString = /[ \t\r\n]+|"/g;
  for (let match = spaceOrString.exec(text); match !== null; match = spaceOrString.exec(text)) {
    if (match[0] === '"') spaceOrString.lastIndex = stringEnd(text, match.index);
    else cuts.push({ start: match.index, end: spaceOrString.lastIndex });
  }
  return cuts;
}
