/**
 * Reports about what isn't a conversation: batches, files, reranking, counts of tokens, moderation,
 * sound, pictures; and about bytes: headers, characters, marks.
 */
import type { OutsideCase, ProviderAnswer } from "./outside-case.js";
import {
  chat,
  chatTool,
  chunk,
  completionOf,
  done,
  events,
  google,
  messageEvents,
  messages,
  responses,
  streamed,
  streamedText,
  usageChunk,
  user,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-opus-4-8";
const gpt = "openai/gpt-4o";

const boundary = "----b";
type Part = readonly [name: string, value: string | Buffer, file?: string];
/** A form's bytes, its parts in this order. */
const form = (
  path: string,
  parts: readonly Part[],
  headers: Readonly<Record<string, string>> = {},
): OutsideCase["request"] => ({
  path,
  headers: { "content-type": `multipart/form-data; boundary=${boundary}`, ...headers },
  raw: new Uint8Array(
    Buffer.concat([
      ...parts.flatMap(([name, value, file]) => [
        Buffer.from(
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? "" : `; filename="${file}"\r\nContent-Type: application/octet-stream`}\r\n\r\n`,
        ),
        Buffer.from(value),
        Buffer.from("\r\n"),
      ]),
      Buffer.from(`--${boundary}--\r\n`),
    ]),
  ),
});
const sound: Part = ["file", Buffer.from([0xff, 0xf3, 0, 0x0d, 0x0a, 0x2d, 0x2d]), "a.mp3"];

const batchSources = ["ENTERPILOT/GoModel#546", "mozilla-ai/any-llm#1041"];
const messageBatch = {
  id: "msgbatch_1",
  type: "message_batch",
  processing_status: "ended",
  request_counts: { processing: 0, succeeded: 1, errored: 0, canceled: 0, expired: 0 },
  created_at: "2026-11-30T00:00:00Z",
  expires_at: "2026-12-01T00:00:00Z",
  results_url: "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results",
};
const messageBatchOf = (...models: readonly string[]): OutsideCase["request"] => ({
  path: "/v1/messages/batches",
  body: {
    requests: models.map((model, i) => ({
      custom_id: `r${i}`,
      params: { model, max_tokens: 9, messages: [user("x")] },
    })),
  },
});
const ranked: ProviderAnswer = {
  body: {
    id: "r",
    results: [{ index: 1, relevance_score: 0.9, document: null }],
    meta: { billed_units: { search_units: 1 } },
  },
};
const rerankSources = [
  "vllm-project/vllm#12376",
  "AnswerDotAI/rerankers#50",
  "joonsoome/embed-rerank#11",
];
const documents = ["a", { text: "b", id: "custom" }];
const ranking = { model: vllm, query: "q", documents, top_n: 1, return_documents: true };
const withoutModel = ({ model: _, ...rest }: Record<string, unknown>): object => rest;

const countSources = ["router-for-me/CLIProxyAPI#679", "BerriAI/litellm#37102"];
const longTool = { name: "read", description: "d".repeat(400), input_schema: { type: "object" } };
const count = (model: string, more: object = {}): OutsideCase["request"] => ({
  path: "/v1/messages/count_tokens?beta=true",
  body: { model, messages: [user("x")], ...more },
});

const splitSources = [
  "api7/aisix#111",
  "musistudio/claude-code-router#1672",
  "danielmiessler/Fabric#2203",
  "cnighswonger/claude-code-cache-fix#367",
  "anomalyco/opencode#39694",
];
const chinese = "你好，世界 🌍";
const chineseStream = Buffer.from(
  events([
    chunk({ role: "assistant", content: "" }),
    chunk({ content: chinese }),
    chunk({}, {}, "stop"),
    usageChunk,
    done,
  ]),
);
/** The places inside its characters. */
const inside = [...chineseStream.keys()].filter((at) => (chineseStream[at]! & 0xc0) === 0x80);

const halfSources = ["elie222/rakazo#416", "agent0ai/agent-zero#1774"];
/** An emoji's halves in two pieces, as JSON writes them. */
const halves = events([
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a\\ud83d"},"finish_reason":null}]}',
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"\\ude00b"},"finish_reason":null}]}',
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{\\"a\\":\\"\\ud83d"}}]},"finish_reason":null}]}',
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\ude00\\"}"}}]},"finish_reason":null}]}',
  chunk({}, {}, "tool_calls"),
  usageChunk,
  done,
]);
const read = { name: "read", input_schema: { type: "object", properties: {} } };
const readOfResponses = { type: "function", name: "read", parameters: {} };
const readOfGoogle = { functionDeclarations: [{ name: "read" }] };

const markSources = [
  "openai/openai-python#3819",
  "vm0-ai/vm0#24687",
  "elizaOS/eliza#19260",
  "avibe-bot/avibe#1786",
];
const mark = "\ufeff";
const nulSources = ["BerriAI/litellm#21290", "BerriAI/litellm#29515", "kortix-ai/suna#4014"];
const headerSources = [
  "lobehub/lobehub#7435",
  "kserve/models-web-app#159",
  "okta/okta-oidc-middleware#14",
  "verdaccio/verdaccio#2059",
];

export const endpointReports: readonly OutsideCase[] = [
  {
    id: "results-of-a-message-batch",
    kind: "batches",
    source: batchSources,
    request: { path: "/v1/messages/batches/msgbatch_1", method: "GET" },
    answer: { body: messageBatch },
    result: "passed",
    right: "the SDK follows results_url, which leads through the gateway",
    check(t, { body }) {
      const { results_url: url } = body as { results_url: string };
      t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/v1\/messages\/batches\/msgbatch_1\/results$/);
    },
  },
  {
    id: "message-batch",
    kind: "batches",
    source: batchSources,
    request: messageBatchOf("claude-opus-4-8", "claude-opus-4-6"),
    answer: { body: messageBatch },
    result: "passed",
    right: "each request of a batch names its model as the provider does",
    sends: messageBatchOf("claude-opus-4-8", "claude-opus-4-6").body!,
    receives: { id: "msgbatch_1" },
  },
  ...[gpt, "anthropic/claude-opus-4-6"].map(
    (model): OutsideCase => ({
      id: `message-batch-with-${model}`,
      kind: "batches",
      source: batchSources,
      request: messageBatchOf("claude-opus-4-8", model),
      answer: { body: messageBatch },
      right:
        "a name that the provider doesn't know is refused at once, not by a result hours later",
      status: 400,
      receives: {
        error: { message: /^requests\[1\]\.params\.model must be the provider's own name/ },
      },
    }),
  ),
  {
    id: "batch-of-openai",
    kind: "batches",
    source: ["BerriAI/litellm#3885", "BerriAI/litellm#27641"],
    request: {
      path: "/v1/batches",
      body: {
        input_file_id: "file-abc123",
        endpoint: "/v1/chat/completions",
        completion_window: "24h",
        metadata: { team: "a" },
      },
    },
    answer: {
      body: {
        id: "batch_1",
        object: "batch",
        endpoint: "/v1/chat/completions",
        input_file_id: "file-abc123",
        completion_window: "24h",
        status: "validating",
        created_at: 1,
      },
    },
    result: "passed",
    right: "a batch is submitted as it is",
    sends: { input_file_id: "file-abc123", metadata: { team: "a" } },
    receives: { id: "batch_1", status: "validating" },
  },
  {
    id: "file-for-a-batch",
    kind: "files",
    source: ["BerriAI/litellm#10117", "BerriAI/litellm#36176", "BerriAI/litellm#37527"],
    request: form("/v1/files", [
      ["purpose", "batch"],
      ["target_model_names", "gpt-4o"],
      ["expires_after[seconds]", "3600"],
      ["file", '{"custom_id":"a"}\n', "a.jsonl"],
    ]),
    answer: { body: { id: "file-1", object: "file", bytes: 18, purpose: "batch" } },
    result: "passed",
    right: "a form reaches the provider byte for byte, with fields that Sluice doesn't know",
    receives: { id: "file-1" },
    check(t, { sent }) {
      const { text } = sent.at(-1)!;
      for (const part of [
        'name="purpose"',
        "target_model_names",
        "expires_after[seconds]",
        '{"custom_id":"a"}\n',
      ])
        t.match(text, part);
    },
  },
  {
    id: "file-through-a-provider",
    kind: "files",
    source: ["BerriAI/litellm#29926"],
    request: form("/p/openai/v1/files", [
      ["purpose", "ocr"],
      ["file", "%PDF-1.4", "document.pdf"],
    ]),
    answer: { body: { id: "file-1" } },
    result: "passed",
    right: "what passes through may be a form",
    check: (t, { sent }) => t.match(sent.at(-1)!.text, "%PDF-1.4"),
  },
  ...(["/v1/rerank", "/rerank", "/v2/rerank"] as const).map(
    (path): OutsideCase => ({
      id: `rerank-at-${path}`,
      kind: "reranking",
      source: rerankSources,
      request: { path, body: ranking },
      answer: ranked,
      ...(path.includes("v2") ? {} : { result: "passed" as const }),
      right:
        "Cohere's SDK adds v2 to its address; documents may be objects, and a result have none",
      sends: { ...withoutModel(ranking), model: "qwen3-coder" },
      receives: { results: [{ index: 1, document: null }] },
    }),
  ),
  {
    id: "rerank-without-documents",
    kind: "reranking",
    source: rerankSources,
    request: { path: "/v1/rerank", body: { model: vllm, query: "q" } },
    result: "passed",
    right: "the missing field is named",
    status: 400,
    receives: { error: { param: "documents" } },
  },
  {
    id: "rerank-at-claude",
    kind: "reranking",
    source: rerankSources,
    request: { path: "/v1/rerank", body: { ...ranking, model: claude } },
    result: "passed",
    right: "a provider that doesn't rank is named",
    status: 400,
    receives: { error: { message: /provider anthropic does not offer rerank/ } },
  },
  {
    id: "count-where-nobody-counts",
    kind: "counts of tokens",
    source: [...countSources, "BerriAI/litellm#13252", "coder/aibridge#34"],
    request: count(vllm, { system: "s".repeat(400), tools: [longTool] }),
    answer: { status: 404, body: { error: { message: "Not Found" } } },
    result: "passed",
    right: "an estimate has the system prompt and the tools, and says that it is one",
    check(t, { body, headers }) {
      t.equal(headers.get("x-sluice-estimated"), "true");
      t.ok((body as { input_tokens: number }).input_tokens > 200);
    },
  },
  {
    id: "count-at-claude",
    kind: "counts of tokens",
    source: [...countSources, "icebear0828/codex-proxy#612"],
    request: count(claude, { tools: [longTool] }),
    answer: { body: { input_tokens: 77 } },
    result: "passed",
    right: "Anthropic counts",
    receives: { input_tokens: 77 },
  },
  {
    id: "count-that-the-host-refuses",
    kind: "counts of tokens",
    source: ["BerriAI/litellm#37102"],
    request: count(claude),
    answer: { status: 400, body: { error: { message: "CountTokens is not supported" } } },
    result: "decided: in the provider's own dialect a 400 may be the client's mistake, and passes",
    right: "what the provider says of a request in its own dialect is its word",
    status: 400,
    receives: { error: { message: "CountTokens is not supported" } },
  },
  {
    id: "moderation-of-pictures",
    kind: "moderation",
    source: ["Portkey-AI/portkey-node-sdk#170", "BerriAI/litellm#14031"],
    request: {
      path: "/v1/moderations",
      body: {
        model: gpt,
        input: [
          { type: "text", text: "x" },
          { type: "image_url", image_url: { url: "https://a.example/i.png" } },
        ],
      },
    },
    answer: { body: { id: "modr-1", model: "m", results: [{ flagged: false }] } },
    result: "passed",
    right: "a list of texts and pictures passes as it is",
    sends: { input: [{ type: "text" }, { type: "image_url" }] },
    receives: { results: [{ flagged: false }] },
  },
  {
    id: "transcription-with-both-timestamps",
    kind: "sound",
    source: ["BerriAI/litellm#35937", "BerriAI/litellm#12407", "Menci/Floway#245"],
    request: form("/v1/audio/transcriptions", [
      sound,
      ["response_format", "verbose_json"],
      ["timestamp_granularities[]", "word"],
      ["timestamp_granularities[]", "segment"],
      ["model", vllm],
    ]),
    answer: { body: { text: "a", duration: 1, words: [], segments: [] } },
    result: "passed",
    right: "a field that is there twice stays so, and the model may come last",
    check(t, { sent }) {
      const { text } = sent.at(-1)!;
      t.equal(text.match(/timestamp_granularities\[\]/g)?.length, 2);
      t.match(text, /name="model"\r\n\r\nqwen3-coder\r\n/);
    },
  },
  {
    id: "transcription-as-a-stream",
    kind: "sound",
    source: ["Menci/Floway#245", "vllm-project/vllm#36679"],
    request: form("/v1/audio/transcriptions", [["model", vllm], ["stream", "true"], sound]),
    answer: streamed(
      events([
        { type: "transcript.text.delta", delta: "a" },
        {
          type: "transcript.text.done",
          text: "a",
          usage: { type: "tokens", input_tokens: 9, output_tokens: 1, total_tokens: 10 },
        },
      ]),
    ),
    result: "passed",
    right: "a transcript's stream ends with its last event, without [DONE]",
    check: (t, { text, cut }) =>
      t.ok(!cut && !text.includes("[DONE]") && text.includes("text.done")),
  },
  {
    id: "transcription-without-a-model",
    kind: "sound",
    source: ["vllm-project/vllm#36679"],
    request: form("/v1/audio/transcriptions", [sound]),
    result: "decided: a gateway can't guess the model; `default_models` names one",
    right: "the missing field is named",
    status: 400,
    receives: { error: { param: "model" } },
  },
  {
    id: "speech-as-events",
    kind: "sound",
    source: ["BerriAI/litellm#33976", "envoyproxy/ai-gateway#1831"],
    request: {
      path: "/v1/audio/speech",
      body: { model: gpt, input: "hi", voice: "alloy", stream_format: "sse" },
    },
    answer: streamed(
      events([
        { type: "speech.audio.delta", audio: "AAAA" },
        {
          type: "speech.audio.done",
          usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 },
        },
      ]),
    ),
    result: "passed",
    right: "speech in events passes as it is",
    check(t, { text, headers }) {
      t.match(headers.get("content-type"), "text/event-stream");
      t.match(text, "speech.audio.done");
    },
  },
  {
    id: "speech-as-bytes",
    kind: "sound",
    source: ["envoyproxy/ai-gateway#1831", "sgl-project/sglang-omni#654"],
    request: {
      path: "/v1/audio/speech",
      body: { model: gpt, input: "hi", voice: "alloy", response_format: "pcm" },
    },
    answer: {
      headers: { "content-type": "audio/pcm", "x-sample-rate": "24000" },
      body: Buffer.from([0, 1, 127, 66]),
    },
    result: "passed",
    right: "sound passes byte for byte under its own content type",
    check(t, { text, headers }) {
      t.equal(headers.get("content-type"), "audio/pcm");
      t.equal(text, "\u0000\u0001\u007fB");
    },
  },
  {
    id: "several-pictures-to-edit",
    kind: "images",
    source: ["BerriAI/litellm#41602", "BerriAI/litellm#41625", "basketikun/chatgpt2api#13"],
    request: form("/v1/images/edits", [
      ["image[]", Buffer.from("\x89PNG1", "latin1"), "a.png"],
      ["image[]", Buffer.from("\x89PNG2", "latin1"), "b.png"],
      ["mask", "m", "m.png"],
      ["prompt", "make it blue"],
      ["model", gpt],
    ]),
    answer: { body: { created: 1, data: [{ b64_json: "aGk=" }] } },
    result: "passed",
    right: "each picture stays a file of its own",
    check(t, { sent }) {
      const { text } = sent.at(-1)!;
      t.equal(text.match(/name="image\[\]"; filename=/g)?.length, 2);
      t.match(text, /name="model"\r\n\r\ngpt-4o\r\n/);
    },
  },
  {
    id: "pictures-to-edit-as-json",
    kind: "images",
    source: ["DeliciousBuding/metapi-go#210"],
    request: {
      path: "/v1/images/edits",
      body: { model: gpt, prompt: "x", images: [{ image_url: "https://a.example/i.png" }] },
    },
    answer: { body: { created: 1, data: [{ b64_json: "aGk=" }] } },
    right: "what the endpoint takes is named",
    status: 400,
    receives: { error: { message: /multipart\/form-data/ } },
  },
  {
    id: "pictures-by-googles-other-method",
    kind: "images",
    source: ["router-for-me/CLIProxyAPI#1322"],
    request: google("gemini/gemini-3-pro-preview", {}, "generateImages"),
    result: "decided: no provider of Sluice's has the method; generateContent makes pictures",
    right: "a method that isn't served is 404, and says so",
    status: 404,
    receives: { error: { message: /generateImages/ } },
  },
  {
    id: "videos",
    kind: "images",
    source: ["router-for-me/CLIProxyAPI#4751"],
    request: { path: "/v1/videos", body: { model: gpt, prompt: "x" } },
    result: "decided: videos aren't offered but by passthrough",
    right: "an endpoint that isn't served is 404, and says so",
    status: 404,
    receives: { error: { message: /\/v1\/videos/ } },
  },
  ...(
    [
      ["chat", chat({ model: vllm, stream: true })],
      ["messages", messages({ model: vllm, stream: true })],
      ["responses", responses({ model: vllm, stream: true })],
      ["google", google(vllm, {}, "streamGenerateContent?alt=sse")],
    ] as const
  ).map(
    ([client, request]): OutsideCase => ({
      id: `split-characters-for-${client}`,
      kind: "characters",
      source: splitSources,
      request,
      answer: {
        ...streamed(""),
        body: chineseStream,
        pieces: inside
          .map((at, i) => chineseStream.subarray(inside[i - 1] ?? 0, at))
          .concat([chineseStream.subarray(inside.at(-1))]),
      },
      result: "passed",
      right: "a character whose bytes come in two pieces is one",
      check: (t, { text }) => t.match(text, chinese),
    }),
  ),
  ...(
    [
      ["messages", messages({ model: vllm, tools: [read], stream: true })],
      ["responses", responses({ model: vllm, tools: [readOfResponses], stream: true })],
      ["google", google(vllm, { tools: [readOfGoogle] }, "streamGenerateContent?alt=sse")],
    ] as const
  ).map(
    ([client, request]): OutsideCase => ({
      id: `halves-of-an-emoji-for-${client}`,
      kind: "characters",
      source: halfSources,
      request,
      answer: streamed(halves),
      result: "passed",
      right: "halves of a character that come in two deltas aren't lost",
      check(t, { events: list, text }) {
        t.notMatch(text, /\ufffd/);
        const { text: all, args } = joined(list);
        t.equal(all, "a😀b");
        t.equal(args, '{"a":"😀"}');
      },
    }),
  ),
  {
    id: "mark-before-a-stream",
    kind: "characters",
    source: markSources,
    result: "passed",
    request: messages({ model: vllm, stream: true }),
    answer: streamed(`${mark}${chineseStream.toString()}`),
    right: "a byte order mark before a stream isn't a part of its first event",
    check: (t, { text }) => t.match(text, `"text_delta","text":"${chinese}"`),
  },
  {
    id: "mark-before-a-stream-of-messages",
    kind: "characters",
    source: markSources,
    request: chat({ model: claude, stream: true, stream_options: { include_usage: true } }),
    result: "passed",
    answer: streamed(
      mark + events(messageEvents([streamedText("hi")])).replace(/^event: message_start\n/, ""),
    ),
    right: "a byte order mark before a stream isn't a part of its first event",
    check: (t, { text }) => t.match(text, '"prompt_tokens":9'),
  },
  {
    id: "mark-before-an-answer",
    kind: "characters",
    source: markSources,
    request: messages({ model: vllm }),
    answer: {
      body:
        mark +
        JSON.stringify(
          (completionOf({ message: { role: "assistant", content: "hi" }, finish_reason: "stop" })
            .body ?? {}) as object,
        ),
    },
    right: "a byte order mark before an answer isn't a part of it",
    receives: { content: [{ text: "hi" }] },
  },
  ...[vllm, claude].map(
    (model): OutsideCase => ({
      id: `nul-in-a-prompt-at-${model}`,
      kind: "characters",
      source: nulSources,
      request: chat({
        model,
        messages: [
          user("a\u0000b \\u0000"),
          { role: "assistant", content: "c\u0000\u0000\u0000d" },
          user("x"),
        ],
        user: "u\u0000v",
        tools: [chatTool("read")],
      }),
      result: "passed",
      right: "a NUL in a text is a character like others",
      check(t, { sent }) {
        const { text } = sent.at(-1)!;
        t.match(text, "a\\u0000b \\\\u0000");
        t.match(text, "c\\u0000\\u0000\\u0000d");
      },
    }),
  ),
  ...[20_000, 30_000].map(
    (length): OutsideCase => ({
      id: `cookies-of-${length}`,
      kind: "HTTP",
      source: headerSources,
      request: { ...chat({ model: vllm }), headers: { cookie: `a=${"b".repeat(length)}` } },
      right: "cookies and tokens of a company's sign-in, up to what nginx takes, are no hindrance",
      check: (t, { sent }) => t.equal(sent.at(-1)!.headers.cookie, undefined),
    }),
  ),
  {
    id: "headers-beyond-all-bounds",
    kind: "HTTP",
    source: [...headerSources, "nats-nui/nui#50"],
    request: { ...chat({ model: vllm }), headers: { cookie: `a=${"b".repeat(70_000)}` } },
    result: "passed",
    right: "larger ones are refused by a status that says so",
    status: 431,
    receives: { error: { message: /the header is larger than/ } },
  },
];

/** The texts and the arguments of a stream of any dialect. */
function joined(list: readonly Record<string, unknown>[]): { text: string; args: string } {
  let text = "";
  let args = "";
  for (const event of list) {
    const { type, delta, candidates } = event as {
      type?: string;
      delta?: string | { text?: string; partial_json?: string };
      candidates?: readonly {
        content?: { parts: readonly { text?: string; functionCall?: { args: object } }[] };
      }[];
    };
    if (typeof delta === "string" && type === "response.output_text.delta") text += delta;
    if (typeof delta === "string" && type === "response.function_call_arguments.delta")
      args += delta;
    if (typeof delta === "object") {
      text += delta.text ?? "";
      args += delta.partial_json ?? "";
    }
    for (const part of candidates?.[0]?.content?.parts ?? []) {
      text += part.text ?? "";
      if (part.functionCall !== undefined) args += JSON.stringify(part.functionCall.args);
    }
  }
  return { text, args };
}
