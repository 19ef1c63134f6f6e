/**
 * Reports about the shapes of answers, schemas and requests that hosts and clients write in ways of
 * their own: choices, blocks, references, fields.
 */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, ProviderAnswer } from "./outside-case.js";
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
  messageOf,
  messages,
  outputText,
  responseEvents,
  responses,
  streamed,
  streamedText,
  usageChunk,
  user,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-opus-4-8";
const gpt = "openai/gpt-4o";
const sol = "openai/gpt-5.6-sol";
const read = { name: "read", input_schema: { type: "object", properties: {} } };
const readOfChat = chatTool("read");
const readOfResponses = { type: "function", name: "read", parameters: {} };
const readOfGoogle = { functionDeclarations: [{ name: "read" }] };
const overResponses = { model: sol, tools: [read], stream: true };

const copilotSources = ["ericc-ch/copilot-api#81", "zeroclaw-labs/zeroclaw#2136"];
const call = { ...chatCall("c1", "read"), index: 0 };
/** As GitHub Copilot answers for Claude: the text and the call in choices of their own. */
const copilot: ProviderAnswer = {
  body: {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { finish_reason: "tool_calls", message: { role: "assistant", content: "hi" } },
      { finish_reason: "tool_calls", message: { content: null, tool_calls: [call] } },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  },
};
const copilotStream = events([
  chunk({ content: "hi" }),
  {
    ...chunk({}),
    choices: [
      { index: 0, delta: {} },
      { index: 1, delta: { tool_calls: [call] }, finish_reason: "tool_calls" },
    ],
  },
  usageChunk,
  done,
]);
const oneMessage = "the text and the call of two choices are one message";

const olderSources = ["OpenAI: function_call, deprecated"];

/** A schema that is closed and requires `required` of its fields. */
const closed = (properties: object, required: readonly string[] = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const fields = (count: number, schema: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, schema]));
const strict = (name: string, parameters: object) => chatTool(name, { strict: true, parameters });
const answerIn = (schema: object) => ({
  response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema } },
});
const limitSources = [
  "elie222/inbox-zero#2323",
  "elizaOS/eliza#16499",
  "genkit-ai/genkit#5230",
  "mozilla/bugbug#6129",
];
const tree = closed({ tree: { $ref: "#/$defs/tree" } });
const recursive = {
  ...tree,
  $defs: { tree: closed({ children: { type: "array", items: { $ref: "#/$defs/tree" } } }) },
};
const withUri = closed({ at: { type: "string", format: "uri" } });
const uriSources = [
  "can1357/oh-my-pi#206",
  "CherryHQ/cherry-studio#17633",
  "tailcallhq/forgecode#2974",
  "cyanheads/git-mcp-server#47",
];

const openrouterSources = ["simonw/llm-openrouter#45", "BerriAI/litellm#14137"];
const thought = { type: "thinking", thinking: "why", signature: "s" };
const withThought: ProviderAnswer = messageOf([thought, { type: "text", text: "hi" }]);

const minimalSources = [
  "can1357/oh-my-pi#10543",
  "fishjar/kiss-translator#1048",
  "dograh-hq/dograh#689",
  "bolna-ai/bolna#956",
];

const withCall = (call: object, result: unknown) => [
  user("x"),
  { role: "assistant", content: null, tool_calls: [call] },
  { role: "tool", tool_call_id: "c1", content: result },
];

const kimiTurns = [
  user("x"),
  {
    role: "assistant",
    content: [{ type: "tool_use", id: "functions.read:0", name: "read", input: {} }],
  },
  user([{ type: "tool_result", tool_use_id: "functions.read:0", content: "a" }]),
];

const compacted = [
  user("long ago"),
  {
    role: "assistant",
    content: [
      { type: "text", text: "old" },
      { type: "compaction", content: "what was before" },
      { type: "text", text: "new" },
    ],
  },
  user("now"),
];

const textsIn = (list: readonly Record<string, unknown>[]) =>
  list
    .flatMap(({ choices }) => (choices ?? []) as readonly { delta: { content?: string } }[])
    .map(({ delta }) => delta.content ?? "")
    .join("");

