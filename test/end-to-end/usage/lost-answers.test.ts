/**
 * Answers that don't arrive: clients that leave, providers that are silent or break off, at each
 * moment of a request in each dialect, through real processes. The provider keeps its own ledger:
 * once it has all of a request it generates the most that it was asked for, whoever is there to
 * read it. What it counts is what was charged, or at most the bound of the record.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

/** What the provider counted of the request with this mark; a token for each two bytes. */
interface Ledger {
  calls: number;
  tokens: number;
}

const outputMax = 700;
const ledgers = new Map<string, Ledger>();
/** What becomes of requests with this mark once they are complete. */
const behaviours = new Map<string, "silent" | "reset" | "cut" | "halved" | "answers" | 500>();
const arrivals = new Map<string, () => void>();

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => complete(request, response, Buffer.concat(pieces)));
});

function complete(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const mark = /case-\d+/.exec(body.toString("latin1"))?.[0] ?? "";
  const behaviour = behaviours.get(mark) ?? "silent";
  if (behaviour === 500) {
    response.writeHead(500, { "content-type": "application/json" }).end("{}");
    return arrivals.get(mark)?.();
  }
  const ledger = ledgers.get(mark) ?? { calls: 0, tokens: 0 };
  ledgers.set(mark, ledger);
  ledger.calls++;
  ledger.tokens += Math.ceil(body.length / 2) + outputOf(request.url ?? "", body);
  arrivals.get(mark)?.();
  const streams = /"stream": ?true|alt=sse|streamGenerate/.test(`${body} ${request.url}`);
  if (behaviour === "reset") return void request.socket.resetAndDestroy();
  if (behaviour === "silent") return;
  if (behaviour === "answers") {
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: "assistant", content: "hi" } }],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      }),
    );
  }
  const type = streams ? "text/event-stream" : "application/json";
  response.writeHead(200, { "content-type": type, "content-length": 100_000 });
  response.write(
    streams
      ? 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"half"}}]}\n\n'
      : '{"half":',
  );
  if (behaviour === "cut") setTimeout(() => request.socket.resetAndDestroy(), 30);
}

function outputOf(path: string, body: Buffer): number {
  return path.includes("embed") || body.includes('"input":["')
    ? 0
    : Number(/"n": ?(\d+)/.exec(body.toString("latin1"))?.[1] ?? 1) * outputMax;
}

server.listen(0, "127.0.0.1");
await once(server, "listening");
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;
const own = `api_key: none, models: ["*"], retries: 0`;
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
server: { passthrough: all }
providers:
  test: { type: openai, base_url: "${origin}/v1", ${own} }
  claude: { type: anthropic, base_url: "${origin}", ${own} }
  gem: { type: gemini, base_url: "${origin}/v1beta/openai", ${own} }
  slow: { type: openai, base_url: "${origin}/v1", ${own}, first_byte_timeout_ms: 400, idle_timeout_ms: 400 }
  closed: { type: openai, base_url: "http://127.0.0.1:9/v1", ${own} }
virtual_models:
  smart: { strategy: failover, targets: [{ model: slow/one }, { model: test/two }] }
prices:
  "test/*": { input: 2, output: 10 }
  "slow/*": { input: 2, output: 10 }
  "claude/*": { input: 2, output: 10 }
  "gem/*": { input: 2, output: 10 }
rate_limits:
  user_paths: [{ path: /capped, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 5 }] }]
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = new URL(proxy.ready);

type Item = Readonly<Record<string, unknown>>;

async function recordsOf(path: string, count: number): Promise<readonly Item[]> {
  const client = await connectDaemon({ socketPath: site.socket });
  const read = async (): Promise<Item[]> => {
    const answer = await client.call("usage.export", { user_path: path });
    if (!answer.ok) throw new Error(answer.failure.message);
    return (answer.body as { records: Item[] }).records;
  };
  const records = await until(read, (found) => found.length >= count);
  client.close();
  return records;
}

interface Request {
  readonly path: string;
  readonly body: string;
  readonly type: string;
}

const messages = [{ role: "user", content: "hello" }];
const json = (path: string, body: object): ((mark: string) => Request) => {
  return (mark) => ({
    path,
    body: JSON.stringify({ ...body, user: mark }),
    type: "application/json",
  });
};
const form =
  (path: string) =>
  (mark: string): Request => ({
    path,
    type: "multipart/form-data; boundary=b",
    body: `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\ntest/m\r\n--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n${mark}\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nxxxx\r\n--b--\r\n`,
  });
