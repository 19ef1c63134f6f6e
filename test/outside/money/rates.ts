/**
 * Usage at the rates that providers publish, one kind of rate in each case: tiers and contexts,
 * lifetimes of caches, regions, sound and pictures, searches, containers, characters, seconds,
 * pages and search units. The usage has the form of the provider's published types or examples.
 */
import {
  chat,
  chatStream,
  google,
  image,
  type MoneyCase,
  messages,
  messagesStream,
  passthrough,
  responses,
  responsesStream,
  speech,
  transcription,
} from "./cases.js";

const openai = "https://platform.openai.com/docs/pricing";
const openaiReference = "https://platform.openai.com/docs/api-reference";
const anthropic = "https://platform.claude.com/docs/en/about-claude/pricing";
const gemini = "https://ai.google.dev/gemini-api/docs/pricing";
const xai = "https://docs.x.ai/docs/models";
const groq = "https://groq.com/pricing";
const mistral = "https://mistral.ai/pricing";
const cohere = "https://cohere.com/pricing";
const bedrock = "https://aws.amazon.com/bedrock/pricing/";
const converse = "pypi:botocore bedrock-runtime/2023-09-30/service-2.json";
const openrouter = "https://openrouter.ai/docs/use-cases/usage-accounting";

/** `micro`: millionths of a dollar, so that tokens times the rate of a million are the cost. */
type Row = readonly [id: string, model: string, usage: object, micro: number, source: string];
type Make = (
  model: string,
  usage: object,
  one: { readonly id: string; readonly source: readonly string[]; readonly usd: number },
  more?: object,
) => MoneyCase;

function rows(make: Make, list: readonly (readonly [...Row, more?: object])[]): MoneyCase[] {
  return list.map(([id, model, usage, micro, source, more]) =>
    make(model, usage, { id, source: [source], usd: micro / 1e6 }, more),
  );
}

const counts = (prompt: number, completion: number, cached = 0, more: object = {}): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
  ...more,
});

