/**
 * What Anthropic's Messages API holds requests to.
 *
 * Sources: the types of `@anthropic-ai/sdk` 1.14 for fields, platform.claude.com/docs for what goes
 * with what; each rule names its own.
 */
import { publishedForm } from "../../outside/described.js";
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
  type Shape,
  text,
  textLike,
  variantOf,
} from "./shape.js";

const cache = {
  cache_control: nullable(objectOf({ type: oneOf("ephemeral"), ttl: optional(oneOf("5m", "1h")) })),
};
const filled = textLike(/\S/);
const textBlock: FieldShapes = { text: filled, citations: nullable(anyObject), ...cache };
const image: FieldShapes = { source: anyObject, ...cache };
const document: FieldShapes = {
  source: anyObject,
  title: nullable(text),
  context: nullable(text),
  citations: nullable(anyObject),
  ...cache,
};
const id = textLike(/^[a-zA-Z0-9_-]+$/);
const toolName = textLike(/^[a-zA-Z0-9_-]{1,128}$/);
const blocks = (variants: Readonly<Record<string, FieldShapes>>): Shape =>
  either(filled, arrayOf(variantOf("type", { text: textBlock, ...variants }), { min: 1 }));

const userContent = blocks({
  image,
  document,
  tool_result: {
    tool_use_id: id,
    content: optional(
      either(text, arrayOf(variantOf("type", { text: textBlock, image, document }))),
    ),
    is_error: optional(flag),
    ...cache,
  },
});
const assistantContent = blocks({
  tool_use: { id, name: toolName, input: anyObject, caller: optional(anyObject), ...cache },
  thinking: { thinking: text, signature: text },
  redacted_thinking: { data: text },
});
const tool = objectOf({
  name: toolName,
  input_schema: anyObject,
  description: optional(text),
  type: nullable(oneOf("custom")),
  strict: optional(flag),
  defer_loading: optional(flag),
  eager_input_streaming: nullable(flag),
  input_examples: optional(arrayOf(anyObject)),
  allowed_callers: optional(arrayOf(text)),
  ...cache,
});

/** Beyond these, a field needs its beta. */
const fields: FieldShapes = {
  model: text,
  max_tokens: integerIn(1, 1_000_000),
  messages: arrayOf(
    variantOf("role", {
      user: { content: userContent },
      assistant: { content: assistantContent },
      system: { content: blocks({}) },
    }),
    { min: 1 },
  ),
  system: optional(either(text, arrayOf(variantOf("type", { text: textBlock })))),
  cache_control: cache.cache_control,
  metadata: optional(objectOf({ user_id: nullable(text) })),
  output_config: optional(
    objectOf({
      effort: nullable(oneOf("low", "medium", "high", "xhigh", "max")),
      format: nullable(objectOf({ type: oneOf("json_schema"), schema: anyObject })),
    }),
  ),
  service_tier: optional(oneOf("auto", "standard_only")),
  stop_sequences: optional(arrayOf(filled)),
  stream: optional(flag),
  temperature: optional(numberIn(0, 1)),
  top_p: optional(numberIn(0, 1)),
  top_k: optional(integerIn(0, 1_000_000)),
  thinking: optional(
    variantOf("type", {
      enabled: { budget_tokens: integerIn(1024, 128_000), display: nullable(text) },
      adaptive: { display: nullable(oneOf("summarized", "omitted")) },
      disabled: {},
      between_tools: { display: nullable(text) },
    }),
  ),
  tool_choice: optional(
    variantOf("type", {
      auto: { disable_parallel_tool_use: optional(flag) },
      ["any"]: { disable_parallel_tool_use: optional(flag) },
      tool: { name: toolName, disable_parallel_tool_use: optional(flag) },
      none: {},
    }),
  ),
  tools: optional(arrayOf(tool)),
};

/** A field that only a beta has: `anthropic-beta` must name it. */
const betaFields: Readonly<Record<string, string>> = {
  context_management: "context-management-2025-06-27",
};

const shape: Rule = {
  source:
    "https://github.com/anthropics/anthropic-sdk-typescript src/resources/messages/messages.ts",
  problem(body, headers) {
    const betas = String(headers["anthropic-beta"] ?? "");
    if (!/^20\d\d-\d\d-\d\d$/.test(String(headers["anthropic-version"])))
      return "anthropic-version: header is required";
    const known = Object.entries(betaFields).filter(([, beta]) => betas.includes(beta));
    const problem = objectOf({
      ...fields,
      ...Object.fromEntries(known.map(([name]) => [name, optional(anyObject)])),
    })(body, "");
    return problem?.replace("unknown field", "Extra inputs are not permitted") ?? null;
  },
};

