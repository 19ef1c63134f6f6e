/**
 * While a stream runs, for an agent minutes, nothing of its request is in the proxy's memory: in
 * each dialect, for each kind of translation, and passed through.
 */
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { liveHeapBytes } from "../../support/memory/live-heap.js";
import { inspectorOf, makeSite } from "../../support/processes/processes.js";
import { chunk } from "../../support/providers/scripted-upstream.js";

t.setTimeout(240_000);

const events = (...data: readonly Readonly<Record<string, unknown>>[]): string =>
  data.map((one) => `event: ${String(one["type"])}\ndata: ${JSON.stringify(one)}\n\n`).join("");

const usage = { input_tokens: 1, output_tokens: 1 };
const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };

/** How a stream of a dialect begins, by the last part of its path. */
const beginnings: readonly (readonly [string, string])[] = [
  ["chat/completions", chunk("hello")],
  [
    "messages",
    events(
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello" } },
    ),
  ],
  [
    "responses",
    events(
      { type: "response.created", response },
      { type: "response.output_text.delta", item_id: "i", output_index: 0, delta: "hello" },
    ),
  ],
  ["", 'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]}}]}\n\n'],
];

const provider = createServer((incoming, answer) => {
  const path = new URL(incoming.url!, "http://x").pathname;
  incoming.resume().once("end", () => {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.write(beginnings.find(([end]) => path.endsWith(end))![1]);
  });
});
provider.listen(0, "127.0.0.1");
await once(provider, "listening");
const origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
const site = makeSite(
  t,
  `
server: { drain_seconds: 0 }
providers:
  openai: { type: openai, base_url: "${origin}/v1", api_key: none, models: ["*"] }
  chat: { type: vllm, operations: [chat_completions], base_url: "${origin}/v1", api_key: none, models: ["*"] }
  claude: { type: anthropic, base_url: "${origin}/v1", api_key: none, models: ["*"] }
  google: { type: gemini, base_url: "${origin}/v1beta/openai", api_key: none, models: ["*"] }
`,
);
await site.startDaemon();
const proxy = await site.startProxy(undefined, { inspected: true });

const promptBytes = 60_000;
const streams = 60;
const text = "a prompt of an agent ".repeat(promptBytes / 21);
const messages = [{ role: "user", content: text }];
const chat = { messages, stream: true, stream_options: { include_usage: true } };
const google = { contents: [{ role: "user", parts: [{ text }] }] };
const open: ClientRequest[] = [];

t.teardown(() => {
  for (const outgoing of open) outgoing.destroy();
  provider.close();
  provider.closeAllConnections();
});

/** Resolves when the stream has begun. */
async function openStream(path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const outgoing = request(`${proxy.ready}${path}`, { method: "POST", agent: false, headers });
  open.push(outgoing);
  outgoing.on("error", () => {});
  outgoing.end(JSON.stringify(body));
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  if (incoming.statusCode !== 200) throw new Error(`${path}: ${incoming.statusCode}`);
  incoming.on("error", () => {}).resume();
}

async function openStreams(count: number, path: string, body: object): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => openStream(path, body)));
}

const stream = (to: string): string => `/v1beta/models/${to}:streamGenerateContent?alt=sse`;

for (const [name, path, body] of [
  ["chat completions", "/v1/chat/completions", { model: "chat/m", ...chat }],
  ["chat completions to messages", "/v1/chat/completions", { model: "claude/m", ...chat }],
  ["messages", "/v1/messages", { model: "claude/m", max_tokens: 9, stream: true, messages }],
  [
    "messages to chat completions",
    "/v1/messages",
    { model: "chat/m", max_tokens: 9, stream: true, messages },
  ],
  ["Responses", "/v1/responses", { model: "openai/m", stream: true, input: text }],
  [
    "Responses to chat completions",
    "/v1/responses",
    { model: "chat/m", stream: true, input: text },
  ],
  ["Responses to messages", "/v1/responses", { model: "claude/m", stream: true, input: text }],
  ["Gemini's", stream("google/m"), google],
  ["Gemini's to chat completions", stream("chat/m"), google],
  ["Gemini's to messages", stream("claude/m"), google],
  ["passthrough", "/p/chat/v1/chat/completions", { model: "m", ...chat }],
] as const)
  t.test(`${name}: a running stream holds less than its prompt`, async (t) => {
    // Code is compiled at the first requests.
    await openStreams(streams / 2, path, body);
    const before = await liveHeapBytes(inspectorOf(proxy));
    await openStreams(streams, path, body);
    const bytes = ((await liveHeapBytes(inspectorOf(proxy))) - before) / streams;
    t.ok(bytes < promptBytes, `${Math.round(bytes)} bytes a stream`);
  });