const chats = rows(chat, [
  [
    "OpenAI's example of a cached prompt",
    "openai/gpt-4o",
    counts(2006, 300, 1920),
    86 * 2.5 + 1920 * 1.25 + 300 * 10,
    "https://platform.openai.com/docs/guides/prompt-caching",
  ],
  [
    "a rejected prediction is output",
    "openai/gpt-4o",
    counts(100, 300, 0, {
      completion_tokens_details: {
        reasoning_tokens: 0,
        accepted_prediction_tokens: 100,
        rejected_prediction_tokens: 50,
      },
    }),
    100 * 2.5 + 300 * 10,
    "https://platform.openai.com/docs/guides/predicted-outputs",
  ],
  [
    "priority of gpt-4.1, with a cached prefix",
    "openai/gpt-4.1",
    counts(1000, 100, 600),
    400 * 3.5 + 600 * 0.875 + 100 * 14,
    openai,
    { service_tier: "priority" },
  ],
  [
    "priority of gpt-4o",
    "openai/gpt-4o",
    counts(1000, 100),
    1000 * 4.25 + 100 * 17,
    openai,
    { service_tier: "priority" },
  ],
  [
    "priority of o3",
    "openai/o3",
    counts(1000, 100, 200),
    800 * 3.5 + 200 * 0.875 + 100 * 14,
    openai,
    { service_tier: "priority" },
  ],
  [
    "priority of gpt-5-mini",
    "openai/gpt-5-mini",
    counts(1000, 100, 400),
    600 * 0.45 + 400 * 0.045 + 100 * 3.6,
    openai,
    { service_tier: "priority" },
  ],
  [
    "flex of gpt-5-mini",
    "openai/gpt-5-mini",
    counts(1000, 100, 400),
    600 * 0.125 + 400 * 0.0125 + 100 * 1,
    openai,
    { service_tier: "flex" },
  ],
  [
    "the default tier is the standard one",
    "openai/gpt-5",
    counts(1000, 100),
    1000 * 1.25 + 100 * 10,
    `${openaiReference}/chat/object`,
    { service_tier: "default" },
  ],
  [
    "a tuned small model",
    "openai/ft:gpt-4o-mini-2024-07-18:acme::7p4lURel",
    counts(1000, 100, 400),
    600 * 0.3 + 400 * 0.15 + 100 * 1.2,
    openai,
  ],
  [
    "a tuned gpt-4.1",
    "openai/ft:gpt-4.1-2025-04-14:acme::7p4lURel",
    counts(1000, 100, 400),
    600 * 3 + 400 * 0.75 + 100 * 12,
    openai,
  ],
  [
    "sound heard and spoken by gpt-audio",
    "openai/gpt-audio",
    counts(120, 220, 0, {
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 100, text_tokens: 20 },
      completion_tokens_details: { audio_tokens: 180, text_tokens: 40, reasoning_tokens: 0 },
    }),
    20 * 2.5 + 100 * 32 + 40 * 10 + 180 * 64,
    openai,
  ],
  [
    "o1's cached prompt",
    "openai/o1",
    counts(1000, 100, 512),
    488 * 15 + 512 * 7.5 + 100 * 60,
    openai,
  ],
  [
    "Azure's priority of gpt-5",
    "azure/prod-chat",
    counts(1000, 100),
    1000 * 2.5 + 100 * 20,
    "https://azure.microsoft.com/pricing/details/azure-openai/",
    { model: "gpt-5", service_tier: "priority" },
  ],
  [
    "xAI's reasoning at grok-4",
    "xai/grok-4",
    {
      ...counts(100, 50, 64),
      total_tokens: 350,
      completion_tokens_details: { reasoning_tokens: 200, audio_tokens: 0 },
    },
    36 * 3 + 64 * 0.75 + 250 * 15,
    xai,
  ],
  [
    "a small Grok",
    "xai/grok-3-mini",
    {
      ...counts(1000, 20, 500),
      total_tokens: 1320,
      completion_tokens_details: { reasoning_tokens: 300 },
    },
    500 * 0.3 + 500 * 0.075 + 320 * 0.5,
    xai,
  ],
  [
    "a Grok for code",
    "xai/grok-code-fast-1",
    counts(1000, 100, 900),
    100 * 0.2 + 900 * 0.02 + 100 * 1.5,
    xai,
  ],
  [
    "Groq's cached prompt",
    "groq/openai/gpt-oss-120b",
    counts(1000, 100, 800, {
      queue_time: 0.03,
      prompt_time: 0.01,
      completion_tokens_details: { reasoning_tokens: 60 },
    }),
    200 * 0.15 + 800 * 0.075 + 100 * 0.6,
    groq,
  ],
  [
    "Kimi at Groq",
    "groq/moonshotai/kimi-k2-instruct-0905",
    counts(1000, 100, 600),
    400 * 1 + 600 * 0.5 + 100 * 3,
    groq,
  ],
  ["Qwen at Groq", "groq/qwen/qwen3-32b", counts(1000, 100), 1000 * 0.29 + 100 * 0.59, groq],
  [
    "Mistral's small model",
    "mistral/mistral-small-latest",
    counts(1000, 100),
    1000 * 0.15 + 100 * 0.6,
    mistral,
  ],
  ["Codestral", "mistral/codestral-latest", counts(1000, 100), 1000 * 0.3 + 100 * 0.9, mistral],
  [
    "Claude anywhere in Bedrock",
    "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    counts(1000, 100),
    1000 * 3 + 100 * 15,
    bedrock,
  ],
  [
    "Llama in Bedrock",
    "bedrock/meta.llama3-3-70b-instruct-v1:0",
    counts(1000, 100),
    1100 * 0.72,
    bedrock,
  ],
  [
    "OpenRouter's cost has its searches",
    "openrouter/openai/gpt-4o",
    counts(1000, 100, 0, {
      cost: 0.02375,
      is_byok: false,
      cost_details: { upstream_inference_cost: null },
      server_tool_use: { web_search_requests: 4 },
    }),
    23_750,
    openrouter,
  ],
  [
    "OpenRouter's free models cost what it says: nothing",
    "openrouter/deepseek/deepseek-r1",
    counts(1000, 100, 0, { cost: 0, cost_details: { upstream_inference_cost: 0 } }),
    0,
    openrouter,
  ],
  [
    "Llama at Together",
    "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
    counts(1000, 100),
    1100 * 0.88,
    "https://www.together.ai/pricing",
  ],
  [
    "Llama at Fireworks",
    "fireworks/accounts/fireworks/models/llama-v3p3-70b-instruct",
    counts(1000, 100),
    1100 * 0.9,
    "https://fireworks.ai/pricing",
  ],
  [
    "gpt-oss at Cerebras",
    "cerebras/gpt-oss-120b",
    counts(1000, 100),
    1000 * 0.35 + 100 * 0.75,
    "https://www.cerebras.ai/pricing",
  ],
]);

