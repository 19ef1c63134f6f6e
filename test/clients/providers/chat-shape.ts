/**
 * The shape of a chat completion's request, as OpenAI publishes it, and as other hosts take it: all
 * of its fields and no others.
 *
 * Source: `CreateChatCompletionRequest` of github.com/openai/openai-openapi, and the types of the
 * `openai` package.
 */
import {
  anyObject,
  anything,
  arrayOf,
  either,
  type FieldShapes,
  flag,
  integerIn,
  isJson,
  nullable,
  numberIn,
  objectOf,
  oneOf,
  optional,
  type Shape,
  text,
  textLike,
  variantOf,
} from "./shape.js";

const functionName = textLike(/^[a-zA-Z0-9_-]{1,64}$/);
const tokens = integerIn(1, 1_000_000);

export interface ChatShape {
  /** The fields of a request beyond those that every host takes. */
  readonly fields: readonly string[];
  /** The fields of an assistant's message beyond those that every host takes. */
  readonly assistantFields?: FieldShapes;
  /** Beyond `id`, `type` and `function`. */
  readonly callFields?: FieldShapes;
  /** Whether a content may be a list of parts. */
  readonly takesParts: boolean;
  /**
   * OpenAI passes over unknown fields of texts, since its own agents SDK sends a message's in them;
   * so do servers of open models.
   */
  readonly ignoresInTexts?: boolean;
  readonly takesNames: boolean;
  readonly takesDeveloper: boolean;
  /** Tools whose input is free text. */
  readonly takesCustomTools?: boolean;
  readonly makesImages?: boolean;
}

/** What all hosts take. */
const common: FieldShapes = {
  model: text,
  stream: nullable(flag),
  temperature: nullable(numberIn(0, 2)),
  top_p: nullable(numberIn(0, 1)),
  stop: nullable(either(text, arrayOf(text, { max: 4 }))),
  tool_choice: optional(
    either(
      oneOf("none", "auto", "required"),
      objectOf({ type: oneOf("function"), function: objectOf({ name: functionName }) }),
    ),
  ),
};

const schemaFormat = variantOf("type", {
  text: {},
  json_object: {},
  json_schema: {
    json_schema: objectOf({
      name: functionName,
      description: optional(text),
      schema: optional(anyObject),
      strict: nullable(flag),
    }),
  },
});

/** What some hosts take, by name. */
const further: FieldShapes = {
  max_tokens: nullable(tokens),
  max_completion_tokens: nullable(tokens),
  frequency_penalty: nullable(numberIn(-2, 2)),
  presence_penalty: nullable(numberIn(-2, 2)),
  logit_bias: nullable(anyObject),
  logprobs: nullable(flag),
  top_logprobs: nullable(integerIn(0, 20)),
  metadata: nullable(anyObject),
  modalities: nullable(arrayOf(oneOf("text", "audio"))),
  n: nullable(integerIn(1, 128)),
  parallel_tool_calls: optional(flag),
  prediction: nullable(anyObject),
  prompt_cache_key: nullable(text),
  prompt_cache_options: optional(anyObject),
  prompt_cache_retention: nullable(oneOf("in_memory", "24h")),
  random_seed: nullable(integerIn(0, Number.MAX_SAFE_INTEGER)),
  reasoning_effort: nullable(oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max")),
  reasoning: nullable(anyObject),
  response_format: optional(schemaFormat),
  safe_prompt: optional(flag),
  safety_identifier: nullable(text),
  seed: nullable(integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
  service_tier: nullable(oneOf("auto", "default", "flex", "scale", "priority", "on_demand")),
  store: nullable(flag),
  stream_options: nullable(
    objectOf({ include_usage: optional(flag), include_obfuscation: optional(flag) }),
  ),
  thinking: nullable(anyObject),
  user: optional(text),
  verbosity: nullable(oneOf("low", "medium", "high")),
  web_search_options: optional(anyObject),
};

export const openaiFields = [
  "max_tokens",
  "max_completion_tokens",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "logprobs",
  "top_logprobs",
  "metadata",
  "modalities",
  "n",
  "parallel_tool_calls",
  "prediction",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning_effort",
  "response_format",
  "safety_identifier",
  "seed",
  "service_tier",
  "store",
  "stream_options",
  "user",
  "verbosity",
  "web_search_options",
];

function partOf(
  { ignoresInTexts }: ChatShape,
  variants: Readonly<Record<string, FieldShapes>>,
): Shape {
  const strict = variantOf("type", { text: { text }, ...variants });
  if (ignoresInTexts !== true) return strict;
  return (value, at) =>
    isJson(value) && value["type"] === "text" && typeof value["text"] === "string"
      ? null
      : strict(value, at);
}

export function chatShape(host: ChatShape): Shape {
  const parts = (variants: Readonly<Record<string, FieldShapes>>): Shape =>
    host.takesParts ? either(text, arrayOf(partOf(host, variants), { min: 1 })) : text;
  const name = host.takesNames ? { name: optional(textLike(/^[^\s<|\\/>]{1,64}$/)) } : {};
  const call = objectOf({
    id: text,
    type: oneOf("function"),
    function: objectOf({ name: functionName, arguments: text }),
    ...host.callFields,
  });
  const system = { content: parts({}), ...name };
  const message = variantOf("role", {
    system,
    ...(host.takesDeveloper ? { developer: system } : {}),
    user: {
      content: parts({
        image_url: { image_url: objectOf({ url: text, detail: optional(text) }) },
        file: { file: anyObject },
        input_audio: { input_audio: objectOf({ data: text, format: oneOf("wav", "mp3") }) },
      }),
      ...name,
    },
    assistant: {
      content: nullable(parts({ refusal: { refusal: text } })),
      tool_calls: optional(arrayOf(call, { min: 1, max: 128 })),
      refusal: nullable(text),
      ...name,
      ...host.assistantFields,
    },
    tool: { content: parts({}), tool_call_id: text, ...name },
  });
  const tool = variantOf("type", {
    function: {
      function: objectOf({
        name: functionName,
        description: optional(text),
        parameters: optional(anyObject),
        strict: nullable(flag),
      }),
    },
    ...(host.takesCustomTools === true ? { custom: { custom: anyObject } } : {}),
  });
  return objectOf({
    ...common,
    ...Object.fromEntries(
      host.fields.map((field) => [field, further[field] ?? optional(anything)]),
    ),
    ...(host.makesImages === true
      ? { modalities: nullable(arrayOf(oneOf("text", "audio", "image"))) }
      : {}),
    messages: arrayOf(message, { min: 1 }),
    tools: optional(arrayOf(tool, { min: 1, max: 128 })),
  });
}
