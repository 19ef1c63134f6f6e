/** Reports about limits: of the gateway's own, and of providers, that clients have to wait for. */
import type { OutsideCase, ProviderAnswer, Seen } from "./outside-case.js";
import { chat, chunk, done, events, google, messages, responses, usageChunk } from "./requests.js";

const limits = "limits and waits";
const busy = (body: object, headers: Readonly<Record<string, string>> = {}): ProviderAnswer => ({
  status: 429,
  headers,
  body,
});
const waits = (seconds: string): Pick<OutsideCase, "status" | "check"> => ({
  status: 429,
  check: (t, { headers }) => t.equal(headers.get("retry-after"), seconds),
});
const rateLimited = { error: { message: "Rate limit reached", type: "rate_limit_error" } };

/** The rest of the minute, and the sixth of the next after which 12 tokens weigh less than 10. */
function checkWait(t: Parameters<NonNullable<OutsideCase["check"]>>[0], { headers }: Seen): void {
  const seconds = Number(headers.get("retry-after"));
  t.ok(seconds > 0 && seconds <= 71, String(seconds));
}

export const waitReports: readonly OutsideCase[] = [
  {
    id: "limits-in-a-stream",
    kind: limits,
    source: ["BerriAI/litellm#27748"],
    request: chat({ model: "vllm/measured", stream: true }),
    events: events([chunk({ content: "hi" }), chunk({}, {}, "stop"), usageChunk, done]),
    result: "passed",
    right: "a stream tells what is left of a limit, as a whole answer does",
    check(t, { headers }) {
      t.equal(headers.get("x-ratelimit-limit-tokens"), "1000000");
      t.ok(Number(headers.get("x-ratelimit-remaining-tokens")) > 0);
    },
  },
  {
    id: "tokens-of-responses-count",
    kind: limits,
    source: ["BerriAI/litellm#17706"],
    before: responses({ model: "vllm/limited" }),
    request: responses({ model: "vllm/limited" }),
    result: "passed",
    right: "tokens of the Responses API count for a limit on tokens",
    status: 429,
    check: checkWait,
  },
  {
    id: "a-limit-ends-with-its-window",
    kind: limits,
    source: ["BerriAI/litellm#24677", "BerriAI/litellm#18953"],
    before: chat({ model: "vllm/limited-too" }),
    request: chat({ model: "vllm/limited-too" }),
    result: "passed",
    right:
      "who is refused for the tokens of a minute waits until its window has moved on, and no longer",
    status: 429,
    check: checkWait,
  },
  {
    id: "wait-for-ai-sdk",
    kind: limits,
    source: ["vercel/ai#7247", "vercel/ai#5018", "earendil-works/pi#9595"],
    request: responses({ model: "vllm/qwen3-coder", stream: true }),
    answer: busy(rateLimited, { "retry-after": "30" }),
    right: "the provider's wait reaches clients of every dialect, also of streams",
    result: "passed",
    ...waits("30"),
  },
  {
    id: "wait-for-gemini-cli",
    kind: limits,
    source: ["vercel/ai#7247"],
    request: google("openai/gpt-4o", {}, "streamGenerateContent?alt=sse"),
    answer: busy(rateLimited, { "retry-after": "30" }),
    right: "the provider's wait reaches clients of every dialect, also of streams",
    result: "passed",
    ...waits("30"),
  },
  {
    id: "wait-in-milliseconds",
    kind: limits,
    source: ["openai-node and openai-python: retry-after-ms"],
    request: messages({ model: "openai/gpt-4o" }),
    answer: busy(rateLimited, { "retry-after-ms": "1500" }),
    right: "a wait in milliseconds, which OpenAI and Azure send, reaches clients that read seconds",
    ...waits("2"),
  },
  {
    id: "wait-in-the-body",
    kind: limits,
    source: ["earendil-works/pi#7134"],
    request: messages({ model: "vllm/qwen3-coder" }),
    answer: busy({ message: "Tokens per minute limit exceeded", retry_after_seconds: 59 }),
    right: "a wait that only the body tells is in Retry-After",
    ...waits("59"),
  },
  {
    id: "wait-in-details-of-google",
    kind: limits,
    source: ["gke-labs/gemini-for-kubernetes-development#1215"],
    request: chat({ model: "gemini/gemini-2.5-pro" }),
    answer: busy({
      error: {
        code: 429,
        message: "You exceeded your current quota.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "17s" }],
      },
    }),
    right: "a wait that only the body tells is in Retry-After",
    ...waits("17"),
  },
  {
    id: "a-wait-of-hours",
    kind: limits,
    source: ["earendil-works/pi#3671"],
    request: messages({ model: "vllm/qwen3-coder" }),
    answer: busy({ message: "Daily limit exceeded", retry_after_seconds: 40_000 }),
    result: "passed",
    right: "no agent hangs for hours by a header that its provider hasn't sent",
    status: 429,
    check: (t, { headers }) => t.equal(headers.get("retry-after"), null),
  },
  {
    id: "busy-mistral",
    kind: limits,
    source: ["earendil-works/pi#9815"],
    request: messages({ model: "vllm/qwen3-coder" }),
    answer: busy(
      {
        object: "error",
        message: "Rate limit exceeded",
        type: "rate_limited",
        param: null,
        code: "1300",
        raw_status_code: 429,
      },
      { "retry-after": "12" },
    ),
    result: "passed",
    right:
      "Mistral's error without a member error is rate_limit_error, with its sentence and its wait",
    receives: {
      type: "error",
      error: { type: "rate_limit_error", message: /Rate limit exceeded/ },
    },
    ...waits("12"),
  },
];