const chat = { max_tokens: outputMax, messages };
const input = { input: "hello", max_output_tokens: outputMax };
const gemini = {
  contents: [{ role: "user", parts: [{ text: "hello" }] }],
  generationConfig: { maxOutputTokens: outputMax },
};
/** Gemini's own has no `user`: the mark is its text. */
const google =
  (path: string) =>
  (mark: string): Request => ({
    path,
    type: "application/json",
    body: JSON.stringify({ ...gemini, contents: [{ role: "user", parts: [{ text: mark }] }] }),
  });

const dialects: Readonly<Record<string, (mark: string) => Request>> = {
  chat: json("/v1/chat/completions", { model: "test/m", n: 2, ...chat }),
  "chat, streamed": json("/v1/chat/completions", { model: "test/m", stream: true, ...chat }),
  "chat without a maximum": json("/v1/chat/completions", { model: "test/m", messages }),
  "chat to Anthropic": (mark) => ({
    path: "/v1/chat/completions",
    type: "application/json",
    body: JSON.stringify({
      model: "claude/claude-sonnet-4-5",
      max_tokens: outputMax,
      messages: [{ role: "user", content: mark }],
    }),
  }),
  responses: json("/v1/responses", { model: "test/m", ...input }),
  "responses, streamed": json("/v1/responses", { model: "test/m", stream: true, ...input }),
  messages: (mark) => ({
    path: "/v1/messages",
    type: "application/json",
    body: JSON.stringify({ model: "claude/m", ...chat, metadata: { user_id: mark } }),
  }),
  "messages, streamed": (mark) => ({
    path: "/v1/messages",
    type: "application/json",
    body: JSON.stringify({ model: "claude/m", stream: true, ...chat, metadata: { user_id: mark } }),
  }),
  "Gemini's own": google("/v1beta/models/gem/gemini-2.5-flash:generateContent"),
  "Gemini's own, streamed": google(
    "/v1beta/models/gem/gemini-2.5-flash:streamGenerateContent?alt=sse",
  ),
  completions: json("/v1/completions", { model: "test/m", prompt: "hi", max_tokens: outputMax }),
  embeddings: json("/v1/embeddings", { model: "test/m", input: ["hello"] }),
  speech: json("/v1/audio/speech", { model: "test/m", input: "hello", voice: "a" }),
  transcription: form("/v1/audio/transcriptions"),
  images: json("/v1/images/generations", { model: "test/m", prompt: "a cat" }),
  passthrough: json("/p/test/v1/chat/completions", { model: "m", ...chat }),
  "passthrough, streamed": json("/p/test/v1/chat/completions", {
    model: "m",
    stream: true,
    ...chat,
  }),
};

interface Sent {
  readonly socket: Socket;
  readonly path: string;
  readonly mark: string;
  readonly arrived: Promise<void>;
}

let cases = 0;

/** Sends a request, or the first bytes of its body, over a connection of its own. */
function send(request: (mark: string) => Request, { bytes = Infinity, at = "/lost" } = {}): Sent {
  const mark = `case-${++cases}`;
  const { path, body, type } = request(mark);
  const arrived = new Promise<void>((resolve) => arrivals.set(mark, resolve));
  const userPath = `${at}/${mark}`;
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${type}\r\nx-sluice-user-path: ${userPath}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
  );
  socket.write(body.slice(0, bytes));
  return { socket, path: userPath, mark, arrived };
}

function isCovered(t: Test, name: string, { mark }: Sent, records: readonly Item[]): void {
  const { tokens } = ledgers.get(mark)!;
  const sum = (of: (record: Item) => number): number => records.reduce((all, r) => all + of(r), 0);
  const atMost = sum((r) => Number(r["tokens_at_most"] ?? r["total_tokens"]));
  t.ok(tokens <= atMost, `${name}: ${tokens} counted, at most ${atMost} recorded`);
  // A recording isn't text: its tokens can't be guessed from its size.
  if (!name.startsWith("transcription"))
    t.ok(sum((r) => Number(r["total_tokens"])) > 0, `${name}: the prompt is charged`);
  for (const record of records) {
    if (record["tokens_at_most"] === null) continue;
    t.equal(record["estimated"], true, name);
    t.ok(Number(record["cost_at_most"]) >= Number(record["total_cost"]), name);
  }
}

