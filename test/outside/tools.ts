/** Reports about tools: calls, results, choices, schemas. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, Seen } from "./outside-case.js";
import {
  chat,
  chatCall,
  chatTool,
  chunk,
  completionOf,
  done,
  events,
  google,
  messageEvents,
  messages,
  noArguments,
  responses,
  usageChunk,
  user,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-sonnet-4-5";
const opus = "anthropic/claude-opus-4-6";
const tools = [
  { name: "a", input_schema: noArguments },
  { name: "b", input_schema: noArguments },
];
const calling = (list: readonly object[]): object => chunk({ tool_calls: list });
const called = chunk({}, {}, "tool_calls");

/** The blocks of calls in a stream of messages, with their arguments. */
function callsOf({ events }: Seen): (readonly [id: string, name: string, input: unknown])[] {
  const calls = new Map<unknown, { id: string; name: string; json: string }>();
  for (const { index, content_block: block, delta } of events as {
    index?: number;
    content_block?: { type: string; id: string; name: string };
    delta?: { partial_json?: string };
  }[]) {
    if (block?.type === "tool_use") calls.set(index, { id: block.id, name: block.name, json: "" });
    const call = calls.get(index);
    if (call !== undefined) call.json += delta?.partial_json ?? "";
  }
  return [...calls.values()].map(({ id, name, json }) => [id, name, JSON.parse(json || "{}")]);
}

/** The chat turns that a provider has received. */
function turnsOf({ sent }: Seen): { role: string; content: unknown; tool_calls?: object[] }[] {
  return sent.at(-1)!.body["messages"] as ReturnType<typeof turnsOf>;
}

interface ToolBlock {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly content?: unknown;
}

function blocksOf(seen: Seen): ToolBlock[] {
  return turnsOf(seen).flatMap(({ content }) => (Array.isArray(content) ? content : []));
}

const schemaOf = ({ sent }: Seen): Readonly<Record<string, unknown>> => {
  const [tool] = sent.at(-1)!.body["tools"] as {
    input_schema?: Readonly<Record<string, unknown>>;
    function?: { parameters: Readonly<Record<string, unknown>> };
    parameters?: Readonly<Record<string, unknown>>;
  }[];
  return (tool?.input_schema ?? tool?.function?.parameters ?? tool?.parameters)!;
};

const pieces = "pieces of calls";
const argumentsOf = "arguments of calls";
const choice = "tool choice";

