/**
 * The providers of the matrix: for each its models, what its requests must be, and which shapes its
 * answers have. Each rule has its source.
 */
import { publishedForm } from "../../outside/described.js";
import {
  argumentsAreJson,
  assistantSaysSomething,
  mistralOrder,
  needsUser,
  nineCharacterIds,
  noEffortWithTools,
  noSchemas,
  onlyTemperatureOne,
  onlyValues,
  openaiReasoning,
  outputTokensMax,
  pairsCalls,
  reasoningWithCalls,
  streamOptionsNeedStream,
  strictSchemas,
  systemFirst,
  thoughtSignatures,
  toolFieldsNeedTools,
} from "./chat-rules.js";
import { type ChatShape, chatShape, openaiFields } from "./chat-shape.js";
import { googleRules } from "./google-rules.js";
import { messagesFormRules, messagesRules } from "./messages-rules.js";
import {
  functionsOnly,
  responsesFormRules,
  responsesRules,
  stateless,
  withoutFields,
} from "./responses-rules.js";
import {
  anyObject,
  arrayOf,
  type Json,
  listOf,
  nullable,
  optional,
  type Rule,
  text,
} from "./shape.js";

export type Operation = "chat/completions" | "messages" | "responses" | "generateContent";

export interface Host {
  /** As Sluice knows it: a preset's or a type's name. */
  readonly name: string;
  /** As people know it. */
  readonly title: string;
  /** The provider's section in Sluice's file, beside address, key and models. */
  readonly settings: string;
  /** One column of the matrix each. */
  readonly models: readonly string[];
  readonly rules: Readonly<Partial<Record<Operation, readonly Rule[]>>>;
  /** How its chat completions are written. */
  readonly chat: ChatStyle;
}

export interface ChatStyle {
  /** The field with the reasoning, or null for models that don't show it. */
  readonly reasoning: "reasoning_content" | "reasoning" | null;
  /** A call in one piece, or its arguments in several. */
  readonly wholeCalls: boolean;
  /** Where a stream's usage is: behind all choices if asked for, or in the last chunk anyway. */
  readonly usage: "asked" | "last_chunk";
  readonly signsCalls: boolean;
  readonly callId: (n: number) => string;
}

const plainStyle: ChatStyle = {
  reasoning: null,
  wholeCalls: false,
  usage: "asked",
  signsCalls: false,
  callId: (n) => `call_${String(n).padStart(24, "kM3vQ8xZ")}`,
};

function shaped(shape: ChatShape, source: string): Rule {
  const check = chatShape(shape);
  return { source, problem: (body) => check(body, "") };
}

const everywhere = [pairsCalls, argumentsAreJson, assistantSaysSomething];
const openaiShape: ChatShape = {
  takesCustomTools: true,
  fields: openaiFields,
  takesParts: true,
  ignoresInTexts: true,
  takesNames: true,
  takesDeveloper: true,
};
/**
 * The published types know no name of a tool's result, which LangChain sends, and no further fields
 * of a text, which OpenAI's own agents SDK sends: OpenAI takes both.
 */
function publishedMessage(message: Json): Json {
  const { name, content, ...others } = message;
  const parts = Array.isArray(content)
    ? listOf(content).map((part) =>
        part["type"] === "text" ? { type: "text", text: part["text"] } : part,
      )
    : content;
  return {
    ...others,
    ...(content === undefined ? {} : { content: parts }),
    ...(name === undefined || message["role"] === "tool" ? {} : { name }),
  };
}

const openaiChat: readonly Rule[] = [
  shaped(openaiShape, "https://github.com/openai/openai-openapi CreateChatCompletionRequest"),
  ...everywhere,
  toolFieldsNeedTools,
  streamOptionsNeedStream,
  strictSchemas,
  openaiReasoning,
  noEffortWithTools,
  outputTokensMax({ "gpt-4o": 16_384, "gpt-4.1": 32_768, "gpt-5": 128_000 }),
  publishedForm("chat", (body) => ({
    ...body,
    messages: listOf(body["messages"]).map(publishedMessage),
  })),
];
/** What servers of open models take: they ignore what they don't know. */
const openFields = [
  ...openaiFields,
  "thinking",
  "reasoning",
  "chat_template_kwargs",
  "top_k",
  "min_p",
];
const reasoningField = { reasoning_content: nullable(text) };
const bothReasoning = {
  ...reasoningField,
  reasoning: nullable(text),
  reasoning_details: optional(arrayOf(anyObject)),
};
const openShape: ChatShape = {
  fields: openFields,
  assistantFields: bothReasoning,
  takesParts: true,
  ignoresInTexts: true,
  takesNames: true,
  takesDeveloper: false,
};

