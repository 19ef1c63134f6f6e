/**
 * What OpenAI's Responses API holds requests to.
 *
 * Sources: `CreateResponse` of github.com/openai/openai-openapi and the types of `openai` 7; each
 * rule names its own.
 */
import { publishedForm } from "../../outside/described.js";
import { effortsOf, notStrict } from "./chat-rules.js";
import {
  anyObject,
  arrayOf,
  either,
  type FieldShapes,
  flag,
  integerIn,
  isJson,
  type Json,
  listOf,
  nullable,
  numberIn,
  objectOf,
  oneOf,
  optional,
  type Rule,
  text,
  textLike,
  variantOf,
} from "./shape.js";

const name = textLike(/^[a-zA-Z0-9_-]{1,128}$/);
const callId = textLike(/^.{1,64}$/s);
const status = { status: nullable(oneOf("in_progress", "completed", "incomplete")) };
const itemId = (prefix: string) => ({ id: nullable(textLike(new RegExp(`^${prefix}_.{1,60}`))) });
const phase = { phase: nullable(oneOf("commentary", "final_answer")) };
const inputParts = {
  input_text: { text },
  input_image: { image_url: nullable(text), file_id: nullable(text), detail: optional(text) },
  input_file: {
    file_data: optional(text),
    file_id: nullable(text),
    file_url: optional(text),
    filename: optional(text),
  },
};
const outputParts = {
  output_text: {
    text,
    annotations: optional(arrayOf(anyObject)),
    logprobs: optional(arrayOf(anyObject)),
  },
  refusal: { refusal: text },
};
const content = either(text, arrayOf(variantOf("type", { ...inputParts, ...outputParts })));
const output = either(text, arrayOf(variantOf("type", inputParts)));

const messageFields: FieldShapes = {
  type: optional(oneOf("message")),
  role: oneOf("user", "assistant", "system", "developer"),
  content,
  ...itemId("msg"),
  ...status,
  ...phase,
};
const items: Readonly<Record<string, FieldShapes>> = {
  function_call: {
    name,
    arguments: text,
    call_id: callId,
    namespace: nullable(text),
    caller: nullable(anyObject),
    ...itemId("fc"),
    ...status,
  },
  function_call_output: { call_id: callId, output, ...itemId("fco"), ...status },
  custom_tool_call: {
    name,
    input: text,
    call_id: callId,
    namespace: nullable(text),
    ...itemId("ctc"),
    ...status,
  },
  custom_tool_call_output: { call_id: callId, output, ...itemId("ctco"), ...status },
  reasoning: {
    summary: arrayOf(objectOf({ type: oneOf("summary_text"), text })),
    content: nullable(arrayOf(objectOf({ type: oneOf("reasoning_text"), text }))),
    encrypted_content: nullable(text),
    ...itemId("rs"),
    ...status,
  },
  compaction: { encrypted_content: text, ...itemId("cmp") },
  item_reference: { id: text },
};
const message = objectOf(messageFields);
const typed = variantOf("type", items);
const item = (value: unknown, at: string): string | null =>
  (isJson(value) && value["role"] !== undefined ? message : typed)(value, at);

const functionTool: FieldShapes = {
  name,
  description: nullable(text),
  parameters: nullable(anyObject),
  strict: nullable(flag),
  defer_loading: optional(flag),
  output_schema: nullable(anyObject),
};
const tools: Readonly<Record<string, FieldShapes>> = {
  function: functionTool,
  custom: {
    name,
    description: optional(text),
    format: optional(anyObject),
    defer_loading: optional(flag),
  },
  namespace: { name, description: text, tools: arrayOf(anyObject) },
  web_search: {
    filters: nullable(anyObject),
    search_context_size: optional(text),
    user_location: nullable(anyObject),
    external_web_access: optional(flag),
    search_content_types: optional(arrayOf(text)),
  },
  image_generation: { output_format: optional(text) },
  tool_search: {
    execution: optional(text),
    description: nullable(text),
    parameters: nullable(anyObject),
  },
};

