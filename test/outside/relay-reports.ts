/** Reports about what gateways pass on, and what hosts of the same dialect refuse or leave out. */
import type { OutsideCase, Seen, Sent } from "./outside-case.js";
import {
  chat,
  chatTool,
  chunk,
  completionOf,
  done,
  events,
  google,
  messageOf,
  messages,
  responses,
  usageChunk,
  user,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-opus-4-8";
const sol = "openai/gpt-5.6-sol";
const read = { name: "read", input_schema: { type: "object", properties: { path: {} } } };
const overResponses = { model: sol, tools: [read], thinking: { type: "adaptive" } };
const five = ["a", "b", "c", "d", "e"];
const refused = (message: string) => ({
  status: 400,
  body: { type: "error", error: { type: "invalid_request_error", message } },
});
const hello = messageOf([{ type: "text", text: "a" }]);

const vertexSources = [
  "anthropics/claude-code#34802",
  "QuantumNous/new-api#2975",
  "Wei-Shaw/sub2api#3358",
  "BerriAI/litellm#39597",
];
const bedrockSources = [
  "anthropics/claude-code#49370",
  "anthropics/claude-code#30926",
  "QuantumNous/new-api#3041",
];
const withBetas = (request: OutsideCase["request"]): OutsideCase["request"] => ({
  ...request,
  headers: { "anthropic-beta": "effort-2025-11-24,prompt-caching-scope-2026-01-05" },
});
const betasOf = (sent: readonly Sent[]) => sent.at(-1)?.headers["anthropic-beta"];
/** As Vertex AI answers, which knows other betas than Anthropic. */
const atVertex = (sent: readonly Sent[]) =>
  String(betasOf(sent)).includes("scope")
    ? refused(
        "Unexpected value(s) `prompt-caching-scope-2026-01-05` for the `anthropic-beta` header. Please consult our documentation or try again without the header.",
      )
    : hello;

const unnumbered = (list: readonly object[]): string =>
  events([
    { type: "response.created", response: { id: "resp_1", object: "response" } },
    ...list,
    {
      type: "response.completed",
      response: {
        id: "resp_1",
        status: "completed",
        output: [],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      },
    },
  ]);
const message = { type: "message", id: "m", role: "assistant" };
const call = { type: "function_call", id: "f", call_id: "c1", name: "read" };
const content = [{ type: "output_text", text: "hi" }];
const indexSources = [
  "tontinton/maki#514",
  "davidmigloz/ai_clients_dart#243",
  "ggml-org/llama.cpp#20607",
];
const answersAndCalls = (t: Parameters<NonNullable<OutsideCase["check"]>>[0], seen: Seen): void => {
  const text = JSON.stringify(seen.events);
  t.equal(text.match(/"text":"hi"/g)?.length, 1);
  const json = seen.events.map(({ delta }) => (delta as { partial_json?: string })?.partial_json);
  t.same(JSON.parse(json.join("")), { path: "a" });
  t.match(text, /"stop_reason":"tool_use"/);
};

export const relayReports: readonly OutsideCase[] = [
  {
    id: "beta-that-vertex-refuses",
    kind: "fields by host",
    source: vertexSources,
    request: withBetas(messages({ model: claude })),
    answer: atVertex,
    right: "once more without the beta that the host refuses, which is named",
    dropped: "anthropic-beta prompt-caching-scope-2026-01-05",
    check: (t, { sent }) => t.equal(betasOf(sent), "effort-2025-11-24"),
  },
  {
    id: "beta-that-vertex-refused-before",
    kind: "fields by host",
    source: vertexSources,
    request: withBetas(messages({ model: claude })),
    answer: atVertex,
    right: "the host is remembered",
    check: (t, { sent }) => t.equal(sent.length, 1),
  },
  {
    id: "beta-that-vertex-refuses-to-count",
    kind: "fields by host",
    source: vertexSources,
    request: withBetas({
      path: "/v1/messages/count_tokens",
      body: { model: claude, messages: [user("x")] },
    }),
    answer: (sent) =>
      String(betasOf(sent)).includes("scope") ? atVertex(sent) : { body: { input_tokens: 7 } },
    right: "a count is made without the refused beta, too",
    receives: { input_tokens: 7 },
  },
  {
    id: "beta-that-bedrock-refuses",
    kind: "fields by host",
    source: bedrockSources,
    request: withBetas(messages({ model: "anthropic/claude-sonnet-4-5" })),
    answer: (sent) => (betasOf(sent) === undefined ? hello : refused("invalid beta flag")),
    right: "once more without betas where the host names none",
    dropped: "anthropic-beta effort-2025-11-24",
  },
  {
    id: "items-without-numbers",
    kind: "events of the Responses API",
    source: indexSources,
    request: messages({ ...overResponses, stream: true }),
    events: unnumbered([
      { type: "response.output_item.added", item: { ...message, content: [] } },
      { type: "response.output_text.delta", item_id: "m", delta: "hi" },
      { type: "response.output_item.done", item: { ...message, content } },
      { type: "response.output_item.added", item: { ...call, arguments: "" } },
      { type: "response.function_call_arguments.delta", item_id: "f", delta: '{"path":' },
      { type: "response.function_call_arguments.delta", item_id: "fc_f", delta: '"a"}' },
      { type: "response.output_item.done", item: { ...call, arguments: '{"path":"a"}' } },
    ]),
    right: "llama.cpp's events have no output_index: they belong to the item that they name",
    check: answersAndCalls,
  },
  {
    id: "whole-items-without-numbers",
    kind: "events of the Responses API",
    source: indexSources,
    request: messages({ ...overResponses, stream: true }),
    events: unnumbered([
      { type: "response.output_item.done", item: { ...message, content } },
      { type: "response.output_item.done", item: { ...call, arguments: '{"path":"a"}' } },
    ]),
    right: "llama.cpp's events have no output_index: they belong to the item that they name",
    check: answersAndCalls,
  },
  ...[
    messages({ model: "openai/gpt-4o", stop_sequences: five }),
    google("openai/gpt-4o", { generationConfig: { stopSequences: five } }),
    chat({ model: "makers", stop: five }),
  ].map(
    (request, i): OutsideCase => ({
      id: `five-stop-sequences-${i}`,
      kind: "fields by host",
      source: ["QwenLM/Qwen-Agent#228", "continuedev/continue#2461", "letta-ai/letta#1272"],
      request,
      right: "OpenAI takes four stop sequences: a client of another host loses the fifth alone",
      dropped: "stop after the first 4",
      check: (t, { sent }) => t.same(sent.at(-1)!.body["stop"], five.slice(0, 4)),
    }),
  ),
  {
    id: "summary-for-claude-code",
    kind: "thinking",
    source: ["stdapi-ai/stdapi.ai#285", "theopenco/llmgateway#2593"],
    request: messages({
      ...overResponses,
      thinking: { type: "adaptive", display: "summarized" },
    }),
    right: "who asks Anthropic for the text of thinking asks OpenAI for a summary",
    sends: { reasoning: { summary: "auto" } },
  },
  {
    id: "no-summary-for-claude-code",
    kind: "thinking",
    source: ["anthropics/claude-code#49268"],
    request: messages(overResponses),
    result: "passed",
    right: "who doesn't ask for a summary needs no verified organization",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /"summary"/),
  },
  {
    id: "summary-for-gemini-cli",
    kind: "thinking",
    source: ["stdapi-ai/stdapi.ai#285"],
    request: google(sol, {
      tools: [{ functionDeclarations: [{ name: "read" }] }],
      generationConfig: { thinkingConfig: { thinkingLevel: "HIGH", includeThoughts: true } },
    }),
    right: "who asks Google for thoughts asks OpenAI for a summary",
    sends: { reasoning: { effort: "high", summary: "auto" } },
  },
  {
    id: "limit-at-ollama",
    kind: "fields by host",
    source: ["ollama/ollama#7125", "maximhq/bifrost#6132", "Skyvern-AI/skyvern#2300"],
    request: chat({ model: "ollama/qwen3", max_completion_tokens: 7 }),
    right: "Ollama ignores the newer name of the limit, and would generate without any",
    lacks: ["max_completion_tokens"],
    sends: { max_tokens: 7 },
  },
  {
    id: "breakpoint-of-openai-at-claude",
    kind: "fields by host",
    source: ["agentgateway/agentgateway#2555", "coder/xum#3712"],
    request: chat({
      model: claude,
      messages: [
        user([
          { type: "text", text: "x", prompt_cache_breakpoint: { mode: "explicit" } },
          { type: "text", text: "y" },
        ]),
      ],
    }),
    result: "passed",
    right: "a breakpoint of GPT-5.6's cache is one of Claude's",
    sends: { messages: [{ content: [{ cache_control: { type: "ephemeral" } }, {}] }] },
  },
  {
    id: "two-unsigned-calls-at-gemini",
    kind: "Gemini",
    source: ["vercel/ai#20008", "vercel/ai#13908", "diegosouzapw/OmniRoute#11669"],
    request: responses({
      model: "gemini/gemini-3-pro-preview",
      tools: [{ type: "function", name: "read", parameters: {} }],
      input: [
        user("x"),
        ...["c1", "c2"].map((call_id) => ({
          type: "function_call",
          call_id,
          name: "read",
          arguments: "{}",
        })),
        ...["c1", "c2"].map((call_id) => ({
          type: "function_call_output",
          call_id,
          output: "a",
        })),
      ],
    }),
    result: "passed",
    right: "parallel calls that no Gemini signed are accepted",
    sends: {
      messages: [
        {},
        { tool_calls: [{ extra_content: { google: { thought_signature: String } } }, {}] },
        {},
        {},
      ],
    },
  },
  {
    id: "events-for-strict-clients",
    kind: "events of the Responses API",
    source: ["diegosouzapw/OmniRoute#13964", "lidge-jun/opencodex#893"],
    request: responses({ model: vllm, stream: true }),
    events: events([chunk({ content: "a" }), chunk({}, {}, "stop"), usageChunk, done]),
    result: "passed",
    right: "each event has its number, each item its status, each response its lists",
    check(t, { events: list }) {
      for (const { type, sequence_number: number, item, response } of list) {
        t.type(number, "number", String(type));
        if (item !== undefined) t.match(item, { status: String });
        if (response !== undefined)
          t.match(response, { output: Array, tools: Array, error: null, background: false });
      }
    },
  },
  {
    id: "length-of-claude-in-responses",
    kind: "finish reasons",
    source: ["maximhq/bifrost#4679"],
    request: responses({ model: claude }),
    answer: messageOf([{ type: "text", text: "a" }], { stop_reason: "max_tokens" }),
    result: "passed",
    right: "an answer that was cut is incomplete",
    receives: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  },
  {
    id: "image-in-google's-store",
    kind: "images",
    source: ["maximhq/bifrost#4402"],
    request: google(claude, {
      contents: [
        {
          role: "user",
          parts: [{ fileData: { fileUri: "gs://b/a.png", mimeType: "image/png" } }],
        },
      ],
    }),
    result: "passed",
    right: "a file that only Google can read is refused by name elsewhere, never lost",
    status: 400,
    receives: { error: { message: /fileUri/ } },
  },
  {
    id: "cut-call-of-a-whole-answer",
    kind: "finish reasons",
    source: ["maximhq/bifrost#3638"],
    request: messages({ model: vllm, tools: [read], stream: true }),
    events: events([
      chunk({ content: "a" }),
      chunk({
        tool_calls: [{ index: 0, id: "c1", function: { name: "read", arguments: '{"path":"a' } }],
      }),
      chunk({}, {}, "length"),
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "a call that was cut stops with max_tokens, so that nothing runs it",
    check: (t, { text }) => t.match(text, /"stop_reason":"max_tokens"/),
  },
  {
    id: "greeting-at-claude",
    kind: "turns",
    source: ["livekit/agents#669", "posit-dev/py-shiny#1530", "tonyljx/TextWordExplain#2"],
    request: chat({
      model: claude,
      messages: [{ role: "assistant", content: "Hello, how can I help?" }, user("x")],
    }),
    right: "Anthropic's first turn is the user's: a conversation that a greeting begins goes on",
    sends: { messages: [{ role: "user" }, { role: "assistant" }, { role: "user" }] },
  },
  {
    id: "think-tags-of-open-models",
    kind: "thinking",
    source: ["lich0821/ccNexus#99", "router-for-me/CLIProxyAPI#4037"],
    request: messages({ model: vllm }),
    answer: completionOf({
      message: { role: "assistant", content: "<think>why</think>hi" },
      finish_reason: "stop",
    }),
    result: "decided: a host's own parser (vLLM: --reasoning-parser) knows the tags of its model",
    right: "tags in a text are the host's to read, and no gateway's guess",
    receives: { content: [{ type: "text", text: "<think>why</think>hi" }] },
  },
  {
    id: "breakpoint-of-claude-at-openai",
    kind: "fields by host",
    source: ["agentgateway/agentgateway#2555"],
    request: messages({
      ...overResponses,
      system: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }],
    }),
    result: "decided: OpenAI caches prefixes by itself, and bills what a breakpoint writes",
    right: "OpenAI gets no breakpoint of Anthropic's cache",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /cache_control|prompt_cache_breakpoint/),
  },
  {
    id: "thinking-of-another-claude",
    kind: "thinking",
    source: ["Anthropic: Preserved thinking"],
    request: messages({
      model: "opus",
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "t", signature: "ErUBCkYIARgCIkD" },
            { type: "text", text: "a" },
          ],
        },
        user("y"),
      ],
    }),
    result: "passed",
    right: "after a failover to another Claude, once more without the thinking of the first",
    status: 200,
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /"thinking"/),
  },
  {
    id: "hour-in-claude's-cache-from-a-chat",
    kind: "fields by host",
    source: ["BerriAI/litellm#15056"],
    request: chat({
      model: claude,
      tools: [chatTool("read")],
      messages: [
        user([{ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "1h" } }]),
        { role: "assistant", content: "y" },
        user("z"),
      ],
    }),
    result: "passed",
    right: "no breakpoint of five minutes precedes one of an hour, which Anthropic refuses",
    check(t, { sent }) {
      const marks = [...sent.at(-1)!.text.matchAll(/"cache_control":\{[^}]*\}/g)].map(String);
      const minutes = marks.findIndex((mark) => !mark.includes("1h"));
      t.notOk(minutes !== -1 && marks.slice(minutes).some((mark) => mark.includes("1h")));
    },
  },
];