interface Family {
  readonly name: RegExp;
  readonly outputTokensMax: number;
  readonly thinking: readonly ("enabled" | "adaptive")[];
  /** From Claude 5 on: how thinking, which is on by default, is turned off; null if it can't be. */
  readonly off?: "disabled" | "between_tools" | null;
  readonly refusesForcedCalls?: boolean;
  readonly efforts: readonly string[];
  /** Whether it takes temperature and top_p: both, one of them, or none but the defaults. */
  readonly sampling: "both" | "one" | "none";
  readonly takesPrefill: boolean;
  readonly takesSchemas: boolean;
}

const older: Family = {
  name: /^claude-3-7-sonnet/,
  outputTokensMax: 64_000,
  thinking: ["enabled"],
  efforts: [],
  sampling: "both",
  takesPrefill: true,
  takesSchemas: false,
};
const of45: Family = {
  ...older,
  name: /^claude-(?:sonnet|haiku)-4-5/,
  sampling: "one",
  takesSchemas: true,
};
const of46: Family = {
  ...of45,
  name: /^claude-(?:opus|sonnet)-4-6/,
  outputTokensMax: 128_000,
  thinking: ["enabled", "adaptive"],
  efforts: ["low", "medium", "high", "max"],
  takesPrefill: false,
};
const of48: Family = {
  ...of46,
  name: /^claude-opus-4-[78]/,
  thinking: ["adaptive"],
  efforts: ["low", "medium", "high", "xhigh", "max"],
  sampling: "none",
};

/**
 * By platform.claude.com/docs/en: models/overview, build-with-claude/effort, adaptive-thinking,
 * structured-outputs, and about-claude/models/migration-guide (prefill from 4.6, sampling from 4.1
 * and 4.7), thinking-troubleshooting and the migration guides of 5.5 (thinking off, forced calls).
 */
const families: readonly Family[] = [
  older,
  of45,
  { ...of45, name: /^claude-opus-4-5/, efforts: ["low", "medium", "high"] },
  of46,
  of48,
  { ...of48, name: /^claude-opus-5$/, off: "disabled" },
  { ...of48, name: /^claude-opus-5-5/, off: null, refusesForcedCalls: true },
  { ...of48, name: /^claude-sonnet-5-5/, off: "between_tools", refusesForcedCalls: true },
];

const model: Rule = {
  source: "https://platform.claude.com/docs/en/about-claude/models/overview",
  problem(body) {
    const family = families.find(({ name }) => name.test(String(body["model"])));
    if (family === undefined) return `model: ${String(body["model"])}`;
    const thinking = isJson(body["thinking"]) ? body["thinking"]["type"] : undefined;
    const config = isJson(body["output_config"]) ? body["output_config"] : {};
    const messages = listOf(body["messages"]);
    if (Number(body["max_tokens"]) > family.outputTokensMax)
      return `max_tokens: ${String(body["max_tokens"])} > ${family.outputTokensMax}, which is the maximum allowed number of output tokens for ${String(body["model"])}`;
    if ((thinking === "enabled" || thinking === "adaptive") && !family.thinking.includes(thinking))
      return `"thinking.type.${thinking}" is not supported for this model`;
    if (thinking === "disabled" || thinking === "between_tools") {
      if (family.off !== undefined && thinking !== family.off)
        return `"thinking.type.${thinking}" is not supported for this model.`;
      if (family.off !== undefined && /xhigh|max/.test(String(config["effort"])))
        return `effort ${String(config["effort"])} is not supported with thinking.type.${thinking}`;
    }
    const choice = isJson(body["tool_choice"]) ? String(body["tool_choice"]["type"]) : "";
    if (family.refusesForcedCalls === true && /any|tool/.test(choice))
      return 'tool_choice: type "tool" and "any" are not supported for this model.';
    if (config["effort"] != null && !family.efforts.includes(String(config["effort"])))
      return "This model does not support the effort parameter.";
    if (config["format"] != null && !family.takesSchemas)
      return "output_config.format: Extra inputs are not permitted";
    if (
      family.sampling === "one" &&
      body["temperature"] !== undefined &&
      body["top_p"] !== undefined
    )
      return "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
    if (family.sampling === "none")
      for (const field of ["temperature", "top_p", "top_k"])
        if (body[field] !== undefined && body[field] !== 1)
          return `\`${field}\` is deprecated for this model.`;
    // Messages of the system among the turns: from Opus 4.8 on.
    if (
      !/^claude-(?:opus-4-8|\w+-5)/.test(String(body["model"])) &&
      messages.some(({ role }) => role === "system")
    )
      return "messages: role 'system' is not supported on this model";
    return !family.takesPrefill && messages.at(-1)?.["role"] === "assistant"
      ? "This model does not support assistant message prefill. The conversation must end with a user message."
      : null;
  },
};

