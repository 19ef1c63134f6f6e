/**
 * Public reports of the last months about costs that don't agree with the provider's bill: the
 * usage as it was reported, and what was billed.
 */
import {
  chat,
  chatStream,
  google,
  googleStream,
  type MoneyCase,
  messages,
  messagesStream,
  passthrough,
  responses,
  responsesStream,
} from "./cases.js";

const usd = (micro: number): number => micro / 1e6;
/** Input at $2, and from the cache at $0.5, output at $6. */
const grok = {
  prompt_tokens: 1000,
  completion_tokens: 10,
  total_tokens: 1010,
  prompt_tokens_details: { text_tokens: 200, image_tokens: 800, cached_tokens: 900 },
};
const seen = {
  promptTokenCount: 24_643,
  cachedContentTokenCount: 24_503,
  candidatesTokenCount: 3110,
  totalTokenCount: 27_753,
  promptTokensDetails: [
    { modality: "TEXT", tokenCount: 2643 },
    { modality: "IMAGE", tokenCount: 22_000 },
  ],
  cacheTokensDetails: [
    { modality: "TEXT", tokenCount: 2503 },
    { modality: "IMAGE", tokenCount: 22_000 },
  ],
};
const searched = {
  input_tokens: 6,
  cache_read_input_tokens: 426_653,
  cache_creation_input_tokens: 31_490,
  cache_creation: { ephemeral_5m_input_tokens: 31_490, ephemeral_1h_input_tokens: 0 },
};
const written = { input_tokens: 24_951, output_tokens: 854, cache_read_input_tokens: 64_126 };
const writtenUsd = usd(24_951 * 3 + 854 * 15 + 64_126 * 0.3 + 2805 * 3.75);
const nano = {
  prompt_tokens: 17,
  completion_tokens: 482,
  total_tokens: 499,
  prompt_tokens_details: { audio_tokens: 0, cached_tokens: 0 },
  completion_tokens_details: { audio_tokens: 0, reasoning_tokens: 448 },
};
const codex = {
  input_tokens: 20_000,
  input_tokens_details: { cached_tokens: 18_000 },
  output_tokens: 500,
  total_tokens: 20_500,
};
const longCodex = {
  input_tokens: 300_000,
  input_tokens_details: { cached_tokens: 200_000 },
  output_tokens: 1000,
  total_tokens: 301_000,
};