export const hosts: readonly Host[] = [
  {
    name: "openai",
    title: "OpenAI",
    settings: "type: openai",
    models: ["gpt-4o", "gpt-5.2", "gpt-5.5"],
    rules: { "chat/completions": openaiChat, responses: responsesRules },
    chat: plainStyle,
  },
  {
    name: "azure",
    title: "Azure",
    settings: "type: azure",
    models: ["gpt-4.1"],
    rules: { "chat/completions": openaiChat, responses: responsesRules },
    chat: plainStyle,
  },
  {
    name: "anthropic",
    title: "Anthropic",
    settings: "type: anthropic",
    models: ["claude-sonnet-4-5", "claude-opus-4-8"],
    rules: { messages: messagesRules },
    chat: plainStyle,
  },
  {
    name: "gemini",
    title: "Gemini",
    settings: "type: gemini",
    models: ["gemini-3-pro-preview"],
    rules: {
      "chat/completions": [
        shaped(
          {
            fields: [
              "max_tokens",
              "max_completion_tokens",
              "n",
              "parallel_tool_calls",
              "reasoning_effort",
              "response_format",
              "stream_options",
              "frequency_penalty",
              "presence_penalty",
              "seed",
              "modalities",
              "extra_body",
              "service_tier",
            ],
            callFields: { extra_content: optional(anyObject) },
            takesParts: true,
            takesNames: true,
            takesDeveloper: true,
          },
          "https://ai.google.dev/gemini-api/docs/openai, https://github.com/Gitlawb/openclaude/issues/585",
        ),
        ...everywhere,
        thoughtSignatures,
      ],
      generateContent: googleRules,
    },
    chat: { ...plainStyle, wholeCalls: true, signsCalls: true },
  },
  {
    name: "deepseek",
    title: "DeepSeek",
    settings: "type: openai",
    models: ["deepseek-reasoner"],
    rules: {
      "chat/completions": [
        shaped(
          {
            fields: [
              "max_tokens",
              "frequency_penalty",
              "presence_penalty",
              "response_format",
              "stream_options",
              "thinking",
              "reasoning_effort",
              "logprobs",
              "top_logprobs",
              "user",
            ],
            assistantFields: { ...reasoningField, prefix: optional(text) },
            takesParts: false,
            takesNames: true,
            takesDeveloper: false,
          },
          "https://api-docs.deepseek.com/api/create-chat-completion, https://github.com/cline/cline/issues/230",
        ),
        ...everywhere,
        noSchemas,
        reasoningWithCalls("https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"),
      ],
    },
    chat: { ...plainStyle, reasoning: "reasoning_content" },
  },
  {
    name: "moonshot",
    title: "Kimi",
    settings: "type: openai",
    models: ["kimi-k2.6"],
    rules: {
      "chat/completions": [
        shaped(
          {
            ...openShape,
            fields: openFields.filter((name) => name !== "user" && name !== "verbosity"),
          },
          "https://platform.moonshot.ai/docs/api/chat",
        ),
        ...everywhere,
        onlyTemperatureOne,
        reasoningWithCalls("https://github.com/QuantumNous/new-api/issues/3121"),
      ],
    },
    chat: { ...plainStyle, reasoning: "reasoning_content" },
  },
  {
    name: "mistral",
    title: "Mistral",
    settings: "type: openai",
    models: ["mistral-medium-latest"],
    rules: {
      "chat/completions": [
        shaped(
          {
            fields: [
              "max_tokens",
              "random_seed",
              "response_format",
              "presence_penalty",
              "frequency_penalty",
              "n",
              "prediction",
              "parallel_tool_calls",
              "prompt_mode",
              "safe_prompt",
              "metadata",
              "reasoning_effort",
            ],
            assistantFields: { prefix: optional(text) },
            takesParts: true,
            takesNames: false,
            takesDeveloper: false,
          },
          "https://docs.mistral.ai/api, https://github.com/charmbracelet/crush/issues/1590, https://github.com/editor-code-assistant/eca/issues/231",
        ),
        ...everywhere,
        mistralOrder,
        nineCharacterIds,
      ],
    },
    chat: {
      ...plainStyle,
      wholeCalls: true,
      usage: "last_chunk",
      callId: (n) => String(n).padStart(9, "aZ3kQ8xVm"),
    },
  },
  {
    name: "groq",
    title: "Groq",
    settings: "type: openai",
    models: ["openai/gpt-oss-120b"],
    rules: {
      "chat/completions": [
        shaped(
          {
            fields: [
              ...openaiFields.filter(
                (name) =>
                  ![
                    "modalities",
                    "prediction",
                    "prompt_cache_key",
                    "prompt_cache_options",
                    "prompt_cache_retention",
                    "safety_identifier",
                    "verbosity",
                    "web_search_options",
                  ].includes(name),
              ),
              "reasoning_format",
              "include_reasoning",
            ],
            assistantFields: { reasoning: nullable(text) },
            takesParts: true,
            takesNames: true,
            takesDeveloper: true,
          },
          "https://console.groq.com/docs/api-reference, https://github.com/tashfeenahmed/freellmapi/issues/1070",
        ),
        ...everywhere,
        onlyValues("https://console.groq.com/docs/openai#currently-unsupported-openai-features", {
          n: 1,
          logprobs: false,
          logit_bias: null,
        }),
      ],
      responses: [
        ...responsesFormRules,
        withoutFields(
          "https://console.groq.com/docs/responses-api#unsupported-features",
          "previous_response_id",
          "store",
          "truncation",
          "include",
          "safety_identifier",
          "prompt_cache_key",
          "prompt",
        ),
        functionsOnly("https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1810"),
      ],
    },
    chat: { ...plainStyle, reasoning: "reasoning" },
  },
  {
    name: "cerebras",
    title: "Cerebras",
    settings: "type: openai",
    models: ["gpt-oss-120b"],
    rules: {
      "chat/completions": [
        shaped(
          {
            fields: [
              "max_tokens",
              "max_completion_tokens",
              "logprobs",
              "top_logprobs",
              "parallel_tool_calls",
              "reasoning_effort",
              "response_format",
              "seed",
              "stream_options",
              "user",
              "service_tier",
            ],
            assistantFields: { reasoning: nullable(text) },
            takesParts: false,
            takesNames: true,
            takesDeveloper: true,
          },
          "https://inference-docs.cerebras.ai/api-reference/chat-completions, https://github.com/proxysoul/Empryo/pull/209",
        ),
        ...everywhere,
      ],
    },
    chat: { ...plainStyle, reasoning: "reasoning" },
  },
  {
    name: "openrouter",
    title: "OpenRouter",
    settings: "type: openai",
    models: ["z-ai/glm-5"],
    rules: {
      "chat/completions": [
        shaped(
          { ...openShape, takesDeveloper: true, makesImages: true },
          "https://openrouter.ai/docs/api-reference/chat-completion",
        ),
        ...everywhere,
      ],
      messages: messagesFormRules,
      responses: [
        ...responsesFormRules,
        stateless("https://openrouter.ai/docs/api_reference/responses/error-handling"),
      ],
    },
    chat: { ...plainStyle, reasoning: "reasoning" },
  },
  {
    name: "vllm",
    title: "vLLM",
    settings: "type: vllm",
    models: ["Qwen/Qwen3.5-27B"],
    rules: {
      "chat/completions": [
        shaped(
          openShape,
          "https://github.com/vllm-project/vllm vllm/entrypoints/openai/chat_completion/protocol.py",
        ),
        ...everywhere,
        systemFirst,
        needsUser,
      ],
    },
    chat: {
      ...plainStyle,
      reasoning: "reasoning_content",
      callId: (n) => `chatcmpl-tool-${String(n).padStart(32, "0a")}`,
    },
  },
  {
    name: "llamacpp",
    title: "llama.cpp",
    settings: "type: openai, operations: [chat_completions, embeddings]",
    models: ["qwen3.5-27b-q4_k_m"],
    rules: {
      "chat/completions": [
        shaped(openShape, "https://github.com/ggml-org/llama.cpp tools/server/README.md"),
        ...everywhere,
        systemFirst,
        needsUser,
      ],
    },
    chat: {
      ...plainStyle,
      reasoning: "reasoning_content",
      callId: (n) => String(n).padStart(32, "qW9tR4"),
    },
  },
  {
    name: "ollama",
    title: "Ollama",
    settings: "type: ollama",
    models: ["qwen3.8:27b"],
    rules: {
      "chat/completions": [
        shaped(openShape, "https://docs.ollama.com/api/openai-compatibility"),
        ...everywhere,
        systemFirst,
      ],
    },
    chat: {
      ...plainStyle,
      reasoning: "reasoning",
      wholeCalls: true,
      callId: (n) => `call_${String(n).padStart(8, "h4j7")}`,
    },
  },
];