const streamed = rows(chatStream, [
  [
    "flex of gpt-5-nano, streamed",
    "openai/gpt-5-nano",
    counts(1000, 100, 400),
    600 * 0.025 + 400 * 0.0025 + 100 * 0.2,
    openai,
    { service_tier: "flex" },
  ],
  [
    "xAI's reasoning at grok-4, streamed",
    "xai/grok-4",
    {
      ...counts(100, 50, 64),
      total_tokens: 350,
      completion_tokens_details: { reasoning_tokens: 200 },
    },
    36 * 3 + 64 * 0.75 + 250 * 15,
    xai,
  ],
  [
    "Groq's cached prompt, streamed",
    "groq/openai/gpt-oss-20b",
    counts(1000, 100, 800),
    200 * 0.075 + 800 * 0.0375 + 100 * 0.3,
    groq,
  ],
]);

const reasoned = {
  input_tokens: 75,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1186,
  output_tokens_details: { reasoning_tokens: 1024 },
  total_tokens: 1261,
};
const container = (memory: string): object => ({
  tools: [{ type: "code_interpreter", container: { type: "auto", memory_limit: memory } }],
  output: [
    { id: "ci_1", type: "code_interpreter_call", status: "completed", container_id: "cntr_1" },
  ],
});
const small = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
const smallMicro = 100 * 1.25 + 10 * 10;
const ofResponses = [
  ...rows(responses, [
    [
      "OpenAI's example of reasoning",
      "openai/o4-mini",
      reasoned,
      75 * 1.1 + 1186 * 4.4,
      "https://platform.openai.com/docs/guides/reasoning",
    ],
    [
      "two searches in files",
      "openai/gpt-5",
      small,
      smallMicro + 2 * 2500,
      openai,
      {
        output: [1, 2].map((id) => ({
          id: `fs_${id}`,
          type: "file_search_call",
          status: "completed",
          queries: ["a", "b"],
        })),
      },
    ],
    ["a container of 1 GB", "openai/gpt-5", small, smallMicro + 30_000, openai, container("1g")],
    ["a container of 4 GB", "openai/gpt-5", small, smallMicro + 120_000, openai, container("4g")],
    ["a container of 16 GB", "openai/gpt-5", small, smallMicro + 480_000, openai, container("16g")],
    [
      "a container of 64 GB",
      "openai/gpt-5",
      small,
      smallMicro + 1_920_000,
      openai,
      container("64g"),
    ],
    [
      "OpenRouter's cost of a response",
      "openrouter/openai/gpt-5",
      { ...small, cost: 0.0123, is_byok: false },
      12_300,
      openrouter,
    ],
  ]),
  ...rows(responsesStream, [
    [
      "a container of 4 GB, streamed",
      "openai/gpt-5",
      small,
      smallMicro + 120_000,
      openai,
      container("4g"),
    ],
  ]),
];