const fields: FieldShapes = {
  model: text,
  input: either(text, arrayOf(item, { min: 1 })),
  instructions: nullable(text),
  background: nullable(flag),
  context_management: nullable(arrayOf(anyObject)),
  include: nullable(arrayOf(text)),
  max_output_tokens: nullable(integerIn(16, 128_000)),
  max_tool_calls: nullable(integerIn(1, 1000)),
  metadata: nullable(anyObject),
  client_metadata: nullable(anyObject),
  parallel_tool_calls: nullable(flag),
  previous_response_id: nullable(text),
  prompt: nullable(anyObject),
  prompt_cache_key: nullable(text),
  prompt_cache_options: nullable(anyObject),
  prompt_cache_retention: nullable(text),
  reasoning: nullable(
    objectOf({
      effort: nullable(oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max")),
      summary: nullable(oneOf("auto", "concise", "detailed")),
      context: nullable(text),
    }),
  ),
  safety_identifier: nullable(text),
  service_tier: nullable(oneOf("auto", "default", "flex", "priority")),
  store: nullable(flag),
  stream: nullable(flag),
  stream_options: nullable(objectOf({ include_obfuscation: optional(flag) })),
  temperature: nullable(numberIn(0, 2)),
  text: nullable(
    objectOf({
      format: optional(
        variantOf("type", {
          text: {},
          json_object: {},
          json_schema: {
            name,
            schema: anyObject,
            strict: nullable(flag),
            description: optional(text),
          },
        }),
      ),
      verbosity: nullable(oneOf("low", "medium", "high")),
    }),
  ),
  tool_choice: optional(either(oneOf("none", "auto", "required"), anyObject)),
  tools: nullable(arrayOf(variantOf("type", tools))),
  top_logprobs: nullable(integerIn(0, 20)),
  top_p: nullable(numberIn(0, 1)),
  truncation: nullable(oneOf("auto", "disabled")),
  user: optional(text),
};

const check = objectOf(fields);
const shape: Rule = {
  source:
    "https://github.com/openai/openai-openapi CreateResponse, https://github.com/continuedev/continue/pull/11785 (ids)",
  problem: (body) => check(body, ""),
};

const itemsOf = (body: Json): readonly Json[] => listOf(body["input"]);

const pairs: Rule = {
  source:
    "https://github.com/agno-agi/agno/issues/3749, https://github.com/continuedev/continue/pull/11785",
  problem(body) {
    if (typeof body["previous_response_id"] === "string") return null;
    const all = itemsOf(body);
    const ids = (pattern: RegExp): readonly string[] =>
      all.filter(({ type }) => pattern.test(String(type))).map((each) => String(each["call_id"]));
    const calls = ids(/_call$/);
    const outputs = ids(/_call_output$/);
    const lost = calls.find((each) => !outputs.includes(each));
    if (lost !== undefined) return `No tool output found for function call ${lost}.`;
    const alone = outputs.find((each) => !calls.includes(each));
    if (alone !== undefined)
      return `No tool call found for function call output with call_id ${alone}.`;
    const twice = calls.find((each, i) => calls.indexOf(each) !== i);
    return twice === undefined ? null : `Duplicate call_id ${twice}`;
  },
};

/** The beginning of what OpenAI encrypts: it decrypts nobody else's. */
export const encrypted = "gAAAAABencrypted";

const reasoning: Rule = {
  source:
    "https://github.com/continuedev/continue/pull/11785, https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items",
  problem(body) {
    const all = itemsOf(body);
    for (const [i, each] of all.entries()) {
      if (each["type"] === "item_reference" && body["store"] === false)
        return `Item with id '${String(each["id"])}' not found. Items are not persisted when \`store\` is set to false.`;
      if (each["type"] !== "reasoning") continue;
      if (body["store"] === false && typeof each["encrypted_content"] !== "string")
        return `Item with id '${String(each["id"])}' not found. Items are not persisted when \`store\` is set to false.`;
      if (!String(each["encrypted_content"] ?? encrypted).startsWith(encrypted))
        return `The encrypted content for item ${String(each["id"])} could not be verified.`;
      const next = all[i + 1];
      if (next === undefined || next["role"] === "user")
        return `Item '${String(each["id"])}' of type 'reasoning' was provided without its required following item.`;
    }
    return null;
  },
};

const model: Rule = {
  source: "https://platform.openai.com/docs/guides/latest-model#gpt-5-2-parameter-compatibility",
  problem(body) {
    const thinks = /^(?:gpt-[56]|o\d)/.test(String(body["model"]));
    const effort = isJson(body["reasoning"]) ? body["reasoning"]["effort"] : undefined;
    const include: unknown = body["include"];
    // https://github.com/openai/openai-agents-python/issues/1456
    if (!thinks && Array.isArray(include) && include.includes("reasoning.encrypted_content"))
      return "Encrypted content is not supported with this model.";
    if (!thinks) {
      const { text: written } = body;
      if (isJson(written) && (written["verbosity"] ?? "medium") !== "medium")
        return `Unsupported value: '${String(written["verbosity"])}' is not supported with the '${String(body["model"])}' model. Supported values are: 'medium'.`;
      if (itemsOf(body).some(({ type }) => type === "reasoning"))
        return "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.";
      return effort === undefined || effort === null
        ? null
        : "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
    }
    const taken = effortsOf(String(body["model"]), "responses");
    if (effort != null && !taken.includes(String(effort)))
      return `Unsupported value: 'reasoning.effort' does not support '${String(effort)}' with this model. Supported values are: ${taken.join(", ")}.`;
    const usual = /^gpt-5\.[1-4]/.test(String(body["model"])) ? "none" : "medium";
    if ((effort ?? usual) === "none") return null;
    for (const field of ["temperature", "top_p"])
      if ((body[field] ?? 1) !== 1)
        return `Unsupported parameter: '${field}' is not supported with this model.`;
    return null;
  },
};

const strict: Rule = {
  source: "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas",
  problem(body) {
    const format = isJson(body["text"]) ? body["text"]["format"] : null;
    const schemas = listOf(body["tools"])
      .filter((each) => each["strict"] === true)
      .map((each) => each["parameters"]);
    if (isJson(format) && format["strict"] === true) schemas.push(format["schema"]);
    return schemas.map(notStrict).find((problem) => problem !== null) ?? null;
  },
};

/**
 * The published types want ids of reasoning and of answers, know none of a user's messages, take no
 * null as the content of reasoning, want `strict` of functions, and know fewer fields of a web
 * search. OpenAI's own Codex sends all that otherwise, and `client_metadata`:
 * github.com/openai/codex, codex-rs/protocol/src/models.rs.
 */
const form: Rule = publishedForm("responses", ({ client_metadata: _, ...body }) => {
  const { input, tools } = body;
  return {
    ...body,
    ...(Array.isArray(input) ? { input: input.map(publishedItem) } : {}),
    ...(Array.isArray(tools) ? { tools: tools.map(publishedTool) } : {}),
  };
});

function publishedTool(tool: unknown): unknown {
  if (!isJson(tool)) return tool;
  const { external_web_access: _, search_content_types: __, ...others } = tool;
  return tool["type"] === "function" ? { strict: null, parameters: null, ...tool } : others;
}

function publishedItem(item: unknown): unknown {
  if (!isJson(item)) return item;
  if (item["type"] === "reasoning")
    return { id: "rs_1", ...item, content: item["content"] ?? undefined };
  if (item["role"] === undefined) return item;
  const { id = "msg_1", status = "completed", ...message } = item;
  const isAnswer = listOf(message["content"]).some(({ type }) => type === "output_text");
  if (!isAnswer) return message;
  const content = listOf(message["content"]).map((part) => ({ annotations: [], ...part }));
  return { type: "message", id, status, ...message, content };
}

export const responsesRules: readonly Rule[] = [shape, pairs, reasoning, model, strict, form];

/** For others who speak OpenAI's dialect. */
export const responsesFormRules: readonly Rule[] = [shape, pairs];

/** Who keeps no responses. */
export function stateless(source: string): Rule {
  return {
    source,
    problem(body) {
      if (body["store"] === true) return "store must be false: this API is stateless";
      if ((body["previous_response_id"] ?? null) !== null)
        return "previous_response_id must be null";
      const reference = itemsOf(body).find(({ type }) => type === "item_reference");
      return reference === undefined ? null : `Item ${String(reference["id"])} not found`;
    },
  };
}

export function withoutFields(source: string, ...refused: readonly string[]): Rule {
  return {
    source,
    problem(body) {
      const field = refused.find((each) => body[each] !== undefined && body[each] !== null);
      return field === undefined ? null : `property '${field}' is unsupported`;
    },
  };
}

/** Who knows functions, and no tools of OpenAI's agents. */
export function functionsOnly(source: string): Rule {
  return {
    source,
    problem(body) {
      const types = [...listOf(body["tools"]), ...itemsOf(body)].map(({ type }) => String(type));
      const foreign = types.find((each) =>
        /^(?:custom|namespace|additional_tools|tool_search)/.test(each),
      );
      return foreign === undefined ? null : `unknown variant \`${foreign}\`, expected \`function\``;
    },
  };
}