export const billCases: readonly MoneyCase[] = [
  ...[chat, chatStream].map((make, i) =>
    make("xai/grok-4.6", grok, {
      id: `a picture from the cache costs once${i === 0 ? "" : ", streamed"}`,
      source: ["BerriAI/litellm#37407"],
      usd: usd(100 * 2 + 900 * 0.5 + 10 * 6),
    }),
  ),
  ...[google, googleStream].map((make, i) =>
    make("gemini-3.5-flash", seen, {
      id: `a picture from Gemini's cache costs once${i === 0 ? "" : ", streamed"}`,
      source: ["QuantumNous/new-api#7229"],
      usd: 0.03187545,
    }),
  ),
  messagesStream(
    "anthropic/claude-opus-4-7",
    { ...searched, output_tokens: 1 },
    {
      input_tokens: 6,
      cache_read_input_tokens: 426_653,
      cache_creation_input_tokens: 184_457,
      output_tokens: 2000,
      server_tool_use: { web_search_requests: 5 },
    },
    {
      id: "searches write more to the cache than the first event details",
      source: ["BerriAI/litellm#42663"],
      usd: usd(6 * 5 + 426_653 * 0.5 + 184_457 * 6.25 + 2000 * 25 + 5 * 10_000),
    },
  ),
  google(
    "gemini-2.5-pro",
    { promptTokenCount: 195_000, candidatesTokenCount: 10_000, totalTokenCount: 205_000 },
    {
      id: "long output doesn't make a long context",
      source: ["maximhq/bifrost#4917"],
      usd: usd(195_000 * 1.25 + 10_000 * 10),
    },
  ),
  messagesStream(
    "anthropic/claude-opus-4-7",
    { input_tokens: 6, cache_creation_input_tokens: 159_217, output_tokens: 1 },
    { output_tokens: 2745 },
    {
      id: "what is written to the cache isn't input as well",
      source: ["maximhq/bifrost#3451"],
      usd: 1.06376125,
    },
  ),
  ...[chat, chatStream].map((make, i) =>
    make(
      "openai/gpt-5-nano",
      nano,
      {
        id: `all of the output costs, not its reasoning alone${i === 0 ? "" : ", streamed"}`,
        source: ["BerriAI/litellm#18599"],
        usd: usd(17 * 0.05 + 482 * 0.4),
      },
      { service_tier: "default" },
    ),
  ),
  chatStream(
    "openrouter/zai/glm-5.3",
    {
      prompt_tokens: 9520,
      completion_tokens: 16,
      total_tokens: 9536,
      cost: 0.00254674,
      prompt_tokens_details: { cached_tokens: 9519, audio_tokens: 0, video_tokens: 0 },
      market_cost: 0.00254674,
      gateway_cost: 0.00254674,
    },
    {
      id: "a gateway's stream has the cost and the cached tokens",
      source: ["BerriAI/litellm#39088"],
      usd: 0.00254674,
      record: { cached_input_tokens: 9519, cost_source: "reported" },
    },
  ),
  {
    id: "a compaction of its own is a call of the model",
    source: ["openai/openai-agents-python#4434", "Menci/Floway#332"],
    path: "/v1/responses/compact",
    sends: { model: "openai/gpt-5", input: [{ role: "user", content: "x" }] },
    reported: {
      body: {
        id: "resp_1",
        object: "response.compaction",
        created_at: 1,
        output: [{ type: "compaction", id: "cmp_1", encrypted_content: "x" }],
        usage: {
          input_tokens: 192_000,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 1200,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 193_200,
        },
      },
    },
    usd: usd(192_000 * 1.25 + 1200 * 10),
  },
  ...[chat, chatStream].flatMap((make, i) => [
    make(
      "openrouter/deepseek/deepseek-v4-flash",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cost: 0.0000042,
        is_byok: false,
        cost_details: { upstream_inference_cost: 0.0000042 },
      },
      {
        id: `the upstream's cost repeats OpenRouter's${i === 0 ? "" : ", streamed"}`,
        source: ["yvgude/lean-ctx#746", "2witstudios/PageSpace#1561"],
        usd: 0.0000042,
      },
    ),
    make(
      "openrouter/z-ai/glm-5.3-flash",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cost: 0,
        is_byok: true,
        cost_details: { upstream_inference_cost: 0.00000445 },
      },
      {
        id: `OpenRouter's cost of 0 with a key of one's own${i === 0 ? "" : ", streamed"}`,
        source: ["Kilo-Org/kilocode#13840"],
        usd: 0.00000445,
      },
    ),
  ]),
  ...[responses, responsesStream].map((make, i) =>
    make("openai/gpt-5", codex, {
      id: `cached tokens of Codex aren't on top of its input${i === 0 ? "" : ", streamed"}`,
      source: ["theam/facility#232"],
      usd: usd(2000 * 1.25 + 18_000 * 0.125 + 500 * 10),
    }),
  ),
  responsesStream("openai/gpt-5.5", longCodex, {
    id: "a long context of Codex",
    source: ["robinebers/openusage#995"],
    usd: usd(100_000 * 10 + 200_000 * 1 + 1000 * 45),
  }),
  messages(
    "anthropic/claude-fable-5",
    {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: 37_175,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 37_175 },
    },
    {
      id: "an hour in the cache, and nothing else",
      source: ["langfuse/claude-observability-plugin#34"],
      usd: 0.7435,
    },
  ),
  ...[undefined, null].map((cache_creation, i) =>
    messages(
      "anthropic/claude-sonnet-4-5",
      { ...written, cache_creation_input_tokens: 2805, cache_creation },
      {
        id: `a cache whose lifetimes aren't told${i === 0 ? "" : ": null"}`,
        source: [i === 0 ? "QuantumNous/new-api#5756" : "QuantumNous/new-api#6353"],
        usd: writtenUsd,
      },
    ),
  ),
  passthrough(
    "bedrock/model/openai.gpt-5.6-luna/converse",
    { messages: [] },
    {
      output: { message: { role: "assistant", content: [{ text: "hello" }] } },
      stopReason: "end_turn",
      usage: {
        inputTokens: 4995,
        outputTokens: 19,
        totalTokens: 10_007,
        cacheReadInputTokens: 0,
        cacheWriteInputTokens: 4993,
      },
    },
    {
      id: "Bedrock bills what it reports, its cache twice",
      source: ["anomalyco/opencode#47296", "maximhq/bifrost#6942"],
      usd: usd(4995 * 0.22 + 4993 * 0.275 + 19 * 1.32),
    },
  ),
  messagesStream(
    "anthropic/claude-sonnet-4-5",
    { input_tokens: 0, output_tokens: 0 },
    { input_tokens: 350, cache_read_input_tokens: 2000, output_tokens: 47 },
    {
      id: "the first event of a gateway counts nothing yet",
      source: ["vercel/ai#17326"],
      usd: usd(350 * 3 + 2000 * 0.3 + 47 * 15),
    },
  ),
  messagesStream(
    "anthropic/claude-sonnet-4-5",
    { input_tokens: 0, output_tokens: 0 },
    { output_tokens: 47 },
    {
      id: "an input of 0 is estimated, streamed",
      source: ["MiXaiLL76/auto_ai_router#142"],
      usd: usd(28 * 3 + 47 * 15),
      record: { estimated: true, output_tokens: 47 },
    },
  ),
  ...[chat, chatStream].map((make, i) =>
    make(
      "openai/gpt-5",
      { prompt_tokens: 0, completion_tokens: 40, total_tokens: 40 },
      {
        id: `an input of 0 is estimated, chat${i === 0 ? "" : ", streamed"}`,
        source: ["MiXaiLL76/auto_ai_router#142"],
        usd: usd([17, 21][i]! * 1.25 + 40 * 10),
        record: { estimated: true, output_tokens: 40, cost_at_most: Number },
      },
    ),
  ),
];