const written = (fiveMinutes: number, hour: number): object => ({
  cache_creation_input_tokens: fiveMinutes + hour,
  cache_creation: {
    ephemeral_5m_input_tokens: fiveMinutes,
    ephemeral_1h_input_tokens: hour,
  },
});
const ofMessages: readonly MoneyCase[] = [
  ...rows(messages, [
    [
      "Claude's caches, read and written",
      "anthropic/claude-sonnet-4-5",
      { input_tokens: 100, output_tokens: 50, cache_read_input_tokens: 1000, ...written(500, 0) },
      100 * 3 + 1000 * 0.3 + 500 * 3.75 + 50 * 15,
      anthropic,
    ],
    [
      "a batch with both lifetimes",
      "anthropic/claude-haiku-4-5",
      {
        input_tokens: 100,
        output_tokens: 50,
        cache_read_input_tokens: 1000,
        ...written(400, 200),
        service_tier: "batch",
      },
      (100 * 1 + 1000 * 0.1 + 400 * 1.25 + 200 * 2 + 50 * 5) / 2,
      anthropic,
    ],
    [
      "a batch of Opus",
      "anthropic/claude-opus-4-5",
      { input_tokens: 1000, output_tokens: 100, service_tier: "batch" },
      1000 * 2.5 + 100 * 12.5,
      anthropic,
    ],
    [
      "caches in a region",
      "anthropic/claude-opus-4-6",
      {
        input_tokens: 100,
        output_tokens: 50,
        cache_read_input_tokens: 1000,
        ...written(0, 300),
        inference_geo: "us",
        service_tier: "standard",
      },
      (100 * 5 + 1000 * 0.5 + 300 * 10 + 50 * 25) * 1.1,
      anthropic,
    ],
    [
      "an older Opus",
      "anthropic/claude-opus-4-1",
      { input_tokens: 1000, output_tokens: 100, cache_read_input_tokens: 1000 },
      1000 * 15 + 1000 * 1.5 + 100 * 75,
      anthropic,
    ],
    [
      "searches of Claude, and pages that cost nothing",
      "anthropic/claude-sonnet-4-5",
      {
        input_tokens: 1000,
        output_tokens: 100,
        server_tool_use: { web_search_requests: 3, web_fetch_requests: 5 },
      },
      1000 * 3 + 100 * 15 + 3 * 10_000,
      anthropic,
    ],
  ]),
  messagesStream(
    "anthropic/claude-haiku-4-5",
    {
      input_tokens: 25,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 0,
      output_tokens: 1,
    },
    { output_tokens: 15 },
    {
      id: "the last event has only the output",
      source: ["https://platform.claude.com/docs/en/build-with-claude/streaming"],
      usd: (25 * 1 + 1000 * 0.1 + 15 * 5) / 1e6,
    },
  ),
];

const modality = (name: string, tokenCount: number): object => ({ modality: name, tokenCount });
const ofGemini = rows(google, [
  [
    "long input of Gemini, with a cached part and thoughts",
    "gemini-2.5-pro",
    {
      promptTokenCount: 250_000,
      cachedContentTokenCount: 100_000,
      candidatesTokenCount: 1000,
      thoughtsTokenCount: 2000,
      totalTokenCount: 253_000,
    },
    150_000 * 2.5 + 100_000 * 0.25 + 3000 * 15,
    gemini,
  ],
  [
    "200,000 tokens of Gemini aren't long",
    "gemini-2.5-pro",
    { promptTokenCount: 200_000, candidatesTokenCount: 100, totalTokenCount: 200_100 },
    200_000 * 1.25 + 100 * 10,
    gemini,
  ],
  [
    "long input of Gemini 3",
    "gemini-3-pro-preview",
    { promptTokenCount: 200_001, candidatesTokenCount: 100, totalTokenCount: 200_101 },
    200_001 * 4 + 100 * 18,
    gemini,
  ],
  [
    "sound that Gemini hears",
    "gemini-2.5-flash",
    {
      promptTokenCount: 1010,
      candidatesTokenCount: 20,
      totalTokenCount: 1030,
      promptTokensDetails: [modality("TEXT", 10), modality("AUDIO", 1000)],
    },
    10 * 0.3 + 1000 * 1 + 20 * 2.5,
    gemini,
  ],
  [
    "sound from Gemini's cache",
    "gemini-2.5-flash",
    {
      promptTokenCount: 1010,
      cachedContentTokenCount: 600,
      candidatesTokenCount: 20,
      totalTokenCount: 1030,
      promptTokensDetails: [modality("TEXT", 10), modality("AUDIO", 1000)],
      cacheTokensDetails: [modality("AUDIO", 600)],
    },
    10 * 0.3 + 400 * 1 + 600 * 0.1 + 20 * 2.5,
    gemini,
  ],
  [
    "sound that a small Gemini hears",
    "gemini-2.5-flash-lite",
    {
      promptTokenCount: 110,
      candidatesTokenCount: 20,
      totalTokenCount: 130,
      promptTokensDetails: [modality("TEXT", 10), modality("AUDIO", 100)],
    },
    10 * 0.1 + 100 * 0.3 + 20 * 0.4,
    gemini,
  ],
  [
    "a film costs as text",
    "gemini-2.5-flash",
    {
      promptTokenCount: 2600,
      candidatesTokenCount: 20,
      totalTokenCount: 2620,
      promptTokensDetails: [modality("TEXT", 20), modality("VIDEO", 2580)],
    },
    2600 * 0.3 + 20 * 2.5,
    gemini,
  ],
  [
    "a picture of 1,290 tokens",
    "gemini-2.5-flash-image",
    {
      promptTokenCount: 10,
      candidatesTokenCount: 1290,
      totalTokenCount: 1300,
      candidatesTokensDetails: [modality("IMAGE", 1290)],
    },
    10 * 0.3 + 1290 * 30,
    gemini,
  ],
  [
    "a picture of Gemini 3, with thoughts",
    "gemini-3-pro-image-preview",
    {
      promptTokenCount: 10,
      candidatesTokenCount: 1130,
      thoughtsTokenCount: 200,
      totalTokenCount: 1340,
      candidatesTokensDetails: [modality("IMAGE", 1120), modality("TEXT", 10)],
    },
    10 * 2 + 210 * 12 + 1120 * 120,
    gemini,
  ],
  [
    "Gemini's flex",
    "gemini-2.5-flash",
    {
      promptTokenCount: 1000,
      candidatesTokenCount: 100,
      totalTokenCount: 1100,
      serviceTier: "flex",
    },
    (1000 * 0.3 + 100 * 2.5) / 2,
    gemini,
  ],
  [
    "thoughts without an answer",
    "gemini-2.5-flash",
    { promptTokenCount: 10, thoughtsTokenCount: 500, totalTokenCount: 510 },
    10 * 0.3 + 500 * 2.5,
    gemini,
    { content: { role: "model", parts: [] }, finishReason: "MAX_TOKENS" },
  ],
  [
    "queries of a small Gemini 3",
    "gemini-3-flash-preview",
    { promptTokenCount: 1000, candidatesTokenCount: 100, totalTokenCount: 1100 },
    1000 * 0.5 + 100 * 3 + 2 * 14_000,
    gemini,
    { groundingMetadata: { webSearchQueries: ["a", "b"] } },
  ],
]);

