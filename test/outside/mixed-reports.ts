/**
 * Reports about bodies of one API at the path of another, and about pieces of one dialect in the
 * requests and answers of another: parts, tools, pages, pictures, thinking.
 */
import { signature } from "../clients/providers/messages-rules.js";
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
  responseEvents,
  responses,
  streamedText,
  usageChunk,
  user,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
/** Its `modalities` may have pictures. */
const openrouter = "openrouter/google/gemini-3-pro-preview";
const claude = "anthropic/claude-opus-4-8";
const gemini = "gemini/gemini-2.5-pro";
const gpt = "openai/gpt-4o";
const sol = "openai/gpt-5.6-sol";
const deepseek = "deepseek/deepseek-v4-pro";
const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const bare = png.slice(png.indexOf(",") + 1);
const pdf = "JVBERi0xLjQKJSVFT0Y=";
const weather = { type: "object", properties: { city: { type: "string" } } };

const cursorSources = [
  "forum.cursor.com/t/159298",
  "forum.cursor.com/t/153019",
  "forum.cursor.com/t/158939",
  "Wei-Shaw/sub2api#1575",
];
const flatTool = { type: "function", name: "read", description: "d", parameters: weather };
/** As Cursor sends it for OpenAI's models. */
const ofCursor = (model: string, more: object = {}): OutsideCase["request"] => ({
  path: "/v1/chat/completions",
  body: {
    model,
    input: [
      { role: "system", content: "be brief" },
      { role: "user", content: [{ type: "input_text", text: "read it" }] },
      { type: "function_call", call_id: "call_1", name: "read", arguments: '{"city":"a"}' },
      { type: "function_call_output", call_id: "call_1", output: "the text" },
      { role: "user", content: [{ type: "input_text", text: "go on" }] },
    ],
    tools: [flatTool],
    stream: true,
    stream_options: { include_usage: true },
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "medium", summary: "auto" },
    text: { verbosity: "low" },
    store: false,
    metadata: { client: "c" },
    prompt_cache_retention: "24h",
    user: "u",
    ...more,
  },
});
const chatStream = events([
  chunk({ role: "assistant", content: "h" }),
  chunk({ content: "i" }),
  chunk({}, {}, "stop"),
  usageChunk,
  done,
]);
const responseStream = events(
  responseEvents("hi", {
    type: "response.completed",
    response: {
      id: "r",
      object: "response",
      status: "completed",
      output: [],
      usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
    },
  }),
);
const messageStream = events(messageEvents([streamedText("hi")]));
const textsIn = (list: readonly Record<string, unknown>[]): string =>
  list
    .flatMap(({ choices }) => (choices ?? []) as readonly { delta: { content?: string } }[])
    .map(({ delta }) => delta.content ?? "")
    .join("");

const dialectSources = ["askalf/dario#203", "truefoundry.com: Cursor", "forum.cursor.com/t/148018"];
/** As Cursor sends it for Anthropic's models. */
const ofMessages = (model: string): OutsideCase["request"] =>
  chat({
    model,
    max_tokens: 100,
    system: [{ type: "text", text: "be brief" }],
    messages: [
      user([
        { type: "text", text: "look" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: bare } },
      ]),
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look" },
          { type: "tool_use", id: "toolu_1", name: "read", input: { city: "a" } },
        ],
      },
      user([
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "text", text: "no" }],
          is_error: true,
        },
        { type: "text", text: "go on" },
      ]),
    ],
    tools: [{ name: "read", input_schema: weather }],
    tool_choice: { type: "any" },
    stop_sequences: ["END"],
  });
const asChat = {
  messages: [
    { role: "system", content: [{ text: "be brief" }] },
    { role: "user", content: [{ text: "look" }, { image_url: { url: png } }] },
    {
      role: "assistant",
      content: [{ text: "I look" }],
      tool_calls: [{ id: "toolu_1", function: { name: "read", arguments: '{"city":"a"}' } }],
    },
    { role: "tool", tool_call_id: "toolu_1" },
    { role: "user", content: [{ text: "go on" }] },
  ],
  tools: [{ type: "function", function: { name: "read", parameters: weather } }],
  tool_choice: "required",
  stop: ["END"],
};

const chatAtResponses = (model: string, more: object = {}): OutsideCase["request"] => ({
  path: "/v1/responses",
  body: {
    model,
    messages: [
      { role: "system", content: "be brief" },
      user("x"),
      { role: "assistant", content: null, tool_calls: [chatCall("c1", "read")] },
      { role: "tool", tool_call_id: "c1", content: "a" },
    ],
    tools: [chatTool("read")],
    max_tokens: 100,
    ...more,
  },
});
const responsesSources = ["madox2/vim-ai#162", "theopenco/llmgateway#1242"];

