/**
 * How providers report the usage of an answer: one sample of each form, and what is read of it. A
 * provider with a form of its own has a row here.
 */

export interface ReportedUsage {
  readonly provider: string;
  readonly usage: unknown;
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly written?: number;
}

/** Cached tokens are a part of OpenAI's input, and come on top of Anthropic's. */
export const reportedUsages: readonly ReportedUsage[] = [
  {
    provider: "OpenAI, chat completions",
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 600 },
      completion_tokens_details: { reasoning_tokens: 150 },
    },
    input: 1000,
    output: 200,
    cached: 600,
  },
  {
    provider: "OpenAI, responses",
    usage: {
      input_tokens: 1000,
      output_tokens: 200,
      total_tokens: 1200,
      input_tokens_details: { cached_tokens: 600 },
      output_tokens_details: { reasoning_tokens: 150 },
    },
    input: 1000,
    output: 200,
    cached: 600,
  },
  {
    provider: "OpenAI, embeddings",
    usage: { prompt_tokens: 8, total_tokens: 8 },
    input: 8,
    output: 0,
  },
  {
    provider: "OpenAI, transcriptions",
    usage: {
      type: "tokens",
      input_tokens: 1000,
      input_token_details: { text_tokens: 100, audio_tokens: 900 },
      output_tokens: 200,
      total_tokens: 1200,
    },
    input: 1000,
    output: 200,
  },
  {
    provider: "OpenAI, images",
    usage: {
      input_tokens: 1000,
      output_tokens: 200,
      total_tokens: 1200,
      input_tokens_details: { text_tokens: 100, image_tokens: 900 },
    },
    input: 1000,
    output: 200,
  },
  {
    provider: "Anthropic, messages",
    usage: {
      input_tokens: 100,
      output_tokens: 200,
      cache_read_input_tokens: 600,
      cache_creation_input_tokens: 300,
    },
    input: 1000,
    output: 200,
    cached: 600,
    written: 300,
  },
  {
    provider: "Gemini, OpenAI-compatible: thinking is only in the total",
    usage: { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1200 },
    input: 1000,
    output: 200,
  },
  {
    provider: "Gemini, interactions",
    usage: {
      total_input_tokens: 7,
      total_tool_use_tokens: 5,
      total_cached_tokens: 3,
      total_output_tokens: 20,
      total_thought_tokens: 22,
      total_tokens: 54,
      input_tokens_by_modality: [{ modality: "text", tokens: 7 }],
    },
    input: 12,
    output: 42,
    cached: 3,
  },
  {
    provider: "Gemini, its own API, as `usageMetadata`; passthrough only",
    usage: {
      promptTokenCount: 1000,
      candidatesTokenCount: 50,
      thoughtsTokenCount: 150,
      totalTokenCount: 1200,
      cachedContentTokenCount: 600,
    },
    input: 1000,
    output: 200,
    cached: 600,
  },
  {
    provider: "xAI: reasoning is only in the total",
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 50,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 600 },
      completion_tokens_details: { reasoning_tokens: 150 },
    },
    input: 1000,
    output: 200,
    cached: 600,
  },
  {
    provider: "DeepSeek",
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_cache_hit_tokens: 600,
      prompt_cache_miss_tokens: 400,
    },
    input: 1000,
    output: 200,
    cached: 600,
  },
  {
    provider: "OpenRouter",
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
    },
    input: 1000,
    output: 200,
    cached: 600,
    written: 300,
  },
  {
    provider: "relays that report Anthropic's cache beside OpenAI's counts",
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      cache_read_input_tokens: 600,
      cache_creation_input_tokens: 300,
    },
    input: 1000,
    output: 200,
    cached: 600,
    written: 300,
  },
  {
    provider: "Moonshot and others: cached tokens at the top level",
    usage: { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200, cached_tokens: 600 },
    input: 1000,
    output: 200,
    cached: 600,
  },
  {
    provider: "Groq, in streams under `x_groq`",
    usage: { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200, queue_time: 0.01 },
    input: 1000,
    output: 200,
  },
];