/** A stream that its host calls plain text. */
const plain = (body: string): ProviderAnswer => ({
  headers: { "content-type": "text/plain" },
  body,
});
const unaskedSources = [
  "BYK/loreai#605",
  "BYK/loreai#1195",
  "Wei-Shaw/sub2api#2826",
  "xiaoliu10/claude-code-router-next#45",
];
const mislabelledSources = [
  "maximhq/bifrost#3928",
  "caidaoli/ccLoad#81",
  "xiaoliu10/claude-code-router-next#45",
];
const chatStream = events([
  chunk({ role: "assistant", content: "h" }),
  chunk({ content: "i" }),
  chunk({ tool_calls: [{ ...chatCall("c1", "read", '{"a"'), index: 0 }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
  chunk({}, {}, "tool_calls"),
  usageChunk,
  done,
]);
const messageStream = events(
  messageEvents(
    [
      streamedText("hi"),
      {
        block: { type: "tool_use", id: "t", name: "read", input: {} },
        deltas: ['{"a"', ":1}"].map((json) => ({ type: "input_json_delta", partial_json: json })),
      },
    ],
    "tool_use",
  ),
);
const responseStream = events(
  responseEvents("hi", {
    type: "response.completed",
    response: { id: "r", object: "response", status: "completed", output: [] },
  }),
);
const chatAnswer = {
  choices: [{ message: { content: "hi", tool_calls: [{ function: { arguments: '{"a":1}' } }] } }],
};
const messageAnswer = { content: [{ text: "hi" }, { type: "tool_use", input: { a: 1 } }] };
const responseAnswer = { output: [{ content: [{ text: "hi" }] }] };

const openSources = ["caidaoli/ccLoad#81", "earendil-works/pi#6807", "MiniMax-AI/MiniMax-M2#109"];
const googleStream = events([
  { candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, index: 0 }] },
  {
    candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
  },
]);
const openStreams = {
  chat: { body: chatStream, path: /chat\/completions$/, model: vllm },
  messages: { body: messageStream, path: /messages$/, model: claude },
  responses: { body: responseStream, path: /responses$/, model: sol },
};
const openClients = {
  chat: (model: string) =>
    chat({ model, tools: [readOfChat], stream: true, stream_options: { include_usage: true } }),
  messages: (model: string) => messages({ model, tools: [read], stream: true }),
  responses: (model: string) =>
    responses({ model, tools: [{ ...readOfResponses, strict: false }], stream: true }),
  google: (model: string) =>
    google(model, { tools: [readOfGoogle] }, "streamGenerateContent?alt=sse"),
  "google-as-a-list": (model: string) =>
    google(model, { tools: [readOfGoogle] }, "streamGenerateContent"),
};
const lastOfClients = {
  chat: /data: \[DONE\]\n\n$/,
  messages: /"message_stop"\}\n\n$/,
  responses: /"type":"response\.completed"[^\n]*\n\n$/,
  google: /"finishReason":"STOP"[^\n]*\n\n$/,
  "google-as-a-list": /"finishReason":"STOP"[^\n]*\]$/,
};

const cursorSources = [
  "BerriAI/litellm#34029",
  "archestra-ai/archestra#7375",
  "router-for-me/CLIProxyAPI#658",
  "su-kaka/gcli2api#218",
];
const grammar = { definition: "start: x", syntax: "lark" };
const patchOfCursor = {
  type: "custom",
  name: "ApplyPatch",
  format: { type: "grammar", ...grammar },
};
const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const listSources = ["google-gemini/cookbook#388", "OpenAI: root objects of structured outputs"];
const recipes = {
  type: "ARRAY",
  items: { type: "OBJECT", properties: { name: { type: "STRING" } } },
};

