/**
 * Counting tokens at the providers that do. What they refuse is what isn't a part of the request to
 * count.
 *
 * Sources: MessageCountTokensParams of `@anthropic-ai/sdk` 1.14, InputTokenCountParams of `openai`
 * 7, ai.google.dev/api/tokens.
 */
import { isJson } from "./providers/shape.js";

/** What all of them answer. */
export const tokensCounted = 4321;

interface Counting {
  readonly path: RegExp;
  /** Of the answer. */
  readonly field: string;
  readonly required: string;
  readonly fields: readonly string[];
}

const openai: Counting = {
  path: /^responses\/input_tokens$/,
  field: "input_tokens",
  required: "input",
  fields: [
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "reasoning",
    "truncation",
    "conversation",
    "previous_response_id",
  ],
};

const countings: Readonly<Record<string, Counting>> = {
  openai,
  azure: openai,
  anthropic: {
    path: /^messages\/count_tokens$/,
    field: "input_tokens",
    required: "messages",
    fields: [
      "model",
      "messages",
      "system",
      "tools",
      "tool_choice",
      "thinking",
      "output_config",
      "cache_control",
      "context_management",
    ],
  },
  gemini: {
    path: /^v1beta\/models\/[^:]+:countTokens$/,
    field: "totalTokens",
    required: "contents",
    fields: ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model"],
  },
};

/** The field of the answer; null: the path is no count at this provider. */
export function countWith(host: string, path: string): string | null {
  const counting = countings[host];
  return counting?.path.test(path) === true ? counting.field : null;
}

export function countProblem(host: string, body: unknown): string | null {
  const { required, fields } = countings[host]!;
  if (!isJson(body)) return "the body must be an object";
  const whole = body["generateContentRequest"];
  const within = host === "gemini" && isJson(whole) ? whole : null;
  const counted = within ?? body;
  if (within !== null && !String(within["model"]).startsWith("models/"))
    return "generateContentRequest.model is required";
  if (within === null && host === "gemini" && Object.keys(body).some((name) => name !== required))
    return "contents and generateContentRequest exclude each other";
  const unknown = Object.keys(counted).find((name) => !fields.includes(name));
  if (unknown !== undefined) return `${unknown}: unknown field`;
  return counted[required] === undefined ? `${required} is required` : null;
}
