/** What the answers of all dialects share. */
import { type Reply, type ToolOffer, tokensOfCut } from "./script.js";
import { isJson, listOf } from "./shape.js";

/** The number of the first call of an answer, which no other has. */
export interface Numbered {
  readonly first: number;
}

export function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("\n");
}

export function toolOffer(name: unknown, schema: unknown): ToolOffer {
  const properties = isJson(schema) && isJson(schema["properties"]) ? schema["properties"] : {};
  return { name: String(name), fields: Object.keys(properties) };
}

/** A text as a stream brings it. */
export function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}/g) ?? [];
}

export interface Usage {
  /** The cached ones included. */
  readonly input: number;
  /** The reasoning included. */
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
}

export function usageFor(turns: number, { calls, isCut }: Reply): Usage {
  const output = isCut === true ? tokensOfCut : 20 + 10 * calls.length;
  return { input: 100 + 10 * turns, output, cached: 40, reasoning: 8 };
}
