/**
 * Reasoning of lost answers: providers bill what a model thought, and report it at the end only. A
 * model that reasons is charged for the time that it had, in each dialect, whole and streamed; one
 * that doesn't reason isn't. Asked for in openai/openai-openapi#539, BerriAI/litellm#36008 and
 * Wei-Shaw/sub2api#4408: neither nothing nor the whole maximum.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";

/** Begins each stream, and then nothing comes. */
const beginnings: readonly (readonly [path: RegExp, text: string])[] = [
  [
    /messages/,
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":2}}}\n\n',
  ],
  [
    /responses/,
    'event: response.created\ndata: {"type":"response.created","response":{"id":"r"}}\n\n',
  ],
  [/chat/, 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Well"}}]}\n\n'],
];

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    if (!/"stream":true/.test(String(Buffer.concat(pieces)))) return;
    const [, text = ""] = beginnings.find(([path]) => path.test(request.url ?? "")) ?? [];
    response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const own = `api_key: none, models: ["*"], retries: 0, first_byte_timeout_ms: 2500, idle_timeout_ms: 2500`;
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
server: { passthrough: all }
providers:
  test: { type: openai, base_url: "${origin}/v1", ${own} }
  claude: { type: anthropic, base_url: "${origin}", ${own} }
  gem: { type: gemini, base_url: "${origin}/v1beta/openai", ${own} }
prices:
  "*/*": { input: 1, output: 10 }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

type Item = Readonly<Record<string, unknown>>;

async function recordOf(path: string): Promise<Item> {
  const client = await connectDaemon({ socketPath: site.socket });
  const read = async (): Promise<Item[]> => {
    const answer = await client.call("usage.export", { user_path: path });
    if (!answer.ok) throw new Error(answer.failure.message);
    return (answer.body as { records: Item[] }).records;
  };
  const [record] = await until(read, (found) => found.length > 0);
  client.close();
  return record!;
}

const messages = [{ role: "user", content: "Is it prime?" }];
const contents = [{ role: "user", parts: [{ text: "Is it prime?" }] }];
const thinks = { type: "enabled", budget_tokens: 1500 };

/** The most that is charged for what wasn't seen; 0: the model doesn't reason. */
const cases: readonly (readonly [name: string, path: string, body: object, most: number])[] = [
  ["chat", "/v1/chat/completions", { model: "test/gpt-5", messages }, 8192],
  ["chat, streamed", "/v1/chat/completions", { model: "test/o3", messages, stream: true }, 8192],
  [
    "chat with an effort",
    "/v1/chat/completions",
    { model: "test/mine", messages, reasoning_effort: "low" },
    1024,
  ],
  [
    "chat without reasoning",
    "/v1/chat/completions",
    { model: "test/gpt-5.1", messages, reasoning_effort: "none", stream: true },
    0,
  ],
  ["chat of a plain model", "/v1/chat/completions", { model: "test/gpt-4o", messages }, 0],
  [
    "chat with a small maximum",
    "/v1/chat/completions",
    { model: "test/gpt-5", messages, max_completion_tokens: 150 },
    150,
  ],
  [
    "chat to Anthropic",
    "/v1/chat/completions",
    { model: "claude/claude-sonnet-4-5", messages, reasoning_effort: "high", stream: true },
    64_000,
  ],
  ["responses", "/v1/responses", { model: "test/gpt-5", input: "Is it prime?" }, 8192],
  [
    "responses, streamed",
    "/v1/responses",
    { model: "test/gpt-5", input: "Is it prime?", reasoning: { effort: "low" }, stream: true },
    1024,
  ],
  [
    "messages",
    "/v1/messages",
    { model: "claude/claude-sonnet-4-5", max_tokens: 4000, messages, thinking: thinks },
    1500,
  ],
  [
    "messages, streamed",
    "/v1/messages",
    { model: "claude/m", max_tokens: 4000, messages, thinking: thinks, stream: true },
    1502,
  ],
  [
    "messages without thinking",
    "/v1/messages",
    { model: "claude/claude-sonnet-4-5", max_tokens: 4000, messages, stream: true },
    0,
  ],
  [
    "Gemini's own",
    "/v1beta/models/gem/gemini-2.5-pro:generateContent",
    { contents, generationConfig: { thinkingConfig: { thinkingBudget: 1200 } } },
    1200,
  ],
  [
    "Gemini's own, without thinking",
    "/v1beta/models/gem/gemini-2.5-flash:generateContent",
    { contents, generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    0,
  ],
  ["passthrough", "/p/test/v1/chat/completions", { model: "gpt-5", messages, stream: true }, 8192],
  [
    "chat with a model that shows its reasoning",
    "/v1/chat/completions",
    { model: "test/deepseek-reasoner", messages },
    8192,
  ],
  [
    "chat with it, streamed",
    "/v1/chat/completions",
    { model: "test/deepseek-reasoner", messages, stream: true },
    0,
  ],
  [
    "passthrough with it, streamed",
    "/p/test/v1/chat/completions",
    { model: "deepseek-reasoner", messages, stream: true },
    0,
  ],
  ["embeddings", "/v1/embeddings", { model: "test/gpt-5", input: "x" }, 0],
];

t.test("a lost answer of a model that reasons isn't charged its text alone", async (t) => {
  await Promise.all(
    cases.map(async ([name, path, body, most], i) => {
      const userPath = `/lost/${i}`;
      const answer = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-sluice-user-path": userPath },
        body: JSON.stringify(body),
      });
      await answer.text().catch(() => "cut");
      const record = await recordOf(userPath);
      const [hidden, output] = [
        Number(record["reasoning_tokens"]),
        Number(record["output_tokens"]),
      ];
      t.match(record, { estimated: true, tokens_at_most: Number, cost_at_most: Number }, name);
      t.ok(Number(record["tokens_at_most"]) >= Number(record["total_tokens"]), name);
      if (most === 0) t.ok(hidden === 0 && output < 10, `${name}: ${output} output, none hidden`);
      else {
        // 2.5 seconds, and what a slow machine adds.
        t.ok(output >= Math.min(200, most), `${name}: ${output} output`);
        t.ok(output <= most + 2 && hidden > 0, `${name}: ${output} output, at most ${most}`);
      }
    }),
  );
});
