/**
 * Reads from a provider's error which part of a request it refuses, if the part is optional:
 * reasoning of another account or model, or a field that the host or the model doesn't accept. Then
 * the request is sent once more without it.
 *
 * Sources of the wordings: langgenius/dify-official-plugins#3728 (Azure), BerriAI/litellm#23847,
 * pydantic/pydantic-ai#4621 and can1357/oh-my-pi#11928 (encrypted reasoning),
 * anthropics/claude-code#63231 (thinking), the error pages of OpenAI, Anthropic, Google, Groq and
 * Mistral, as of November 2026.
 */
import type { Failure } from "../../../shared/error-code.js";
import { refusedBetas } from "./refused-betas.js";

export type RefusedPart =
  | { readonly kind: "reasoning" }
  | {
      readonly kind: "field";
      /**
       * A field of the body, or of an object in it: `reasoning.summary`. With `[]`, of objects
       * anywhere in a list: `tools[].strict`. Or the header `anthropic-beta:`, followed by the
       * values if only some are refused.
       */
      readonly path: string;
      /** Whether all values of the field are refused, not only the one in this request. */
      readonly isLasting: boolean;
    };

/** Null if the client has to change the request. */
export function refusedPart(
  failure: Pick<Failure, "status" | "code" | "param" | "message">,
): RefusedPart | null {
  const { status, code, param, message } = failure;
  if (status !== 400 && status !== 404 && status !== 422) return null;
  if (code === "invalid_encrypted_content" || reasoningMessages.test(message))
    return { kind: "reasoning" };
  const betas = refusedBetas(message);
  if (betas !== null) return { kind: "field", path: betas, isLasting: betas.includes(":") };
  // The message of a wrong value may repeat what the client wrote.
  if (status === 404 || code === "invalid_value" || code === "invalid_type") return null;
  if (!unsupportedCodes.has(code ?? "") && !unsupported.test(message)) return null;
  const path = optionalPath(param ?? "") ?? optionalPath(fieldIn(message));
  if (path === null) return null;
  const isLasting = code !== "unsupported_value" || /only the default/i.test(message);
  return { kind: "field", path, isLasting };
}

const reasoningMessages = new RegExp(
  [
    // OpenAI and Azure: "The encrypted content for item rs_1 could not be verified".
    "\\bencrypted content\\b.{0,200}\\bcould not be (?:verified|decrypted|parsed)\\b",
    // OpenAI, for reasoning that another account stored: "Item with id 'rs_1' not found".
    "\\bitem with id ['\"]rs_[^'\"]{0,200}['\"] not found\\b",
    "\\breasoning input items can only be provided\\b",
    // Anthropic: "messages.1.content.0: Invalid `signature` in `thinking` block".
    "\\binvalid [`'\"]?signature[`'\"]? in [`'\"]?(?:redacted_)?thinking\\b",
    // Anthropic, "Preserved thinking": "The block is bound to a different conversation".
    "\\bblock is bound to a different (?:account|conversation|model)\\b",
    // Anthropic: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot
    // be modified".
    "\\b(?:redacted_)?thinking[`'\"]? blocks in the latest assistant message cannot be modified\\b",
    // Google: "Thought signature is not valid", "Corrupted thought signature".
    "\\bthought signature is (?:not valid|invalid)\\b",
    "\\b(?:corrupted|invalid) thought[ _]signature\\b",
  ].join("|"),
  "i",
);

const unsupportedCodes: ReadonlySet<string> = new Set([
  "unsupported_parameter",
  "unsupported_value",
  "unknown_parameter",
]);