export const toolReports: readonly OutsideCase[] = [
  {
    id: "no-index",
    kind: pieces,
    source: [
      "AstrBotDevs/AstrBot#6692",
      "openai/openai-python#3246",
      "davidmigloz/ai_clients_dart#64",
    ],
    request: messages({ model: vllm, stream: true, tools }),
    events: events([
      calling([{ id: "c1", type: "function", function: { name: "a", arguments: "" } }]),
      calling([{ function: { arguments: '{"x":1}' } }]),
      called,
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "a call without an index is put together",
    check(t, seen) {
      t.same(callsOf(seen), [["c1", "a", { x: 1 }]]);
    },
  },
  {
    id: "two-calls-without-index",
    kind: pieces,
    source: ["SamSaffron/term-llm#314", "lich0821/ccNexus#89"],
    request: messages({ model: vllm, stream: true, tools }),
    events: events([
      calling([
        { id: "c1", type: "function", function: { name: "a", arguments: '{"x":1}' } },
        { id: "c2", type: "function", function: { name: "b", arguments: '{"y":2}' } },
      ]),
      called,
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "two calls without an index are two calls",
    check(t, seen) {
      t.same(callsOf(seen), [
        ["c1", "a", { x: 1 }],
        ["c2", "b", { y: 2 }],
      ]);
    },
  },
  {
    id: "no-id",
    kind: pieces,
    source: ["continuedev/continue#13225", "continuedev/continue#13236"],
    request: messages({ model: vllm, stream: true, tools }),
    events: events([
      calling([{ index: 0, type: "function", function: { name: "a", arguments: '{"x":' } }]),
      calling([{ index: 0, function: { arguments: "1}" } }]),
      called,
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "a call without an id gets one",
    check(t, seen) {
      const [call] = callsOf(seen);
      t.match(call, exactly([/^.+$/, "a", { x: 1 }]));
    },
  },
  {
    id: "empty-id-and-name",
    kind: pieces,
    source: ["anomalyco/opencode#37841", "anomalyco/opencode#40969"],
    request: responses({
      model: vllm,
      stream: true,
      tools: [{ type: "function", name: "a", parameters: noArguments }],
    }),
    events: events([
      calling([{ index: 0, id: "c1", type: "function", function: { name: "a", arguments: "" } }]),
      calling([{ index: 0, id: "", function: { name: "", arguments: '{"x":' } }]),
      calling([{ index: 0, id: "", function: { name: "", arguments: "1}" } }]),
      called,
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "empty ids and names of later pieces mean none",
    check(t, { events }) {
      t.match(
        events.at(-1),
        exactly({
          response: { output: [{ call_id: "c1", name: "a", arguments: '{"x":1}' }] },
        }),
      );
    },
  },
  {
    id: "arguments-empty-in-the-history",
    kind: argumentsOf,
    source: ["BerriAI/litellm#5064", "sigoden/aichat#1217"],
    request: chat({
      model: claude,
      tools: [chatTool("a")],
      messages: [
        user("x"),
        { role: "assistant", content: null, tool_calls: [chatCall("c1", "a", "")] },
        { role: "tool", tool_call_id: "c1", content: "ok" },
      ],
    }),
    result: "passed",
    right: "empty arguments are an empty object, not text that can't be read",
    sends: { messages: [{}, { content: [{ type: "tool_use", input: {} }] }] },
    check(t, seen) {
      t.notMatch(seen.sent.at(-1)!.text, /unreadable/);
    },
  },
  {
    id: "no-arguments-in-a-stream",
    kind: argumentsOf,
    source: ["simonw/llm#1164", "getomnico/omni#402", "jackmpcollins/magentic#407"],
    request: chat({ model: claude, stream: true, tools: [chatTool("a")] }),
    events: events(
      messageEvents(
        [
          {
            block: { type: "tool_use", id: "toolu_1", name: "a", input: {} },
            deltas: [{ type: "input_json_delta", partial_json: "" }],
          },
        ],
        "tool_use",
      ),
    ),
    result: "passed",
    right: "a chat client parses the arguments: they are {}, never empty",
    check(t, { events }) {
      const args = events
        .flatMap(({ choices }) => choices as { delta: { tool_calls?: object[] } }[])
        .flatMap(({ delta }) => delta.tool_calls ?? [])
        .map((call) => (call as { function: { arguments: string } }).function.arguments)
        .join("");
      t.equal(args, "{}");
    },
  },
  {
    id: "arguments-as-an-object",
    kind: argumentsOf,
    source: ["ml-explore/mlx-lm#271"],
    request: messages({ model: vllm, tools }),
    answer: completionOf({
      message: {
        role: "assistant",
        content: null,
        tool_calls: [chatCall("c1", "a", { x: 1 })],
      },
      finish_reason: "tool_calls",
    }),
    result: "passed",
    right: "arguments that a host sends as an object are the input",
    receives: { content: [{ type: "tool_use", input: { x: 1 } }], stop_reason: "tool_use" },
  },
  {
    id: "arguments-empty-in-an-answer",
    kind: argumentsOf,
    source: ["brave/brave-browser#56601", "pipecat-ai/pipecat#409"],
    request: google(vllm, { tools: [{ functionDeclarations: [{ name: "a" }] }] }),
    answer: completionOf({
      message: { role: "assistant", content: "", tool_calls: [chatCall("c1", "a", "")] },
      finish_reason: "tool_calls",
    }),
    result: "passed",
    right: "a call with empty arguments is a call without arguments, not a malformed one",
    receives: {
      candidates: [
        { content: { parts: [{ functionCall: { name: "a", args: {} } }] }, finishReason: "STOP" },
      ],
    },
  },
  {
    id: "finish-stop-with-calls",
    kind: "finish reasons",
    source: ["higress-group/higress#3506", "intrafind/ihub-apps#95"],
    request: messages({ model: vllm, tools }),
    answer: completionOf({
      message: { role: "assistant", content: "", tool_calls: [chatCall("c1", "a")] },
      finish_reason: "stop",
    }),
    result: "passed",
    right: "an answer that calls a tool stops with tool_use, whatever the host says",
    receives: { stop_reason: "tool_use" },
  },
  {
    id: "no-description",
    kind: "tools",
    source: ["experientiallabs/experiential#658"],
    request: chat({
      model: claude,
      tools: [{ type: "function", function: { name: "a", description: null, parameters: {} } }],
    }),
    result: "passed",
    right: "Anthropic refuses a null description: it is left out, and the schema is an object's",
    check(t, seen) {
      const [tool] = seen.sent.at(-1)!.body["tools"] as object[];
      t.notOk("description" in tool!);
      t.match(schemaOf(seen), { type: "object" });
    },
  },
  {
    id: "no-parameters",
    kind: "tools",
    source: ["OpenAI: parameters of a function are optional"],
    request: chat({ model: claude, tools: [{ type: "function", function: { name: "a" } }] }),
    result: "passed",
    right: "a function without parameters has the schema of an empty object",
    check(t, seen) {
      t.match(schemaOf(seen), { type: "object" });
    },
  },
  {
    id: "one-stop-sequence",
    kind: "fields",
    source: ["QuantumNous/new-api#7175"],
    request: messages({ model: vllm, stop_sequences: ["END"] }),
    result: "passed",
    right: "a list of one stays a list",
    sends: { stop: ["END"] },
  },
  ...(["auto", "any", "none"] as const).map(
    (type): OutsideCase => ({
      id: `choice-over-responses-${type}`,
      kind: choice,
      source: ["BerriAI/litellm#32505"],
      request: messages({ model: "openai/gpt-5.5", tools, tool_choice: { type } }),
      answer: (sent) =>
        sent.at(-1)!.path.endsWith("/responses")
          ? {
              body: {
                id: "resp_1",
                object: "response",
                status: "completed",
                output: [
                  {
                    type: "message",
                    role: "assistant",
                    content: [{ type: "output_text", text: "hi" }],
                  },
                ],
              },
            }
          : { status: 400, body: { error: { message: "not by chat completions" } } },
      result: "passed",
      right: "the Responses API takes a text, not an object",
      check(t, { sent }) {
        const right = type === "any" ? "required" : type;
        t.equal(sent.at(-1)!.body["tool_choice"] ?? "auto", right);
      },
    }),
  ),
  {
    id: "forced-call-while-thinking",
    kind: choice,
    source: [
      "mastra-ai/mastra#7507",
      "can1357/oh-my-pi#341",
      "srtab/daiv#527",
      "UKGovernmentBEIS/inspect_ai#2333",
    ],
    request: chat({
      model: claude,
      reasoning_effort: "high",
      tools: [chatTool("a")],
      tool_choice: "required",
    }),
    result: "passed",
    right: "Anthropic refuses thinking beside a forced call: the call counts more",
    sends: { tool_choice: { type: "any" } },
    check(t, { sent }) {
      const { thinking } = sent.at(-1)!.body as { thinking?: { type: string } };
      t.ok(thinking === undefined || thinking.type === "disabled");
    },
  },
  {
    id: "choice-without-tools",
    kind: choice,
    source: ["OpenAI: tool_choice is only allowed when tools are specified"],
    request: messages({ model: "openai/gpt-4o", tool_choice: { type: "auto" } }),
    result: "passed",
    right: "OpenAI refuses a choice without tools",
    lacks: ["tool_choice", "parallel_tool_calls"],
  },
  {
    id: "choice-without-tools-at-claude",
    kind: choice,
    source: ["OpenAI: tool_choice is only allowed when tools are specified"],
    request: chat({ model: claude, tool_choice: "none" }),
    result: "passed",
    right: "a choice without tools is left out",
    lacks: ["tool_choice"],
  },
  {
    id: "ids-used-again",
    kind: "ids of calls",
    source: ["open-webui/open-webui#28305", "1ay1/agentty#9"],
    request: chat({
      model: claude,
      tools: [chatTool("a")],
      messages: [
        user("x"),
        { role: "assistant", content: null, tool_calls: [chatCall("a:0", "a")] },
        { role: "tool", tool_call_id: "a:0", content: "first" },
        { role: "assistant", content: null, tool_calls: [chatCall("a:0", "a")] },
        { role: "tool", tool_call_id: "a:0", content: "second" },
      ],
    }),
    right: "Anthropic refuses an id that is used twice: the later call and its result get another",
    check(t, seen) {
      const blocks = blocksOf(seen);
      const ids = blocks.flatMap(({ id }) => id ?? []);
      t.equal(new Set(ids).size, 2);
      t.same(
        blocks.flatMap(({ tool_use_id: id }) => id ?? []),
        ids,
        "each result has the id of its call",
      );
    },
  },
  {
    id: "image-in-a-result",
    kind: "results",
    source: [
      "raine/claude-code-proxy#59",
      "Alishahryar1/free-claude-code#512",
      "badrisnarayanan/antigravity-claude-proxy#22",
    ],
    request: messages({
      model: vllm,
      tools,
      messages: [
        user("x"),
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "a", input: {} }] },
        user([
          {
            type: "tool_result",
            tool_use_id: "c1",
            content: [
              {
                type: "image",
                source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
              },
            ],
          },
        ]),
      ],
    }),
    result: "passed",
    right: "an image that a tool returned reaches the model",
    check(t, seen) {
      const turns = turnsOf(seen);
      t.equal(turns[2]?.role, "tool");
      t.ok(turns[2]?.content, "its message isn't empty");
      t.match(JSON.stringify(turns.slice(2)), /data:image\/png;base64,iVBORw0KGgo=/);
    },
  },
  {
    id: "image-in-a-result-over-responses",
    kind: "results",
    source: ["raine/claude-code-proxy#59"],
    request: messages({
      model: "openai/gpt-5.5",
      tools,
      messages: [
        user("x"),
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "a", input: {} }] },
        user([
          {
            type: "tool_result",
            tool_use_id: "c1",
            content: [{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }],
          },
        ]),
      ],
    }),
    result: "passed",
    right: "an image that a tool returned reaches a model of the Responses API",
    check(t, { sent }) {
      t.match(sent.at(-1)!.text, /"type":"input_image"/);
      t.match(sent.at(-1)!.text, /https:\/\/example\.com\/a\.png/);
    },
  },
  ...(
    [
      ["claude", chat, opus],
      ["openai", messages, "openai/gpt-4o"],
      ["openai-responses", messages, "openai/gpt-5.5"],
    ] as const
  ).map(([name, request, model]): OutsideCase => {
    const schema = {
      type: "object",
      properties: { route: { type: "string" }, file: { type: "string" } },
      anyOf: [{ required: ["route"] }, { required: ["file"] }],
    };
    return {
      id: `union-at-the-top-${name}`,
      kind: "schemas",
      source: [
        "anomalyco/opencode#47543",
        "langchain-ai/langchainjs#9804",
        "DeusData/codebase-memory-mcp#1524",
        "MemPalace/mempalace#1711",
        "mobile-next/mobile-mcp#344",
        "software-mansion/argent#773",
        "MoonshotAI/kimi-code#2328",
      ],
      request: request({
        model,
        tools:
          request === chat
            ? [chatTool("a", { parameters: schema })]
            : [{ name: "a", input_schema: schema }],
      }),
      ...(name === "claude" ? { result: "passed" as const } : {}),
      right: "Anthropic and OpenAI refuse anyOf, oneOf and allOf at the top of a tool's schema",
      check(t, seen) {
        t.notOk("anyOf" in schemaOf(seen));
        t.match(schemaOf(seen), { type: "object", properties: { route: {}, file: {} } });
      },
    };
  }),
  {
    id: "schema-without-a-type",
    kind: "schemas",
    source: ["opentokenz/mcpx#28"],
    request: messages({
      model: "openai/gpt-4o",
      tools: [{ name: "a", input_schema: { properties: { x: { type: "string" } } } }],
    }),
    right: "OpenAI refuses a tool's schema whose type isn't object",
    check(t, seen) {
      t.match(schemaOf(seen), { type: "object", properties: { x: {} } });
    },
  },
  {
    id: "schema-in-google-types",
    kind: "schemas",
    source: ["Gemini API: Schema"],
    request: google(vllm, {
      tools: [
        {
          functionDeclarations: [
            {
              name: "a",
              parameters: {
                type: "OBJECT",
                properties: { n: { type: "INTEGER", nullable: true, minItems: "1" } },
              },
            },
          ],
        },
      ],
    }),
    result: "passed",
    right: "Google's types are JSON Schema's elsewhere",
    check(t, seen) {
      t.match(
        schemaOf(seen),
        exactly({
          type: "object",
          properties: { n: { type: ["integer", "null"], minItems: 1 } },
        }),
      );
    },
  },
  {
    id: "results-of-parallel-calls-google",
    kind: "Gemini",
    source: [
      "google-gemini/gemini-cli#5443",
      "google-gemini/gemini-cli#16543",
      "google-gemini/gemini-cli#16984",
      "diegosouzapw/OmniRoute#1412",
    ],
    request: google(vllm, {
      contents: [
        { role: "user", parts: [{ text: "x" }] },
        {
          role: "model",
          parts: [
            { functionCall: { name: "a", args: { n: 1 } } },
            { functionCall: { name: "a", args: { n: 2 } } },
          ],
        },
        {
          role: "user",
          parts: [{ functionResponse: { name: "a", response: { output: "one" } } }],
        },
        {
          role: "user",
          parts: [{ functionResponse: { name: "a", response: { output: "two" } } }],
        },
      ],
    }),
    result: "passed",
    right: "results without ids, in several contents, belong to the calls in their order",
    check(t, seen) {
      const [, assistant, ...results] = turnsOf(seen);
      const ids = (assistant!.tool_calls as { id: string }[]).map(({ id }) => id);
      t.match(
        results,
        exactly([
          { role: "tool", tool_call_id: ids[0], content: "one" },
          { role: "tool", tool_call_id: ids[1], content: "two" },
        ]),
      );
    },
  },
  {
    id: "result-that-mentions-a-schema",
    kind: "Gemini",
    source: ["vercel/ai#14369"],
    request: google(vllm, {
      contents: [
        { role: "user", parts: [{ text: "x" }] },
        { role: "model", parts: [{ functionCall: { name: "a", args: {} } }] },
        {
          role: "user",
          parts: [{ functionResponse: { name: "a", response: { $ref: "#/$defs/T", n: 1 } } }],
        },
      ],
    }),
    result: "passed",
    right: "a result is data, and stays as it is",
    check(t, seen) {
      t.match(turnsOf(seen)[2], { role: "tool", content: '{"$ref":"#/$defs/T","n":1}' });
    },
  },
  {
    id: "call-without-a-signature",
    kind: "Gemini",
    source: [
      "langgenius/dify-official-plugins#2088",
      "anomalyco/opencode#4832",
      "securo-finance/securo#884",
      "theopenco/llmgateway#1267",
      "labring/aiproxy#450",
      "Gitlawb/openclaude#76",
    ],
    request: messages({
      model: "gemini/gemini-3-pro-preview",
      tools,
      messages: [
        user("x"),
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "a", input: {} }] },
        user([{ type: "tool_result", tool_use_id: "c1", content: "ok" }]),
      ],
    }),
    result: "passed",
    right: "Gemini 3 refuses a call without a signature, which another model's call lacks",
    check(t, { sent }) {
      t.match(sent.at(-1)!.text, /skip_thought_signature_validator/);
    },
  },
  {
    id: "empty-contents-google",
    kind: "Gemini",
    source: ["google-gemini/deprecated-generative-ai-js#124"],
    request: google(vllm, {
      contents: [
        { role: "user", parts: [{ text: "x" }] },
        { role: "model", parts: [] },
        { role: "user", parts: [{ text: "again" }] },
      ],
    }),
    result: "passed",
    right: "an empty content is left out",
    check(t, seen) {
      t.notMatch(JSON.stringify(turnsOf(seen)), /"assistant"/);
    },
  },
];
