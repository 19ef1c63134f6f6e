/**
 * The parts that translations to chat requests share: content of messages, response format, and
 * tool results.
 */

import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "./translation.js";

export type ChatContent = string | readonly JsonObject[];

/** A single text becomes a string, which most clients write and some providers require. */
export function chatContent(parts: readonly JsonObject[]): ChatContent {
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first["type"] === "text" ? (first["text"] as string) : parts;
}

/** Chat completions have no field that marks a tool as failed, so the text gets a prefix. */
export function failedContent(content: ChatContent): ChatContent {
  if (typeof content !== "string") return [{ type: "text", text: "Error: " }, ...content];
  return /^\s*error/i.test(content) ? content : `Error: ${content}`;
}

/**
 * OpenAI requires a name. The other dialects always enforce the schema, but OpenAI refuses `strict`
 * for schemas with optional fields.
 */
export function schemaFormat(schema: JsonObject): JsonObject {
  return {
    type: "json_schema",
    json_schema: isStrictSchema(schema)
      ? { name: "answer", schema, strict: true }
      : { name: "answer", schema },
  };
}

/**
 * The values of `format` that OpenAI accepts with `strict`. Not `uri`, which gets a 400
 * (can1357/oh-my-pi#206).
 */
const strictFormats: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
]);

const unlistedKeywords = [
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "propertyNames",
  "patternProperties",
  "uniqueItems",
];

/**
 * Whether OpenAI accepts the schema with `strict`: each object is closed and requires all of its
 * fields, and no keyword is one that OpenAI refuses. Source: platform.openai.com, "Structured
 * outputs", supported schemas.
 */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  if (!isObject(schema)) return true;
  const { properties, required, format } = schema;
  if (typeof format === "string" && !strictFormats.has(format)) return false;
  if (unlistedKeywords.some((keyword) => schema[keyword] !== undefined)) return false;
  if (schema["type"] === "object" || isObject(properties)) {
    if (schema["additionalProperties"] !== false) return false;
    const names = Object.keys(isObject(properties) ? properties : {});
    const all = new Set(Array.isArray(required) ? required : []);
    if (!names.every((name) => all.has(name))) return false;
  }
  return Object.entries(schema).every(
    ([keyword, keywordValue]) =>
      holdsData.has(keyword) ||
      isStrictSchema(
        namesSchemas.has(keyword) && isObject(keywordValue)
          ? Object.values(keywordValue)
          : keywordValue,
      ),
  );
}

/** Keywords whose values are no schemas, whatever names are in them. */
const holdsData: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

/** Keywords whose value has a schema for each name. */
const namesSchemas: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);

interface ToolResult {
  /** The texts for the tool message. */
  readonly texts: readonly JsonObject[];
  /** The other parts, for the next user message. */
  readonly attached: readonly JsonObject[];
}

/** `parts` are chat content parts. */
export function splitToolResult(parts: readonly JsonObject[], callId: string): ToolResult {
  const texts = parts.filter((part) => part["type"] === "text");
  if (texts.length === parts.length) return { texts, attached: [] };
  return {
    texts:
      texts.length > 0
        ? texts
        : [{ type: "text", text: "The result is in the next message of the user." }],
    attached: [
      { type: "text", text: `Part of the result of the tool call ${callId}:` },
      ...parts.filter((part) => part["type"] !== "text"),
    ],
  };
}
