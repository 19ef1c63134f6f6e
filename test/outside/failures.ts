/** Reports about errors, addresses, models and HTTP itself. */
import zlib, { gzipSync } from "node:zlib";
import type { OutsideCase, ProviderAnswer } from "./outside-case.js";
import { chat, completionOf, hello, messages, responses, user } from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-sonnet-4-5";
const overloaded: ProviderAnswer = {
  status: 529,
  headers: { "retry-after": "7" },
  body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
};
const rateLimited: ProviderAnswer = {
  status: 429,
  headers: { "retry-after": "7" },
  body: { error: { message: "Rate limit reached", type: "tokens", code: "rate_limit_exceeded" } },
};
const errors = "errors that agents act on";
const http = "HTTP";
const defaults = "requests without a model";
const addresses = "addresses of providers";

const codexBody = Buffer.from(JSON.stringify({ model: "openai/gpt-4o", input: "x" }));

/** A Zstandard frame with one block that isn't compressed. */
function zstdStored(bytes: Buffer): Buffer {
  const last = (bytes.length << 3) | 1;
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.length, last & 255, last >> 8, 0];
  return Buffer.concat([Buffer.from(head), bytes]);
}
export const failures: readonly OutsideCase[] = [
  ...[messages({ model: claude }), messages({ model: vllm }), chat({ model: claude })].map(
    (request, i): OutsideCase => ({
      id: `overloaded-${i}`,
      kind: errors,
      source: [
        "langwatch/langwatch#6207",
        "anthony-chaudhary/fak#1361",
        "headroomlabs-ai/headroom#1495",
        "genkit-ai/genkit-dart#355",
        "macanderson/stella#2742",
      ],
      request,
      answer: overloaded,
      result: "passed",
      right: "529 stays 529, with its Retry-After, and is overloaded_error for Anthropic's clients",
      status: 529,
      check(t, { headers, body }) {
        t.equal(headers.get("retry-after"), "7");
        t.match(body, { error: { message: /Overloaded/ } });
        if (request.path === "/v1/messages")
          t.match(body, { type: "error", error: { type: "overloaded_error" } });
      },
    }),
  ),
  {
    id: "overloaded-fails-over",
    kind: errors,
    source: ["vava-nessa/free-coding-models#148"],
    request: chat({ model: "makers" }),
    answer: (sent) =>
      sent.length === 1
        ? overloaded
        : completionOf({ message: { role: "assistant", content: "hi" }, finish_reason: "stop" }),
    result: "passed",
    right: "529 leads to the next target, as 429 and 503 do",
    receives: { choices: [{ message: { content: "hi" } }] },
  },
  {
    id: "rate-limited",
    kind: errors,
    source: ["headroomlabs-ai/headroom#1221"],
    request: messages({ model: "openai/gpt-4o" }),
    answer: rateLimited,
    result: "passed",
    right: "a provider's 429 keeps its Retry-After and is rate_limit_error",
    status: 429,
    receives: { type: "error", error: { type: "rate_limit_error", message: /Rate limit reached/ } },
    check(t, { headers }) {
      t.equal(headers.get("retry-after"), "7");
    },
  },
  {
    id: "azure-content-filter",
    kind: errors,
    source: [
      "openai/openai-dotnet#55",
      "BerriAI/litellm#16231",
      "stanford-crfm/helm#3327",
      "it-at-m/mucgpt#318",
    ],
    request: responses({ model: "azure/gpt-4o" }),
    answer: {
      status: 400,
      body: {
        error: {
          message: "The response was filtered",
          type: null,
          param: "prompt",
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
    },
    result: "passed",
    right: "the code content_filter reaches the client",
    status: 400,
    receives: { error: { code: "content_filter", param: "prompt", message: /was filtered/ } },
  },
  {
    id: "completion-in-a-400",
    kind: errors,
    source: ["experientiallabs/experiential#967"],
    request: chat({ model: "azure/gpt-4o" }),
    answer: {
      status: 400,
      body: {
        id: "c",
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "" },
            finish_reason: "content_filter",
            content_filter_results: {
              error: { code: "content_filter", message: "Response content blocked by label 'x'." },
            },
          },
        ],
      },
    },
    right: "a 400 whose body is a filtered completion has the code content_filter",
    status: 400,
    receives: { error: { code: "content_filter", message: /blocked by label/ } },
  },
  {
    id: "context-full-by-passthrough",
    kind: "context full",
    source: ["musistudio/claude-code-router#1799"],
    request: {
      path: "/p/anthropic/v1/messages",
      body: { model: "claude-sonnet-4-5", max_tokens: 9, messages: hello },
    },
    answer: {
      status: 400,
      body: {
        type: "error",
        error: { type: "invalid_request_error", message: "input length exceeds the context" },
      },
    },
    result: "decided: passthrough changes no byte of an error; its client speaks to that provider",
    right: "passthrough gives the provider's own bytes",
    status: 400,
    receives: { error: { message: "input length exceeds the context" } },
  },
  ...(["gzip", "zstd"] as const).map(
    (encoding): OutsideCase => ({
      id: `body-in-${encoding}`,
      kind: http,
      source: ["zyycn/codex-proxy-rs#66"],
      request: {
        path: "/v1/responses",
        raw: new Uint8Array((encoding === "gzip" ? gzipSync : zstdStored)(codexBody)),
        headers: { "content-encoding": encoding },
      },
      result:
        encoding === "gzip"
          ? "passed"
          : "decided: Node 20 has no Zstandard; the 415 says so, and Node 22.15 decodes it",
      right: "Codex compresses its requests",
      ...(encoding === "gzip" || "createZstdDecompress" in zlib
        ? { sends: { input: "x" } }
        : { status: 415 }),
    }),
  ),
  {
    id: "answer-in-gzip",
    kind: http,
    source: [
      "qualixar/superlocalmemory#79",
      "freelensapp/freelens-ai-extension#272",
      "robbyt/llm_proxy#18",
    ],
    request: chat({ model: "openai/gpt-4o" }),
    answer: () => ({
      headers: { "content-encoding": "gzip" },
      body: gzipSync(
        JSON.stringify(
          completionOf({ message: { role: "assistant", content: "hi" }, finish_reason: "stop" })
            .body,
        ),
      ),
    }),
    result: "passed",
    right: "the answer's encoding and its header agree",
    receives: { choices: [{ message: { content: "hi" } }] },
  },
  {
    id: "beta-in-the-query",
    kind: http,
    source: ["router-for-me/CLIProxyAPI#3285"],
    request: { ...messages({ model: vllm }), path: "/v1/messages?beta=true" },
    result: "passed",
    right: "Claude Code's query is no part of the path",
  },
  ...(["/v1/v1/messages", "//v1/messages", "/v1/messages/"] as const).map(
    (path): OutsideCase => ({
      id: `path-${path}`,
      kind: http,
      source: ["open-ace/open-ace#608", "anthropics/anthropic-sdk-typescript#336"],
      request: { ...messages({ model: vllm }), path },
      result: "passed",
      right: "a base URL with or without /v1 and a slash finds the endpoint",
    }),
  ),
  {
    id: "json-with-a-charset",
    kind: http,
    source: ["RFC 9110, Content-Type"],
    request: {
      ...chat({ model: "openai/gpt-4o" }),
      headers: { "content-type": "application/json; charset=UTF-8" },
    },
    result: "passed",
    right: "the charset of JSON is no other type",
  },
  {
    id: "unknown-fields",
    kind: http,
    source: ["Anthropic: context_management"],
    request: messages({
      model: vllm,
      context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
      a_field_of_next_year: 1,
    }),
    result: "passed",
    right: "a field that the target doesn't know is left out, and named",
    lacks: ["a_field_of_next_year", "context_management"],
    dropped: "a_field_of_next_year",
  },
  {
    id: "preflight",
    kind: http,
    source: ["decolua/9router#3215"],
    request: {
      path: "/v1/chat/completions",
      method: "OPTIONS",
      headers: { origin: "https://example.com", "access-control-request-method": "POST" },
    },
    result:
      "decided: browsers hold no provider's key; `server.cors_origins` opens what an operator wants",
    right: "without a setting no other origin is let in",
    status: 405,
    check(t, { headers }) {
      t.equal(headers.get("access-control-allow-origin"), null);
    },
  },
  ...(
    [
      ["images", "/v1/images/generations", { prompt: "a cat" }],
      ["moderations", "/v1/moderations", { input: "x" }],
      ["responses", "/v1/responses", { input: "x" }],
      ["input-tokens", "/v1/responses/input_tokens", { input: "x" }],
    ] as const
  ).map(
    ([name, path, body]): OutsideCase => ({
      id: `no-model-${name}`,
      kind: defaults,
      source: ["openai/openai-python suite", "openai/openai-node suite"],
      request: { path, body },
      answer: { body: { id: "x", object: "response", data: [{}], results: [{}], output: [{}] } },
      right: "OpenAI needs no model here: the operation has a default",
    }),
  ),
  {
    id: "addresses-of-files",
    kind: addresses,
    source: ["ENTERPILOT/GoModel#546"],
    request: { path: "/v1/files/file_1", method: "GET" },
    answer: (sent) => ({
      body: {
        id: "file_1",
        object: "file",
        url: `http://${sent.at(-1)!.headers.host}/openai/v1/files/file_1/content`,
        video: { uri: `http://${sent.at(-1)!.headers.host}/openai/v1/files/file_1:download` },
        urls: { next: `http://${sent.at(-1)!.headers.host}/openai/v1/files?after=1` },
      },
    }),
    right: "no answer sends the client, with its key, to the provider",
    check(t, { sent, text }) {
      t.notMatch(text, new RegExp(`"http://${sent.at(-1)!.headers.host}`));
      t.match(text, /"http:[^"]*\/p\/openai\/openai\/v1\/files\/file_1\/content"/);
    },
  },
  {
    id: "last-turn-of-a-tool",
    kind: errors,
    source: ["ericc-ch/copilot-api#273"],
    request: messages({ model: vllm, messages: [user("x"), { role: "user", content: "y" }] }),
    result: "passed",
    right: "consecutive turns of one role are no error",
  },
];