const sampling: Rule = {
  source:
    "https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility",
  problem(body) {
    const thinking = isJson(body["thinking"]) ? body["thinking"] : {};
    if (thinking["type"] !== "enabled" && thinking["type"] !== "adaptive") return null;
    if (body["temperature"] !== undefined && body["temperature"] !== 1)
      return "`temperature` may only be set to 1 when thinking is enabled.";
    if (Number(body["max_tokens"]) <= Number(thinking["budget_tokens"] ?? 0))
      return "`max_tokens` must be greater than `thinking.budget_tokens`.";
    const choice = isJson(body["tool_choice"]) ? body["tool_choice"]["type"] : null;
    return choice === "any" || choice === "tool"
      ? "Thinking may not be enabled when tool_choice forces tool use."
      : null;
  },
};

function blocksOf(message: Json | undefined): readonly Json[] {
  return listOf(message?.["content"]);
}

const pairs: Rule = {
  source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use",
  problem(body) {
    const messages = listOf(body["messages"]).filter(({ role }) => role !== "system");
    for (const [i, message] of messages.entries()) {
      const called = blocksOf(message).filter(({ type }) => type === "tool_use");
      const before = blocksOf(messages[i - 1]).filter(({ type }) => type === "tool_use");
      const content = blocksOf(message);
      const results = content.filter(({ type }) => type === "tool_result");
      for (const { tool_use_id: wanted } of results)
        if (!before.some((use) => use["id"] === wanted))
          return `messages.${i}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(wanted)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
      const next = blocksOf(messages[i + 1]);
      for (const { id: wanted } of called)
        if (!next.some((block) => block["tool_use_id"] === wanted))
          return `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${String(wanted)}`;
      if (results.length > 0 && content.findIndex(({ type }) => type === "tool_result") > 0)
        return `messages.${i}: tool_result blocks must come first in the content`;
    }
    return messages[0]?.["role"] === "user"
      ? null
      : 'messages: first message must use the "user" role';
  },
};

export const signature = "EqQBCkYIBhgCKkDj7w9signed";

const thinkingBlocks: Rule = {
  source:
    "https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks",
  problem(body) {
    const messages = listOf(body["messages"]);
    for (const [i, message] of messages.entries())
      for (const block of blocksOf(message))
        if (block["type"] === "thinking" && !String(block["signature"]).startsWith(signature))
          return `messages.${i}: Invalid \`signature\` in \`thinking\` block`;
    const thinking = isJson(body["thinking"]) ? body["thinking"]["type"] : undefined;
    const last = messages.findLast(({ role }) => role === "assistant");
    const first = blocksOf(last)[0]?.["type"];
    const calls = blocksOf(last).some(({ type }) => type === "tool_use");
    return thinking === "enabled" && calls && first !== "thinking" && first !== "redacted_thinking"
      ? "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"
      : null;
  },
};

const caching: Rule = {
  source: "https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations",
  problem(body) {
    const count = JSON.stringify(body).split('"cache_control":{').length - 1;
    return count > 4
      ? `A maximum of 4 blocks with cache_control may be provided. Found ${count}.`
      : null;
  },
};

/** Words of JSON Schema that its schemas don't have. */
const unsupported =
  /^(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|maxItems|uniqueItems|minProperties|maxProperties)$/;

const outputSchema: Rule = {
  source:
    "https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
  problem(body) {
    const config = isJson(body["output_config"]) ? body["output_config"] : {};
    const strict = listOf(body["tools"]).filter((each) => each["strict"] === true);
    const schemas = [
      ...(isJson(config["format"]) ? [config["format"]["schema"]] : []),
      ...strict.map((each) => each["input_schema"]),
    ];
    return schemas.map(notTaken).find((problem) => problem !== null) ?? null;
  },
};

function notTaken(schema: unknown): string | null {
  if (!isJson(schema)) return null;
  const word = Object.keys(schema).find((name) => unsupported.test(name));
  if (word !== undefined) return `output_config.format.schema: property '${word}' is not supported`;
  if (schema["type"] === "object" && schema["additionalProperties"] !== false)
    return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
  const inner = [
    ...Object.values(isJson(schema["properties"]) ? schema["properties"] : {}),
    schema["items"],
  ];
  return inner.map(notTaken).find((problem) => problem !== null) ?? null;
}

const published: Rule = publishedForm("messages");
const publishedBeta: Rule = publishedForm("messages-beta");
const form: Rule = {
  source: `${published.source}, ${publishedBeta.source}`,
  problem: (body, headers) =>
    (headers["anthropic-beta"] === undefined ? published : publishedBeta).problem(body, headers),
};

export const messagesRules: readonly Rule[] = [
  shape,
  model,
  sampling,
  pairs,
  thinkingBlocks,
  caching,
  outputSchema,
  form,
];

/** For others who speak Anthropic's dialect. */
export const messagesFormRules: readonly Rule[] = [shape, pairs];
