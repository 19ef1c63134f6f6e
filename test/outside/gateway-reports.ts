/** Reports about other gateways and the clients behind them, of several kinds. */
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
const pdf = "data:application/pdf;base64,JVBERi0xLjQK";
const picture = "data:image/png;base64,iVBORw0KGgo=";

/** An argument that some models write as a text of JSON within JSON. */
const twiceWritten = JSON.stringify(JSON.stringify({ path: "a" }));
const callsTwice = completionOf({
  message: {
    role: "assistant",
    content: null,
    tool_calls: [chatCall("c1", "read", twiceWritten)],
  },
  finish_reason: "tool_calls",
});
const streamsTwice = events([
  chunk({ tool_calls: [{ index: 0, ...chatCall("c1", "read", twiceWritten.slice(0, 9)) }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: twiceWritten.slice(9) } }] }),
  chunk({}, {}, "tool_calls"),
  usageChunk,
  done,
]);

const vectors = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.5, -0.25] }],
  model: "m",
  usage: { prompt_tokens: 1, total_tokens: 1 },
};
const embeddings = (model: string, encoding: string): OutsideCase["request"] => ({
  path: "/v1/embeddings",
  body: { model, input: "x", encoding_format: encoding },
});
/** 0.5 and -0.25 as 32-bit floats. */
const inBase64 = "AAAAPwAAgL4=";

const ofType = ({ events }: Seen, wanted: string): object | undefined =>
  events.find(({ type }) => type === wanted);

const developerSources = [
  "earendil-works/pi#140",
  "cloudflare/cloudflare-os#36",
  "NVIDIA/NemoClaw#1932",
  "ogx-ai/ogx#6069",
];
const developerIsSystem = (id: string, model: string): OutsideCase => ({
  id,
  kind: "roles",
  source: developerSources,
  request: chat({ model, messages: [{ role: "developer", content: "be brief" }, user("x")] }),
  right: "templates of open models know no developer: the instructions are the system's",
  sends: { messages: [{ role: "system", content: "be brief" }, { role: "user" }] },
});

const summarySources = [
  "stdapi-ai/stdapi.ai#285",
  "theopenco/llmgateway#2593",
  "agentjido/req_llm#738",
  "lobehub/lobehub#17620",
];
const showsThinking = (id: string, request: OutsideCase["request"]): OutsideCase => ({
  id,
  kind: "thinking",
  source: summarySources,
  request,
  right: "newer Claude models leave out the text of their thinking unless it is asked for",
  sends: { thinking: { type: "adaptive", display: "summarized" } },
});

const twiceSources = [
  "vllm-project/vllm#54964",
  "quarkiverse/quarkus-langchain4j#2642",
  "openclaw/openclaw#40425",
  "FoundationAgents/OpenManus#989",
];

const address = "https://example.com/a.pdf";
const fileByAddress = (
  id: string,
  request: OutsideCase["request"],
  sends: object,
): OutsideCase => ({
  id,
  kind: "documents",
  source: ["Portkey-AI/gateway#1075", "BerriAI/litellm#11387", "vercel/ai#7245"],
  request,
  right: "a document at an address reaches a provider that fetches it",
  sends,
});
const documentAtClaude = {
  messages: [{ content: [{ type: "document", source: { type: "url", url: address } }] }],
};

const detailSources = [
  "farion1231/cc-switch#7476",
  "farion1231/cc-switch#7555",
  "farion1231/cc-switch#6495",
];

