/**
 * What providers report of usage, and what they bill for it. Sources are public threads
 * (`owner/repository#number`), pages of providers, and the published types of their SDKs.
 */

/** What a provider answers: a body, a text that is sent as it is, or a stream of events. */
interface Reported {
  readonly body?: object | string;
  readonly events?: readonly object[];
  readonly type?: string;
}

export interface MoneyCase {
  readonly id: string;
  readonly source: readonly string[];
  /** `POST` to this path. */
  readonly path: string;
  /** The request's JSON; a text is sent as it is, with `type`. */
  readonly sends?: object | string;
  readonly sendsType?: string;
  readonly reported: Reported;
  /** US dollars; null: unpriced. */
  readonly usd: number | null;
  /** Further fields of the usage record. */
  readonly record?: object;
}

const million = 1e6;
const hello = [{ role: "user", content: "x" }];

function chatAnswer(usage: object | null, more: object = {}): object {
  return {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" },
    ],
    ...(usage === null ? {} : { usage }),
    ...more,
  };
}
export type Case = Omit<MoneyCase, "path" | "reported">;

/** A chat completion, whole. */
export const chat = (
  model: string,
  usage: object | null,
  one: Case,
  more: object = {},
): MoneyCase => ({
  path: "/v1/chat/completions",
  sends: { model, messages: hello },
  reported: { body: chatAnswer(usage, more) },
  ...one,
});
/** The same as a stream. */
export const chatStream = (
  model: string,
  usage: object,
  one: Case,
  more: object = {},
): MoneyCase => {
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...more };
  return {
    path: "/v1/chat/completions",
    sends: { model, messages: hello, stream: true },
    reported: {
      events: [
        { ...chunk, choices: [{ index: 0, delta: { content: "hello" }, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
        { ...chunk, choices: [], usage },
      ],
    },
    ...one,
  };
};
const messagesAnswer = (usage: object): object => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
});
export const messages = (model: string, usage: object, one: Case): MoneyCase => ({
  path: "/v1/messages",
  sends: { model, max_tokens: 9, messages: hello },
  reported: { body: messagesAnswer(usage) },
  ...one,
});
export const messagesStream = (
  model: string,
  begun: object,
  ended: object,
  one: Case,
): MoneyCase => ({
  path: "/v1/messages",
  sends: { model, max_tokens: 9, messages: hello, stream: true },
  reported: {
    events: [
      { type: "message_start", message: { ...messagesAnswer(begun), content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: ended },
      { type: "message_stop" },
    ],
  },
  ...one,
});
const response = (usage: object, more: object): object => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "m",
  output: [
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "hello", annotations: [] }],
    },
  ],
  ...more,
  usage,
});
export const responses = (
  model: string,
  usage: object,
  one: Case,
  more: object = {},
): MoneyCase => ({
  path: "/v1/responses",
  sends: { model, input: "x" },
  reported: { body: response(usage, more) },
  ...one,
});
export const responsesStream = (
  model: string,
  usage: object,
  one: Case,
  more: object = {},
): MoneyCase => ({
  path: "/v1/responses",
  sends: { model, input: "x", stream: true },
  reported: {
    events: [
      { type: "response.created", response: { ...response({}, {}), usage: null, output: [] } },
      { type: "response.output_text.delta", item_id: "msg_1", delta: "hello" },
      { type: "response.completed", response: response(usage, more) },
    ],
  },
  ...one,
});
const googleAnswer = (
  usageMetadata: object,
  candidate: object = {},
  more: object = {},
): object => ({
  candidates: [
    {
      index: 0,
      content: { role: "model", parts: [{ text: "hello" }] },
      finishReason: "STOP",
      ...candidate,
    },
  ],
  usageMetadata,
  ...more,
});
export const google = (
  model: string,
  usage: object,
  one: Case,
  candidate: object = {},
): MoneyCase => ({
  path: `/v1beta/models/gemini/${model}:generateContent`,
  sends: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
  reported: { body: googleAnswer(usage, candidate) },
  ...one,
});
export const googleStream = (
  model: string,
  usage: object,
  one: Case,
  candidate = {},
): MoneyCase => ({
  path: `/v1beta/models/gemini/${model}:streamGenerateContent?alt=sse`,
  sends: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
  reported: {
    events: [
      googleAnswer({ promptTokenCount: 1 }, { finishReason: undefined }),
      googleAnswer(usage, candidate),
    ],
  },
  ...one,
});
export const image = (model: string, sends: object, answer: object, one: Case): MoneyCase => ({
  path: "/v1/images/generations",
  sends: { model, prompt: "x", ...sends },
  reported: { body: { created: 1, data: [{ b64_json: "aGVsbG8=" }], ...answer } },
  ...one,
});
const boundary = "b0";
export const transcription = (model: string, answer: object, one: Case): MoneyCase => ({
  path: "/v1/audio/transcriptions",
  sends: [
    `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n`,
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nsound\r\n`,
    `--${boundary}--\r\n`,
  ].join(""),
  sendsType: `multipart/form-data; boundary=${boundary}`,
  reported: { body: { text: "hello", ...answer } },
  ...one,
});
export const speech = (model: string, input: string, one: Case): MoneyCase => ({
  path: "/v1/audio/speech",
  sends: { model, input, voice: "alloy" },
  reported: { body: "sound", type: "audio/mpeg" },
  ...one,
});
export const passthrough = (path: string, sends: object, body: object, one: Case): MoneyCase => ({
  path: `/p/${path}`,
  sends,
  reported: { body },
  ...one,
});

const openaiTypes = "npm:openai@6.49.0";
const anthropicTypes = "npm:@anthropic-ai/sdk@1.14.0 resources/beta/messages";
const googleTypes = "npm:@google/genai@2.32.0";
const cohereTypes = "npm:cohere-ai@8.1.0 api/types/ApiMetaBilledUnits";
const mistralTypes = "npm:@mistralai/mistralai@2.7.0 models/components";
const groqTypes = "npm:groq-sdk@1.6.0 resources/chat/completions";
const litellmMap = "pypi:litellm@1.110.2 model_prices_and_context_window_backup.json";
const fastMode = "https://platform.claude.com/docs/en/build-with-claude/fast-mode";
const priorityPage = "https://openai.com/api-priority-processing/";

const compacted = {
  input_tokens: 23_000,
  output_tokens: 1000,
  iterations: [
    { type: "compaction", input_tokens: 180_000, output_tokens: 3500 },
    { type: "message", input_tokens: 23_000, output_tokens: 1000 },
  ],
};
const advised = {
  input_tokens: 1000,
  output_tokens: 200,
  iterations: [
    { type: "message", input_tokens: 600, output_tokens: 100 },
    { type: "advisor_message", model: "claude-opus-5", input_tokens: 5000, output_tokens: 700 },
    { type: "message", input_tokens: 400, output_tokens: 100 },
  ],
};
const imageTool = { image_gen: { input_tokens: 50, output_tokens: 4160 } };
const gpt5 = { input_tokens: 10_000, output_tokens: 2000 };
const gpt5Usd = (10_000 * 1.25 + 2000 * 10) / million;
const queries = { groundingMetadata: { webSearchQueries: ["a", "b", "c"] } };
const gemini = { promptTokenCount: 1000, candidatesTokenCount: 500, totalTokenCount: 1500 };
const gemini31Usd = (1000 * 2 + 500 * 12) / million;
const opus55 = { input_tokens: 10_000, output_tokens: 1200 };
const opus55Usd = (10_000 * 4 + 1200 * 20) / million;

/** Reports of trouble, and cases found by trying. */
const found: readonly MoneyCase[] = [
  chat(
    "openai/gpt-6.2-sol",
    { prompt_tokens: 2000, completion_tokens: 1000 },
    { id: "a model newer than the list", source: ["openai-newer"], usd: null },
  ),
  messages(
    "anthropic/claude-sonnet-5-5",
    { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 100_000 },
    {
      id: "a newer model isn't the one that its name begins with",
      source: [litellmMap],
      usd: 0.01,
    },
  ),
  ...["anthropic/claude-sonnet-5-9", "anthropic/claude-sonnet-5-9-20270101"].map((model) =>
    messages(
      model,
      { input_tokens: 1000, output_tokens: 100 },
      { id: `${model} has no price`, source: ["prefix"], usd: null },
    ),
  ),
  messages(
    "anthropic/claude-sonnet-5-20270101",
    { input_tokens: 1000, output_tokens: 100 },
    { id: "a dated snapshot costs as its model", source: ["prefix"], usd: 0.003 },
  ),
  messages("anthropic/claude-opus-5", compacted, {
    id: "compaction",
    source: ["pydantic/pydantic-ai#5065"],
    usd: 1.1275,
    record: { input_tokens: 203_000, output_tokens: 4500 },
  }),
  messagesStream("anthropic/claude-opus-5", { input_tokens: 23_000, output_tokens: 1 }, compacted, {
    id: "compaction, streamed",
    source: ["pydantic/pydantic-ai#5065"],
    usd: 1.1275,
  }),
  {
    ...messages("x", compacted, {
      id: "compaction, for a chat client",
      source: ["pydantic/pydantic-ai#5065"],
      usd: 1.1275,
    }),
    path: "/v1/chat/completions",
    sends: { model: "anthropic/claude-opus-5", messages: hello },
  },
  passthrough(
    "anthropic/v1/messages",
    { model: "claude-opus-5", max_tokens: 9, messages: hello },
    messagesAnswer(compacted),
    { id: "compaction, passthrough", source: ["pydantic/pydantic-ai#5065"], usd: 1.1275 },
  ),
  chat(
    "openai/gpt-6-astra",
    { prompt_tokens: 10_000, completion_tokens: 2000 },
    { id: "ultrafast", source: [litellmMap], usd: 1.2, record: { service_tier: "ultrafast" } },
    { service_tier: "ultrafast" },
  ),
  responses(
    "openai/gpt-6-astra",
    { input_tokens: 10_000, output_tokens: 2000 },
    { id: "ultrafast, responses", source: [litellmMap], usd: 1.2 },
    { service_tier: "ultrafast" },
  ),
  chat(
    "openai/gpt-5",
    { prompt_tokens: 10_000, completion_tokens: 2000 },
    { id: "priority", source: [priorityPage], usd: gpt5Usd * 2 },
    { service_tier: "priority" },
  ),
  messages(
    "anthropic/claude-opus-5-5",
    { ...opus55, speed: "fast" },
    { id: "fast", source: [fastMode, litellmMap], usd: opus55Usd * 2 },
  ),
  google(
    "gemini-3.1-pro-preview",
    { ...gemini, serviceTier: "priority" },
    { id: "Gemini's priority", source: [litellmMap], usd: gemini31Usd * 1.8 },
  ),
  responses(
    "openai/gpt-5",
    gpt5,
    { id: "the tool for images", source: ["Wei-Shaw/sub2api#4644"], usd: 0.19915 },
    { tool_usage: imageTool },
  ),
  responsesStream(
    "openai/gpt-5",
    gpt5,
    { id: "the tool for images, streamed", source: ["Wei-Shaw/sub2api#4644"], usd: 0.19915 },
    { tool_usage: imageTool },
  ),
  image(
    "openai/gpt-image-1.5",
    {},
    { usage: { input_tokens: 50, output_tokens: 4160, total_tokens: 4210 } },
    {
      id: "a picture's tokens without details",
      source: ["BerriAI/litellm#31142"],
      usd: (50 * 5 + 4160 * 32) / million,
    },
  ),
  google(
    "gemini-3.1-pro-preview",
    gemini,
    {
      id: "grounding",
      source: [litellmMap],
      usd: gemini31Usd + 0.042,
      record: { web_searches: 3 },
    },
    queries,
  ),
  transcription(
    "openai/whisper-1",
    { usage: { type: "duration", seconds: 600 } },
    { id: "seconds", source: [`${openaiTypes} audio/transcriptions`], usd: 0.06 },
  ),
  speech("openai/tts-1", "x".repeat(1000), {
    id: "characters",
    source: [`${openaiTypes} audio/speech`],
    usd: 0.015,
  }),
  messages(
    "anthropic/claude-opus-5-5",
    { ...opus55, inference_geo: "us" },
    {
      id: "a region",
      source: [anthropicTypes, litellmMap],
      usd: opus55Usd * 1.1,
      record: { region: "us" },
    },
  ),
  chat(
    "azure/prod-chat",
    { prompt_tokens: 1000, completion_tokens: 100 },
    { id: "an Azure deployment", source: ["azure-deployment"], usd: 0.0035 },
    { model: "gpt-4o-2024-11-20" },
  ),
  chatStream(
    "azure/prod-chat",
    { prompt_tokens: 1000, completion_tokens: 100 },
    { id: "an Azure deployment, streamed", source: ["azure-deployment"], usd: 0.0035 },
    { model: "gpt-4o-2024-11-20" },
  ),
  chat(
    "deepinfra/any",
    { prompt_tokens: 9, completion_tokens: 3, estimated_cost: 8.775e-6 },
    { id: "estimated_cost", source: ["BerriAI/litellm#38802"], usd: 8.775e-6 },
  ),
  passthrough(
    "cohere/v2/rerank",
    { model: "rerank-v3.5", query: "x", documents: ["y"] },
    { id: "r", results: [], meta: { billed_units: { search_units: 3 } } },
    { id: "search units", source: [cohereTypes], usd: 0.006, record: { search_units: 3 } },
  ),
  chat(
    "openai/gpt-5.6-luna",
    { prompt_tokens: 272_000, completion_tokens: 100 },
    {
      id: "at the threshold of long input",
      source: [litellmMap],
      usd: (272_000 * 0.2 + 100 * 1.2) / million,
    },
  ),
  chat(
    "openai/gpt-5.6-luna",
    { prompt_tokens: 272_001, completion_tokens: 100 },
    {
      id: "above the threshold of long input",
      source: [litellmMap],
      usd: (272_001 * 0.4 + 100 * 1.8) / million,
    },
  ),
  google(
    "gemini-2.5-pro",
    {
      promptTokenCount: 100_000,
      cachedContentTokenCount: 90_000,
      candidatesTokenCount: 1000,
      totalTokenCount: 101_000,
      trafficType: "ON_DEMAND_FLEX",
    },
    { id: "cached tokens in flex", source: [litellmMap], usd: 0.0225 },
  ),
  {
    id: "moderation",
    source: ["https://platform.openai.com/docs/guides/moderation"],
    path: "/v1/moderations",
    sends: { model: "openai/omni-moderation-latest", input: "x" },
    reported: { body: { id: "m", model: "omni-moderation-latest", results: [] } },
    usd: 0,
  },
];

/** Forms of usage in the providers' published types, and their sisters. */
const published: readonly MoneyCase[] = [
  messages("anthropic/claude-sonnet-5", advised, {
    id: "an advisor of another model",
    source: [`${anthropicTypes} BetaAdvisorMessageIterationUsage`],
    usd: (1000 * 2 + 200 * 10 + 5000 * 5 + 700 * 25) / million,
    record: { input_tokens: 6000, output_tokens: 900 },
  }),
  messagesStream("anthropic/claude-sonnet-5", { input_tokens: 1000, output_tokens: 1 }, advised, {
    id: "an advisor of another model, streamed",
    source: [`${anthropicTypes} BetaAdvisorMessageIterationUsage`],
    usd: (1000 * 2 + 200 * 10 + 5000 * 5 + 700 * 25) / million,
  }),
  messages(
    "anthropic/claude-opus-5",
    {
      input_tokens: 1000,
      output_tokens: 100,
      iterations: [
        { type: "message", model: "claude-opus-5", input_tokens: 1000, output_tokens: 5 },
        {
          type: "fallback_message",
          model: "claude-sonnet-5",
          input_tokens: 1000,
          output_tokens: 100,
        },
      ],
    },
    {
      id: "a fallback that another model served: the declined attempt isn't billed",
      source: [`${anthropicTypes} BetaFallbackMessageIterationUsage`],
      usd: (1000 * 2 + 100 * 10) / million,
      record: { input_tokens: 1000 },
    },
  ),
  messages(
    "anthropic/claude-opus-5",
    {
      input_tokens: 1000,
      output_tokens: 100,
      iterations: [{ type: "message", input_tokens: 1000, output_tokens: 100 }],
    },
    {
      id: "one iteration is the answer",
      source: [`${anthropicTypes} BetaMessageIterationUsage`],
      usd: (1000 * 5 + 100 * 25) / million,
    },
  ),
  messages(
    "anthropic/claude-opus-5",
    {
      input_tokens: 100,
      output_tokens: 10,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      service_tier: "batch",
    },
    {
      id: "caches by lifetime in a batch",
      source: [`${anthropicTypes} BetaCacheCreation`],
      usd: (100 * 5 + 10 * 25 + 1000 * 0.5 + 100 * 6.25 + 200 * 10) / 2 / million,
      record: { cache_write_1h_input_tokens: 200, service_tier: "batch" },
    },
  ),
  messages(
    "anthropic/claude-opus-5",
    {
      input_tokens: 100,
      output_tokens: 10,
      iterations: [
        {
          type: "compaction",
          input_tokens: 50,
          output_tokens: 20,
          cache_read_input_tokens: 1000,
          cache_creation_input_tokens: 200,
          cache_creation: { ephemeral_1h_input_tokens: 200 },
        },
      ],
      speed: "fast",
    },
    {
      id: "the cache and the speed of a compaction",
      source: [anthropicTypes, fastMode],
      usd: ((150 * 5 + 30 * 25 + 1000 * 0.5 + 200 * 10) * 2) / million,
    },
  ),
  messages(
    "anthropic/claude-opus-5",
    { ...opus55, speed: "fast", inference_geo: "us" },
    {
      id: "fast in a region",
      source: [fastMode, litellmMap],
      usd: ((10_000 * 5 + 1200 * 25) * 2 * 1.1) / million,
    },
  ),
  messages(
    "anthropic/claude-opus-4-6",
    { ...opus55, speed: "fast" },
    {
      id: "fast, as it was",
      source: ["https://openrouter.ai/anthropic/claude-opus-4.6-fast"],
      usd: ((10_000 * 5 + 1200 * 25) * 6) / million,
    },
  ),
  messages(
    "anthropic/claude-opus-5-5",
    { ...opus55, inference_geo: "global", speed: "standard", service_tier: "standard" },
    {
      id: "global and standard cost nothing more",
      source: [anthropicTypes],
      usd: opus55Usd,
      record: { region: "global", service_tier: "standard" },
    },
  ),
  messages(
    "anthropic/claude-haiku-4-5",
    { ...opus55, inference_geo: "not_available" },
    {
      id: "a model from before regions",
      source: [litellmMap],
      usd: (10_000 * 1 + 1200 * 5) / million,
      record: { region: null },
    },
  ),
  messages(
    "anthropic/claude-opus-5-5",
    { ...opus55, server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 } },
    {
      id: "searches cost, fetches don't",
      source: [`${anthropicTypes} BetaServerToolUsage`],
      usd: opus55Usd + 0.03,
    },
  ),
  ...(
    [
      ["gpt-4o", 1.7, 2.5, 10],
      ["gpt-4o-mini", 1.667, 0.15, 0.6],
      ["gpt-4.1", 1.75, 2, 8],
      ["gpt-5-mini", 1.8, 0.25, 2],
      ["gpt-5.5", 2.5, 5, 30],
    ] as const
  ).map(([model, factor, input, output]) =>
    chat(
      `openai/${model}`,
      { prompt_tokens: 1000, completion_tokens: 1000 },
      {
        id: `priority of ${model}`,
        source: [priorityPage, litellmMap],
        usd: (1000 * input * factor + 1000 * output * factor) / million,
      },
      { service_tier: "priority" },
    ),
  ),
  chatStream(
    "openai/gpt-5",
    { prompt_tokens: 10_000, completion_tokens: 2000 },
    { id: "priority, streamed", source: [priorityPage], usd: gpt5Usd * 2 },
    { service_tier: "priority" },
  ),
  responsesStream(
    "openai/gpt-5",
    gpt5,
    {
      id: "flex, streamed",
      source: ["https://platform.openai.com/docs/guides/flex-processing"],
      usd: gpt5Usd / 2,
    },
    { service_tier: "flex" },
  ),
  chat(
    "azure/gpt-5",
    { prompt_tokens: 10_000, completion_tokens: 2000 },
    { id: "Azure's priority", source: [litellmMap], usd: gpt5Usd * 2 },
    { service_tier: "priority" },
  ),
  chat(
    "openai/gpt-5",
    { prompt_tokens: 10_000, completion_tokens: 2000 },
    { id: "fast, as priority is called now", source: ["openai-priority"], usd: gpt5Usd * 2 },
    { service_tier: "fast" },
  ),
  responses(
    "openai/gpt-5",
    gpt5,
    {
      id: "the tool for images with another model and details",
      source: ["Wei-Shaw/sub2api#4644", `${openaiTypes} responses Tool.ImageGeneration`],
      usd: gpt5Usd + (40 * 5 + 10 * 8 + 1000 * 32) / million,
    },
    {
      tools: [{ type: "image_generation", model: "gpt-image-1.5" }],
      tool_usage: {
        image_gen: {
          input_tokens: 50,
          input_tokens_details: { image_tokens: 10, text_tokens: 40 },
          output_tokens: 1000,
          output_tokens_details: { image_tokens: 1000, text_tokens: 0 },
        },
      },
    },
  ),
  responses(
    "openai/gpt-5",
    gpt5,
    {
      id: "containers, and searches by kind",
      source: [`${openaiTypes} responses ResponseCodeInterpreterToolCall`, litellmMap],
      usd: gpt5Usd + 2 * 0.03 + 0.01 + 0.0025,
      record: { containers: 2, web_searches: 1, file_searches: 1 },
    },
    {
      output: [
        { type: "code_interpreter_call", id: "1", container_id: "a" },
        { type: "code_interpreter_call", id: "2", container_id: "a" },
        { type: "code_interpreter_call", id: "3", container_id: "b" },
        { type: "web_search_call", id: "4", action: { type: "search" } },
        { type: "web_search_call", id: "5", action: { type: "open_page" } },
        { type: "file_search_call", id: "6" },
      ],
    },
  ),
  responses(
    "openai/gpt-5",
    gpt5,
    {
      id: "searches that only the tools' usage counts",
      source: ["Wei-Shaw/sub2api#4644"],
      usd: gpt5Usd + 0.02,
    },
    {
      tool_usage: {
        image_gen: { input_tokens: 0, output_tokens: 0 },
        web_search: { num_requests: 2 },
      },
    },
  ),
  image(
    "openai/gpt-image-1.5",
    { quality: "high", size: "1024x1024" },
    {
      usage: {
        input_tokens: 150,
        input_tokens_details: { text_tokens: 50, image_tokens: 100 },
        output_tokens: 4300,
        output_tokens_details: { image_tokens: 4160, text_tokens: 140 },
        total_tokens: 4450,
      },
    },
    {
      id: "a picture's tokens with details",
      source: [`${openaiTypes} images ImagesResponse.Usage`],
      usd: (50 * 5 + 100 * 8 + 140 * 10 + 4160 * 32) / million,
    },
  ),
  passthrough(
    "openai/v1/images/generations",
    { model: "gpt-image-1.5", prompt: "x" },
    { created: 1, data: [], usage: { input_tokens: 50, output_tokens: 4160, total_tokens: 4210 } },
    {
      id: "a picture's tokens without details, passthrough",
      source: ["BerriAI/litellm#31142"],
      usd: (50 * 5 + 4160 * 32) / million,
    },
  ),
  ...(
    [
      [{}, 0.04],
      [{ quality: "hd" }, 0.08],
      [{ quality: "standard", size: "1792x1024" }, 0.08],
      [{ quality: "hd", size: "1792x1024" }, 0.12],
    ] as const
  ).map(([sends, usd]) =>
    image(
      "openai/dall-e-3",
      sends,
      {},
      {
        id: `dall-e-3 ${JSON.stringify(sends)}`,
        source: ["https://platform.openai.com/docs/pricing", `${openaiTypes} images`],
        usd,
        record: { images: 1 },
      },
    ),
  ),
  image(
    "openai/dall-e-2",
    { n: 3, size: "512x512" },
    {},
    {
      id: "several pictures",
      source: ["https://platform.openai.com/docs/pricing"],
      usd: 0.054,
    },
  ),
  transcription(
    "openai/whisper-1",
    { task: "transcribe", language: "english", duration: 30.5, segments: [] },
    {
      id: "seconds of a verbose transcription",
      source: [`${openaiTypes} audio/transcriptions TranscriptionVerbose`],
      usd: 0.00305,
      record: { audio_ms: 30_500 },
    },
  ),
  transcription(
    "openai/gpt-4o-transcribe",
    {
      usage: {
        type: "tokens",
        input_tokens: 110,
        input_token_details: { audio_tokens: 100, text_tokens: 10 },
        output_tokens: 20,
        total_tokens: 130,
      },
    },
    {
      id: "a transcription by the token",
      source: [`${openaiTypes} audio/transcriptions Transcription.Tokens`],
      usd: (10 * 2.5 + 100 * 6 + 20 * 10) / million,
    },
  ),
  transcription(
    "groq/whisper-large-v3-turbo",
    { usage: { type: "duration", seconds: 3600 } },
    {
      id: "an hour at Groq",
      source: ["https://groq.com/pricing"],
      usd: 0.04,
    },
  ),
  speech("openai/tts-1-hd", "ä🙂".repeat(10), {
    id: "characters beyond ASCII",
    source: ["https://platform.openai.com/docs/pricing"],
    usd: 20 * 0.00003,
    record: { characters: 20 },
  }),
  passthrough(
    "openai/v1/audio/speech",
    { model: "tts-1", input: "x".repeat(100), voice: "alloy" },
    {},
    { id: "characters, passthrough", source: [`${openaiTypes} audio/speech`], usd: 0.0015 },
  ),
  googleStream(
    "gemini-3.1-pro-preview",
    gemini,
    {
      id: "grounding, streamed",
      source: [`${googleTypes} GroundingMetadata`],
      usd: gemini31Usd + 0.042,
    },
    queries,
  ),
  passthrough(
    "gemini/v1beta/models/gemini-3.1-pro-preview:generateContent",
    { contents: [] },
    googleAnswer(gemini, queries),
    {
      id: "grounding, passthrough",
      source: [`${googleTypes} GroundingMetadata`],
      usd: gemini31Usd + 0.042,
    },
  ),
  google(
    "gemini-2.5-pro",
    gemini,
    {
      id: "an older Gemini is billed by the grounded prompt",
      source: ["https://ai.google.dev/gemini-api/docs/pricing"],
      usd: (1000 * 1.25 + 500 * 10) / million + 0.035,
    },
    queries,
  ),
  google(
    "gemini-2.5-pro",
    gemini,
    {
      id: "grounding with maps",
      source: [litellmMap, `${googleTypes} GroundingChunk.maps`],
      usd: (1000 * 1.25 + 500 * 10) / million + 0.025,
      record: { maps_searches: 1 },
    },
    { groundingMetadata: { groundingChunks: [{ maps: { uri: "u" } }, { maps: { uri: "v" } }] } },
  ),
  google(
    "gemini-2.5-pro",
    {
      promptTokenCount: 1000,
      toolUsePromptTokenCount: 200,
      candidatesTokenCount: 100,
      thoughtsTokenCount: 300,
      totalTokenCount: 1600,
    },
    {
      id: "tools' prompts and thoughts",
      source: [`${googleTypes} GenerateContentResponseUsageMetadata`],
      usd: (1200 * 1.25 + 400 * 10) / million,
      record: { input_tokens: 1200, output_tokens: 400, reasoning_tokens: 300 },
    },
  ),
  google(
    "gemini-2.5-pro",
    {
      promptTokenCount: 1000,
      toolUsePromptTokenCount: 200,
      candidatesTokenCount: 100,
      thoughtsTokenCount: 300,
    },
    {
      id: "thoughts without a total",
      source: [`${googleTypes} GenerateContentResponseUsageMetadata`],
      usd: (1200 * 1.25 + 400 * 10) / million,
    },
  ),
  google(
    "gemini-2.5-flash",
    {
      promptTokenCount: 1000,
      cachedContentTokenCount: 500,
      candidatesTokenCount: 0,
      totalTokenCount: 1000,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 400 },
        { modality: "AUDIO", tokenCount: 600 },
      ],
      cacheTokensDetails: [
        { modality: "TEXT", tokenCount: 100 },
        { modality: "AUDIO", tokenCount: 400 },
      ],
    },
    {
      id: "the cached share by modality",
      source: [`${googleTypes} cacheTokensDetails`],
      usd: (300 * 0.3 + 200 * 1 + 100 * 0.03 + 400 * 0.1) / million,
      record: { audio_input_tokens: 600, cached_audio_input_tokens: 400 },
    },
  ),
  google(
    "gemini-2.5-pro",
    { ...gemini, trafficType: "ON_DEMAND_PRIORITY" },
    {
      id: "priority by the type of traffic",
      source: [`${googleTypes} TrafficType`, litellmMap],
      usd: ((1000 * 1.25 + 500 * 10) * 1.8) / million,
      record: { service_tier: "priority" },
    },
  ),
  chat(
    "openrouter/x/y",
    { prompt_tokens: 9, completion_tokens: 3, cost: 0.00042 },
    {
      id: "OpenRouter's cost",
      source: ["https://openrouter.ai/docs/use-cases/usage-accounting"],
      usd: 0.00042,
    },
  ),
  chat(
    "openrouter/x/y",
    {
      prompt_tokens: 9,
      completion_tokens: 3,
      cost: 0.00001,
      is_byok: true,
      cost_details: { upstream_inference_cost: 0.002 },
    },
    {
      id: "OpenRouter's cost with a key of one's own",
      source: ["https://openrouter.ai/docs/use-cases/usage-accounting"],
      usd: 0.00201,
    },
  ),
  chat(
    "openrouter/x/y:free",
    { prompt_tokens: 9, completion_tokens: 3 },
    { id: "a free model", source: ["https://openrouter.ai/docs/faq"], usd: 0 },
  ),
  chat(
    "xai/grok-4",
    { prompt_tokens: 9, completion_tokens: 3, cost_in_usd_ticks: 123_450_000 },
    { id: "xAI's ticks", source: ["https://docs.x.ai/docs/api-reference"], usd: 0.012345 },
  ),
  chat(
    "perplexity/sonar",
    { prompt_tokens: 9, completion_tokens: 3, cost: { total_cost: 0.0062, request_cost: 0.006 } },
    { id: "Perplexity's cost", source: ["https://docs.perplexity.ai/api-reference"], usd: 0.0062 },
  ),
  chatStream(
    "deepinfra/any",
    { prompt_tokens: 9, completion_tokens: 3, estimated_cost: 8.775e-6 },
    { id: "estimated_cost, streamed", source: ["BerriAI/litellm#38802"], usd: 8.775e-6 },
  ),
  passthrough(
    "deepinfra/inference/any",
    { model: "any", input: "x" },
    {
      results: [],
      inference_status: { status: "succeeded", cost: 0.0005, tokens_input: 7, tokens_generated: 2 },
    },
    { id: "DeepInfra's own API", source: ["https://deepinfra.com/docs"], usd: 0.0005 },
  ),
  passthrough(
    "cohere/v2/rerank",
    { model: "rerank-v3.5", query: "x", documents: ["y"] },
    { id: "r", results: [] },
    { id: "a reranker without usage is unpriced", source: ["rerank"], usd: null },
  ),
  passthrough(
    "cohere/v2/chat",
    { model: "command-r-plus-08-2024", messages: hello },
    {
      id: "c",
      message: {},
      usage: {
        billed_units: { input_tokens: 100, output_tokens: 50 },
        tokens: { input_tokens: 170, output_tokens: 51 },
      },
    },
    {
      id: "Cohere bills other tokens than it counts",
      source: ["npm:cohere-ai@8.1.0 api/types/Usage"],
      usd: (100 * 2.5 + 50 * 10) / million,
      record: { input_tokens: 100, output_tokens: 50 },
    },
  ),
  passthrough(
    "priced/v1/rerank",
    { model: "tokens", query: "x", documents: ["y"] },
    { results: [], usage: { total_tokens: 1000 } },
    {
      id: "a reranker by the token (Jina, Voyage)",
      source: ["https://jina.ai/reranker", litellmMap],
      usd: 0.001,
    },
  ),
  passthrough(
    "priced/v1/rerank",
    { model: "tokens", query: "x", documents: ["y"] },
    { results: [], meta: { tokens: { input_tokens: 1000, output_tokens: 0 } } },
    { id: "a reranker's tokens in its meta", source: ["https://docs.siliconflow.cn"], usd: 0.001 },
  ),
  transcription(
    "priced/voxtral",
    {
      usage: {
        prompt_audio_seconds: 60,
        prompt_tokens: 4,
        completion_tokens: 100,
        total_tokens: 1504,
      },
    },
    {
      id: "sound that is counted in seconds, beside tokens",
      source: [`${mistralTypes} UsageInfo.promptAudioSeconds`],
      usd: 0.002 + (4 * 1 + 100 * 2) / million,
      record: { audio_ms: 60_000, output_tokens: 100, audio_input_tokens: 1400 },
    },
  ),
  passthrough(
    "mistral/ocr",
    { model: "mistral-ocr-latest", document: {} },
    {
      pages: [],
      model: "mistral-ocr-latest",
      usage_info: { pages_processed: 5, doc_size_bytes: 9 },
    },
    {
      id: "pages",
      source: [`${mistralTypes} OCRUsageInfo`, litellmMap],
      usd: 0.02,
      record: { pages: 5 },
    },
  ),
  chat(
    "groq/compound",
    { prompt_tokens: 300, completion_tokens: 30, total_tokens: 330 },
    {
      id: "the models behind a compound one",
      source: [`${groqTypes} UsageBreakdown`],
      usd: (100 * 0.59 + 10 * 0.79 + 200 * 0.05 + 20 * 0.08) / million,
    },
    {
      usage_breakdown: {
        models: [
          {
            model: "llama-3.3-70b-versatile",
            usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
          },
          {
            model: "llama-3.1-8b-instant",
            usage: { prompt_tokens: 200, completion_tokens: 20, total_tokens: 220 },
          },
        ],
      },
    },
  ),
  passthrough(
    "priced/model/tokens/converse",
    { messages: [] },
    {
      output: {},
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 115,
        cacheReadInputTokens: 60,
        cacheWriteInputTokens: 40,
      },
    },
    {
      id: "Bedrock's Converse counts caches beside its input",
      source: ["npm:@aws-sdk/client-bedrock-runtime TokenUsage"],
      usd: (10 * 1 + 60 * 0.1 + 40 * 1.25 + 5 * 2) / million,
      record: { input_tokens: 110, cached_input_tokens: 60 },
    },
  ),
  passthrough(
    "priced/v1beta/interactions",
    { model: "tokens", input: "x" },
    {
      id: "i",
      usage: {
        total_input_tokens: 100,
        total_cached_tokens: 40,
        total_tool_use_tokens: 20,
        total_output_tokens: 10,
        total_thought_tokens: 30,
        total_tokens: 160,
        grounding_tool_count: [{ type: "google_search", count: 2 }],
      },
    },
    {
      id: "Gemini's interactions",
      source: [`${googleTypes} Usage.grounding_tool_count`],
      usd: (80 * 1 + 40 * 0.1 + 40 * 2) / million + 2 * 0.01,
      record: { web_searches: 2, reasoning_tokens: 30 },
    },
  ),
];

const deepseek = { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 };
const repeatedInput = {
  input_tokens: 10,
  cache_creation_input_tokens: 100,
  cache_read_input_tokens: 200,
};
const searched = {
  promptTokenCount: 151,
  candidatesTokenCount: 1089,
  totalTokenCount: 20_689,
  toolUsePromptTokenCount: 18_329,
  thoughtsTokenCount: 1120,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 151 }],
  toolUsePromptTokensDetails: [{ modality: "TEXT", tokenCount: 18_329 }],
};
const searchedUsd = ((151 + 18_329) * 0.3 + (1089 + 1120) * 2.5) / million;
const grokUsage = {
  prompt_tokens: 10_120,
  completion_tokens: 1499,
  total_tokens: 14_428,
  prompt_tokens_details: { cached_tokens: 128 },
  completion_tokens_details: { reasoning_tokens: 2809 },
};
const embeddings = (model: string, usage: object, one: Case): MoneyCase => ({
  path: "/v1/embeddings",
  sends: { model, input: "x" },
  reported: { body: { object: "list", data: [], model: "m", usage } },
  ...one,
});

/** Usage in reports of wrong costs, with the costs that they say are right. */
const metering: readonly MoneyCase[] = [
  chat(
    "openai/gpt-5.1",
    {
      prompt_tokens: 30_000,
      completion_tokens: 4603,
      total_tokens: 34_603,
      prompt_tokens_details: { cached_tokens: 20_000 },
      completion_tokens_details: { reasoning_tokens: 3500 },
    },
    {
      id: "cached and reasoning tokens are parts, and cost once",
      source: ["latitude-dev/latitude-llm#4051"],
      usd: (10_000 * 1.25 + 20_000 * 0.125 + 4603 * 10) / million,
    },
  ),
  chatStream(
    "openai/gpt-5.1",
    {
      prompt_tokens: 1000,
      completion_tokens: 100,
      total_tokens: 1100,
      prompt_tokens_details: { cached_tokens: 900 },
    },
    {
      id: "a cached prefix is a part of the prompt, streamed",
      source: ["adolfousier/opencrabs#1636"],
      usd: (100 * 1.25 + 900 * 0.125 + 100 * 10) / million,
    },
  ),
  ...[responses, responsesStream].map((make, i) =>
    make(
      "openai/gpt-5",
      {
        input_tokens: 1000,
        input_tokens_details: { cached_tokens: 500 },
        output_tokens: 200,
        output_tokens_details: { reasoning_tokens: 50 },
        total_tokens: 1200,
      },
      {
        id: `Codex's cached tokens are a part of the input${i === 0 ? "" : ", streamed"}`,
        source: ["janekbaraniewski/openusage#360"],
        usd: (500 * 1.25 + 500 * 0.125 + 200 * 10) / million,
        record: { reasoning_tokens: 50 },
      },
    ),
  ),
  messagesStream(
    "anthropic/claude-sonnet-4-5",
    { input_tokens: 27, output_tokens: 1 },
    {
      input_tokens: 27,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 47,
    },
    {
      id: "the last event repeats the input",
      source: ["modelbus/one-api-pro#13"],
      usd: (27 * 3 + 47 * 15) / million,
      record: { input_tokens: 27, output_tokens: 47 },
    },
  ),
  messagesStream(
    "anthropic/claude-sonnet-4-5",
    { ...repeatedInput, output_tokens: 1 },
    { ...repeatedInput, output_tokens: 50 },
    {
      id: "the last event repeats the caches",
      source: ["envoyproxy/ai-gateway#2239"],
      usd: (10 * 3 + 100 * 3.75 + 200 * 0.3 + 50 * 15) / million,
    },
  ),
  messagesStream(
    "anthropic/claude-sonnet-4-5",
    {
      input_tokens: 50,
      cache_creation_input_tokens: 120,
      cache_read_input_tokens: 2400,
      output_tokens: 1,
    },
    { output_tokens: 30 },
    {
      id: "the caches are only in the first event",
      source: ["decolua/9router#2209"],
      usd: (50 * 3 + 120 * 3.75 + 2400 * 0.3 + 30 * 15) / million,
      record: { input_tokens: 2570, cached_input_tokens: 2400 },
    },
  ),
  ...[google, googleStream].map((make, i) =>
    make("gemini-2.5-flash", searched, {
      id: `tokens of Gemini's tools are input${i === 0 ? "" : ", streamed"}`,
      source: ["QuantumNous/new-api#2935"],
      usd: searchedUsd,
      record: { input_tokens: 18_480, output_tokens: 2209 },
    }),
  ),
  google(
    "gemini-2.5-pro",
    {
      promptTokenCount: 7477,
      candidatesTokenCount: 2060,
      totalTokenCount: 11_476,
      thoughtsTokenCount: 1939,
    },
    {
      id: "thoughts are output",
      source: ["vercel/ai#6082"],
      usd: (7477 * 1.25 + 3999 * 10) / million,
      record: { reasoning_tokens: 1939 },
    },
  ),
  google(
    "gemini-2.5-flash",
    { promptTokenCount: 100, candidatesTokenCount: 50, totalTokenCount: 450 },
    {
      id: "thoughts that only the total counts",
      source: ["langfuse/langfuse#16321"],
      usd: (100 * 0.3 + 350 * 2.5) / million,
    },
  ),
  google(
    "gemini-2.5-pro",
    {
      promptTokenCount: 696_219,
      cachedContentTokenCount: 696_190,
      candidatesTokenCount: 214,
      totalTokenCount: 696_433,
    },
    {
      id: "a cached long prompt",
      source: ["ding113/claude-code-hub#338"],
      usd: (29 * 2.5 + 696_190 * 0.25 + 214 * 15) / million,
    },
  ),
  google(
    "own-image",
    {
      promptTokenCount: 326,
      candidatesTokenCount: 2340,
      totalTokenCount: 3003,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 326 }],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 2000 }],
      thoughtsTokenCount: 337,
    },
    {
      id: "a picture, text and thoughts in one answer",
      source: ["ding113/claude-code-hub#663"],
      usd: 0.248776,
      record: { image_output_tokens: 2000 },
    },
  ),
  google(
    "gemini-2.5-flash-image",
    {
      promptTokenCount: 30,
      candidatesTokenCount: 1390,
      totalTokenCount: 1420,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
    },
    {
      id: "a picture with an explanation",
      source: ["vm0-ai/vm0#10963"],
      usd: (30 * 0.3 + 100 * 2.5 + 1290 * 30) / million,
    },
  ),
  google(
    "gemini-2.5-flash-preview-tts",
    {
      promptTokenCount: 20,
      candidatesTokenCount: 300,
      totalTokenCount: 320,
      candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 300 }],
    },
    {
      id: "Gemini's speech",
      source: ["BerriAI/litellm#38412"],
      usd: (20 * 0.5 + 300 * 10) / million,
      record: { audio_output_tokens: 300 },
    },
  ),
  ...[chat, chatStream].map((make, i) =>
    make(
      "priced/deepseek",
      { ...deepseek, prompt_cache_hit_tokens: 20, prompt_cache_miss_tokens: 80 },
      {
        id: `DeepSeek's cache hits${i === 0 ? "" : ", streamed"}`,
        source: ["Aider-AI/aider#5425", "laravel/ai#705"],
        usd: (80 * 0.435 + 20 * 0.003625 + 40 * 0.87) / million,
        record: { cached_input_tokens: 20 },
      },
    ),
  ),
  chat(
    "priced/deepseek",
    {
      prompt_tokens: 36_100,
      completion_tokens: 1200,
      prompt_cache_hit_tokens: 21_600,
      prompt_cache_miss_tokens: 14_500,
    },
    {
      id: "DeepSeek's cache misses cost the full price",
      source: ["mnfst/llm-gateway#2051"],
      usd: (14_500 * 0.435 + 21_600 * 0.003625 + 1200 * 0.87) / million,
    },
  ),
  chat(
    "priced/audio-mini",
    {
      prompt_tokens: 15,
      completion_tokens: 47,
      total_tokens: 62,
      prompt_tokens_details: { audio_tokens: 0, text_tokens: 15 },
      completion_tokens_details: { audio_tokens: 34, text_tokens: 13 },
    },
    {
      id: "spoken output of a small model",
      source: ["langwatch/langwatch#7036"],
      usd: (15 * 0.6 + 13 * 2.4 + 34 * 20) / million,
    },
  ),
  chat(
    "priced/audio",
    {
      prompt_tokens: 17,
      completion_tokens: 592,
      prompt_tokens_details: { audio_tokens: 0, text_tokens: 17 },
      completion_tokens_details: { audio_tokens: 482, text_tokens: 110 },
    },
    {
      id: "spoken output beside text",
      source: ["BerriAI/litellm#19771"],
      usd: (17 * 2.5 + 110 * 10 + 482 * 80) / million,
    },
  ),
  chat(
    "priced/tokens",
    {
      prompt_tokens: 100,
      completion_tokens: 10,
      prompt_tokens_details: { audio_tokens: 60 },
    },
    {
      id: "sound without a rate of its own costs as text",
      source: ["BerriAI/litellm#37661"],
      usd: (100 * 1 + 10 * 2) / million,
    },
  ),
  messages(
    "anthropic/claude-opus-5",
    {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: 1_000_000,
      cache_creation: {
        ephemeral_5m_input_tokens: 600_000,
        ephemeral_1h_input_tokens: 400_000,
      },
    },
    {
      id: "caches of five minutes and of an hour",
      source: ["earendil-works/pi#5738"],
      usd: 7.75,
    },
  ),
  messages(
    "anthropic/claude-haiku-4-5",
    {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: 3904,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 3904 },
    },
    {
      id: "a cache of an hour only",
      source: ["phuryn/claude-usage#162", "ccusage/ccusage#899"],
      usd: (3904 * 2) / million,
    },
  ),
  messages(
    "anthropic/claude-haiku-4-5",
    {
      input_tokens: 1,
      output_tokens: 1,
      cache_creation_input_tokens: 1000,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 380 },
    },
    {
      id: "more is written to a cache than its lifetimes say",
      source: ["Wei-Shaw/claude-relay-service#1081"],
      usd: (1 + 620 * 1.25 + 380 * 2 + 5) / million,
    },
  ),
  messages(
    "anthropic/claude-haiku-4-5",
    { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 1000 },
    {
      id: "what is written to a cache costs more than input",
      source: ["VasiHemanth/tokentelemetry#68"],
      usd: (100 + 1000 * 1.25 + 10 * 5) / million,
    },
  ),
  ...[chat, chatStream].map((make, i) =>
    make("priced/grok", grokUsage, {
      id: `xAI's reasoning is beside the completion${i === 0 ? "" : ", streamed"}`,
      source: ["Wei-Shaw/sub2api#5771", "UKGovernmentBEIS/inspect_ai#5528"],
      usd: 0.0232856,
      record: { output_tokens: 4308, reasoning_tokens: 2809 },
    }),
  ),
  chat(
    "xai/grok-any",
    { ...grokUsage, cost_in_usd_ticks: 232_856_000 },
    {
      id: "xAI's ticks agree with its tokens",
      source: ["Wei-Shaw/sub2api#5771"],
      usd: 0.0232856,
    },
  ),
  chat(
    "priced/grok",
    {
      prompt_tokens: 12,
      completion_tokens: 1,
      total_tokens: 399,
      completion_tokens_details: { reasoning_tokens: 386 },
    },
    {
      id: "nearly all output is reasoning",
      source: ["vercel/ai#12425"],
      usd: (12 * 1.25 + 387 * 2.5) / million,
    },
  ),
  chat(
    "priced/grok",
    {
      prompt_tokens: 500,
      completion_tokens: 500,
      total_tokens: 1000,
      completion_tokens_details: { reasoning_tokens: 200 },
    },
    {
      id: "reasoning within the completion costs once",
      source: ["promptfoo/promptfoo#9507"],
      usd: (500 * 1.25 + 500 * 2.5) / million,
    },
  ),
  chat(
    "priced/grok",
    {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 135,
      completion_tokens_details: { reasoning_tokens: 94 },
    },
    {
      id: "the example of xAI's pages",
      source: ["sonami-tech/omni-llm-provider#49"],
      usd: (32 * 1.25 + 103 * 2.5) / million,
    },
  ),
  ...[responses, responsesStream].map((make, i) =>
    make(
      "openai/gpt-5",
      gpt5,
      {
        id: `a search is billed beside its tokens${i === 0 ? "" : ", streamed"}`,
        source: ["BerriAI/litellm#31316", "earendil-works/pi#1432"],
        usd: gpt5Usd + 0.01,
      },
      { output: [{ type: "web_search_call", id: "1", action: { type: "search" } }] },
    ),
  ),
  responses(
    "openai/gpt-5",
    gpt5,
    {
      id: "a tool that isn't called costs nothing",
      source: ["BerriAI/litellm#10384"],
      usd: gpt5Usd,
      record: { web_searches: 0 },
    },
    { tools: [{ type: "web_search", search_context_size: "medium" }] },
  ),
  responses(
    "openai/gpt-5",
    gpt5,
    {
      id: "a page that is opened is no search",
      source: ["maximhq/bifrost#7306", "BerriAI/litellm#39610"],
      usd: gpt5Usd + 0.01,
    },
    {
      output: [
        { type: "web_search_call", id: "1", action: { type: "search" } },
        { type: "web_search_call", id: "2", action: { type: "open_page" } },
      ],
      tool_usage: { web_search: { num_requests: 1 } },
    },
  ),
  messagesStream(
    "anthropic/claude-opus-5-5",
    { ...opus55, output_tokens: 1 },
    { ...opus55, server_tool_use: { web_search_requests: 2 } },
    {
      id: "searches of a stream",
      source: ["langfuse/langfuse#15856", "BerriAI/litellm#16631"],
      usd: opus55Usd + 0.02,
    },
  ),
  chat(
    "priced/tokens",
    {
      prompt_tokens: 100,
      completion_tokens: 10,
      server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1 },
    },
    {
      id: "xAI's searches",
      source: ["BerriAI/litellm#30817"],
      usd: (100 + 10 * 2) / million + 0.03,
    },
  ),
  chat(
    "priced/tokens",
    { prompt_tokens: 100, completion_tokens: 10, num_search_queries: 2 },
    {
      id: "Perplexity's searches",
      source: ["https://docs.perplexity.ai/api-reference"],
      usd: (100 + 10 * 2) / million + 0.02,
    },
  ),
  embeddings(
    "openai/text-embedding-3-small",
    { prompt_tokens: 8, total_tokens: 8 },
    {
      id: "embeddings",
      source: ["hackclub/ai#133"],
      usd: (8 * 0.02) / million,
      record: { input_tokens: 8, output_tokens: 0 },
    },
  ),
  embeddings(
    "openai/text-embedding-3-large",
    { total_tokens: 10 },
    {
      id: "embeddings with only a total",
      source: ["https://docs.voyageai.com/reference/embeddings-api"],
      usd: (10 * 0.13) / million,
      record: { input_tokens: 10 },
    },
  ),
  passthrough(
    "cohere/v2/embed",
    { model: "embed-v4.0", input_type: "search_document", images: ["x"] },
    { id: "e", embeddings: {}, meta: { billed_units: { input_tokens: 10, image_tokens: 500 } } },
    {
      id: "embeddings of images",
      source: [cohereTypes, "https://cohere.com/pricing"],
      usd: (10 * 0.12 + 500 * 0.47) / million,
      record: { input_tokens: 510, image_input_tokens: 500 },
    },
  ),
  chat(
    "openrouter/x/y",
    {
      prompt_tokens: 10,
      completion_tokens: 15,
      total_tokens: 25,
      cost: 0.000125,
      is_byok: false,
      cost_details: { upstream_inference_cost: 0.000125 },
    },
    {
      id: "the upstream's cost is within OpenRouter's",
      source: ["theopenco/llmgateway#2031"],
      usd: 0.000125,
    },
  ),
  chatStream(
    "openrouter/x/y",
    { prompt_tokens: 9, completion_tokens: 3, cost: 0.00042 },
    {
      id: "OpenRouter's cost, streamed",
      source: ["https://openrouter.ai/docs/use-cases/usage-accounting"],
      usd: 0.00042,
    },
  ),
  {
    ...chatStream(
      "groq/openai/gpt-oss-120b",
      {},
      {
        id: "Groq's usage of streams",
        source: [`${groqTypes} ChatCompletionChunk.XGroq`],
        usd: (32 * 0.15 + 19 * 0.6) / million,
      },
    ),
    reported: {
      events: [
        {
          id: "c",
          object: "chat.completion.chunk",
          choices: [{ index: 0, delta: { content: "hello" }, finish_reason: "stop" }],
          x_groq: {
            id: "r",
            usage: { prompt_tokens: 32, completion_tokens: 19, total_tokens: 51 },
          },
        },
      ],
    },
  },
  ...["/v1/messages", "/v1/responses"].map((path) => ({
    ...chatStream(
      "mistral/mistral-large-latest",
      { prompt_tokens: 32, completion_tokens: 19, total_tokens: 51 },
      {
        id: `a translated stream to ${path}`,
        source: ["mozilla-ai/otari#256"],
        usd: (32 * 0.5 + 19 * 1.5) / million,
        record: { input_tokens: 32, output_tokens: 19 },
      },
    ),
    path,
    sends: {
      model: "mistral/mistral-large-latest",
      max_tokens: 50,
      ...(path === "/v1/messages" ? { messages: hello } : { input: "x" }),
      stream: true,
    },
  })),
  {
    ...messages(
      "x",
      { ...repeatedInput, output_tokens: 50 },
      {
        id: "caches of Anthropic, for a client of the Responses API",
        source: ["decolua/9router#2209"],
        usd: (10 * 3 + 100 * 3.75 + 200 * 0.3 + 50 * 15) / million,
      },
    ),
    path: "/v1/responses",
    sends: { model: "anthropic/claude-sonnet-4-5", input: "x" },
  },
  chat(
    "mistral/mistral-large-latest",
    { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    {
      id: "Mistral",
      source: ["https://mistral.ai/pricing", `${mistralTypes} UsageInfo`],
      usd: (1000 * 0.5 + 100 * 1.5) / million,
    },
  ),
  chat(
    "openai/o3",
    { prompt_tokens: 1000, completion_tokens: 1000 },
    {
      id: "flex of o3",
      source: ["https://platform.openai.com/docs/guides/flex-processing"],
      usd: (1000 * 2 + 1000 * 8) / 2 / million,
    },
    { service_tier: "flex" },
  ),
  responses(
    "openai/gpt-5-pro",
    { input_tokens: 1000, output_tokens: 1000 },
    {
      id: "gpt-5-pro",
      source: ["https://platform.openai.com/docs/pricing"],
      usd: (1000 * 15 + 1000 * 120) / million,
    },
  ),
  transcription(
    "openai/gpt-4o-mini-transcribe",
    {
      usage: {
        type: "tokens",
        input_tokens: 110,
        input_token_details: { audio_tokens: 100, text_tokens: 10 },
        output_tokens: 20,
        total_tokens: 130,
      },
    },
    {
      id: "a transcription of a small model",
      source: [`${openaiTypes} audio/transcriptions Transcription.Tokens`],
      usd: (10 * 1.25 + 100 * 3 + 20 * 5) / million,
    },
  ),
];