const nova = (usage: object, more: object, id: string, micro: number): MoneyCase =>
  passthrough(
    "bedrock/model/amazon.nova-pro-v1:0/converse",
    { messages: [] },
    { output: { message: {} }, stopReason: "end_turn", metrics: { latencyMs: 1 }, usage, ...more },
    { id, source: [bedrock, converse], usd: micro / 1e6 },
  );
const novaUsage = {
  inputTokens: 100,
  outputTokens: 10,
  totalTokens: 1110,
  cacheReadInputTokens: 1000,
  cacheWriteInputTokens: 0,
};
const ofConverse: readonly MoneyCase[] = [
  nova(novaUsage, {}, "Nova through Converse", 100 * 0.8 + 1000 * 0.2 + 10 * 3.2),
  nova(
    novaUsage,
    { serviceTier: { type: "flex" } },
    "Nova's flex",
    (100 * 0.8 + 1000 * 0.2 + 10 * 3.2) / 2,
  ),
  nova(
    novaUsage,
    { serviceTier: { type: "priority" } },
    "Nova's priority",
    (100 * 0.8 + 1000 * 0.2 + 10 * 3.2) * 1.75,
  ),
  nova(
    novaUsage,
    { serviceTier: { type: "default" } },
    "Nova's default tier",
    100 * 0.8 + 1000 * 0.2 + 10 * 3.2,
  ),
  passthrough(
    "bedrock/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    { messages: [] },
    {
      output: { message: {} },
      stopReason: "end_turn",
      usage: {
        inputTokens: 100,
        outputTokens: 10,
        totalTokens: 1110,
        cacheReadInputTokens: 0,
        cacheWriteInputTokens: 1000,
        cacheDetails: [
          { ttl: "5m", inputTokens: 300 },
          { ttl: "1h", inputTokens: 700 },
        ],
      },
    },
    {
      id: "the lifetimes of Converse's caches",
      source: [bedrock, `${converse} CacheDetail`],
      usd: (100 * 3 + 300 * 3.75 + 700 * 6 + 10 * 15) / 1e6,
    },
  ),
];