export interface ReportedDetails {
  readonly provider: string;
  readonly answer: unknown;
  /** By the names of records; counts of 0 are left out. */
  readonly read: Readonly<Record<string, unknown>>;
}

export const reportedDetails: readonly ReportedDetails[] = [
  {
    provider: "OpenAI, chat completions: audio, reasoning",
    answer: {
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 200,
        prompt_tokens_details: { audio_tokens: 300 },
        completion_tokens_details: { reasoning_tokens: 50, audio_tokens: 100 },
      },
    },
    read: { audio_input_tokens: 300, reasoning_tokens: 50, audio_output_tokens: 100 },
  },
  {
    provider: "OpenAI, the service tier that was used",
    answer: { usage: { prompt_tokens: 10, completion_tokens: 5 }, service_tier: "flex" },
    read: { service_tier: "flex" },
  },
  {
    provider: "OpenAI, responses: searches that the model made",
    answer: {
      service_tier: "default",
      output: [
        { type: "web_search_call", action: { type: "search" } },
        { type: "web_search_call", action: { type: "open_page" } },
        { type: "file_search_call" },
      ],
      usage: { input_tokens: 10, output_tokens: 5 },
    },
    read: { service_tier: "standard", web_searches: 1, file_searches: 1 },
  },
  {
    provider: "OpenAI, realtime",
    answer: {
      usage: {
        input_tokens: 1000,
        output_tokens: 200,
        input_token_details: {
          audio_tokens: 600,
          image_tokens: 100,
          cached_tokens: 500,
          cached_tokens_details: { audio_tokens: 400, image_tokens: 50 },
        },
        output_token_details: { audio_tokens: 150 },
      },
    },
    read: {
      audio_input_tokens: 600,
      cached_audio_input_tokens: 400,
      image_input_tokens: 100,
      cached_image_input_tokens: 50,
      audio_output_tokens: 150,
    },
  },
  {
    provider: "OpenAI, images",
    answer: {
      usage: {
        input_tokens: 1000,
        output_tokens: 200,
        input_tokens_details: { text_tokens: 100, image_tokens: 900 },
        output_tokens_details: { text_tokens: 20, image_tokens: 180 },
      },
    },
    read: { image_input_tokens: 900, image_output_tokens: 180 },
  },
  {
    provider: "OpenAI, Responses: writes that the cache keeps for twelve hours",
    answer: {
      usage: {
        input_tokens: 400,
        input_tokens_details: {
          cached_tokens: 0,
          cache_write_tokens: 300,
          cache_write_tokens_details: { ttl_12h_tokens: 200, ttl_30m_tokens: 100 },
        },
        output_tokens: 20,
        total_tokens: 420,
      },
    },
    read: { cache_write_12h_input_tokens: 200 },
  },
  {
    provider: "Anthropic: writes that the cache keeps for an hour, searches, the tier",
    answer: {
      usage: {
        input_tokens: 100,
        output_tokens: 200,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        server_tool_use: { web_search_requests: 3 },
        output_tokens_details: { thinking_tokens: 40 },
        service_tier: "priority",
      },
    },
    read: {
      service_tier: "priority",
      cache_write_1h_input_tokens: 200,
      reasoning_tokens: 40,
      web_searches: 3,
    },
  },
  {
    provider: "Anthropic, fast mode",
    answer: {
      usage: { input_tokens: 100, output_tokens: 200, service_tier: "standard", speed: "fast" },
    },
    read: { service_tier: "fast" },
  },
  {
    provider: "Gemini, its own API",
    answer: {
      usageMetadata: {
        promptTokenCount: 1000,
        candidatesTokenCount: 50,
        thoughtsTokenCount: 150,
        totalTokenCount: 1200,
        promptTokensDetails: [
          { modality: "TEXT", tokenCount: 400 },
          { modality: "AUDIO", tokenCount: 600 },
        ],
        trafficType: "ON_DEMAND_PRIORITY",
      },
    },
    read: { service_tier: "priority", audio_input_tokens: 600, reasoning_tokens: 150 },
  },
  {
    provider: "Groq",
    answer: { usage: { prompt_tokens: 10, completion_tokens: 5 }, service_tier: "on_demand" },
    read: { service_tier: "standard" },
  },
];