const noTokens = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const estimated = { estimated: true, cost_at_most: Number };
const zeros = (id: string): { readonly id: string; readonly source: readonly string[] } => ({
  id: `text with a usage of 0: ${id}`,
  source: ["mozilla-ai/otari#256", "ferro-labs/ai-gateway#281"],
});

/** Text beside a usage of 0 tokens: each four bytes of the request and of the text are a token. */
export const zeroCases: readonly MoneyCase[] = [
  ...[chat, chatStream].map((make, i) =>
    make("openai/gpt-5", noTokens, {
      ...zeros(i === 0 ? "chat" : "chat, streamed"),
      usd: usd([17, 21][i]! * 1.25 + 10),
      record: { ...estimated, output_tokens: 1 },
    }),
  ),
  messages(
    "anthropic/claude-sonnet-4-5",
    { input_tokens: 0, output_tokens: 0 },
    { ...zeros("messages"), usd: usd(20 * 3 + 2 * 15), record: estimated },
  ),
  responses(
    "openai/gpt-5",
    { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    { ...zeros("Responses"), usd: usd(9 * 1.25 + 2 * 10), record: estimated },
  ),
  google(
    "gemini-2.5-pro",
    { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
    { ...zeros("Gemini"), usd: usd(14 * 1.25 + 10), record: estimated },
  ),
  passthrough(
    "openai/chat/completions",
    { model: "gpt-5", messages: [{ role: "user", content: "x" }] },
    {
      id: "c",
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "hello" } }],
      usage: noTokens,
    },
    { ...zeros("passthrough"), usd: usd(15 * 1.25 + 2 * 10), record: estimated },
  ),
];
