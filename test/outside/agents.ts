/** Reports of agents and their SDKs: compaction, reasoning that must come back, history, usage. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, Seen } from "./outside-case.js";
import {
  chat,
  chatCall,
  chatTool,
  completionOf,
  google,
  messages,
  noArguments,
  responses,
  user,
} from "./requests.js";

const sealed = {
  type: "reasoning.encrypted",
  data: "dGhvdWdodA==",
  id: "c1",
  format: "google-gemini-v1",
  index: 0,
};
const gemini = "openrouter/google/gemini-3-pro-preview";
const said = (content: string): object => ({
  message: { role: "assistant", content },
  finish_reason: "stop",
});
const summary = completionOf(said("the summary"));

/** The last response of a stream. */
function responseIn({ events }: Seen): Readonly<Record<string, unknown>> {
  return (events.at(-1) as { response: Record<string, unknown> }).response;
}

export const agentReports: readonly OutsideCase[] = [
  {
    id: "compact-where-responses-are-translated",
    kind: "compaction",
    source: [
      "caozhiyuan/copilot-api#359",
      "QuantumNous/new-api#5965",
      "qxcnm/Codex-Manager#48",
      "Wei-Shaw/sub2api#805",
      "lidge-jun/opencodex#2833",
    ],
    request: { path: "/v1/responses/compact", body: { model: "vllm/qwen3-coder", input: "x" } },
    answer: summary,
    right: "Codex compacts by /v1/responses/compact, and has no other way",
    receives: { object: "response.compaction" },
    check(t, { body }) {
      const { output } = body as { output: readonly object[] };
      t.match(output, exactly([{ role: "user" }, { type: "compaction" }]));
    },
  },
  {
    id: "compaction-trigger",
    kind: "compaction",
    source: ["router-for-me/CLIProxyAPI#5857", "router-for-me/CLIProxyAPI#5398"],
    request: responses({
      model: "vllm/qwen3-coder",
      stream: true,
      input: [user("x"), { type: "compaction_trigger" }],
    }),
    events: [{ role: "assistant", content: "the summary" }, { finish_reason: "stop" }],
    result: "passed",
    right: "Codex wants exactly one compaction in the output",
    check(t, seen) {
      const { output } = responseIn(seen) as { output: readonly { type: string }[] };
      t.equal(output.filter(({ type }) => type === "compaction").length, 1);
    },
  },
  {
    id: "details-in-a-chat",
    kind: "thinking",
    source: ["LibreChat-AI/agents#37", "RooCodeInc/Roo-Code#10307", "lobehub/lobehub#10986"],
    request: chat({
      model: gemini,
      tools: [chatTool("f")],
      messages: [
        user("x"),
        {
          role: "assistant",
          content: null,
          tool_calls: [chatCall("c1", "f")],
          reasoning_details: [sealed],
        },
        { role: "tool", tool_call_id: "c1", content: "r" },
      ],
    }),
    result: "passed",
    right: "OpenRouter gets its reasoning_details back as they are",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body as { messages: Record<string, unknown>[] };
      t.same(turns[1]!["reasoning_details"], [sealed]);
    },
  },
  {
    id: "details-for-google",
    kind: "thinking",
    source: ["OpenRouterTeam/openrouter-examples#67", "musistudio/claude-code-router#1057"],
    request: google(gemini, { tools: [{ functionDeclarations: [{ name: "f" }] }] }),
    answer: completionOf({
      message: {
        role: "assistant",
        content: null,
        tool_calls: [chatCall("c1", "f")],
        reasoning_details: [sealed],
      },
      finish_reason: "tool_calls",
    }),
    right: "a call that OpenRouter signed has a thoughtSignature",
    check(t, { text }) {
      t.match(text, /"functionCall":\{[^}]*\{\}\},"thoughtSignature":"\w+/);
    },
  },
  {
    id: "details-without-a-text",
    kind: "thinking",
    source: ["pydantic/pydantic-ai#3658"],
    request: google(gemini, {}, "streamGenerateContent?alt=sse"),
    events: [
      { reasoning_details: [{ type: "reasoning.text", format: "anthropic-claude-v1", index: 0 }] },
      { content: "hello" },
      { finish_reason: "stop" },
    ],
    result: "passed",
    right: "a piece of a detail may lack its text",
    check(t, { text }) {
      t.match(text, /"text":"hello"/);
    },
  },
  {
    id: "error-beside-null-fields",
    kind: "errors that agents act on",
    source: ["pydantic/pydantic-ai#3994", "pydantic/pydantic-ai#2323"],
    request: chat({ model: gemini }),
    answer: {
      body: { id: null, choices: null, error: { message: "Provider returned error", code: 400 } },
    },
    result: "passed",
    right: "an error inside a 200 is an error, with its sentence",
    status: 400,
    check(t, { text }) {
      t.match(text, /Provider returned error/);
    },
  },
  {
    id: "answer-in-another-field",
    kind: "empty answers",
    source: ["pydantic/pydantic-ai#3994"],
    request: chat({ model: gemini }),
    answer: {
      body: {
        id: null,
        choices: null,
        model: null,
        object: null,
        provider: { id: "gen-1", choices: [said("hello")], model: "m", provider: "Google" },
      },
    },
    right: "a 200 without choices is the provider's failure, after which another has its turn",
    status: 502,
  },
  {
    id: "usage-without-details-in-responses",
    kind: "usage",
    source: ["QuantumNous/new-api#6682"],
    request: responses({ model: "vllm/qwen3-coder", stream: true }),
    events: [{ role: "assistant", content: "hello" }, { finish_reason: "stop" }],
    result: "passed",
    right: "Codex needs reasoning_tokens, and created_at as a whole number",
    check(t, seen) {
      const { created_at: created, usage } = responseIn(seen);
      t.ok(Number.isInteger(created));
      t.match(usage, {
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      });
    },
  },
  {
    id: "thoughts-beside-the-answer",
    kind: "usage",
    source: ["Wei-Shaw/sub2api#554", "vercel/ai#6082", "router-for-me/CLIProxyAPI#5743"],
    request: messages({ model: "gemini/gemini-2.5-pro" }),
    answer: completionOf(said("hello"), {
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 },
    }),
    result: "passed",
    right: "Gemini's thoughts are output tokens",
    receives: { usage: { input_tokens: 10, output_tokens: 105 } },
  },
  {
    id: "finish-reason-empty",
    kind: "finish reasons",
    source: ["BerriAI/litellm#20732"],
    request: messages({ model: "vllm/qwen3-coder" }),
    answer: completionOf({ ...said("hello"), finish_reason: "" }),
    result: "passed",
    right: "an empty reason is a normal end",
    receives: { stop_reason: "end_turn" },
  },
  {
    id: "tools-that-load-later",
    kind: "tools",
    source: ["nguyenphutrong/quotio#529"],
    request: {
      ...messages({
        model: "anthropic/claude-opus-4-8",
        tools: [
          { name: "f", input_schema: noArguments },
          { name: "g", input_schema: noArguments, defer_loading: true },
        ],
      }),
      headers: { "anthropic-beta": "advanced-tool-use-2025-11-20" },
    },
    result: "passed",
    right: "Claude Code's tools stay out of the context until they are searched",
    sends: { tools: { 1: { defer_loading: true } } },
    check(t, { sent }) {
      t.match(sent.at(-1)!.headers["anthropic-beta"], /advanced-tool-use/);
    },
  },
  {
    id: "call-without-a-result",
    kind: "history order",
    source: ["HKUDS/OpenHarness#191", "anomalyco/opencode#17065", "anthropics/claude-code#8484"],
    request: chat({
      model: "anthropic/claude-opus-4-8",
      tools: [chatTool("f")],
      messages: [
        user("x"),
        { role: "assistant", content: null, tool_calls: [chatCall("c1", "f")] },
        user("go on"),
      ],
    }),
    result: "decided: OpenAI refuses it too, so the client gets the provider's sentence",
    right: "a compacted history with a call without its result goes on",
    status: 400,
    receives: { error: { message: /`tool_use` ids were found without `tool_result`/ } },
  },
  {
    id: "result-without-a-call",
    kind: "history order",
    source: ["openclaw/openclaw#7527", "datakurre/graph-agent#85", "earendil-works/pi#8667"],
    request: chat({
      model: "anthropic/claude-opus-4-8",
      tools: [chatTool("f")],
      messages: [
        user("x"),
        { role: "tool", tool_call_id: "c1", content: "r" },
        { role: "assistant", content: "y" },
        user("go on"),
      ],
    }),
    result: "decided: OpenAI refuses it too, so the client gets the provider's sentence",
    right: "a compacted history with a result without its call goes on",
    status: 400,
    receives: { error: { message: /unexpected `tool_use_id` found/ } },
  },
  {
    id: "thinking-within-max-tokens",
    kind: "thinking",
    source: ["liuw1535/antigravity2api-nodejs#149", "mirrorange/clove#39"],
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      max_tokens: 4096,
      reasoning_effort: "high",
    }),
    result: "passed",
    right: "a thinking budget is less than max_tokens",
    check(t, { sent }) {
      const { thinking, max_tokens: max } = sent.at(-1)!.body as {
        thinking?: { budget_tokens?: number };
        max_tokens: number;
      };
      t.ok((thinking?.budget_tokens ?? 0) < max, `${thinking?.budget_tokens} of ${max}`);
    },
  },
  {
    id: "image-by-its-file",
    kind: "images",
    source: ["BerriAI/litellm#24797", "Soju06/codex-lb#574"],
    request: responses({
      model: "vllm/qwen3-coder",
      input: [user([{ type: "input_image", file_id: "file-1" }])],
    }),
    result: "passed",
    right: "a file that the provider doesn't have is refused by name, not lost",
    status: 400,
    receives: { error: { param: /^input\[0\]\.content\[0\]\.file_id$/ } },
  },
  {
    id: "image-as-a-string",
    kind: "images",
    source: ["DeliciousBuding/new-api#113"],
    request: responses({
      model: "vllm/qwen3-coder",
      input: [user([{ type: "input_image", image_url: "https://example.org/a.png" }])],
    }),
    result: "passed",
    right: "image_url is a string in the Responses API, an object in chat completions",
    sends: {
      messages: {
        0: { content: { 0: { image_url: { url: "https://example.org/a.png" } } } },
      },
    },
  },
  {
    id: "count-tokens-of-claude-code",
    kind: "usage",
    source: ["badrisnarayanan/antigravity-claude-proxy#155", "icebear0828/codex-proxy#612"],
    request: {
      path: "/v1/messages/count_tokens?beta=true",
      body: { model: "vllm/qwen3-coder", messages: [user("x")] },
    },
    result: "passed",
    right: "Claude Code gets a count for models of every provider",
    receives: { input_tokens: Number },
  },
  {
    id: "pieces-without-a-name",
    kind: "pieces of calls",
    source: ["smallmain/vscode-unify-chat-provider#48", "langchain-ai/langchainjs#10196"],
    request: google(
      "vllm/qwen3-coder",
      { tools: [{ functionDeclarations: [{ name: "f" }] }] },
      "streamGenerateContent?alt=sse",
    ),
    events: [
      { tool_calls: [{ index: 0, ...chatCall("c1", "f", "") }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
      { finish_reason: "tool_calls" },
    ],
    result: "passed",
    right: "a call in pieces is one functionCall with its name and all arguments",
    check(t, { events }) {
      const calls = JSON.stringify(events).match(/"functionCall":\{[^}]*\}\}?/g);
      t.same(calls, ['"functionCall":{"id":"c1","name":"f","args":{"a":1}}']);
    },
  },
  {
    id: "reasoning-that-nothing-follows",
    kind: "encrypted reasoning elsewhere",
    source: [
      "openai/openai-agents-python#1660",
      "continuedev/continue#8933",
      "pydantic/pydantic-ai#2861",
      "vercel/ai#8379",
    ],
    request: responses({
      model: "vllm/qwen3-coder",
      input: [
        user("x"),
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
        user("go on"),
      ],
    }),
    result: "passed",
    right: "reasoning without an item after it is left out",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body;
      t.match(turns, exactly([{ role: "user" }, { role: "user" }]));
    },
  },
  {
    id: "json-without-the-word",
    kind: "schemas",
    source: ["ultimatejimmy/xray.koplugin#33", "StefanBratanov/jvm-openai#15"],
    request: google("openai/gpt-4o", {
      generationConfig: { responseMimeType: "application/json" },
    }),
    right: "OpenAI refuses its JSON mode unless a message has the word JSON",
    check(t, { sent }) {
      const { messages: turns, response_format: format } = sent.at(-1)!.body;
      t.same(format, { type: "json_object" });
      t.match(JSON.stringify(turns), /json/i);
    },
  },
  {
    id: "no-model-but-a-prompt",
    kind: "requests without a model",
    source: ["openai/openai-dotnet#947"],
    request: { path: "/v1/responses", body: { prompt: { id: "pmpt_1" }, input: "x" } },
    result: "passed",
    right: "a stored prompt runs with the operator's default model",
    sends: { model: "gpt-5", prompt: { id: "pmpt_1" } },
  },
  {
    id: "tools-of-gemini-cli",
    kind: "Gemini",
    source: ["google-gemini/gemini-cli#13326", "DEEIX-AI/DEEIX-Chat#546"],
    request: google("openai/gpt-4o", {
      tools: [
        {
          functionDeclarations: [
            {
              name: "f",
              parametersJsonSchema: {
                type: "object",
                properties: { a: { $ref: "#/$defs/A" } },
                $defs: { A: { type: "string" } },
              },
            },
          ],
        },
      ],
    }),
    result: "passed",
    right: "a tool's JSON schema keeps its definitions",
    check(t, { sent }) {
      t.match(JSON.stringify(sent.at(-1)!.body["tools"]), /"\$defs":\{"A":\{"type":"string"\}\}/);
    },
  },
];
