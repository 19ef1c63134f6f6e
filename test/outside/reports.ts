/** The reports that failed on Sluice when they were tried, and their sisters. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase } from "./outside-case.js";
import {
  chat,
  chatTool,
  completionOf,
  messages,
  noArguments,
  outputText,
  responseOf,
  responses,
  user,
} from "./requests.js";

const contextFullOfVllm = {
  status: 400,
  body: {
    error: {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
  },
};
const contextFullOfClaude = {
  status: 400,
  body: {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "prompt is too long: 219898 tokens > 200000 maximum",
    },
  },
};

/** Two calls whose pieces alternate. */
const alternating = (first: string, second: string): readonly Record<string, unknown>[] => {
  const piece = (index: number, more: object): Record<string, unknown> => ({
    tool_calls: [{ index, ...more }],
  });
  return [
    piece(0, { id: "c0", type: "function", function: { name: "a", arguments: "" } }),
    piece(1, { id: "c1", type: "function", function: { name: "b", arguments: "" } }),
    piece(0, { function: { arguments: first } }),
    piece(1, { function: { arguments: second } }),
    { finish_reason: "tool_calls" },
  ];
};

export const reports: readonly OutsideCase[] = [
  {
    id: "context-full-messages",
    kind: "context full",
    source: ["Menci/Floway#166", "musistudio/claude-code-router#1799"],
    request: messages({ model: "vllm/qwen3-coder" }),
    answer: contextFullOfVllm,
    right: "Claude Code compacts at a text that begins 'prompt is too long', with the figures",
    status: 400,
    check(t, { body }) {
      const { message } = (body as { error: { message: string } }).error;
      t.match(message, /^prompt is too long: 130000 tokens > 128000 maximum/);
      t.match(message, /maximum context length is 128000 tokens/, "the provider's sentence");
    },
  },
  {
    id: "context-full-chat",
    kind: "context full",
    source: ["kortix-ai/suna#6368"],
    request: chat({ model: "anthropic/claude-sonnet-4-5" }),
    answer: contextFullOfClaude,
    right: "OpenAI's agents compact at the code context_length_exceeded",
    status: 400,
    receives: {
      error: { code: "context_length_exceeded", message: /prompt is too long: 219898 tokens/ },
    },
  },
  {
    id: "context-full-responses",
    kind: "context full",
    source: ["openai/codex"],
    request: responses({ model: "anthropic/claude-sonnet-4-5" }),
    answer: contextFullOfClaude,
    right: "Codex compacts at the code context_length_exceeded",
    status: 400,
    receives: {
      error: { code: "context_length_exceeded", message: /prompt is too long: 219898 tokens/ },
    },
  },
  {
    id: "alternating-calls-messages",
    kind: "alternating tool calls",
    source: ["maximhq/bifrost#3441", "praxis-proxy/ai#266"],
    request: messages({
      model: "vllm/qwen3-coder",
      stream: true,
      tools: [
        { name: "a", input_schema: { type: "object", properties: { x: { type: "string" } } } },
        { name: "b", input_schema: noArguments },
      ],
    }),
    events: alternating('{"x":"1"}', "{}"),
    right: "two tool_use blocks, one after the other, each with all of its arguments",
    check(t, { events }) {
      const open = new Map<number, { name: string; json: string }>();
      const whole: { name: string; json: string }[] = [];
      for (const { type, index, content_block, delta } of events as unknown as readonly {
        readonly type: string;
        readonly index: number;
        readonly content_block: { readonly name: string };
        readonly delta: { readonly partial_json?: string };
      }[]) {
        if (type === "content_block_start") {
          t.equal(open.size, 0, "one block at a time");
          open.set(index, { name: content_block.name, json: "" });
        } else if (type === "content_block_delta")
          open.get(index)!.json += delta.partial_json ?? "";
        else if (type === "content_block_stop") {
          whole.push(open.get(index)!);
          open.delete(index);
        }
      }
      t.same(
        whole.map(({ name, json }) => [name, JSON.parse(json || "{}")]),
        [
          ["a", { x: "1" }],
          ["b", {}],
        ],
      );
      t.ok(events.some((event) => JSON.stringify(event).includes('"stop_reason":"tool_use"')));
    },
  },
  {
    id: "alternating-calls-responses",
    kind: "alternating tool calls",
    source: ["maximhq/bifrost#7235"],
    request: responses({
      model: "vllm/qwen3-coder",
      stream: true,
      tools: [
        { type: "function", name: "a", parameters: noArguments },
        { type: "function", name: "b", parameters: noArguments },
      ],
    }),
    events: alternating('{"cmd":"ls"}', '{"cmd":"pwd"}'),
    right: "no call is done before its arguments are whole",
    check(t, { events }) {
      const done = events.filter(
        ({ type, item }) =>
          type === "response.output_item.done" &&
          (item as { type: string }).type === "function_call",
      );
      const right = [
        { item: { name: "a", arguments: '{"cmd":"ls"}' } },
        { item: { name: "b", arguments: '{"cmd":"pwd"}' } },
      ];
      t.match(done, exactly(right));
      t.equal(events.at(-1)?.["type"], "response.completed");
    },
  },
  {
    id: "choice-of-a-dropped-tool",
    kind: "tool choice",
    source: ["BerriAI/litellm#25477"],
    request: messages({
      model: "openai/gpt-4o",
      tools: [{ type: "web_search_20250305", name: "web_search" }],
      tool_choice: { type: "tool", name: "web_search" },
    }),
    right: "a choice never names a tool that was left out",
    lacks: ["tools", "tool_choice"],
    dropped: "tool",
  },
  {
    id: "stop-at-gpt-5",
    kind: "fields by model",
    source: ["BerriAI/litellm#15244", "huggingface/smolagents#1893"],
    request: messages({ model: "openai/gpt-5", stop_sequences: ["END"] }),
    right: "reasoning models refuse stop",
    lacks: ["stop"],
    dropped: "stop",
  },
  {
    id: "user-is-an-address",
    kind: "identities",
    source: ["BerriAI/litellm#10106"],
    request: chat({ model: "anthropic/claude-sonnet-4-5", user: "jane@example.com" }),
    right: "Anthropic refuses a user_id that names a person: a stable hash in its place",
    check(t, { sent }) {
      const { metadata } = sent.at(-1)!.body as { metadata?: { user_id?: string } };
      t.notMatch(JSON.stringify(sent.at(-1)!.body), /jane/);
      t.match(metadata?.user_id, /^[\w-]{16,64}$/);
    },
  },
  {
    id: "strict-tool-with-bounds",
    kind: "strict tools at Claude",
    source: ["earendil-works/pi#9953", "camel-ai/camel#4171"],
    request: chat({
      model: "anthropic/claude-opus-4-6",
      tools: [
        chatTool("f", {
          strict: true,
          parameters: {
            type: "object",
            properties: { a: { type: "integer", minimum: 3, maximum: 9 } },
            required: ["a"],
            additionalProperties: false,
          },
        }),
      ],
    }),
    right: "strict takes no bounds: they go into the description, or strict goes",
    check(t, { sent }) {
      const [tool] = sent.at(-1)!.body["tools"] as { strict?: boolean; input_schema: object }[];
      const bounds = /"(?:minimum|maximum)":/.test(JSON.stringify(tool?.input_schema));
      t.ok(tool?.strict !== true || !bounds);
    },
  },
  {
    id: "schema-of-a-map",
    kind: "schemas at Claude",
    source: ["pydantic/pydantic-ai#4117", "mastra-ai/mastra#20977"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "n",
          schema: {
            type: "object",
            properties: { scores: { type: "object", additionalProperties: { type: "number" } } },
            required: ["scores"],
          },
        },
      },
    }),
    right: "a map isn't turned into an object that can only be empty",
    check(t, { sent }) {
      const { output_format, output_config } = sent.at(-1)!.body;
      const schema = JSON.stringify(output_format ?? output_config ?? {});
      t.notMatch(schema, /"scores":\{[^}]*"additionalProperties":false/);
    },
  },
  {
    id: "malformed-call-of-gemini",
    kind: "empty answers",
    source: ["BerriAI/litellm#16651", "Wei-Shaw/sub2api#7098"],
    request: messages({ model: "vllm/qwen3-coder" }),
    answer: completionOf({
      message: { role: "assistant", content: null },
      finish_reason: "function_call_filter: MALFORMED_FUNCTION_CALL",
    }),
    right: "a failure of the provider, not an empty success",
    status: 502,
  },
  {
    id: "image-jpg",
    kind: "images",
    source: ["NousResearch/hermes-agent#55432", "mealie-recipes/mealie#5897"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      messages: [
        user([{ type: "image_url", image_url: { url: "data:image/jpg;base64,/9j/4AAQ" } }]),
      ],
    }),
    right: "Anthropic takes image/jpeg",
    sends: { messages: [{ content: [{ source: { media_type: "image/jpeg" } }] }] },
  },
  {
    id: "image-by-its-bytes",
    kind: "images",
    source: ["mealie-recipes/mealie#5897"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      messages: [
        user([
          { type: "image_url", image_url: { url: "data:image/png;base64,/9j/4AAQSkZJRgABAQ==" } },
        ]),
      ],
    }),
    right: "the type is what the bytes say",
    sends: { messages: [{ content: [{ source: { media_type: "image/jpeg" } }] }] },
  },
  {
    id: "thinking-without-a-budget",
    kind: "thinking",
    source: ["experientiallabs/experiential#905"],
    request: messages({ model: "vllm/qwen3-coder", thinking: { type: "enabled" } }),
    right: "thinking is on, as much as the model likes",
  },
  {
    id: "assistant-last-at-opus-4-6",
    kind: "the last word",
    source: ["anomalyco/opencode#13768", "langchain-ai/deepagents#1585"],
    request: chat({
      model: "anthropic/claude-opus-4-6",
      messages: [user("x"), { role: "assistant", content: "Sure, " }],
    }),
    right: "models from 4.6 on refuse a prefill: a user's turn follows it",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body as { messages: { role: string }[] };
      t.equal(turns.at(-1)?.role, "user");
    },
  },
  {
    id: "assistant-last-at-sonnet-4-5",
    kind: "the last word",
    source: ["langchain-ai/deepagents#1585"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      messages: [user("x"), { role: "assistant", content: "Sure, " }],
    }),
    right: "a prefill mustn't end with a space",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body as { messages: { content: unknown }[] };
      t.notMatch(JSON.stringify(turns.at(-1)?.content), /Sure, "/);
      t.match(JSON.stringify(turns.at(-1)?.content), /Sure,/);
    },
  },
  {
    id: "allowed-tools",
    kind: "tool choice",
    source: ["maximhq/bifrost#7348"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      tools: [chatTool("a"), chatTool("b")],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "a" } }] },
      },
    }),
    right: "the tools are filtered",
    check(t, { sent }) {
      t.match(
        sent.at(-1)!.body,
        exactly({ tools: [{ name: "a" }], tool_choice: { type: "auto" } }),
      );
    },
  },
  {
    id: "message-between-call-and-output",
    kind: "history order",
    source: ["openai/codex"],
    request: responses({
      model: "vllm/llama-3.3",
      input: [
        { type: "message", role: "user", content: "hello" },
        { type: "function_call", call_id: "c1", name: "exec_command", arguments: "{}" },
        { type: "message", role: "user", content: "Warning: use the other tool." },
        { type: "function_call_output", call_id: "c1", output: "ok" },
      ],
    }),
    right: "an output follows its call, what stood between them comes after",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body as { messages: { role: string }[] };
      t.same(
        turns.map(({ role }) => role),
        ["user", "assistant", "tool", "user"],
      );
    },
  },
  {
    id: "choices-empty",
    kind: "empty answers",
    source: ["ENTERPILOT/GoModel"],
    request: chat({ model: "openai/gpt-4o" }),
    answer: completionOf(null),
    right: "a failure of the provider",
    status: 502,
  },
  {
    id: "tool-name-with-a-dot",
    kind: "tool names",
    source: ["docker/mcp-gateway#228"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      tools: [chatTool("mcp.fs:read")],
    }),
    answer: (sent) => ({
      body: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [
          {
            type: "tool_use",
            id: "toolu_1",
            name: (sent.at(-1)!.body["tools"] as { name: string }[])[0]!.name,
            input: {},
          },
        ],
        stop_reason: "tool_use",
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 3 },
      },
    }),
    right: "the name is mapped, and mapped back",
    receives: {
      choices: [{ message: { tool_calls: [{ function: { name: "mcp.fs:read" } }] } }],
    },
    check(t, { sent }) {
      const [tool] = sent.at(-1)!.body["tools"] as { name: string }[];
      t.match(tool!.name, /^[a-zA-Z0-9_-]{1,128}$/);
    },
  },
  {
    id: "encrypted-reasoning-elsewhere",
    kind: "encrypted reasoning elsewhere",
    source: ["pydantic/pydantic-ai#4621", "can1357/oh-my-pi#11928"],
    request: responses({
      model: "both",
      store: false,
      input: [
        user("q"),
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAABencrypted" },
        { role: "assistant", content: "a" },
        user("q2"),
      ],
    }),
    answer: (sent) =>
      sent.at(-1)!.text.includes("gAAAAAB")
        ? {
            status: 400,
            body: {
              error: {
                message: "The encrypted content gAAA could not be verified.",
                type: "invalid_request_error",
                param: null,
                code: "invalid_encrypted_content",
              },
            },
          }
        : responseOf([outputText("hello")]),
    right: "once more without the reasoning, which is named",
    dropped: "input[] (reasoning)",
    check: (t, { sent }) => t.equal(sent.length, 2),
  },
  {
    id: "stream-options-at-an-old-azure",
    kind: "fields that Sluice adds",
    source: ["langgenius/dify-official-plugins#3728", "BerriAI/litellm#23847"],
    request: chat({ model: "azure/gpt-4o", stream: true }),
    events: [{ content: "hello" }, { finish_reason: "stop" }],
    right: "versions before 2024-09-01 don't know stream_options",
    lacks: ["stream_options"],
    check: (t, { sent }) => t.equal(sent.length, 1),
  },
  {
    id: "stream-options-refused",
    kind: "fields that Sluice adds",
    source: ["langgenius/dify-official-plugins#3728", "BerriAI/litellm#23847"],
    request: chat({ model: "vllm/llama-3.3", stream: true }),
    answer: (sent) =>
      "stream_options" in sent.at(-1)!.body
        ? {
            status: 400,
            body: {
              error: { message: "Unrecognized request argument supplied: stream_options" },
            },
          }
        : completionOf({
            message: { role: "assistant", content: "hello" },
            finish_reason: "stop",
          }),
    right: "once more without it, and nothing of the client's was dropped",
    lacks: ["stream_options"],
    check(t, { sent, headers }) {
      t.equal(sent.length, 2);
      t.equal(headers.get("x-sluice-dropped"), null);
    },
  },
  {
    id: "stream-options-remembered",
    kind: "fields that Sluice adds",
    source: ["langgenius/dify-official-plugins#3728"],
    request: chat({ model: "vllm/llama-3.3", stream: true }),
    events: [{ content: "hello" }, { finish_reason: "stop" }],
    right: "the host is remembered",
    lacks: ["stream_options"],
    check: (t, { sent }) => t.equal(sent.length, 1),
  },
  {
    id: "optional-field-refused",
    kind: "fields by host",
    source: ["BerriAI/litellm#23847"],
    request: messages({ model: "anthropic/claude-3-7-sonnet", top_k: 5 }),
    answer: (sent) =>
      "top_k" in sent.at(-1)!.body
        ? {
            status: 400,
            body: {
              type: "error",
              error: {
                type: "invalid_request_error",
                message: "top_k: Extra inputs are not permitted",
              },
            },
          }
        : {
            body: {
              id: "msg_1",
              type: "message",
              role: "assistant",
              model: "m",
              content: [{ type: "text", text: "hello" }],
              stop_reason: "end_turn",
              stop_sequence: null,
              usage: { input_tokens: 9, output_tokens: 3 },
            },
          },
    right: "once more without it, which is named",
    lacks: ["top_k"],
    dropped: "top_k",
  },
  {
    id: "temperature-at-gpt-5.5",
    kind: "fields by model",
    source: ["BerriAI/litellm#15244"],
    request: messages({ model: "openai/gpt-5.5", temperature: 0.2 }),
    right: "it reasons without being asked, and then refuses a temperature",
    lacks: ["temperature"],
    dropped: "temperature",
  },
  {
    id: "lone-surrogate",
    kind: "lone surrogates",
    source: ["anthropics/claude-code#60394", "anomalyco/opencode#13985"],
    request: {
      path: "/v1/messages",
      raw: '{"model":"anthropic/claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"cut \\ud83d"}]}',
    },
    right: "Anthropic refuses a lone surrogate: U+FFFD stands in its place",
    check(t, { sent }) {
      t.notMatch(sent.at(-1)!.text, /\\ud83d"/i);
      t.match(sent.at(-1)!.body, exactly({ messages: [{ content: "cut \ufffd" }] }));
    },
  },
  {
    id: "store-at-gemini",
    kind: "fields by host",
    source: ["ed-donner/agents#45", "liliMozi/openhanako#394"],
    request: chat({ model: "gemini/gemini-2.5-pro", store: true, metadata: { a: "b" } }),
    right: "Gemini refuses fields that OpenAI's SDKs add: they go, and the header says so",
    lacks: ["store", "metadata"],
    dropped: "store",
  },
];