export const shapeReports: readonly OutsideCase[] = [
  {
    id: "two-choices-for-claude-code",
    kind: "choices",
    source: copilotSources,
    request: messages({ model: vllm, tools: [read] }),
    answer: copilot,
    right: oneMessage,
    receives: {
      content: [
        { type: "text", text: "hi" },
        { type: "tool_use", id: "c1", name: "read" },
      ],
      stop_reason: "tool_use",
    },
  },
  {
    id: "two-choices-for-codex",
    kind: "choices",
    source: copilotSources,
    request: responses({ model: vllm, tools: [readOfResponses] }),
    answer: copilot,
    right: oneMessage,
    receives: { output: [{ type: "message" }, { type: "function_call", call_id: "c1" }] },
  },
  {
    id: "two-choices-for-gemini-cli",
    kind: "choices",
    source: copilotSources,
    request: google(vllm, { tools: [readOfGoogle] }),
    answer: copilot,
    right: oneMessage,
    receives: {
      candidates: [{ content: { parts: [{ text: "hi" }, { functionCall: { name: "read" } }] } }],
    },
  },
  ...[
    messages({ model: vllm, tools: [read], stream: true }),
    responses({ model: vllm, tools: [readOfResponses], stream: true }),
    google(vllm, { tools: [readOfGoogle] }, "streamGenerateContent?alt=sse"),
  ].map(
    (request, i): OutsideCase => ({
      id: `two-choices-in-a-chunk-${i}`,
      kind: "choices",
      source: copilotSources,
      request,
      events: copilotStream,
      right: oneMessage,
      check(t, { text }) {
        t.match(text, '"hi"');
        t.match(text, /"name":"read"/);
      },
    }),
  ),
  {
    id: "older-field-of-a-call",
    kind: "pieces of calls",
    source: olderSources,
    request: messages({ model: vllm, tools: [read] }),
    answer: completionOf({
      message: { role: "assistant", content: null, function_call: { name: "read", arguments: "" } },
      finish_reason: "function_call",
    }),
    right: "a call in the field that tool_calls has replaced isn't lost",
    receives: { content: [{ type: "tool_use", name: "read" }], stop_reason: "tool_use" },
  },
  {
    id: "older-field-of-a-call-in-a-stream",
    kind: "pieces of calls",
    source: olderSources,
    request: messages({ model: vllm, tools: [read], stream: true }),
    events: events([
      chunk({ function_call: { name: "read", arguments: "" } }),
      chunk({ function_call: { arguments: "{}" } }),
      chunk({}, {}, "function_call"),
      usageChunk,
      done,
    ]),
    right: "a call in the field that tool_calls has replaced isn't lost",
    check: (t, { text }) => t.match(text, /"type":"tool_use","id":"[^"]+","name":"read"/),
  },
  {
    id: "references-of-mistral",
    kind: "citations",
    source: [
      "vercel/ai#4820",
      "mistralai/client-python#325",
      "pydantic/pydantic-ai#3958",
      "nextcloud/integration_openai#408",
    ],
    request: messages({ model: vllm }),
    answer: completionOf({
      message: {
        role: "assistant",
        content: [
          { type: "text", text: "a" },
          { type: "reference", reference_ids: ["web_search"] },
          { type: "text", text: "b" },
        ],
      },
      finish_reason: "stop",
    }),
    right: "a reference to a tool's result ends no answer",
    receives: {
      content: exactly([
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ]),
    },
  },
  {
    id: "references-of-mistral-in-a-stream",
    kind: "citations",
    source: ["vercel/ai#4747", "mistralai/client-ts#152"],
    request: responses({ model: vllm, stream: true }),
    events: events([
      chunk({ content: "a" }),
      chunk({ content: [{ type: "reference", reference_ids: [1] }] }),
      chunk({}, {}, "stop"),
      usageChunk,
      done,
    ]),
    right: "a reference to a tool's result ends no answer",
    check: (t, { events: list }) => t.equal(list.at(-1)!["type"], "response.completed"),
  },
  {
    id: "search-that-nobody-asked-for",
    kind: "tools",
    source: ["Datus-ai/Datus-agent#1081"],
    request: chat({ model: claude }),
    answer: messageOf([
      { type: "server_tool_use", name: "web_search", input: { query: "x" } },
      { type: "web_search_tool_result", content: [] },
      { type: "text", text: "hi" },
    ]),
    right: "a host that searches by itself has answered: the text has the outcome",
    receives: { choices: [{ message: { content: "hi" } }] },
  },
  {
    id: "search-that-nobody-asked-for-in-a-stream",
    kind: "tools",
    source: ["Datus-ai/Datus-agent#1081"],
    request: chat({ model: claude, stream: true }),
    events: events(
      messageEvents([
        {
          block: { type: "server_tool_use", id: "s", name: "web_search", input: {} },
          deltas: [{ type: "input_json_delta", partial_json: '{"query":"x"}' }],
        },
        { block: { type: "web_search_tool_result", tool_use_id: "s", content: [] } },
        streamedText("hi"),
      ]),
    ),
    right: "a host that searches by itself has answered: the text has the outcome",
    check: (t, { events: list }) => t.equal(textsIn(list), "hi"),
  },
  {
    id: "delta-of-another-index",
    kind: "streams",
    source: ["vercel/ai#11771", "ollama/ollama#17101", "anthropics/anthropic-sdk-typescript#879"],
    request: chat({ model: claude, stream: true }),
    events: events(
      messageEvents([{ block: { type: "thinking", thinking: "" } }, streamedText("hi")]).map(
        (event) =>
          "delta" in event && "index" in event
            ? { ...event, index: event["index"] === 1 ? 2 : 0 }
            : event,
      ),
    ),
    right: "one block is streamed at a time, so that a delta is of the last one",
    check: (t, { events: list }) => t.equal(textsIn(list), "hi"),
  },
  {
    id: "calls-that-end-a-turn",
    kind: "finish reasons",
    source: ["vercel/ai#12218"],
    request: chat({ model: claude, tools: [readOfChat] }),
    answer: messageOf([{ type: "tool_use", id: "t", name: "read", input: {} }]),
    right: "an answer that calls a tool ends with tool_calls, whatever the host says",
    receives: { choices: [{ finish_reason: "tool_calls" }] },
  },
  {
    id: "done-in-place-of-completed",
    kind: "events of the Responses API",
    source: ["can1357/oh-my-pi#4692", "decolua/9router#2142"],
    request: messages(overResponses),
    events: events(
      responseEvents("hi", { type: "response.done", response: { id: "r", status: "completed" } }),
    ),
    right: "response.done ends an answer, too",
    check: (t, { text }) => t.match(text, /"stop_reason":"end_turn"/),
  },
  {
    id: "done-in-place-of-completed-for-codex",
    kind: "events of the Responses API",
    source: ["can1357/oh-my-pi#4692", "decolua/9router#2142"],
    request: responses({ model: "openai/gpt-5", stream: true }),
    events: events(
      responseEvents("hi", { type: "response.done", response: { id: "r", status: "completed" } }),
    ),
    right: "response.done ends an answer, too",
    check: (t, { cut }) => t.notOk(cut),
  },
  {
    id: "answer-in-the-last-event-alone",
    kind: "events of the Responses API",
    source: ["BYK/loreai#1195", "Wei-Shaw/sub2api#2826"],
    request: messages(overResponses),
    events: events([
      { type: "response.created", response: { id: "r" } },
      {
        type: "response.completed",
        response: { id: "r", status: "completed", output: [outputText("hi")] },
      },
    ]),
    right: "an answer that only the last event has isn't lost",
    check: (t, { text }) => t.match(text, /"text":"hi"/),
  },
  {
    id: "optional-fields-of-strict-tools",
    kind: "schemas at Claude",
    source: limitSources,
    request: chat({
      model: claude,
      tools: [
        strict("a", closed(fields(20, { type: "string" }), [])),
        strict("b", closed(fields(5, { type: "string" }), [])),
        strict("c", closed(fields(4, { type: "string" }), [])),
      ],
    }),
    right: "Anthropic enforces 24 optional fields in all: strict goes from the tool with more",
    dropped: "tools[].function.strict",
    check(t, { sent }) {
      const { tools } = sent.at(-1)!.body as { tools: { strict?: boolean }[] };
      t.same(
        tools.map((tool) => tool.strict ?? false),
        [true, false, true],
      );
    },
  },
  {
    id: "unions-of-strict-tools",
    kind: "schemas at Claude",
    source: ["mozilla/bugbug#6129", "camel-ai/camel#4171"],
    request: chat({
      model: claude,
      tools: [strict("a", closed(fields(17, { type: ["string", "null"] })))],
    }),
    right: "Anthropic enforces 16 fields with a choice of types",
    dropped: "tools[].function.strict",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /"strict"/),
  },
  {
    id: "optional-fields-of-an-answer",
    kind: "schemas at Claude",
    source: limitSources,
    request: chat({ model: claude, ...answerIn(closed(fields(25, { type: "string" }), [])) }),
    right: "a schema for the answer that is one too large goes into the instructions",
    dropped: "response_format.json_schema.schema",
    lacks: ["output_config"],
    sends: { system: [{ text: /follows this JSON schema/ }] },
  },
  {
    id: "recursive-schema",
    kind: "schemas at Claude",
    source: ["egonSchiele/agency-lang#487", "ENTERPILOT/GoModel#963"],
    request: chat({ model: claude, ...answerIn(recursive) }),
    right: "Anthropic refuses recursion, which OpenAI enforces: it goes into the instructions",
    dropped: "response_format.json_schema.schema",
    lacks: ["output_config"],
    sends: { system: [{ text: /follows this JSON schema/ }] },
  },
  {
    id: "recursive-schema-of-codex",
    kind: "schemas at Claude",
    source: ["egonSchiele/agency-lang#487"],
    request: responses({
      model: claude,
      text: { format: { type: "json_schema", name: "n", strict: true, schema: recursive } },
    }),
    right: "Anthropic refuses recursion, which OpenAI enforces: it goes into the instructions",
    lacks: ["output_config"],
    sends: { system: [{ text: /follows this JSON schema/ }] },
  },
  {
    id: "address-in-a-strict-tool",
    kind: "schemas",
    source: uriSources,
    request: messages({ model: gpt, tools: [{ ...read, strict: true, input_schema: withUri }] }),
    right: "OpenAI's strict schemas take no format uri, which Anthropic's do: strict goes",
    dropped: "tools[].strict",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /"strict":true/),
  },
  {
    id: "address-in-an-answer",
    kind: "schemas",
    source: uriSources,
    request: messages({
      model: gpt,
      output_config: { format: { type: "json_schema", schema: withUri } },
    }),
    right: "OpenAI's strict schemas take no format uri, which Anthropic's do: strict goes",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /"strict":true/),
  },
  {
    id: "id-of-a-schema",
    kind: "schemas",
    source: ["griptape-ai/griptape#2150"],
    request: messages({
      model: gpt,
      tools: [{ ...read, input_schema: { $id: "Parameters Schema", ...read.input_schema } }],
    }),
    right: "OpenAI refuses an $id that is no reference of a URI",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /Parameters Schema/),
  },
  {
    id: "map-in-google-types",
    kind: "schemas",
    source: ["googleapis/python-genai#1815", "googleapis/python-genai#70"],
    request: google(gpt, {
      tools: [
        {
          functionDeclarations: [
            {
              name: "read",
              parameters: { type: "OBJECT", additionalProperties: { type: "STRING" } },
            },
          ],
        },
      ],
    }),
    right: "the type of a map's values is JSON Schema's, too",
    sends: { tools: [{ function: { parameters: { additionalProperties: { type: "string" } } } }] },
  },
  ...(
    [
      ["effort", claude, { effort: "high" }, { output_config: { effort: "high" } }],
      ["tokens", claude, { max_tokens: 9000 }, { output_config: { effort: "medium" } }],
      ["switch", claude, { enabled: true }, { thinking: { type: "adaptive" } }],
      ["effort", "gemini/gemini-2.5-pro", { effort: "high" }, { reasoning_effort: "high" }],
      ["switch", "gemini/gemini-2.5-pro", { enabled: true }, { reasoning_effort: "medium" }],
      ["effort", "openai/gpt-5", { effort: "high" }, { reasoning_effort: "high" }],
      ["effort", "both", { effort: "xhigh" }, { reasoning_effort: "high" }],
    ] as const
  ).map(
    ([name, model, reasoning, sends]): OutsideCase => ({
      id: `openrouter-${name}-at-${model}`,
      kind: "thinking",
      source: openrouterSources,
      request: chat({ model, reasoning }),
      right: "what OpenRouter's clients ask of reasoning reaches other providers",
      sends,
      lacks: model === claude ? ["reasoning"] : ["reasoning", "thinking"],
    }),
  ),
  {
    id: "openrouter-tokens-at-an-older-claude",
    kind: "thinking",
    source: openrouterSources,
    request: chat({
      model: "anthropic/claude-sonnet-4-5",
      max_tokens: 9000,
      reasoning: { max_tokens: 2000 },
    }),
    right: "OpenRouter's max_tokens are Anthropic's budget",
    sends: { thinking: { type: "enabled", budget_tokens: 2000 } },
  },
  {
    id: "openrouter-effort-beside-tools",
    kind: "thinking",
    source: openrouterSources,
    request: chat({ model: sol, tools: [readOfChat], reasoning: { effort: "high" } }),
    right: "what OpenRouter's clients ask of reasoning reaches the Responses API",
    sends: { reasoning: { effort: "high" } },
  },
  {
    id: "openrouter-off",
    kind: "thinking",
    source: ["thedotmack/claude-mem#2995", ...openrouterSources],
    request: chat({ model: "anthropic/claude-opus-5", reasoning: { enabled: false } }),
    right: "who turns reasoning off gets none",
    sends: { thinking: { type: "disabled" } },
  },
  {
    id: "openrouter-exclude",
    kind: "thinking",
    source: ["sigoden/aichat#1291", "simonw/llm-openrouter#40"],
    request: chat({ model: claude, reasoning: { effort: "low", exclude: true } }),
    answer: withThought,
    right: "who excludes reasoning from the answer doesn't get it",
    check: (t, { text }) => t.notMatch(text, /why/),
  },
  {
    id: "openrouter-exclude-in-a-stream",
    kind: "thinking",
    source: ["sigoden/aichat#1291", "simonw/llm-openrouter#40"],
    request: chat({ model: claude, stream: true, reasoning: { effort: "low", exclude: true } }),
    events: events(
      messageEvents([
        {
          block: { type: "thinking", thinking: "", signature: "" },
          deltas: [
            { type: "thinking_delta", thinking: "why" },
            { type: "signature_delta", signature: "s" },
          ],
        },
        streamedText("hi"),
      ]),
    ),
    right: "who excludes reasoning from the answer doesn't get it",
    check(t, { text, events: list }) {
      t.notMatch(text, /why/);
      t.equal(textsIn(list), "hi");
    },
  },
  {
    id: "minimal-at-gemini-3-7",
    kind: "fields by model",
    source: minimalSources,
    request: chat({ model: "flash", reasoning_effort: "minimal" }),
    right: "Gemini 3.7 Flash refuses the level minimal: the next one is low",
    sends: { reasoning_effort: "low" },
  },
  {
    id: "minimal-at-gemini-3-7-from-codex",
    kind: "fields by model",
    source: minimalSources,
    request: responses({ model: "gemini/gemini-3.7-flash", reasoning: { effort: "minimal" } }),
    right: "Gemini 3.7 Flash refuses the level minimal: the next one is low",
    sends: { reasoning_effort: "low" },
  },
  {
    id: "minimal-of-gemini-cli",
    kind: "fields by model",
    source: minimalSources,
    request: google("flash", {
      generationConfig: { thinkingConfig: { thinkingLevel: "MINIMAL" } },
    }),
    right: "Gemini 3.7 Flash refuses the level minimal: the next one is low",
    sends: { generationConfig: { thinkingConfig: { thinkingLevel: "LOW" } } },
  },
  {
    id: "minimal-at-gemini-3-1-flash-lite",
    kind: "fields by model",
    source: ["maximhq/bifrost#7287"],
    request: responses({ model: "gemini/gemini-3.1-flash-lite", reasoning: { effort: "minimal" } }),
    result: "passed",
    right: "Gemini 3.1 Flash-Lite takes the level minimal",
    sends: { reasoning_effort: "minimal" },
  },
  {
    id: "temperature-at-gpt-6-on-bedrock",
    kind: "fields by model",
    source: [
      "promptfoo/promptfoo#11039",
      "NousResearch/hermes-agent#110046",
      "BerriAI/litellm#42725",
      "run-llama/llama_index#23211",
    ],
    request: messages({ model: "bedrock/us.openai.gpt-6-sol", temperature: 0 }),
    right: "GPT-6 takes no temperature, whatever Bedrock calls it",
    lacks: ["temperature"],
    dropped: "temperature",
  },
  {
    id: "tools-at-gpt-6-on-bedrock",
    kind: "fields by model",
    source: ["langgenius/dify-official-plugins#3464", "theopenco/llmgateway#3172"],
    request: chat({
      model: "bedrock/us.openai.gpt-6-sol",
      tools: [readOfChat],
      reasoning_effort: "high",
    }),
    right: "Bedrock has OpenAI's newer models in the Responses API",
    sends: { reasoning: { effort: "high" }, tools: [{ name: "read" }] },
  },
  {
    id: "arguments-as-an-object-in-the-history",
    kind: "arguments of calls",
    source: ["bytedance/deer-flow#4445", "AntSeed/antseed#48"],
    request: chat({ model: claude, messages: withCall(chatCall("c1", "read", { a: 1 }), "r") }),
    right: "arguments that a client sends as an object are the input",
    sends: { messages: [{}, { content: [{ type: "tool_use", input: { a: 1 } }] }, {}] },
  },
  {
    id: "arguments-as-an-object-over-responses",
    kind: "arguments of calls",
    source: ["bytedance/deer-flow#4445"],
    request: chat({
      model: sol,
      tools: [readOfChat],
      messages: withCall(chatCall("c1", "read", { a: 1 }), "r"),
    }),
    right: "arguments that a client sends as an object are a text in the Responses API",
    sends: { input: [{}, { type: "function_call", arguments: '{"a":1}' }, {}] },
  },
  {
    id: "arguments-as-a-list-in-the-history",
    kind: "arguments of calls",
    source: ["router-for-me/CLIProxyAPI#5362", "sgl-project/sglang#28035"],
    request: responses({
      model: vllm,
      input: [
        user("x"),
        { type: "function_call", call_id: "c1", name: "read", arguments: "[]" },
        { type: "function_call_output", call_id: "c1", output: "r" },
      ],
    }),
    result: "passed",
    right: "templates of open models take objects alone as arguments",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body as { messages: { tool_calls?: never[] }[] };
      const [{ function: called }] = turns[1]!.tool_calls as never as [
        { function: { arguments: string } },
      ];
      t.match(JSON.parse(called.arguments), exactly({ unreadable_arguments: "[]" }));
    },
  },
  ...[
    chat({ model: claude, messages: withCall(chatCall("c1", "read"), null) }),
    chat({ model: sol, tools: [readOfChat], messages: withCall(chatCall("c1", "read"), null) }),
  ].map(
    (request, i): OutsideCase => ({
      id: `result-that-is-null-${i}`,
      kind: "results",
      source: ["anomalyco/opencode#15375", "moeru-ai/airi#2098"],
      request,
      right: "the result of a tool that returns nothing is empty",
    }),
  ),
  {
    id: "ids-of-kimi-at-claude",
    kind: "ids of calls",
    source: ["farion1231/cc-switch#1181", "vybestack/llxprt-code#713"],
    request: messages({ model: claude, tools: [read], messages: kimiTurns }),
    right: "a session that began at Kimi goes on at Claude, which refuses the ids",
    sends: {
      messages: [
        {},
        { content: [{ id: "functions_read_0" }] },
        { content: [{ tool_use_id: "functions_read_0" }] },
      ],
    },
  },
  {
    id: "ids-of-kimi-at-kimi",
    kind: "ids of calls",
    source: ["vybestack/llxprt-code#713", "vllm-project/vllm#50782", "getkimchi/kimchi#1066"],
    request: messages({ model: vllm, tools: [read], messages: kimiTurns }),
    result: "passed",
    right: "Kimi gets its own ids back, which its template shows to the model",
    sends: { messages: [{}, { tool_calls: [{ id: "functions.read:0" }] }, {}] },
  },
  {
    id: "byte-order-mark-of-a-request",
    kind: "HTTP",
    source: ["Badgerati/Pode#1604", "axodotdev/axoasset#87"],
    request: {
      path: "/v1/chat/completions",
      raw: `\ufeff${JSON.stringify({ model: vllm, messages: [user("x")] })}`,
    },
    right: "a byte order mark before a body is skipped, and no provider gets it",
    check: (t, { sent }) => t.ok(sent.at(-1)!.text.startsWith("{")),
  },
  {
    id: "compaction-of-claude-elsewhere",
    kind: "compaction",
    source: ["BerriAI/litellm#28868", "BerriAI/litellm#41456"],
    request: messages({ model: gpt, messages: compacted }),
    right: "Claude's summary stands for all before it, as at Anthropic",
    sends: {
      messages: exactly([
        user("what was before"),
        { role: "assistant", content: "new" },
        user("now"),
      ]),
    },
  },
  ...(
    [
      ["chat", chat({ model: vllm }), streamed(chatStream), chatAnswer],
      ["chat-for-claude-code", messages({ model: vllm }), plain(chatStream), messageAnswer],
      ["messages", messages({ model: claude }), streamed(messageStream), messageAnswer],
      ["messages-for-a-chat", chat({ model: claude }), plain(messageStream), chatAnswer],
      ["responses", responses({ model: "openai/gpt-5" }), plain(responseStream), responseAnswer],
      [
        "responses-for-claude-code",
        messages({ ...overResponses, stream: false }),
        streamed(responseStream),
        { content: [{ text: "hi" }] },
      ],
    ] as const
  ).map(
    ([name, request, answer, receives]): OutsideCase => ({
      id: `unasked-stream-${name}`,
      kind: "streams",
      source: unaskedSources,
      request,
      answer,
      right: "who asked for no stream gets one answer, also of a host that always streams",
      receives,
      check: (t, { headers }) => t.match(headers.get("content-type"), /json/),
    }),
  ),
  {
    id: "unasked-stream-with-an-error",
    kind: "streams",
    source: unaskedSources,
    request: chat({ model: vllm }),
    answer: streamed('data: {"error":{"message":"busy","code":503}}\n\n'),
    right: "an error in a stream that nobody asked for is an error, with its sentence",
    status: 503,
    receives: { error: { message: "busy" } },
  },
  {
    id: "unasked-stream-that-is-cut",
    kind: "streams",
    source: unaskedSources,
    request: chat({ model: vllm }),
    answer: streamed(events([chunk({ content: "h" })])),
    right: "a part of an answer is no answer",
    status: 502,
  },
  ...(
    [
      ["chat", chat({ model: vllm, stream: true }), chatStream],
      ["chat-for-claude-code", messages({ model: vllm, stream: true }), chatStream],
      ["messages", messages({ model: claude, stream: true }), `: ping\n\n${messageStream}`],
      ["responses", responses({ model: "openai/gpt-5", stream: true }), responseStream],
    ] as const
  ).map(
    ([name, request, body]): OutsideCase => ({
      id: `mislabelled-stream-${name}`,
      kind: "streams",
      source: mislabelledSources,
      request,
      answer: plain(body),
      right: "a stream is one, whatever its host calls it",
      check(t, { headers, text }) {
        t.match(headers.get("content-type"), /event-stream/);
        t.match(text, /data: /);
      },
    }),
  ),
  {
    id: "custom-tool-of-cursor",
    kind: "tools",
    source: cursorSources,
    request: chat({ model: gpt, tools: [readOfChat, patchOfCursor] }),
    right: "Cursor's tools, half of them as in the Responses API, are chat completions'",
    sends: {
      tools: [
        { type: "function", function: { name: "read" } },
        { type: "custom", custom: { name: "ApplyPatch", format: { type: "grammar", grammar } } },
      ],
    },
  },
  {
    id: "tools-of-cursor-over-responses",
    kind: "tools",
    source: cursorSources,
    request: chat({ model: sol, tools: [{ ...readOfResponses }, patchOfCursor] }),
    right: "Cursor's tools, as in the Responses API, reach it",
    sends: { tools: [{ type: "function", name: "read" }, patchOfCursor] },
  },
  ...[{ ...readOfResponses }, { ...read, description: "d" }].map(
    (tool, i): OutsideCase => ({
      id: `tool-of-cursor-at-claude-${i}`,
      kind: "tools",
      source: cursorSources,
      request: chat({ model: claude, tools: [tool] }),
      right: "a tool in the form of another API is the same tool",
      sends: { tools: [{ name: "read", input_schema: {} }] },
    }),
  ),
  ...[
    chat({ model: claude, messages: [user([{ type: "image_url", image_url: png }])] }),
    chat({
      model: sol,
      tools: [readOfChat],
      messages: [user([{ type: "image_url", image_url: png }])],
    }),
  ].map(
    (request, i): OutsideCase => ({
      id: `image-without-its-object-${i}`,
      kind: "images",
      source: ["laurent22/joplin#16141", "architectds/modeldock#26"],
      request,
      right: "an address in place of the object is an image's",
      check: (t, { sent }) => t.match(sent.at(-1)!.text, /iVBORw0KGgo/),
    }),
  ),
  {
    id: "image-in-chat-over-responses",
    kind: "images",
    source: ["BerriAI/litellm#11820"],
    request: chat({
      model: sol,
      tools: [readOfChat],
      messages: [user([{ type: "image_url", image_url: { url: png } }])],
    }),
    result: "passed",
    right: "the Responses API takes the address itself",
    sends: { input: [{ content: [{ type: "input_image", image_url: png }] }] },
  },
  {
    id: "list-of-google-at-openai",
    kind: "schemas",
    source: listSources,
    request: google(gpt, {
      generationConfig: { responseMimeType: "application/json", responseSchema: recipes },
    }),
    right: "OpenAI enforces schemas of objects alone: a list's goes into the instructions",
    dropped: "response_format.json_schema",
    lacks: ["response_format"],
    sends: { messages: [{ role: "system", content: /follows this JSON schema/ }, {}] },
  },
  {
    id: "list-of-google-over-responses",
    kind: "schemas",
    source: listSources,
    request: google(sol, {
      tools: [readOfGoogle],
      generationConfig: { responseMimeType: "application/json", responseSchema: recipes },
    }),
    right: "OpenAI enforces schemas of objects alone: a list's goes into the instructions",
    lacks: ["text"],
    sends: { input: [{ role: "system", content: [{ text: /follows this JSON schema/ }] }, {}] },
  },
  {
    id: "list-of-google-at-vllm",
    kind: "schemas",
    source: listSources,
    request: google(vllm, {
      generationConfig: { responseMimeType: "application/json", responseSchema: recipes },
    }),
    result: "passed",
    right: "vLLM enforces the schema of a list",
    sends: { response_format: { json_schema: { schema: { type: "array" } } } },
  },
  ...([vllm, "gemini/gemini-2.5-pro", claude] as const).map(
    (model): OutsideCase => ({
      id: `image-in-an-output-at-${model}`,
      kind: "results",
      source: [
        "QuantumNous/new-api#7498",
        "router-for-me/CLIProxyAPI#5039",
        "sgl-project/sglang#34927",
        "CommandCodeAI/command-code#902",
      ],
      request: responses({
        model,
        tools: [readOfResponses],
        input: [
          user("x"),
          { type: "function_call", call_id: "c1", name: "read", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "c1",
            output: [{ type: "input_image", image_url: png, detail: "auto" }],
          },
        ],
      }),
      result: "passed",
      right: "an image that Codex's tool returned is an image, and no text",
      check: (t, { sent }) => t.match(sent.at(-1)!.text, /"type":"image(?:_url)?"/),
    }),
  ),
  {
    id: "definitions-of-an-mcp-server",
    kind: "schemas",
    source: ["BerriAI/litellm#26692", "BerriAI/litellm#28646"],
    request: chat({
      model: claude,
      tools: [
        chatTool("read", {
          parameters: {
            type: "object",
            properties: { tags: { $ref: "#/definitions/_gen:tags" } },
            definitions: { "_gen:tags": { type: "string" } },
          },
        }),
      ],
    }),
    result: "passed",
    right: "definitions stay beside what refers to them, under their older name, too",
    sends: { tools: [{ input_schema: { definitions: { "_gen:tags": { type: "string" } } } }] },
  },
  {
    id: "tools-that-load-later-at-gemini",
    kind: "tools",
    source: ["router-for-me/CLIProxyAPI#1375", "router-for-me/CLIProxyAPI#1822"],
    request: messages({
      model: "gemini/gemini-2.5-pro",
      tools: [{ ...read, defer_loading: false, eager_input_streaming: true }],
    }),
    result: "passed",
    right: "Gemini refuses Anthropic's fields of a tool",
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /defer_loading|eager_input/),
  },
  ...(
    [
      ["srt", "1\n00:00:00,000 --> 00:00:01,000\nhi\n"],
      ["text", "42"],
    ] as const
  ).map(
    ([format, body]): OutsideCase => ({
      id: `transcription-as-${format}`,
      kind: "sound",
      source: ["pollinations/pollinations#11458", "ai-dynamo/aiperf#1404"],
      request: {
        path: "/v1/audio/transcriptions",
        headers: { "content-type": "multipart/form-data; boundary=b" },
        raw: [
          ...[
            ["model", vllm],
            ["response_format", format],
          ].map(
            ([name, value]) =>
              `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
          ),
          `--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n--b--\r\n`,
        ].join(""),
      },
      answer: plain(body),
      result: "passed",
      right: "a transcript that isn't JSON passes as it is",
      check: (t, { text }) => t.equal(text, body),
    }),
  ),
  {
    id: "probabilities-of-google",
    kind: "fields by host",
    source: ["maximhq/bifrost#6231", "QuantumNous/new-api#1876"],
    request: google(gpt, { generationConfig: { responseLogprobs: true, logprobs: 3 } }),
    result:
      "decided: the 400 names the field: Sluice translates no log probabilities to Google's form",
    right: "log probabilities that can't come aren't missing without a word",
    status: 400,
    receives: { error: { message: /responseLogprobs/ } },
  },
  {
    id: "empty-list-of-calls-at-openai",
    kind: "arguments of calls",
    source: ["openai/openai-node#1341", "SynaLinks/synalinks#31", "home-assistant/core#118577"],
    request: chat({
      model: gpt,
      messages: [user("x"), { role: "assistant", content: "a", tool_calls: [] }, user("y")],
    }),
    result: "decided: a request in the provider's own dialect passes, and its 400 names the field",
    right: "an empty list of calls is OpenAI's to refuse",
    status: 400,
    receives: { error: { message: /tool_calls/ } },
  },
  {
    id: "empty-list-of-calls-at-claude",
    kind: "arguments of calls",
    source: ["openai/openai-node#1341", "SynaLinks/synalinks#31"],
    request: chat({
      model: claude,
      messages: [user("x"), { role: "assistant", content: "a", tool_calls: [] }, user("y")],
    }),
    result: "passed",
    right: "an empty list of calls is none",
    sends: { messages: [{}, { content: exactly([{ type: "text", text: "a" }]) }, {}] },
  },
  ...Object.entries(openStreams).flatMap(([provider, { body, path, model }]) =>
    Object.entries(openClients).map(
      ([client, request]): OutsideCase => ({
        id: `open-after-its-end-${provider}-for-${client}`,
        kind: "streams",
        source: openSources,
        request: request(model),
        answer: { ...streamed(body), staysOpen: true },
        right: "an answer ends with its last event, also if the host leaves its connection open",
        check(t, { sent, text, cut }) {
          t.match(sent.at(-1)?.path ?? "", path);
          t.notOk(cut);
          t.match(text, lastOfClients[client as keyof typeof lastOfClients]);
        },
      }),
    ),
  ),
  {
    id: "open-after-its-end-unasked",
    kind: "streams",
    source: openSources,
    request: chat({ model: vllm }),
    answer: { ...streamed(chatStream), staysOpen: true },
    right: "a stream that nobody asked for ends with its last event, too",
    receives: chatAnswer,
  },
  {
    id: "open-after-its-end-passed",
    kind: "streams",
    source: openSources,
    request: {
      ...messages({ model: "claude-opus-4-8", stream: true }),
      path: "/p/anthropic/v1/messages",
    },
    answer: { ...streamed(messageStream), staysOpen: true },
    right: "what passes through ends with its last event, too",
    check: (t, { text }) => t.equal(text, messageStream),
  },
  {
    id: "open-after-its-finish-reason",
    kind: "streams",
    source: openSources,
    request: messages({ model: vllm, stream: true }),
    answer: { ...streamed(chatStream.replace(`${done}\n\n`, "")), staysOpen: true },
    right: "without a last event the answer ends soon after its finish reason, with its usage",
    check(t, { text, cut }) {
      t.notOk(cut);
      t.match(text, /"output_tokens":3[^\n]*\n\n[^\n]*\n[^\n]*"message_stop"\}\n\n$/);
    },
  },
  {
    id: "open-after-its-finish-reason-gemini",
    kind: "streams",
    source: openSources,
    request: google("gemini/gemini-2.5-pro", {}, "streamGenerateContent?alt=sse"),
    answer: { ...streamed(googleStream), staysOpen: true },
    right: "a stream of Gemini's ends soon after its finish reason",
    check: (t, { text, cut }) => t.ok(!cut && text === googleStream),
  },
];
