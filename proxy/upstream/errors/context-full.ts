/**
 * Recognizes errors about requests larger than the model's context, and words them as the clients
 * of each dialect expect: after such an error agents shorten their conversation; after any other
 * 400 they give up or repeat the request.
 */
import type { Failure } from "../../../shared/error-code.js";

/** The code that clients of OpenAI's dialects look for. */
export const contextFullCode = "context_length_exceeded";

/** llama.cpp sends the second one as the type. */
const contextCodes: ReadonlySet<string> = new Set([contextFullCode, "exceed_context_size_error"]);

/** Messages of providers that have no code for this, each with the provider that sends it. */
const contextMessages = new RegExp(
  [
    // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral; xAI: "maximum prompt length is".
    "\\bmaximum (?:context|prompt|input) (?:length|size)\\b",
    // Anthropic: "prompt is too long: 210000 tokens > 200000 maximum"; Bedrock: "Input is too long
    // for requested model".
    "\\b(?:prompt|input) is too long\\b",
    // Anthropic: "input length and `max_tokens` exceed context limit"; OpenAI's responses: "Your
    // input exceeds the context window of this model"; llama.cpp: "the request exceeds the
    // available context size".
    "\\bexceeds? (?:the |this |its )?(?:model's |available |maximum )?context (?:limit|window|size|length)\\b",
    // Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed".
    "\\binput token count\\b.{0,100}\\bexceeds the maximum\\b",
    // Cohere: "too many tokens: total number of tokens in the prompt exceeds the limit".
    "^too many tokens\\b",
  ].join("|"),
  "i",
);

export function isContextFull({
  status,
  code,
  message,
}: Pick<Failure, "status" | "code" | "message">): boolean {
  if (status !== 400 && status !== 413 && status !== 422) return false;
  return (code !== null && contextCodes.has(code.toLowerCase())) || contextMessages.test(message);
}

/** Patterns for the size of the prompt and the maximum, in tokens, in messages of providers. */
const figures: readonly RegExp[] = [
  // Anthropic.
  /too long: (?<tokens>\d+) tokens > (?<max>\d+)/,
  // OpenAI, vLLM, DeepSeek, OpenRouter; xAI.
  /maximum (?:context|prompt|input) (?:length|size) is (?<max>\d+)\b.{0,80}?\b(?:resulted in|requested|request has|contains|has|about) (?<tokens>\d+)/i,
  // Gemini.
  /input token count \(?(?<tokens>\d+)\)?.{0,80}?allowed \(?(?<max>\d+)/i,
  // llama.cpp.
  /request \((?<tokens>\d+) tokens\) exceeds .{0,40}?\((?<max>\d+) tokens/i,
];

function figuresIn(message: string): { readonly tokens: string; readonly max: string } | null {
  for (const pattern of figures) {
    const { tokens, max } = pattern.exec(message)?.groups ?? {};
    if (tokens !== undefined && max !== undefined) return { tokens, max };
  }
  return null;
}

type ContextFull = Pick<Failure, "code" | "message">;

/** The message for clients of Anthropic's dialect, which check its beginning. */
export function messageForMessages({ code, message }: ContextFull): string {
  if (code !== contextFullCode || /^prompt is too long/i.test(message)) return message;
  const tokens = figuresIn(message);
  const sizes = tokens === null ? "" : `: ${tokens.tokens} tokens > ${tokens.max} maximum`;
  return `prompt is too long${sizes}. ${message}`;
}

/** The message for clients of Gemini's own dialect. */
export function messageForGoogle({ code, message }: ContextFull): string {
  if (code !== contextFullCode || /exceeds the maximum number of tokens/i.test(message))
    return message;
  const tokens = figuresIn(message);
  const [count, allowed] = tokens === null ? ["", ""] : [` (${tokens.tokens})`, ` (${tokens.max})`];
  return `The input token count${count} exceeds the maximum number of tokens allowed${allowed}. ${message}`;
}
