/** The stand-ins themselves: what each refuses, and that it takes what is right. */
import t from "tap";
import { startStandIn } from "./stand-in.js";

const api = await startStandIn();
t.teardown(() => api.close());

const grammar = { type: "custom", name: "patch" };
const user = { role: "user", content: "hi" };
const read = {
  type: "function",
  function: { name: "read_note", parameters: { type: "object", properties: { number: {} } } },
};
const called = (id: string, more: object = {}): object => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "read_note", arguments: "{}" } }],
  ...more,
});
const result = (id: string): object => ({ role: "tool", tool_call_id: id, content: "4" });
const claude = { model: "claude-opus-4-8", max_tokens: 100 };
const use = { type: "tool_use", id: "toolu_1", name: "read_note", input: {} };
const used = { type: "tool_result", tool_use_id: "toolu_1", content: "4" };

/** What is sent where, and a part of the refusal; null: it is taken. */
const table: readonly (readonly [string, string, object, string | null])[] = [
  ["openai", "chat/completions", { model: "gpt-4o", messages: [user] }, null],
  ["openai", "chat/completions", { model: "gpt-4o", messages: [user], top_k: 4 }, "top_k"],
  [
    "openai",
    "chat/completions",
    { model: "gpt-4o", messages: [user, called("a")] },
    "calls without results: a",
  ],
  [
    "openai",
    "chat/completions",
    { model: "gpt-4o", messages: [user, result("a")] },
    "a isn't called",
  ],
  [
    "openai",
    "chat/completions",
    { model: "gpt-4o", messages: [user], reasoning_effort: "low" },
    "reasoning_effort",
  ],
  [
    "openai",
    "chat/completions",
    { model: "gpt-4o", messages: [user], max_tokens: 32_000 },
    "at most 16384",
  ],
  [
    "openai",
    "chat/completions",
    { model: "gpt-5.5", messages: [user], tools: [read] },
    "/v1/responses",
  ],
  [
    "openai",
    "chat/completions",
    { model: "gpt-5.5", messages: [user], tools: [read], reasoning_effort: "none" },
    null,
  ],
  ["openai", "responses", { model: "gpt-5.5", input: "hi", tools: [] }, null],
  [
    "openai",
    "responses",
    { model: "gpt-5.5", input: [{ type: "function_call_output", call_id: "a", output: "" }] },
    "No tool call found",
  ],
  [
    "openai",
    "responses",
    { model: "gpt-5.5", store: false, input: [{ type: "item_reference", id: "rs_1" }] },
    "not found",
  ],
  ["groq", "responses", { model: "m", input: "hi", store: false }, "'store' is unsupported"],
  ["groq", "responses", { model: "m", input: "hi", tools: [grammar] }, "unknown variant `custom`"],
  ["openrouter", "responses", { model: "m", input: "hi", tools: [grammar] }, null],
  ["openrouter", "responses", { model: "m", input: "hi", store: true }, "stateless"],
  ["anthropic", "messages", { ...claude, messages: [user] }, null],
  ["anthropic", "messages", { ...claude, messages: [user], n: 1 }, "Extra inputs"],
  ["anthropic", "messages", { ...claude, messages: [user], temperature: 0.2 }, "deprecated"],
  [
    "anthropic",
    "messages",
    { ...claude, messages: [user, { role: "assistant", content: [use] }, user] },
    "without `tool_result` blocks",
  ],
  [
    "anthropic",
    "messages",
    {
      ...claude,
      messages: [user, { role: "assistant", content: [use] }, { role: "user", content: [used] }],
    },
    null,
  ],
  [
    "anthropic",
    "messages",
    {
      ...claude,
      messages: [
        user,
        { role: "assistant", content: [{ type: "thinking", thinking: "a", signature: "b" }] },
        user,
      ],
    },
    "Invalid `signature`",
  ],
  ...(
    [
      ["gpt-5", { stop: "x" }, "'stop' is not supported"],
      ["gpt-5", { reasoning_effort: "none" }, "'none'"],
      ["gpt-5", { reasoning_effort: "minimal" }, null],
      ["gpt-5.1", { reasoning_effort: "minimal" }, "'minimal'"],
      ["gpt-5.1", { logprobs: true }, null],
      ["o3", { logprobs: true }, "'logprobs' is not supported"],
      ["gpt-4.1", { logprobs: true, stop: "x", temperature: 0.2 }, null],
      ["gpt-4.1", { stream_options: { include_usage: true } }, "when 'stream' is enabled"],
    ] as const
  ).map(
    ([model, more, refusal]) =>
      ["openai", "chat/completions", { model, messages: [user], ...more }, refusal] as const,
  ),
  ...(
    [
      ["claude-opus-4-7", { thinking: { type: "enabled", budget_tokens: 1024 } }, "enabled"],
      ["claude-opus-4-6", { thinking: { type: "adaptive" } }, null],
      ["claude-opus-4-6", { output_config: { effort: "xhigh" } }, "effort"],
      ["claude-opus-4-6", { messages: [user, { role: "assistant", content: "{" }] }, "prefill"],
      ["claude-sonnet-4-5", { messages: [user, { role: "assistant", content: "{" }] }, null],
      ["claude-sonnet-4-5", { temperature: 0.5, top_p: 0.5 }, "cannot both"],
      ["claude-3-7-sonnet-latest", { temperature: 0.5, top_p: 0.5 }, null],
      ["claude-3-7-sonnet-latest", { thinking: { type: "adaptive" } }, "adaptive"],
      ["claude-3-7-sonnet-latest", { max_tokens: 100_000 }, "64000"],
    ] as const
  ).map(
    ([model, more, refusal]) =>
      [
        "anthropic",
        "messages",
        { model, max_tokens: 2000, messages: [user], ...more },
        refusal,
      ] as const,
  ),
  [
    "deepseek",
    "chat/completions",
    { model: "deepseek-reasoner", messages: [user, called("a"), result("a")] },
    "Missing `reasoning_content`",
  ],
  [
    "deepseek",
    "chat/completions",
    { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "a" }] }] },
    "must be a string",
  ],
  [
    "groq",
    "chat/completions",
    { model: "m", messages: [user, called("a", { reasoning_content: "b" }), result("a")] },
    "reasoning_content: unknown field",
  ],
  [
    "mistral",
    "chat/completions",
    { model: "m", messages: [user, called("a"), result("a")] },
    "length of 9",
  ],
  [
    "mistral",
    "chat/completions",
    { model: "m", messages: [user, called("abcdefgh1"), result("abcdefgh1"), user] },
    "Unexpected role",
  ],
  [
    "vllm",
    "chat/completions",
    { model: "m", messages: [user, { role: "system", content: "a" }] },
    "at the beginning",
  ],
  [
    "gemini",
    "chat/completions",
    { model: "m", messages: [user, called("a"), result("a")] },
    "thought_signature",
  ],
  [
    "moonshot",
    "chat/completions",
    { model: "kimi-k2.6", messages: [user], temperature: 0.3 },
    "only 1 is allowed",
  ],
  ["cerebras", "responses", { model: "m", input: "hi" }, "no such URL"],
];

t.test("each provider refuses what the real one refuses", async (t) => {
  for (const [host, operation, body, refusal] of table) {
    const response = await fetch(`${api.url}/${host}/v1/${operation}`, {
      method: "POST",
      headers: { "anthropic-version": "2023-06-01" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const name = `${host} ${JSON.stringify(body)}`;
    if (refusal === null) t.equal(response.status, 200, `${name}: ${text}`);
    else
      t.ok(
        response.status >= 400 && JSON.parse(text).error.message.includes(refusal),
        `${name}: ${text}`,
      );
  }
});

t.test("a provider's answers and refusals are recorded for it", async (t) => {
  api.forget();
  await fetch(`${api.url}/openai/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "gpt-4o", messages: [user] }),
  });
  const { requests, inputTokens, outputTokens, refused } = api.seen("openai");
  t.same(
    { requests, inputTokens, outputTokens, refused },
    { requests: 1, inputTokens: 110, outputTokens: 20, refused: [] },
  );
});