t.test("a client that leaves before the first byte is charged what it has had sent", async (t) => {
  for (const [name, request] of Object.entries(dialects)) {
    const sent = send(request);
    await sent.arrived;
    sent.socket.destroy();
    const records = await recordsOf(sent.path, 1);
    t.match(records, exactly([{ status: 499 }]), name);
    isCovered(t, name, sent, records);
  }
});

t.test("and one that leaves in the middle of the answer", async (t) => {
  for (const [name, request] of Object.entries(dialects)) {
    behaviours.set(`case-${cases + 1}`, "halved");
    const sent = send(request);
    await sent.arrived;
    await new Promise((resolve) => {
      sent.socket.once("data", resolve);
      setTimeout(resolve, 100);
    });
    sent.socket.destroy();
    const records = await recordsOf(sent.path, 1);
    isCovered(t, name, sent, records);
  }
});

t.test("one whose request isn't complete has had nothing sent", async (t) => {
  for (const [name, request] of Object.entries(dialects)) {
    const sent = send(request, { bytes: 20, at: "/half" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    sent.socket.destroy();
    t.equal(ledgers.get(sent.mark), undefined, name);
  }
  const done = send(dialects["chat"]!, { at: "/half" });
  await done.arrived;
  done.socket.destroy();
  t.equal((await recordsOf("/half", 1)).length, 1, "the last one alone");
});

t.test("a provider that resets the connection may have worked", async (t) => {
  for (const behaviour of ["reset", "cut"] as const)
    for (const [name, request] of Object.entries(dialects)) {
      behaviours.set(`case-${cases + 1}`, behaviour);
      const sent = send(request);
      await sent.arrived;
      isCovered(t, `${name}, ${behaviour}`, sent, await recordsOf(sent.path, 1));
      sent.socket.destroy();
    }
});

const toSlow = json("/v1/chat/completions", { model: "slow/m", ...chat });

t.test(
  "so may one that is silent past its deadline; a refusal or an error costs nothing",
  async (t) => {
    for (const [name, behaviour] of [
      ["silent", "silent"],
      ["in the middle", "halved"],
    ] as const) {
      behaviours.set(`case-${cases + 1}`, behaviour);
      const sent = send(toSlow);
      const records = await recordsOf(sent.path, 1);
      t.match(records, exactly([{ status: 504 }]), name);
      isCovered(t, name, sent, records);
      sent.socket.destroy();
    }
    behaviours.set(`case-${cases + 1}`, 500);
    const failed = send(toSlow);
    const nothing = { status: 500, total_tokens: 0, tokens_at_most: null, estimated: false };
    t.match(await recordsOf(failed.path, 1), exactly([nothing]));
    const refused = send(json("/v1/chat/completions", { model: "closed/m", ...chat }), {
      at: "/refused",
    });
    await once(refused.socket, "data");
    t.equal((await recordsOf("/refused", 0)).length, 0, "nothing was sent");
  },
);

t.test("an attempt that is given up is charged to its own target", async (t) => {
  const request = json("/v1/chat/completions", { model: "smart", ...chat });
  const behaves = `case-${cases + 1}`;
  behaviours.set(behaves, "silent");
  const sent = send(request);
  await sent.arrived;
  behaviours.set(behaves, "answers");
  const records = await recordsOf(sent.path, 2);
  const attempts = [
    { provider: "slow", model: "one", status: 102, estimated: true, output_tokens: 0 },
    { provider: "test", model: "two", status: 200, estimated: false, total_tokens: 6 },
  ];
  t.match(records, exactly(attempts));
  t.type(records[0]!["tokens_at_most"], "number");
  t.equal(records[1]!["tokens_at_most"], null);
  const { calls } = ledgers.get(sent.mark)!;
  t.equal(calls, 2);
  const usage = (await (
    await fetch(new URL("/v1/usage", url), { headers: { "x-sluice-user-path": sent.path } })
  ).json()) as { usage: Item };
  t.match(usage.usage, {
    total_requests: 1,
    unknown_calls: 1,
    unknown_tokens_at_most: records[0]!["tokens_at_most"],
    unknown_cost_at_most: records[0]!["cost_at_most"],
  });
});

t.test("a limit holds against clients that leave", async (t) => {
  const sent = send(dialects["chat"]!, { at: "/capped" });
  await sent.arrived;
  sent.socket.destroy();
  await recordsOf(sent.path, 1);
  const refused = send(dialects["chat"]!, { at: "/capped" });
  const [answer] = (await once(refused.socket, "data")) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1.1 429 /);
});