/** What settings can say. */
const settings: readonly MoneyCase[] = [
  ...(
    [
      ["discounted", (1000 * 2.5 + 100 * 10) * 0.9, "a discount on the list"],
      ["like-gpt-4o", 1000 * 2.5 + 100 * 10, "like another model"],
      ["pattern-7b", 1000 * 3 + 100 * 4, "a pattern"],
      ["pattern-7b-chat", 1000 * 5 + 100 * 6, "the longer pattern"],
      ["changed", 1000 * 7 + 100 * 2, "a rate since a date"],
    ] as const
  ).map(([model, micro, id]) =>
    chat(
      `priced/${model}`,
      { prompt_tokens: 1000, completion_tokens: 100 },
      { id, source: ["settings"], usd: micro / million },
    ),
  ),
  chat(
    "openrouter/own",
    { prompt_tokens: 1000, completion_tokens: 100, cost: 5 },
    { id: "the operator's price goes before a reported cost", source: ["settings"], usd: 0.0012 },
  ),
  chat(
    "openrouter/margin",
    { prompt_tokens: 1000, completion_tokens: 100, cost: 0.01 },
    { id: "a margin on reported costs", source: ["settings"], usd: 0.011 },
  ),
  chat(
    "priced/tokens",
    { prompt_tokens: 1000, completion_tokens: 100 },
    { id: "a tier of any name", source: ["settings"], usd: (1000 * 3 + 100 * 2) / million },
    { service_tier: "turbo" },
  ),
];