export const gatewayReports: readonly OutsideCase[] = [
  {
    id: "floats-in-place-of-base64",
    kind: "embeddings",
    source: ["openai/openai-node#1542", "openai/openai-node#1646", "mudler/LocalAI#9135"],
    request: embeddings("ollama/qwen3", "base64"),
    answer: { body: vectors },
    right: "OpenAI's SDK asks for base64, and reads a list of floats as zeros",
    receives: { data: [{ embedding: inBase64 }], usage: { prompt_tokens: 1 } },
  },
  {
    id: "floats-that-were-asked-for",
    kind: "embeddings",
    source: ["FlowiseAI/Flowise#6197", "arabold/docs-mcp-server#471"],
    request: embeddings("ollama/qwen3", "float"),
    answer: { body: vectors },
    result: "passed",
    right: "who asks for floats gets floats",
    receives: { data: [{ embedding: [0.5, -0.25] }] },
  },
  {
    id: "base64-refused",
    kind: "embeddings",
    source: ["stevereiner/flexible-graphrag#17", "vllm-project/vllm#6174", "getzep/graphiti#1782"],
    request: embeddings(vllm, "base64"),
    answer: {
      status: 400,
      body: { error: { message: "base64 encoding is not currently supported", code: 400 } },
    },
    result: "decided: the provider's sentence names the setting of its client",
    right: "a host that refuses base64 is asked for floats",
    status: 400,
  },
  {
    id: "stop-sequence-of-vllm",
    kind: "finish reasons",
    source: ["agentgateway/agentgateway#3283", "vllm-project/vllm#45807"],
    request: messages({ model: vllm, stop_sequences: ["END"] }),
    answer: completionOf({
      message: { role: "assistant", content: "a" },
      finish_reason: "stop",
      stop_reason: "END",
    }),
    right: "Anthropic's clients learn which of their stop sequences ended the answer",
    receives: { stop_reason: "stop_sequence", stop_sequence: "END" },
  },
  {
    id: "stop-sequence-of-sglang-in-a-stream",
    kind: "finish reasons",
    source: ["agentgateway/agentgateway#3283", "sgl-project/sglang#33153"],
    request: messages({ model: vllm, stop_sequences: ["END"], stream: true }),
    events: events([
      chunk({ content: "a" }),
      {
        ...chunk(null),
        choices: [{ index: 0, delta: {}, finish_reason: "stop", matched_stop: "END" }],
      },
      usageChunk,
      done,
    ]),
    right: "Anthropic's clients learn which of their stop sequences ended the answer",
    check: (t, seen) =>
      t.match(ofType(seen, "message_delta"), {
        delta: { stop_reason: "stop_sequence", stop_sequence: "END" },
      }),
  },
  {
    id: "stop-token",
    kind: "finish reasons",
    source: ["vllm-project/vllm#45807", "sgl-project/sglang#33153"],
    request: messages({ model: vllm, stop_sequences: ["END"] }),
    answer: completionOf({
      message: { role: "assistant", content: "a" },
      finish_reason: "stop",
      matched_stop: 151_645,
    }),
    result: "passed",
    right: "a token at which the model stops is no stop sequence",
    receives: { stop_reason: "end_turn", stop_sequence: null },
  },
  developerIsSystem("developer-at-ollama", "ollama/qwen3"),
  developerIsSystem("developer-at-vllm", vllm),
  {
    id: "developer-in-the-middle",
    kind: "roles",
    source: ["BerriAI/litellm#39852", "1CatAI/1Cat-vLLM#493"],
    request: responses({
      model: vllm,
      instructions: "be brief",
      input: [user("a"), { role: "developer", content: "one word" }, user("b")],
    }),
    result: "passed",
    right: "a template takes one system message, at the beginning",
    check(t, { sent }) {
      const { messages: list } = sent.at(-1)!.body as { messages: { role: string }[] };
      t.same(
        list.map(({ role }) => role),
        ["system", "user", "user", "user"],
      );
    },
  },
  ...["vllm", "claude"].map(
    (name): OutsideCase => ({
      id: `detail-original-at-${name}`,
      kind: "images",
      source: detailSources,
      request: responses({
        model: name === "vllm" ? vllm : claude,
        input: [user([{ type: "input_image", image_url: picture, detail: "original" }])],
      }),
      right: "Codex asks for the detail original, which chat completions call high",
      check: (t, { sent }) =>
        t.match(
          sent.at(-1)!.text,
          name === "vllm" ? /"detail":"high"/ : /"media_type":"image\/png"/,
        ),
    }),
  ),
  showsThinking(
    "thinking-for-codex",
    responses({ model: claude, reasoning: { effort: "high", summary: "auto" } }),
  ),
  showsThinking("thinking-for-a-chat", chat({ model: claude, reasoning_effort: "high" })),
  showsThinking(
    "thinking-for-google",
    google("anthropic/claude-opus-5", {
      generationConfig: { thinkingConfig: { thinkingLevel: "HIGH", includeThoughts: true } },
    }),
  ),
  {
    id: "thinking-of-a-client's-own-request",
    kind: "thinking",
    source: ["anthropics/claude-code#49268", "zed-industries/zed#54217"],
    request: messages({ model: claude, thinking: { type: "adaptive" } }),
    result: "passed",
    right: "a client of Anthropic's own dialect decides whether it wants the text",
    check: (t, { sent }) => t.same(sent.at(-1)!.body["thinking"], { type: "adaptive" }),
  },
  {
    id: "arguments-written-twice",
    kind: "tools",
    source: twiceSources,
    request: messages({ model: vllm, tools: [read] }),
    answer: callsTwice,
    right: "arguments that are a text of JSON are the object in it",
    receives: { content: [{ type: "tool_use", input: { path: "a" } }] },
  },
  {
    id: "arguments-written-twice-in-a-stream",
    kind: "tools",
    source: twiceSources,
    request: messages({ model: vllm, tools: [read], stream: true }),
    events: streamsTwice,
    right: "arguments that are a text of JSON are the object in it",
    check(t, { events: list }) {
      const json = list
        .map(({ delta }) => (delta as { partial_json?: string } | undefined)?.partial_json ?? "")
        .join("");
      t.same(JSON.parse(json), { path: "a" });
    },
  },
  {
    id: "arguments-written-twice-for-google",
    kind: "tools",
    source: twiceSources,
    request: google(vllm, { tools: [{ functionDeclarations: [{ name: "read" }] }] }),
    answer: callsTwice,
    right: "arguments that are a text of JSON are the object in it",
    receives: { candidates: [{ content: { parts: [{ functionCall: { args: { path: "a" } } }] } }] },
  },
  {
    id: "arguments-written-twice-for-codex",
    kind: "tools",
    source: twiceSources,
    request: responses({ model: vllm, stream: true, tools: [{ type: "function", name: "read" }] }),
    events: streamsTwice,
    right: "arguments that are a text of JSON are the object in it",
    check(t, seen) {
      const ended = ofType(seen, "response.function_call_arguments.done") as { arguments: string };
      t.same(JSON.parse(ended.arguments), { path: "a" });
    },
  },
  {
    id: "arguments-written-twice-in-the-history",
    kind: "tools",
    source: twiceSources,
    request: chat({
      model: claude,
      tools: [chatTool("read")],
      messages: [
        user("x"),
        {
          role: "assistant",
          content: null,
          tool_calls: [chatCall("c1", "read", twiceWritten)],
        },
        { role: "tool", tool_call_id: "c1", content: "r" },
      ],
    }),
    right: "arguments that are a text of JSON are the object in it",
    sends: { messages: [{}, { content: [{ type: "tool_use", input: { path: "a" } }] }, {}] },
  },
  {
    id: "strict-tool-with-an-optional-field",
    kind: "tools",
    source: ["BerriAI/litellm#36979", "langchain-ai/langchain#39306", "laravel/ai#506"],
    request: messages({
      model: "openai/gpt-4o",
      tools: [
        {
          name: "read",
          strict: true,
          input_schema: {
            type: "object",
            properties: { path: { type: "string" }, lines: { type: "integer" } },
            required: ["path"],
            additionalProperties: false,
          },
        },
      ],
    }),
    right: "OpenAI enforces no schema with optional fields: strict goes, the fields stay optional",
    dropped: "tools[].strict",
    sends: { tools: [{ function: { parameters: { required: ["path"] } } }] },
    check: (t, { sent }) => t.notMatch(sent.at(-1)!.text, /"strict"/),
  },
  {
    id: "single-elements",
    kind: "Gemini",
    source: ["Google's REST samples: contents without a list"],
    request: google(vllm, {
      system_instruction: { parts: { text: "You are a cat." } },
      contents: { parts: { text: "hello" } },
      tools: { functionDeclarations: { name: "meow" } },
    }),
    right: "Google takes a single element for a list of one",
    sends: {
      messages: [{ role: "system" }, { role: "user", content: "hello" }],
      tools: [{ function: { name: "meow" } }],
    },
  },
  ...["/models", "/v1beta/v1beta/models"].map(
    (path, i): OutsideCase => ({
      id: `google-path-${i}`,
      kind: "HTTP",
      source: ["router-for-me/CLIProxyAPI#1476"],
      request: {
        ...google(vllm, {}),
        path: `${path}/${vllm}:generateContent`,
      },
      right: "a base URL with the version that an SDK adds, or with none, finds the endpoint",
      receives: { candidates: [{ finishReason: "STOP" }] },
    }),
  ),
  {
    id: "output-below-sixteen",
    kind: "fields by model",
    source: ["experientiallabs/experiential#538", "QuantumNous/new-api#2866"],
    request: messages({ model: sol, max_tokens: 1, tools: [read], thinking: { type: "adaptive" } }),
    result: "passed",
    right: "the Responses API takes no limit below 16",
    sends: { max_output_tokens: 16 },
  },
  {
    id: "usage-in-the-last-event-alone",
    kind: "usage",
    source: ["envoyproxy/ai-gateway#2290", "agentgateway/agentgateway#2977", "theam/facility#148"],
    request: chat({ model: claude, stream: true, stream_options: { include_usage: true } }),
    events: events(
      messageEvents([
        { block: { type: "text", text: "" }, deltas: [{ type: "text_delta", text: "a" }] },
      ]).map((event) =>
        (event as { type: string }).type === "message_delta"
          ? {
              ...event,
              usage: { input_tokens: 4522, cache_creation_input_tokens: 4511, output_tokens: 5 },
            }
          : event,
      ),
    ),
    result: "passed",
    right: "the last event's counts win, and none is counted twice",
    check: (t, { events: list }) =>
      t.match(list.at(-1), { usage: { prompt_tokens: 9033, completion_tokens: 5 } }),
  },
  {
    id: "usage-in-every-chunk",
    kind: "usage",
    source: ["bytedance/deer-flow#4537", "tensorzero/tensorzero#5481"],
    request: messages({ model: vllm, stream: true }),
    events: events([
      chunk({ content: "a" }, { usage: { prompt_tokens: 9, completion_tokens: 1 } }),
      chunk({ content: "b" }, { usage: { prompt_tokens: 9, completion_tokens: 2 } }),
      chunk({}, { usage: { prompt_tokens: 9, completion_tokens: 2 } }, "stop"),
      done,
    ]),
    result: "passed",
    right: "counts that each chunk repeats are the latest, not their sum",
    check: (t, seen) =>
      t.match(ofType(seen, "message_delta"), { usage: { input_tokens: 9, output_tokens: 2 } }),
  },
  {
    id: "usage-at-the-beginning",
    kind: "usage",
    source: ["vercel/ai#17326"],
    request: messages({ model: vllm, stream: true }),
    events: events([chunk({ content: "a" }), chunk({}, {}, "stop"), usageChunk, done]),
    result: "decided: a chat provider counts at the end, and no guess passes for its count",
    right: "message_start has the input's tokens",
    check: (t, seen) => t.match(ofType(seen, "message_delta"), { usage: { input_tokens: 9 } }),
  },
  {
    id: "metadata-of-a-chat",
    kind: "fields by host",
    source: ["BerriAI/litellm#24661"],
    request: chat({ model: claude, metadata: { trace_id: "t", user_id: "u" } }),
    result: "passed",
    right: "Anthropic's metadata have a user_id alone",
    lacks: ["metadata"],
  },
  {
    id: "metadata-of-claude-code",
    kind: "fields by host",
    source: ["tiylabs/tiygate#52", "mnfst/llm-gateway#2789", "agentgateway/agentgateway#1739"],
    request: messages({ model: "openai/gpt-4o", metadata: { user_id: '{"device_id":"d"}' } }),
    result: "passed",
    right: "OpenAI's metadata are another thing than Anthropic's",
    lacks: ["metadata"],
  },
  {
    id: "pause-turn",
    kind: "finish reasons",
    source: ["envoyproxy/ai-gateway#2121"],
    request: chat({ model: claude }),
    answer: messageOf([{ type: "text", text: "a" }], { stop_reason: "pause_turn" }),
    result: "passed",
    right: "an answer that isn't at its end never looks finished",
    receives: { choices: [{ finish_reason: "length" }] },
  },
  {
    id: "signature-of-litellm",
    kind: "thinking",
    source: ["open-webui/open-webui#29860", "BerriAI/litellm#8797"],
    request: messages({ model: vllm }),
    answer: completionOf({
      message: {
        role: "assistant",
        content: "hi",
        reasoning_content: "why",
        thinking_blocks: [{ type: "thinking", thinking: "why", signature: "sig" }],
      },
      finish_reason: "stop",
    }),
    result: "passed",
    right: "a gateway's signed block reaches Claude Code once, with its signature",
    receives: {
      content: [
        { type: "thinking", thinking: "why", signature: "sig" },
        { type: "text", text: "hi" },
      ],
    },
  },
  {
    id: "image-in-a-result-for-gemini",
    kind: "images",
    source: ["BerriAI/litellm#23712", "Prism-Shadow/agenthub#211"],
    request: messages({
      model: "gemini/gemini-2.5-pro",
      tools: [read],
      messages: [
        user("x"),
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "read", input: {} }] },
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
    right: "an image that a tool returned reaches Gemini in the user's next message",
    sends: { messages: [{}, {}, { role: "tool" }, { role: "user", content: [{}, {}] }] },
  },
  {
    id: "legacy-functions",
    kind: "tools",
    source: ["BerriAI/litellm#3448", "diegosouzapw/OmniRoute#12692"],
    request: chat({ model: claude, functions: [{ name: "read", parameters: {} }] }),
    result: "decided: the field that OpenAI has replaced is refused by name, never lost",
    right: "calls in the fields before tools aren't lost",
    status: 400,
    receives: { error: { param: "functions" } },
  },
  {
    id: "page-with-a-200",
    kind: "empty answers",
    source: ["Wei-Shaw/sub2api#3283", "debba/gitdeck#37"],
    request: chat({ model: vllm, stream: true }),
    answer: { headers: { "content-type": "text/html" }, body: "<html>maintenance</html>" },
    result: "passed",
    right: "a page is no answer, whatever its status: the next target has its turn",
    status: 502,
  },
  {
    id: "websocket-refused-cleanly",
    kind: "HTTP",
    source: ["BYK/loreai#515", "NVIDIA/NeMo-Relay#994", "ranxianglei/billion-context#169"],
    request: { path: "/v1/responses", method: "GET" },
    result: "passed",
    right: "Codex falls back to HTTP at once after a 426, never after a 404",
    status: 426,
  },
  {
    id: "error-event-of-responses",
    kind: "errors that agents act on",
    source: ["maximhq/bifrost#2652", "maximhq/bifrost#6783"],
    request: messages({
      model: sol,
      stream: true,
      tools: [read],
      thinking: { type: "adaptive" },
    }),
    events: events([
      { type: "response.created", response: { id: "resp_1", object: "response", output: [] } },
      { type: "error", code: "insufficient_quota", message: "You exceeded your quota" },
    ]),
    result: "passed",
    right: "an error event's sentence reaches the client",
    check: (t, seen) =>
      t.match(ofType(seen, "error"), { error: { message: "You exceeded your quota" } }),
  },
  {
    id: "one-call-at-a-time",
    kind: "tools",
    source: ["looplj/axonhub#2523", "vllm-project/vllm#52021", "567-labs/instructor#2477"],
    request: messages({
      model: vllm,
      tools: [read],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    }),
    result: "passed",
    right: "disable_parallel_tool_use isn't lost",
    sends: { parallel_tool_calls: false },
  },
  {
    id: "count-without-an-endpoint",
    kind: "usage",
    source: [
      "router-for-me/CLIProxyAPI#4410",
      "Wei-Shaw/claude-relay-service#731",
      "router-for-me/CLIProxyAPI#679",
    ],
    request: {
      path: "/v1/messages/count_tokens",
      body: { model: claude, messages: [user("x")] },
    },
    answer: { status: 404, body: { error: { message: "Invalid URL" } } },
    result: "passed",
    right: "a host without count_tokens is no host without the model: the client gets an estimate",
    receives: { input_tokens: Number },
  },
  {
    id: "items-as-codex-writes-them",
    kind: "history order",
    source: ["openai/codex#12230", "zhushanwen321/llm-simple-router#149"],
    request: responses({
      model: claude,
      input: [
        { role: "user", content: [{ type: "input_text", text: "a" }] },
        { type: "reasoning", summary: [], content: null, encrypted_content: null },
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "b" }],
        },
        { role: "user", content: [{ type: "input_text", text: "c" }] },
      ],
    }),
    result: "passed",
    right: "items need neither an id nor the type message, and reasoning may be empty",
    sends: { messages: [{ role: "user" }, { role: "assistant" }, { role: "user" }] },
  },
  {
    id: "pdf-as-an-image",
    kind: "documents",
    source: ["Portkey-AI/gateway#827"],
    request: chat({
      model: claude,
      messages: [user([{ type: "image_url", image_url: { url: pdf } }])],
    }),
    result: "decided: OpenAI refuses it too; the 400 names the field, and `file` takes a PDF",
    right: "a PDF in the place of an image is a document",
    status: 400,
    receives: { error: { param: "messages[0].content[0].image_url.url" } },
  },
  fileByAddress(
    "address-from-responses",
    responses({ model: claude, input: [user([{ type: "input_file", file_url: address }])] }),
    documentAtClaude,
  ),
  fileByAddress(
    "address-from-a-chat",
    chat({ model: claude, messages: [user([{ type: "file", file: { file_url: address } }])] }),
    documentAtClaude,
  ),
  fileByAddress(
    "address-from-google",
    google(claude, {
      contents: [
        {
          role: "user",
          parts: [{ fileData: { fileUri: address, mimeType: "application/pdf" } }],
        },
      ],
    }),
    documentAtClaude,
  ),
  fileByAddress(
    "address-from-messages",
    messages({
      model: sol,
      tools: [read],
      thinking: { type: "adaptive" },
      messages: [user([{ type: "document", source: { type: "url", url: address } }])],
    }),
    { input: [{ content: [{ type: "input_file", file_url: address }] }] },
  ),
  {
    ...fileByAddress(
      "address-at-a-chat-provider",
      responses({ model: vllm, input: [user([{ type: "input_file", file_url: address }])] }),
      {},
    ),
    result: "decided: chat completions fetch no documents, and Sluice doesn't either",
    status: 400,
    receives: { error: { param: "input[0].content[0].file_url" } },
  },
];