/** The stream of an operation on sound. */
const streamOf = (one: MoneyCase, events: readonly object[]): MoneyCase => ({
  ...one,
  reported: { events },
});
const embedded = (model: string, tokens: number, usd: number): MoneyCase => ({
  id: `vectors of ${model}`,
  source: [model.startsWith("mistral") ? mistral : openai],
  path: "/v1/embeddings",
  sends: { model, input: "x" },
  reported: {
    body: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.1] }],
      usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
    },
  },
  usd,
});
const heard = {
  type: "tokens",
  input_tokens: 14,
  input_token_details: { text_tokens: 10, audio_tokens: 4 },
  output_tokens: 101,
  total_tokens: 115,
};
const others: readonly MoneyCase[] = [
  streamOf(
    speech("openai/gpt-4o-mini-tts", "x", {
      id: "spoken tokens",
      source: [openai, `${openaiReference}/audio/speech-audio-done-event`],
      usd: (14 * 0.6 + 101 * 12) / 1e6,
    }),
    [
      { type: "speech.audio.delta", audio: "aGVsbG8=" },
      {
        type: "speech.audio.done",
        usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 },
      },
    ],
  ),
  speech("openai/tts-1-hd", "x".repeat(1000), {
    id: "characters at a higher quality",
    source: [openai],
    usd: 0.03,
  }),
  speech("groq/canopylabs/orpheus-v1-english", "x".repeat(1000), {
    id: "characters at Groq",
    source: [groq],
    usd: 0.022,
  }),
  transcription(
    "openai/gpt-4o-transcribe",
    { usage: heard },
    {
      id: "OpenAI's example of a transcription",
      source: [openai, `${openaiReference}/audio/json-object`],
      usd: (10 * 2.5 + 4 * 6 + 101 * 10) / 1e6,
    },
  ),
  streamOf(
    transcription(
      "openai/gpt-4o-transcribe",
      {},
      {
        id: "OpenAI's example of a transcription, streamed",
        source: [openai, `${openaiReference}/audio/transcript-text-done-event`],
        usd: (10 * 2.5 + 4 * 6 + 101 * 10) / 1e6,
      },
    ),
    [
      { type: "transcript.text.delta", delta: "hello" },
      { type: "transcript.text.done", text: "hello", usage: heard },
    ],
  ),
  transcription(
    "groq/whisper-large-v3-turbo",
    { task: "transcribe", duration: 90, segments: [], x_groq: { id: "req_1" } },
    { id: "a minute and a half at Groq", source: [groq], usd: (90 * 0.04) / 3600 },
  ),
  transcription(
    "mistral/voxtral-mini-latest",
    {
      model: "voxtral-mini-2507",
      usage: {
        prompt_audio_seconds: 203,
        prompt_tokens: 4,
        total_tokens: 3264,
        completion_tokens: 635,
      },
    },
    {
      id: "Mistral's example of a transcription",
      source: [mistral, "https://docs.mistral.ai/capabilities/audio_transcription"],
      usd: (203 / 60) * 0.003,
    },
  ),
  image(
    "openai/gpt-image-1-mini",
    {},
    {
      usage: {
        input_tokens: 100,
        input_tokens_details: { text_tokens: 40, image_tokens: 60 },
        output_tokens: 1056,
        total_tokens: 1156,
      },
    },
    {
      id: "a picture made of pictures",
      source: [openai, `${openaiReference}/images/object`],
      usd: (40 * 2 + 60 * 2.5 + 1056 * 8) / 1e6,
    },
  ),
  embedded("openai/text-embedding-3-large", 1000, 0.00013),
  embedded("openai/text-embedding-3-small", 1000, 0.00002),
  embedded("mistral/mistral-embed", 1000, 0.0001),
  ...(
    [
      [{ input_tokens: 1000 }, 1000 * 0.12, "vectors of texts at Cohere"],
      [{ image_tokens: 1000 }, 1000 * 0.47, "vectors of pictures at Cohere"],
    ] as const
  ).map(([billed_units, micro, id]) =>
    passthrough(
      "cohere/v2/embed",
      { model: "embed-v4.0", texts: ["x"] },
      { id: "e", embeddings: { float: [[0.1]] }, meta: { billed_units } },
      { id, source: [cohere], usd: micro / 1e6 },
    ),
  ),
  passthrough(
    "cohere/v2/rerank",
    { model: "rerank-v4.0-pro", query: "x", documents: ["y"] },
    { id: "r", results: [], meta: { billed_units: { search_units: 2 } } },
    { id: "search units of a larger reranker", source: [cohere], usd: 0.005 },
  ),
];

export const rateCases: readonly MoneyCase[] = [
  ...chats,
  ...streamed,
  ...ofResponses,
  ...ofMessages,
  ...ofGemini,
  ...ofConverse,
  ...others,
];