const unsupported =
  /\b(?:un(?:known|supported|recognized|expected)|not (?:permitted|supported|allowed|enabled)|does(?: not|n't) support|deprecated for this model|cannot find field)\b/i;

/** Patterns by which messages name a field, if `param` doesn't. */
const naming: readonly RegExp[] = [
  // Anthropic, Pydantic: "temperature: Extra inputs are not permitted".
  /^[`'"]?([\w.]{1,200})[`'"]?: (?:extra|unknown|unexpected|unsupported)\b/i,
  // Azure: "Unrecognized request argument supplied: stream_options".
  /\bunrecognized request arguments? supplied: ([\w.]{1,100})/i,
  // OpenAI, xAI: "Unsupported parameter: 'temperature' is not supported with this model".
  /\bun(?:known|supported|recognized|expected) (?:parameter|value|field|argument|property|name|keyword argument)s?:? [`'"]?([\w.[\]]{1,200})/i,
  // Groq: "property 'store' is unsupported"; Anthropic: "`temperature` is deprecated".
  /[`'"]([\w.]{1,100})[`'"] (?:is|are) (?:un|not |deprecated)/i,
  // Anthropic: "This model does not support the effort parameter".
  /\bdoes(?: not|n't) support (?:the )?[`'"]?([\w.]{1,100})[`'"]? parameter/i,
  // Others: "stream_options is not supported".
  /^([a-z_]{1,100}) is not (?:supported|allowed|permitted)\b/i,
  // OpenAI: "Encrypted content is not supported with this model".
  /^(encrypted content) is not supported\b/i,
  // Anthropic: "adaptive thinking is not supported on this model".
  /\b(thinking) is not supported\b/i,
];

function fieldIn(message: string): string {
  for (const pattern of naming) {
    const [, name] = pattern.exec(message) ?? [];
    if (name !== undefined) return name;
  }
  return "";
}

/** Fields without which the answer is still what the client requested, but may differ. */
const optional: ReadonlySet<string> = new Set([
  "chat_template_kwargs",
  "client_metadata",
  "context_management",
  "frequency_penalty",
  "include",
  "logit_bias",
  "logprobs",
  "max_tool_calls",
  "metadata",
  "min_p",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "reasoning_effort",
  "repetition_penalty",
  "safety_identifier",
  "seed",
  "service_tier",
  "speed",
  "stop",
  "stop_sequences",
  "store",
  "stream_options",
  "temperature",
  "thinking",
  "top_k",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
  "verbosity",
]);

/** Optional fields of objects. */
const optionalInside: ReadonlySet<string> = new Set([
  "generationConfig.frequencyPenalty",
  "generationConfig.mediaResolution",
  "generationConfig.presencePenalty",
  "generationConfig.seed",
  "generationConfig.thinkingConfig",
  "generationConfig.topK",
  "output_config.effort",
  "text.verbosity",
]);

/** Fields of objects in lists, such as tools and messages. */
const optionalInLists: ReadonlySet<string> = new Set([
  "allowed_callers",
  "annotations",
  "cache_control",
  "defer_loading",
  "eager_input_streaming",
  "input_examples",
  "phase",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "scope",
  "strict",
  "thinking_blocks",
  "ttl",
]);
const lists: ReadonlySet<string> = new Set(["input", "messages", "system", "tools"]);

const otherNames: Readonly<Record<string, string>> = {
  ["Encrypted content"]: "include",
  effort: "output_config.effort",
  output_config: "output_config.effort",
};

/** Variants and fields of Anthropic's `thinking`. Any other name is a mistake of one client. */
const thinkingFields: ReadonlySet<string> = new Set([
  "adaptive",
  "budget_tokens",
  "disabled",
  "enabled",
  "type",
]);

/** Null if the request can't do without the field. */
function optionalPath(name: string): string | null {
  const path = otherNames[name] ?? name.replace(/^body\./, "");
  // Anthropic: "tools.0.custom.defer_loading"; OpenAI: "messages[1].reasoning_content".
  const [, list = "", field = ""] =
    /^(\w{1,100})[.[]\d[\w.[\]]{0,200}\.(\w{1,100})$/.exec(path) ?? [];
  if (lists.has(list)) return optionalInLists.has(field) ? `${list}[].${field}` : null;
  if (!/^\w{1,100}(?:\.\w{1,100}){0,3}$/.test(path)) return null;
  const [first = "", ...innerNames] = path.split(".");
  const last = innerNames.at(-1);
  if (optionalInside.has(`${first}.${last}`)) return `${first}.${last}`;
  if (!optional.has(first)) return null;
  // Anthropic names the variant too: "thinking.adaptive.display", "thinking.type.adaptive".
  if (first === "thinking" && last === "display") return "thinking.display";
  if (first === "thinking")
    return innerNames.every((name) => thinkingFields.has(name)) ? first : null;
  if (innerNames.length > 1) return null;
  return last === undefined ? first : `${first}.${last}`;
}