export const moneyCases: readonly MoneyCase[] = [...found, ...published, ...metering, ...settings];

/** The prices that cases of `priced` and of settings need. */
export const moneyPrices = `
prices:
  priced/tokens:
    { input: 1, output: 2, cached_input: 0.1, cache_write: 1.25, per_web_search: 0.01, service_tiers: { turbo: { input: 3 } } }
  priced/deepseek: { input: 0.435, cached_input: 0.003625, output: 0.87 }
  priced/audio: { input: 2.5, output: 10, audio_input: 40, audio_output: 80 }
  priced/audio-mini: { input: 0.6, output: 2.4, audio_input: 10, audio_output: 20 }
  priced/grok: { input: 1.25, cached_input: 0.2, output: 2.5 }
  gemini/own-image: { input: 2, output: 12, image_output: 120 }
  priced/voxtral: { input: 1, output: 2, per_minute: 0.002 }
  priced/discounted: { extends: openai/gpt-4o, factor: 0.9 }
  priced/like-gpt-4o: { extends: openai/gpt-4o }
  priced/pattern-*: { input: 3, output: 4 }
  priced/pattern-*-chat: { input: 5, output: 6 }
  priced/changed: { input: 1, output: 2, changes: [{ from: 2020-01-01, input: 7 }, { from: 2120-01-01, input: 9 }] }
  openrouter/own: { input: 1, output: 2 }
  openrouter/margin: { extends: list, per_request: 0, input: 1, output: 2, reported: prefer, factor: 1.1 }
`;
