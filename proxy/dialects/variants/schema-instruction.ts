/** A schema for the answer, in words: for a host or a model that doesn't enforce one. */
import { writeExactly } from "../../body/exact-json.js";

export function schemaInstruction(schema: unknown): string {
  return `Answer with one JSON object that follows this JSON schema, and nothing else:\n${writeExactly(schema ?? {})}`;
}