const partSources = [
  "ztxz16/fastllm#597",
  "sgl-project/sglang#17853",
  "vllm-project/vllm#56297",
  "danny-avila/LibreChat#11814",
];
const responsesParts = [
  { role: "system", content: [{ type: "input_text", text: "s" }] },
  user([
    { type: "input_text", text: "t" },
    { type: "input_image", image_url: png, detail: "low" },
    { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` },
  ]),
  { role: "assistant", content: [{ type: "output_text", text: "a", annotations: [] }] },
  user("go on"),
];

const objectSources = [
  "NousResearch/hermes-agent#31435",
  "NousResearch/hermes-agent#48244",
  "nextcloud/integration_openai#360",
];
const toolResult = (content: unknown): readonly object[] => [
  user("x"),
  { role: "assistant", content: null, tool_calls: [chatCall("c1", "read")] },
  { role: "tool", tool_call_id: "c1", content },
];

const citationSources = ["NVIDIA-NeMo/Switchyard#730", "openai/openai-agents-python#4222"];
const page = { url: "https://a.example/p", title: "P", start_index: 0, end_index: 2 };
const annotation = { type: "url_citation", url_citation: page };
const cited: ProviderAnswer = completionOf({
  message: { role: "assistant", content: "hi", annotations: [annotation] },
  finish_reason: "stop",
});
const citedStream = events([
  chunk({ role: "assistant", content: "" }),
  chunk({ annotations: [annotation] }),
  chunk({ content: "hi" }),
  chunk({ annotations: [{ ...annotation, url_citation: { ...page, url: "https://b.example" } }] }),
  chunk({}, {}, "stop"),
  usageChunk,
  done,
]);

const imageSources = [
  "QuantumNous/new-api#1723",
  "openrouter.ai: image generation",
  "router-for-me/CLIProxyAPI#52",
];
const picture = { type: "image_url", image_url: { url: png } };
const drawn: ProviderAnswer = completionOf({
  message: { role: "assistant", content: "here", images: [picture] },
  finish_reason: "stop",
});
const drawnStream = events([
  chunk({ role: "assistant", content: "here" }),
  chunk({ content: "", images: [picture] }),
  chunk({}, {}, "stop"),
  usageChunk,
  done,
]);

const otherModelSources = [
  "NousResearch/hermes-agent#16149",
  "NousResearch/hermes-agent#75725",
  "NousResearch/hermes-agent#85251",
  "SuperJJ007/CSSwitch#73",
];

export const mixedReports: readonly OutsideCase[] = [
  ...(
    [
      ["openai", "openai/gpt-5", chatStream],
      ["openai-over-responses", sol, responseStream],
      ["claude", claude, messageStream],
      ["vllm", vllm, chatStream],
      ["gemini", gemini, chatStream],
    ] as const
  ).map(
    ([name, model, stream]): OutsideCase => ({
      id: `cursor-responses-body-${name}`,
      kind: "bodies of another API",
      source: cursorSources,
      request: ofCursor(model),
      events: stream,
      right: "Cursor sends the Responses API's body and reads a chat completion's chunks",
      check(t, { events: list, sent, text }) {
        t.equal(textsIn(list), "hi");
        t.match(
          text,
          /"total_tokens":12[^\n]*\n\ndata: \[DONE\]\n\n$/,
          "with the usage it asked for",
        );
        const { text: body } = sent.at(-1)!;
        for (const part of ["be brief", "read it", "the text", "go on", "call_1"])
          t.match(body, part);
      },
    }),
  ),
  {
    id: "cursor-responses-body-as-chat",
    kind: "bodies of another API",
    source: cursorSources,
    request: ofCursor(gpt, { stream: false, stream_options: undefined, reasoning: undefined }),
    right: "the provider gets a chat request, with tools in its form",
    lacks: ["input", "include", "text", "stream_options"],
    sends: {
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "read it" },
        {
          role: "assistant",
          tool_calls: [{ id: "call_1", function: { name: "read", arguments: '{"city":"a"}' } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "the text" },
        { role: "user", content: "go on" },
      ],
      tools: [{ type: "function", function: { name: "read", parameters: weather } }],
    },
    receives: { object: "chat.completion", choices: [{ message: { content: "hello" } }] },
  },
  {
    id: "cursor-custom-tool-in-a-responses-body",
    kind: "bodies of another API",
    source: cursorSources,
    request: ofCursor(gpt, {
      reasoning: undefined,
      tools: [
        flatTool,
        {
          type: "custom",
          name: "ApplyPatch",
          format: { type: "grammar", syntax: "lark", definition: "start: x" },
        },
      ],
    }),
    events: chatStream,
    right: "Cursor's custom tool has its grammar in its own object",
    sends: {
      tools: [
        {},
        { type: "custom", custom: { name: "ApplyPatch", format: { grammar: { syntax: "lark" } } } },
      ],
    },
  },
  {
    id: "cursor-responses-body-as-text",
    kind: "bodies of another API",
    source: cursorSources,
    request: {
      path: "/v1/chat/completions",
      body: { model: vllm, instructions: "be brief", input: "x", max_output_tokens: 50 },
    },
    right: "an input that is a text is the user's message",
    sends: {
      max_completion_tokens: 50,
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "x" },
      ],
    },
  },
  {
    id: "cursor-chat-parts-in-an-input",
    kind: "bodies of another API",
    source: ["truefoundry.com: Cursor", "forum.cursor.com/t/153019"],
    request: {
      path: "/v1/chat/completions",
      body: {
        model: claude,
        input: [
          {
            role: "user",
            content: [
              { type: "text", text: "look" },
              { type: "image_url", image_url: { url: png } },
            ],
          },
        ],
      },
    },
    right: "parts of a chat message in the input of the Responses API",
    sends: { messages: [{ content: [{ text: "look" }, { type: "image" }] }] },
  },
  {
    id: "cursor-anthropic-turns-in-an-input",
    kind: "bodies of another API",
    source: ["truefoundry.com: Cursor"],
    request: {
      path: "/v1/chat/completions",
      body: {
        model: claude,
        instructions: "be brief",
        input: [
          user("x"),
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "t1", name: "read", input: { city: "a" } }],
          },
          user([{ type: "tool_result", tool_use_id: "t1", content: "no" }]),
        ],
        tools: [{ name: "read", description: "d", input_schema: weather }],
      },
    },
    right: "Anthropic's turns and tools in the Responses API's body",
    sends: {
      system: [{ text: "be brief" }],
      messages: [
        { content: [{ text: "x" }] },
        { content: [{ type: "tool_use", id: "t1", input: { city: "a" } }] },
        { content: [{ type: "tool_result", tool_use_id: "t1", content: "no" }] },
      ],
      tools: [{ name: "read", input_schema: weather }],
    },
  },
  {
    id: "cursor-continues-a-stored-response",
    kind: "bodies of another API",
    source: ["forum.cursor.com/t/153019"],
    request: ofCursor(gpt, { previous_response_id: "resp_1" }),
    right: "what chat completions can't do is refused by its name",
    status: 400,
    receives: { error: { param: "previous_response_id" } },
  },
  {
    id: "neither-messages-nor-input",
    kind: "bodies of another API",
    source: cursorSources,
    request: { path: "/v1/chat/completions", body: { model: gpt, prompt: "x" } },
    result: "passed",
    right: "without either field the path's own is asked for",
    status: 400,
    receives: { error: { param: "messages" } },
  },
  ...(
    [
      ["openai", gpt, undefined],
      ["claude", claude, undefined],
      ["vllm", vllm, undefined],
    ] as const
  ).map(
    ([name, model]): OutsideCase => ({
      id: `chat-body-at-responses-${name}`,
      kind: "bodies of another API",
      source: responsesSources,
      request: chatAtResponses(model),
      right: "a chat request at the path of the Responses API gets a response",
      receives: { object: "response", status: "completed", output: [{ type: "message" }] },
      check(t, { sent }) {
        for (const part of ["be brief", '"c1"', "read"]) t.match(sent.at(-1)!.text, part);
      },
    }),
  ),
  {
    id: "chat-body-at-responses-in-a-stream",
    kind: "bodies of another API",
    source: responsesSources,
    request: chatAtResponses(vllm, { stream: true, stream_options: { include_usage: true } }),
    events: chatStream,
    right: "its stream is the path's: a response's events",
    check: (t, { events: list }) => t.equal(list.at(-1)!["type"], "response.completed"),
  },
  {
    id: "nested-tools-at-responses",
    kind: "bodies of another API",
    source: ["microsoft/autogen#6935", "diegosouzapw/OmniRoute#291"],
    request: responses({ model: vllm, tools: [chatTool("read")] }),
    right: "tools of a chat request in a response's request",
    sends: { tools: [{ type: "function", function: { name: "read" } }] },
  },
  {
    id: "nested-tools-at-openais-responses",
    kind: "bodies of another API",
    source: ["microsoft/autogen#6935"],
    request: responses({ model: gpt, tools: [chatTool("read")] }),
    result: "decided: a request in the provider's own dialect passes, and its 400 names the field",
    right: "what OpenAI refuses is OpenAI's to name",
    status: 400,
    receives: { error: { message: /tools/ } },
  },
  {
    id: "chat-body-at-messages",
    kind: "bodies of another API",
    source: ["xver101: NyarchLinux/NyarchAssistant#157", "mark3labs/mcphost#36"],
    request: {
      path: "/v1/messages",
      body: { model: gpt, max_tokens: 9, messages: toolResult("a") },
    },
    result:
      "decided: in the reports the program itself is wrong, and no gateway's client sends it: the 400 names the field",
    right: "what Messages don't have is named",
    status: 400,
    receives: { error: { message: /^messages\[1\]\.content is required$/ } },
  },
  ...([gpt, vllm] as const).map(
    (model): OutsideCase => ({
      id: `messages-body-at-chat-${model}`,
      kind: "bodies of another API",
      source: dialectSources,
      request: ofMessages(model),
      right: "Anthropic's blocks, tools and choice in a chat request are the same request",
      lacks: ["system", "stop_sequences"],
      sends: asChat,
      receives: { object: "chat.completion" },
    }),
  ),
  {
    id: "messages-body-at-chat-claude",
    kind: "bodies of another API",
    source: dialectSources,
    request: ofMessages(claude),
    right: "Anthropic's blocks, tools and choice in a chat request are the same request",
    sends: {
      system: [{ text: "be brief" }],
      messages: [
        { content: [{ text: "look" }, { type: "image", source: { data: bare } }] },
        { content: [{ text: "I look" }, { type: "tool_use", input: { city: "a" } }] },
        { content: [{ type: "tool_result", tool_use_id: "toolu_1" }, { text: "go on" }] },
      ],
      tools: [{ name: "read", input_schema: weather }],
      tool_choice: { type: "any" },
      stop_sequences: ["END"],
    },
    receives: { object: "chat.completion" },
  },
  {
    id: "messages-body-at-chat-over-responses",
    kind: "bodies of another API",
    source: dialectSources,
    request: ofMessages(sol),
    right: "Anthropic's blocks, tools and choice in a chat request are the same request",
    sends: {
      input: [
        { role: "system" },
        { content: [{ type: "input_text" }, { type: "input_image", image_url: png }] },
        { role: "assistant" },
        { type: "function_call", call_id: "toolu_1", name: "read" },
        { type: "function_call_output", call_id: "toolu_1" },
        { content: [{ text: "go on" }] },
      ],
      tools: [{ type: "function", name: "read" }],
    },
  },
  {
    id: "thinking-block-in-a-chat-message",
    kind: "bodies of another API",
    source: dialectSources,
    request: chat({
      model: claude,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "why", signature },
            { type: "tool_use", id: "t1", name: "read", input: {} },
          ],
        },
        user([{ type: "tool_result", tool_use_id: "t1", content: { ok: true } }]),
      ],
    }),
    right: "Anthropic's signed thinking stays with its calls",
    sends: {
      messages: [
        {},
        {
          content: [
            { type: "thinking", thinking: "why", signature },
            { type: "tool_use", id: "t1" },
          ],
        },
        { content: [{ type: "tool_result", content: '{"ok":true}' }] },
      ],
    },
  },
  {
    id: "responses-parts-at-claude",
    kind: "parts of another API",
    source: partSources,
    request: chat({ model: claude, messages: responsesParts }),
    right: "parts of the Responses API in a chat message",
    sends: {
      system: [{ text: "s" }],
      messages: [
        { content: [{ text: "t" }, { type: "image" }, { type: "document", title: "a.pdf" }] },
        { content: [{ text: "a" }] },
        {},
      ],
    },
  },
  ...([gpt, gemini, vllm] as const).map(
    (model): OutsideCase => ({
      id: `responses-parts-at-${model}`,
      kind: "parts of another API",
      source: partSources,
      request: chat({ model, messages: responsesParts }),
      right: "parts of the Responses API in a chat message",
      sends: {
        messages: [
          { content: [{ type: "text", text: "s" }] },
          {
            content: [
              { type: "text", text: "t" },
              { type: "image_url", image_url: { url: png, detail: "low" } },
              { type: "file", file: { filename: "a.pdf" } },
            ],
          },
          { content: [{ type: "text", text: "a" }] },
          { content: "go on" },
        ],
      },
    }),
  ),
  {
    id: "responses-parts-over-responses",
    kind: "parts of another API",
    source: [...partSources, "epam/ai-dial-adapter-openai#511"],
    request: chat({ model: sol, tools: [chatTool("read")], messages: responsesParts }),
    right: "an assistant's text is output there, also if the client calls it input",
    sends: {
      input: [
        { content: [{ type: "input_text" }] },
        { content: [{ type: "input_text" }, { type: "input_image" }, { type: "input_file" }] },
        { content: [{ type: "output_text", text: "a" }] },
        {},
      ],
    },
  },
  ...(
    [
      ["without-its-type", `data:;base64,${bare}`, "assistant-ui/assistant-ui#7217"],
      ["as-bare-base64", bare, "WordPress/php-ai-client#137"],
    ] as const
  ).map(
    ([name, url, source]): OutsideCase => ({
      id: `image-${name}`,
      kind: "parts of another API",
      source: [source, "ollama/ollama#7247"],
      request: chat({
        model: claude,
        messages: [user([{ type: "image_url", image_url: { url } }])],
      }),
      right: "an image's first bytes show what it is",
      sends: {
        messages: [{ content: [{ source: { media_type: "image/png", data: bare } }] }],
      },
    }),
  ),
  ...(
    [
      ["pdf", pdf, { type: "base64", media_type: "application/pdf", data: pdf }],
      ["text", Buffer.from("a, b").toString("base64"), { type: "text", data: "a, b" }],
    ] as const
  ).map(
    ([name, data, blockSource]): OutsideCase => ({
      id: `file-without-its-type-${name}`,
      kind: "parts of another API",
      source: ["assistant-ui/assistant-ui#7217"],
      request: chat({
        model: claude,
        messages: [
          user([
            { type: "file", file: { file_data: data } },
            { type: "file", file: { file_data: `data:;base64,${data}` } },
          ]),
        ],
      }),
      right: "a file's first bytes show what it is; a text is one",
      sends: {
        messages: [
          {
            content: [
              { type: "document", source: blockSource },
              { type: "document", source: blockSource },
            ],
          },
        ],
      },
    }),
  ),
  {
    id: "file-that-is-neither",
    kind: "parts of another API",
    source: ["assistant-ui/assistant-ui#7217"],
    request: chat({
      model: claude,
      messages: [user([{ type: "file", file: { file_data: "data:;base64,//79/A==" } }])],
    }),
    result: "passed",
    right: "bytes that are no document are refused by the field's name",
    status: 400,
    receives: { error: { message: /messages\[0\]\.content\[0\]\.file\.file_data must be/ } },
  },
  ...(
    [
      ["object", { ok: true, items: [1, 2] }, '{"ok":true,"items":[1,2]}'],
      ["list", [{ id: 1 }, { id: 2 }], [{ text: '{"id":1}' }, { text: '{"id":2}' }]],
      ["list-of-texts", ["a", "b"], [{ text: "a" }, { text: "b" }]],
      ["single-part", { type: "text", text: "a" }, [{ text: "a" }]],
    ] as const
  ).map(
    ([name, content, result]): OutsideCase => ({
      id: `tool-result-as-an-${name}`,
      kind: "parts of another API",
      source: objectSources,
      request: chat({ model: claude, messages: toolResult(content) }),
      right: "what a tool returned reaches the model as its JSON",
      sends: { messages: [{}, {}, { content: [{ type: "tool_result", content: result }] }] },
    }),
  ),
  {
    id: "tool-result-as-an-object-over-responses",
    kind: "parts of another API",
    source: objectSources,
    request: chat({ model: sol, tools: [chatTool("read")], messages: toolResult({ ok: true }) }),
    right: "what a tool returned reaches the model as its JSON",
    sends: { input: [{}, {}, { type: "function_call_output", output: '{"ok":true}' }] },
  },
  {
    id: "tool-result-as-an-object-at-openai",
    kind: "parts of another API",
    source: objectSources,
    request: chat({ model: gpt, messages: toolResult({ ok: true }) }),
    right: "what a tool returned reaches the model as its JSON",
    sends: { messages: [{}, {}, { role: "tool", content: '{"ok":true}' }] },
  },
  {
    id: "long-tool-results-as-objects",
    kind: "parts of another API",
    source: objectSources,
    request: chat({
      model: claude,
      messages: [
        ...toolResult([
          { text: "a".repeat(9000), rows: ["b".repeat(9000)] },
          { type: "text", text: "c".repeat(9000) },
        ]),
        user("d".repeat(600_000)),
        user("x"),
      ],
    }),
    right: "long texts in what a tool returned are whole",
    check(t, { sent }) {
      const { text } = sent.at(-1)!;
      t.match(
        text,
        `{\\"text\\":\\"${"a".repeat(9000)}\\",\\"rows\\":[\\"${"b".repeat(9000)}\\"]}`,
      );
      t.match(text, `"text":"${"c".repeat(9000)}"`);
      t.notMatch(text, "\\u0000");
    },
  },
  {
    id: "image-of-an-mcp-tool",
    kind: "parts of another API",
    source: ["BerriAI/litellm#23712", "router-for-me/CLIProxyAPI#4737"],
    request: chat({
      model: claude,
      messages: toolResult([{ type: "image", data: bare, mimeType: "image/png" }]),
    }),
    right: "an image of an MCP server's tool is an image",
    sends: {
      messages: [{}, {}, { content: [{ content: [{ type: "image", source: { data: bare } }] }] }],
    },
  },
  {
    id: "empty-cache-of-google",
    kind: "parts of another API",
    source: ["Google: cachedContent, a field of SDKs whose default is an empty text"],
    request: google(vllm, { cachedContent: "" }),
    right: "an empty name names no cache",
    receives: { candidates: [{}] },
  },
  {
    id: "cache-of-google",
    kind: "parts of another API",
    source: ["Helicone/helicone#5605"],
    request: google(vllm, { cachedContent: "cachedContents/1" }),
    result: "passed",
    right: "what is cached at Google can't be read elsewhere",
    status: 400,
    receives: { error: { message: /cachedContent/ } },
  },
  {
    id: "message-start-twice",
    kind: "streams",
    source: ["maximhq/bifrost#4556", "BerriAI/litellm#32478", "BerriAI/litellm#33859"],
    request: chat({ model: claude, stream: true }),
    events: events([messageEvents([])[0]!, ...messageEvents([streamedText("hi")])]),
    right: "the same message begins once, however often a gateway says so",
    check: (t, { events: list }) => t.equal(textsIn(list), "hi"),
  },
  {
    id: "two-messages-in-a-stream",
    kind: "streams",
    source: ["vercel/ai#18331"],
    request: chat({ model: claude, stream: true }),
    events: events([
      ...messageEvents([{ block: { type: "text", text: "ha" } }], null),
      ...messageEvents([streamedText("hi")]).map((event) =>
        "message" in event
          ? { ...event, message: { ...(event["message"] as object), id: "msg_2" } }
          : event,
      ),
    ]),
    result: "passed",
    right: "a second answer isn't the end of the first: the stream ends with an error",
    check: (t, { text }) => t.match(text, /"error":\{/),
  },
  {
    id: "pages-cited-for-claude-code",
    kind: "citations",
    source: citationSources,
    request: messages({ model: vllm }),
    answer: cited,
    right: "pages that the answer cites are the text's citations",
    receives: {
      content: [
        {
          type: "text",
          text: "hi",
          citations: [{ type: "web_search_result_location", url: page.url, title: "P" }],
        },
      ],
    },
  },
  {
    id: "pages-cited-for-claude-code-in-a-stream",
    kind: "citations",
    source: citationSources,
    request: messages({ model: vllm, stream: true }),
    events: citedStream,
    right: "pages that the answer cites are the text's citations, also if they come first",
    check(t, { events: list }) {
      const urls = list
        .map(({ delta }) => delta as { type?: string; citation?: { url: string } } | undefined)
        .filter((delta) => delta?.type === "citations_delta")
        .map((delta) => delta?.citation?.url);
      t.same(urls, [page.url, "https://b.example"]);
      t.equal(list.filter(({ type }) => type === "content_block_start").length, 1);
    },
  },
  {
    id: "pages-cited-for-gemini-cli",
    kind: "citations",
    source: citationSources,
    request: google(vllm, {}),
    answer: cited,
    right: "pages that the answer cites are its grounding",
    receives: {
      candidates: [
        { groundingMetadata: { groundingChunks: [{ web: { uri: page.url, title: "P" } }] } },
      ],
    },
  },
  {
    id: "pages-cited-for-gemini-cli-in-a-stream",
    kind: "citations",
    source: citationSources,
    request: google(vllm, {}, "streamGenerateContent?alt=sse"),
    events: citedStream,
    right: "pages that the answer cites are its grounding",
    check: (t, { events: list }) =>
      t.match(
        list.at(-1),
        exactly({
          candidates: [
            {
              groundingMetadata: {
                groundingChunks: [
                  { web: { uri: page.url } },
                  { web: { uri: "https://b.example" } },
                ],
              },
            },
          ],
        }),
      ),
  },
  {
    id: "pages-of-claude-for-gemini-cli",
    kind: "citations",
    source: citationSources,
    request: google(claude, {}),
    answer: messageOf([
      {
        type: "text",
        text: "hi",
        citations: [{ type: "web_search_result_location", url: page.url, title: "P" }],
      },
    ]),
    right: "pages that Claude cites are the answer's grounding",
    receives: { candidates: [{ groundingMetadata: { groundingChunks: [{}] } }] },
  },
  {
    id: "citations-of-another-model-at-claude",
    kind: "citations",
    source: citationSources,
    request: messages({
      model: claude,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [
            {
              type: "text",
              text: "hi",
              citations: [
                {
                  type: "web_search_result_location",
                  url: page.url,
                  title: "P",
                  encrypted_index: "unsigned",
                  cited_text: "",
                },
              ],
            },
          ],
        },
        user("y"),
      ],
    }),
    right: "Anthropic gets no citation back that it hasn't made",
    sends: { messages: [{}, { content: exactly([{ type: "text", text: "hi" }]) }, {}] },
  },
  {
    id: "picture-for-gemini-cli",
    kind: "images",
    source: imageSources,
    request: google(openrouter, { generationConfig: { responseModalities: ["TEXT", "IMAGE"] } }),
    answer: drawn,
    right: "a picture beside the text is inline data, and is asked for",
    sends: { modalities: ["text", "image"] },
    receives: {
      candidates: [
        {
          content: {
            parts: [{ text: "here" }, { inlineData: { mimeType: "image/png", data: bare } }],
          },
        },
      ],
    },
  },
  {
    id: "picture-for-gemini-cli-in-a-stream",
    kind: "images",
    source: imageSources,
    request: google(vllm, {}, "streamGenerateContent?alt=sse"),
    events: drawnStream,
    right: "a picture beside the text is inline data",
    check: (t, { text }) => t.match(text, `"inlineData":{"mimeType":"image/png","data":"${bare}"}`),
  },
  {
    id: "picture-at-claude",
    kind: "images",
    source: imageSources,
    request: google(claude, { generationConfig: { responseModalities: ["IMAGE"] } }),
    result: "passed",
    right: "Claude makes no pictures",
    status: 400,
    receives: { error: { message: /modalities/i } },
  },
  {
    id: "picture-for-codex",
    kind: "images",
    source: imageSources,
    request: responses({ model: vllm }),
    answer: drawn,
    right: "a picture beside the text is what the API's own tool gives",
    receives: {
      output: [
        { type: "message" },
        { type: "image_generation_call", status: "completed", result: bare },
      ],
    },
  },
  {
    id: "picture-for-codex-in-a-stream",
    kind: "images",
    source: imageSources,
    request: responses({ model: vllm, stream: true }),
    events: drawnStream,
    right: "a picture beside the text is what the API's own tool gives",
    check: (t, { events: list }) =>
      t.match(
        list.at(-1),
        exactly({
          type: "response.completed",
          response: { output: [{ type: "message" }, { type: "image_generation_call" }] },
        }),
      ),
  },
  {
    id: "picture-for-claude-code",
    kind: "images",
    source: imageSources,
    request: messages({ model: vllm }),
    answer: drawn,
    right: "Messages have no pictures in answers: the text says that there was one",
    receives: { content: [{ text: "here" }, { type: "text", text: /image \(image\/png\)/ }] },
  },
  {
    id: "picture-for-claude-code-in-a-stream",
    kind: "images",
    source: imageSources,
    request: messages({ model: vllm, stream: true }),
    events: events([
      chunk({ content: "here" }),
      chunk({ images: [{ type: "image_url", image_url: { url: "https://a.example/i.png" } }] }),
      chunk({}, {}, "stop"),
      usageChunk,
      done,
    ]),
    right: "a picture at an address is a link",
    check: (t, { text }) => t.match(text, "![image](https://a.example/i.png)"),
  },
  {
    id: "picture-as-a-part",
    kind: "images",
    source: ["Google: Gemini's chat completions, pictures as parts of the content"],
    request: google(vllm, {}),
    answer: completionOf({
      message: { role: "assistant", content: [{ type: "text", text: "here" }, picture] },
      finish_reason: "stop",
    }),
    right: "a picture among the parts of the content is one",
    receives: { candidates: [{ content: { parts: [{}, { inlineData: {} }] } }] },
  },
  {
    id: "thinking-of-another-host-at-deepseek",
    kind: "thinking",
    source: otherModelSources,
    request: messages({
      model: deepseek,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "why", signature: "unsigned" },
            { type: "tool_use", id: "t1", name: "read", input: {} },
          ],
        },
        user([{ type: "tool_result", tool_use_id: "t1", content: "a" }]),
      ],
      tools: [{ name: "read", input_schema: weather }],
    }),
    right: "other makers' models take thinking back without a signature, and want it",
    sends: {
      messages: [
        {},
        { content: [exactly({ type: "thinking", thinking: "why" }), { type: "tool_use" }] },
        {},
      ],
    },
  },
  {
    id: "thinking-of-deepseek-stays",
    kind: "thinking",
    source: otherModelSources,
    request: messages({
      model: deepseek,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "why", signature: "of deepseek" },
            { type: "tool_use", id: "t1", name: "read", input: {} },
          ],
        },
        user([{ type: "tool_result", tool_use_id: "t1", content: "a" }]),
      ],
    }),
    result: "passed",
    right: "what a host signed goes back as it was",
    sends: { messages: [{}, { content: [{ signature: "of deepseek" }, {}] }, {}] },
  },
  ...(
    [
      [
        "chat",
        chat({
          model: deepseek,
          messages: [
            user("x"),
            {
              role: "assistant",
              content: null,
              reasoning_content: "why",
              tool_calls: [chatCall("c1", "read")],
            },
            { role: "tool", tool_call_id: "c1", content: "a" },
          ],
        }),
      ],
      [
        "responses",
        responses({
          model: deepseek,
          input: [
            user("x"),
            { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "why" }] },
            { type: "function_call", call_id: "c1", name: "read", arguments: "{}" },
            { type: "function_call_output", call_id: "c1", output: "a" },
          ],
        }),
      ],
    ] as const
  ).map(
    ([client, request]): OutsideCase => ({
      id: `reasoning-goes-back-to-deepseek-${client}`,
      kind: "thinking",
      source: [...otherModelSources, "SaladDay/cc-switch-cli#170"],
      request,
      right: "reasoning before calls goes back as thinking without a signature",
      sends: {
        messages: [
          {},
          { content: [exactly({ type: "thinking", thinking: "why" }), { type: "tool_use" }] },
          {},
        ],
      },
    }),
  ),
  {
    id: "thinking-without-signature-from-deepseek",
    kind: "thinking",
    source: ["QuantumNous/new-api#4761", "QuantumNous/new-api#4763"],
    request: chat({ model: deepseek, stream: true }),
    events: events(
      messageEvents([
        {
          block: { type: "thinking", thinking: "" },
          deltas: [{ type: "thinking_delta", thinking: "why" }],
        },
        streamedText("hi"),
      ]),
    ),
    result: "passed",
    right: "thinking without a signature is reasoning",
    check: (t, { text }) => t.match(text, '"reasoning_content":"why"'),
  },
  {
    id: "thinking-that-the-client-has-dropped",
    kind: "thinking",
    source: ["SuperJJ007/CSSwitch#73", "NousResearch/hermes-agent#16149"],
    request: messages({
      model: deepseek,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "t1", name: "read", input: {} }],
        },
        user([{ type: "tool_result", tool_use_id: "t1", content: "a" }]),
      ],
    }),
    answer: {
      status: 400,
      body: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "The content[].thinking in the thinking mode must be passed back to the API.",
        },
      },
    },
    result:
      "decided: made-up thinking would be no better, and whether to think is the client's choice: the 400 says what is missing",
    right: "what a client has dropped can't be given back",
    status: 400,
    receives: { error: { message: /must be passed back/ } },
  },
  {
    id: "thinking-without-signature-in-its-own-dialect",
    kind: "thinking",
    source: ["QuantumNous/new-api#4761", "QuantumNous/new-api#4763"],
    request: messages({ model: deepseek }),
    answer: messageOf([
      { type: "thinking", thinking: "why" },
      { type: "text", text: "hi" },
    ]),
    result: "decided: an answer in the client's own dialect passes byte for byte",
    right: "an answer in the client's own dialect is the provider's",
    receives: { content: [exactly({ type: "thinking", thinking: "why" }), {}] },
  },
  {
    id: "reasoning-alone-isn't-sent-to-claude",
    kind: "thinking",
    source: otherModelSources,
    request: chat({
      model: claude,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: null,
          reasoning_content: "why",
          tool_calls: [chatCall("c1", "read")],
        },
        { role: "tool", tool_call_id: "c1", content: "a" },
      ],
    }),
    result: "passed",
    right: "Anthropic takes no thinking that it hasn't signed",
    sends: { messages: [{}, { content: [{ type: "tool_use" }] }, {}] },
  },
];
