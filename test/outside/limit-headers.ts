/**
 * How providers report their limits: headers of answers and bodies of 429s from public
 * documentation and reports, with what they mean. Host names and account ids are left out.
 */
export interface LimitHeaders {
  readonly provider: string;
  /** Where it is published. */
  readonly source: string;
  /** A 429; otherwise an answer. */
  readonly isRefusal?: true;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** `name limit remaining resetMs`, with `-` for what isn't reported. */
  readonly limits: readonly string[];
  /** Of a 429. */
  readonly waitMs?: number | null;
}

export const limitHeaders: readonly LimitHeaders[] = [
  {
    provider: "OpenAI, chat completions",
    source:
      "https://community.openai.com/t/how-to-get-rate-limit-reset-time-for-response-api/1268905",
    headers: {
      "x-ratelimit-limit-requests": "5000",
      "x-ratelimit-limit-tokens": "160000",
      "x-ratelimit-limit-tokens_usage_based": "160000",
      "x-ratelimit-remaining-requests": "4999",
      "x-ratelimit-remaining-tokens": "159976",
      "x-ratelimit-remaining-tokens_usage_based": "159976",
      "x-ratelimit-reset-requests": "12ms",
      "x-ratelimit-reset-tokens": "9ms",
      "x-ratelimit-reset-tokens_usage_based": "9ms",
    },
    limits: [
      "requests 5000 4999 12",
      "tokens 160000 159976 9",
      "tokens_usage_based 160000 159976 9",
    ],
  },
  {
    provider: "OpenAI, the day's requests are used up",
    source: "https://github.com/vectorize-io/hindsight/pull/3508",
    isRefusal: true,
    headers: {
      "x-ratelimit-limit-requests": "200",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "6m0s",
    },
    limits: ["requests 200 0 360000"],
    waitMs: 360_000,
  },
  {
    provider: "OpenAI, a 429 that names the wait in words",
    source: "https://platform.openai.com/docs/guides/rate-limits",
    isRefusal: true,
    headers: {},
    body: {
      error: {
        message:
          "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000. Please try again in 4.2s.",
        type: "tokens",
        code: "rate_limit_exceeded",
      },
    },
    limits: [],
    waitMs: 4200,
  },
  {
    provider: "Anthropic, without Retry-After",
    source: "https://github.com/anthropics/anthropic-sdk-typescript/issues/357",
    isRefusal: true,
    headers: {
      "anthropic-ratelimit-requests-limit": "5",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2024-03-26T20:00:00Z",
      "anthropic-ratelimit-tokens-limit": "25000",
      "anthropic-ratelimit-tokens-remaining": "16000",
      "anthropic-ratelimit-tokens-reset": "2024-03-26T20:00:00Z",
      date: "Tue, 26 Mar 2024 19:59:59 GMT",
    },
    limits: ["requests 5 0 1000", "tokens 25000 16000 1000"],
    waitMs: 1000,
  },
  {
    provider: "Anthropic, input and output tokens, which cached reads don't count in",
    source: "https://docs.anthropic.com/en/api/rate-limits",
    isRefusal: true,
    headers: {
      "retry-after": "12",
      "anthropic-ratelimit-input-tokens-limit": "30000",
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": "2026-03-12T10:00:20Z",
      "anthropic-ratelimit-output-tokens-limit": "8000",
      "anthropic-ratelimit-output-tokens-remaining": "7000",
      "anthropic-ratelimit-output-tokens-reset": "2026-03-12T10:00:07.500Z",
      date: "Thu, 12 Mar 2026 10:00:00 GMT",
    },
    limits: ["input_tokens 30000 0 20000", "output_tokens 8000 7000 7500"],
    waitMs: 12_000,
  },
  {
    provider: "Anthropic, priority tier and fast mode",
    source: "https://docs.anthropic.com/en/api/service-tiers",
    headers: {
      "anthropic-priority-input-tokens-limit": "10000",
      "anthropic-priority-input-tokens-remaining": "9618",
      "anthropic-priority-input-tokens-reset": "2025-01-12T23:11:59Z",
      "anthropic-fast-output-tokens-limit": "4000",
      "anthropic-fast-output-tokens-remaining": "0",
      "anthropic-fast-output-tokens-reset": "2025-01-12T23:12:00Z",
      date: "Sun, 12 Jan 2025 23:11:00 GMT",
    },
    limits: ["priority_input_tokens 10000 9618 59000", "fast_output_tokens 4000 0 60000"],
  },
  {
    provider: "Anthropic, a subscription",
    source:
      "https://cljdoc.org/d/com.blockether/svar/0.7.61/api/com.blockether.svar.internal.ratelimit",
    isRefusal: true,
    headers: {
      "anthropic-ratelimit-unified-5h-status": "rejected",
      "anthropic-ratelimit-unified-5h-reset": "1773309600",
      "anthropic-ratelimit-unified-7d-utilization": "0.42",
      "anthropic-ratelimit-unified-7d-reset": "1773313200",
      date: "Thu, 12 Mar 2026 09:00:00 GMT",
    },
    limits: ["unified_5h - 0 3600000", "unified_7d 100 58 7200000"],
    waitMs: 3_600_000,
  },
  {
    provider: "Azure, an answer",
    source: "https://github.com/EvolvingPrograms/oaib/issues/11",
    headers: {
      "x-ratelimit-remaining-requests": "79",
      "x-ratelimit-remaining-tokens": "61353",
      date: "Sat, 02 Mar 2024 21:35:09 GMT",
    },
    limits: ["requests - 79 -", "tokens - 61353 -"],
  },
  {
    provider: "Azure, counts that it doesn't know",
    source: "https://github.com/openai/openai-dotnet/issues/838",
    headers: {
      "x-ratelimit-limit-tokens": "-1",
      "x-ratelimit-remaining-tokens": "-1",
      "x-ratelimit-reset-tokens": "0",
    },
    limits: [],
  },
  {
    provider: "Azure, the header of another spelling",
    source: "https://github.com/openai/openai-python/issues/937",
    isRefusal: true,
    headers: { "x-rate-limit-reset-tokens": "55", "x-ratelimit-remaining-tokens": "0" },
    limits: ["tokens - 0 55000"],
    waitMs: 55_000,
  },
  {
    provider: "Azure, a 429 in milliseconds and in words",
    source: "https://github.com/icereed/paperless-gpt/issues/814",
    isRefusal: true,
    headers: { "retry-after": "1", "retry-after-ms": "450" },
    body: {
      error: { code: "429", message: "exceeded token rate limit. Please retry after 45 seconds." },
    },
    limits: [],
    waitMs: 450,
  },
  {
    provider: "Azure, a 429 in words alone",
    source: "https://github.com/alex-wolf-ps/dbchatprov2/issues/2",
    isRefusal: true,
    headers: {},
    body: {
      error: { code: "429", message: "Please retry after 86400 seconds. Please go here: …" },
    },
    limits: [],
    waitMs: 86_400_000,
  },
  {
    provider: "Groq, requests a day and tokens a minute",
    source: "https://console.groq.com/docs/rate-limits",
    isRefusal: true,
    headers: {
      "retry-after": "2",
      "x-ratelimit-limit-requests": "14400",
      "x-ratelimit-limit-tokens": "18000",
      "x-ratelimit-remaining-requests": "14370",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-requests": "2m59.56s",
      "x-ratelimit-reset-tokens": "7.66s",
    },
    limits: ["requests 14400 14370 179560", "tokens 18000 0 7660"],
    waitMs: 2000,
  },
  {
    provider: "Mistral",
    source: "https://github.com/mistralai/client-ts/issues/169",
    headers: {
      "x-ratelimit-limit-tokens-minute": "5000000",
      "x-ratelimit-remaining-tokens-minute": "4999911",
      "x-ratelimit-tokens-query-cost": "52",
      "x-ratelimit-limit-req-minute": "720",
      "x-ratelimit-remaining-req-minute": "717",
    },
    limits: ["tokens_minute 5000000 4999911 -", "requests_minute 720 717 -"],
  },
  {
    provider: "Mistral, the older names",
    source: "https://github.com/promptfoo/promptfoo/pull/10577",
    headers: {
      "x-ratelimitbysize-limit-minute": "500000",
      "x-ratelimitbysize-remaining-minute": "499900",
      "ratelimitbysize-reset": "41",
    },
    limits: ["tokens_minute 500000 499900 -"],
  },
  {
    provider: "Cerebras",
    source: "https://inference-docs.cerebras.ai/support/rate-limits",
    headers: {
      "x-ratelimit-limit-requests-day": "14400",
      "x-ratelimit-remaining-requests-day": "14399",
      "x-ratelimit-reset-requests-day": "33011.382867",
      "x-ratelimit-limit-tokens-minute": "60000",
      "x-ratelimit-remaining-tokens-minute": "0",
      "x-ratelimit-reset-tokens-minute": "11.382867",
    },
    limits: ["requests_day 14400 14399 33011383", "tokens_minute 60000 0 11383"],
  },
  {
    provider: "Nous, by minute and hour",
    source: "https://github.com/NousResearch/hermes-agent/pull/6541",
    headers: {
      "x-ratelimit-limit-requests": "800",
      "x-ratelimit-remaining-requests": "795",
      "x-ratelimit-reset-requests": "45.5",
      "x-ratelimit-limit-tokens-1h": "8000000",
      "x-ratelimit-remaining-tokens-1h": "7000000",
      "x-ratelimit-reset-tokens-1h": "3000",
    },
    limits: ["requests 800 795 45500", "tokens_1h 8000000 7000000 3000000"],
  },
  {
    provider: "xAI",
    source: "https://docs.x.ai/docs/key-information/consumption-and-rate-limits",
    headers: {
      "x-ratelimit-limit-requests": "480",
      "x-ratelimit-remaining-requests": "479",
      "x-ratelimit-limit-tokens": "2000000",
      "x-ratelimit-remaining-tokens": "1999000",
    },
    limits: ["requests 480 479 -", "tokens 2000000 1999000 -"],
  },
  {
    provider: "OpenRouter, in Unix milliseconds in the body",
    source: "https://github.com/dirge-code/dirge/pull/719",
    isRefusal: true,
    headers: { date: "Thu, 12 Mar 2026 09:00:00 GMT" },
    body: {
      error: {
        message: "Rate limit exceeded: free-models-per-min. ",
        code: 429,
        metadata: {
          headers: {
            "X-RateLimit-Limit": "20",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": "1773306042000",
          },
        },
      },
    },
    limits: ["requests 20 0 42000"],
    waitMs: 42_000,
  },
  {
    provider: "Gemini, a quota per minute",
    source: "https://github.com/browserbase/mcp-server-browserbase/issues/129",
    isRefusal: true,
    headers: {},
    body: {
      error: {
        code: 429,
        message: "You exceeded your current quota. Please retry in 47.434392449s.",
        status: "RESOURCE_EXHAUSTED",
        details: [
          { "@type": "type.googleapis.com/google.rpc.Help", links: [] },
          {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            violations: [
              {
                quotaMetric:
                  "generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count",
                quotaId: "GenerateContentPaidTierInputTokensPerModelPerMinute",
                quotaDimensions: { location: "global", model: "gemini-2.0-flash" },
                quotaValue: "4000000",
              },
            ],
          },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "47s" },
        ],
      },
    },
    limits: ["input_tokens_minute 4000000 0 47000"],
    waitMs: 47_000,
  },
  {
    provider: "Gemini, a stream's error with nine digits",
    source: "https://github.com/dcdpr/jp/pull/1061",
    isRefusal: true,
    headers: {},
    body: [
      {
        error: {
          code: 429,
          status: "RESOURCE_EXHAUSTED",
          details: [
            {
              "@type": "type.googleapis.com/google.rpc.RetryInfo",
              retryDelay: "45.837906927s",
            },
          ],
        },
      },
    ],
    limits: [],
    waitMs: 45_838,
  },
  {
    provider: "Gemini, a day's requests, without a wait",
    source: "https://github.com/gke-labs/gemini-for-kubernetes-development/issues/1215",
    isRefusal: true,
    headers: {},
    body: {
      error: {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.Help", links: [] }],
      },
    },
    limits: [],
    waitMs: null,
  },
  {
    provider: "Cerebras, a wait in the body",
    source: "https://github.com/earendil-works/pi/issues/7134",
    isRefusal: true,
    headers: {},
    body: { message: "Tokens per minute limit exceeded", retry_after_seconds: 59 },
    limits: [],
    waitMs: 59_000,
  },
  {
    provider: "Bedrock, which reports nothing",
    source: "https://github.com/epam/ai-dial-adapter-bedrock/pull/371",
    isRefusal: true,
    headers: { "x-amzn-errortype": "ThrottlingException", "content-type": "application/json" },
    body: { message: "Too many tokens, please wait before trying again." },
    limits: [],
    waitMs: null,
  },
  {
    provider: "a Retry-After that is a Unix time",
    source: "https://github.com/openclaw/clawhub/issues/407",
    isRefusal: true,
    headers: {
      "retry-after": "1771404540",
      "x-ratelimit-limit": "20",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": "1771404540",
      date: "Wed, 18 Feb 2026 08:48:00 GMT",
    },
    limits: ["requests 20 0 60000"],
    waitMs: 60_000,
  },
  {
    provider: "a reset in the year 9999",
    source: "https://github.com/decolua/9router/pull/3012",
    headers: {
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "9999-12-31T00:00:00Z",
    },
    limits: ["requests 50 0 -"],
  },
  {
    provider: "IETF, drafts up to 06",
    source: "https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-06.html",
    headers: {
      "ratelimit-limit": "100, 100;w=60",
      "ratelimit-remaining": "50",
      "ratelimit-reset": "50",
    },
    limits: ["requests 100 50 50000"],
  },
  {
    provider: "IETF, draft 07",
    source: "https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-07.html",
    headers: { ratelimit: "limit=100, remaining=50, reset=5", "ratelimit-policy": "100;w=10" },
    limits: ["requests 100 50 5000"],
  },
  {
    provider: "IETF, drafts from 08 on",
    source: "https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html",
    headers: {
      ratelimit: '"default";r=50;t=30, "daily";r=0;t=7200',
      "ratelimit-policy": '"default";q=100;w=60, "daily";q=1000;w=86400',
    },
    limits: ["requests 100 50 30000", "daily 1000 0 7200000"],
  },
];
