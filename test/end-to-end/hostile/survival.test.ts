/**
 * What once ended the proxy, and everybody's requests with it: each is sent to a real proxy, which
 * answers it, gives its slot back and serves on.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";

/** A provider that answers each request with these bytes. */
let answer: Buffer = Buffer.alloc(0);
const provider = createServer((socket: Socket) => {
  let received = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    const head = received.indexOf("\r\n\r\n");
    const length = /content-length: (\d+)/i.exec(received.toString("latin1", 0, head))?.[1] ?? "0";
    if (head === -1 || received.length < head + 4 + Number(length)) return;
    received = Buffer.alloc(0);
    socket.write(answer);
  });
});
provider.listen(0, "127.0.0.1");
await once(provider, "listening");
t.teardown(() => void provider.close());
const { port: providerPort } = provider.address() as { port: number };

const at = `base_url: "http://127.0.0.1:${providerPort}/v1"`;
const site = makeSite(
  t,
  `
providers:
  plain: { type: openai, ${at}, api_key: k, models: ["*"] }
  chat: { type: openai, ${at}, api_key: k, models: ["*"], operations: [chat_completions] }
  claude: { type: anthropic, ${at}, api_key: k, models: ["*"] }
  dated: { type: azure, ${at}, api_key: k, api_version: "2024-06-01", models: ["*"] }
  sim: { type: simulator }
rewriters: [{ name: collapse_white_space }]
rate_limits: { user_paths: [{ path: /, limits: [{ period: concurrent, max_requests: 20 }] }] }
server: { max_body_bytes: 33554432 }
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;

function http(status: string, body: string | Buffer, ...headers: readonly string[]): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`HTTP/1.1 ${status}`, `content-length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes]);
}

const json = "content-type: application/json";
const fine = http(
  "200 OK",
  '{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
  json,
);

async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  return { status: response.status, text: await response.text().catch(() => "cut") };
}

/** The proxy serves on, holds no slot, and has met no bug. */
async function isUnharmed(t: Test, name: string): Promise<void> {
  answer = fine;
  const ask = { model: "plain/m", messages: [{ role: "user", content: "x" }] };
  t.equal((await post("/v1/chat/completions", JSON.stringify(ask))).status, 200, name);
  await until(
    () => ruleNow(url, "/", 0),
    ({ in_flight }) => in_flight === 0,
  );
  t.notMatch(proxy.output(), /a bug in Sluice|"fatal"/, name);
}

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const deepList = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
const user = '{"role":"user","content":"x"}';
/** As many as the bound on the values of a body leaves of parts that have fifteen each. */
const many = 15_000;

interface Attack {
  readonly path: string;
  readonly body: string;
  readonly status: number;
}

const attacks: Readonly<Record<string, Attack>> = {
  "a deep tool of responses": {
    path: "/v1/responses",
    body: `{"model":"chat/m","input":"x","tools":[{"type":"function","name":"f","parameters":${deep(20_000)}}]}`,
    status: 400,
  },
  "deep metadata of responses": {
    path: "/v1/responses",
    body: `{"model":"claude/m","input":"x","metadata":${deep(20_000)}}`,
    status: 400,
  },
  "a deep tool of chat completions": {
    path: "/v1/chat/completions",
    body: `{"model":"claude/m","messages":[${user}],"tools":[{"type":"function","function":{"name":"f","parameters":${deep(20_000)}}}]}`,
    status: 400,
  },
  "a deep tool of messages": {
    path: "/v1/messages",
    body: `{"model":"chat/m","max_tokens":9,"messages":[${user}],"tools":[{"name":"f","input_schema":${deep(20_000)}}]}`,
    status: 400,
  },
  "a deep body that isn't translated": {
    path: "/v1/chat/completions",
    body: `{"model":"plain/m","messages":[${user}],"tools":${deepList(50_000)}}`,
    status: 200,
  },
  "deep messages for the simulator": {
    path: "/v1/chat/completions",
    body: `{"model":"sim/m","messages":[{"role":"user","content":${deepList(50_000)}}]}`,
    status: 200,
  },
  "deep batches": {
    path: "/v1/batches",
    body: `{"input_file_id":"f","endpoint":"/x","completion_window":"24h","metadata":${deep(50_000)}}`,
    status: 200,
  },
  "a deep rule": {
    path: "/admin/rate-limits/reset-one",
    body: `{"scope":${deep(2_000)}}`,
    status: 400,
  },
  "many parts for Anthropic": {
    path: "/v1/chat/completions",
    body: `{"model":"claude/m","messages":[{"role":"user","content":[${Array(many).fill('{"type":"text","text":"x"}').join()}]}]}`,
    status: 502,
  },
  "many parts of an assistant for Anthropic": {
    path: "/v1/chat/completions",
    body: `{"model":"claude/m","messages":[${user},{"role":"assistant","content":[${Array(many).fill('{"type":"text","text":"x"}').join()}]},${user}]}`,
    status: 502,
  },
  "many system parts for Anthropic": {
    path: "/v1/chat/completions",
    body: `{"model":"claude/m","messages":[{"role":"system","content":[${Array(many).fill('{"type":"text","text":"x"}').join()}]},${user}]}`,
    status: 502,
  },
  "many tool results for chat completions": {
    path: "/v1/messages",
    body: `{"model":"chat/m","max_tokens":9,"messages":[{"role":"user","content":[${Array(many).fill('{"type":"tool_result","tool_use_id":"t","content":"x"}').join()}]}]}`,
    status: 200,
  },
  "many pictures in a tool result": {
    path: "/v1/messages",
    body: `{"model":"chat/m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[${Array(many).fill('{"type":"image","source":{"type":"url","url":"https://a"}}').join()}]}]}]}`,
    status: 200,
  },
  "many pictures in an output of responses": {
    path: "/v1/responses",
    body: `{"model":"chat/m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[${Array(many).fill('{"type":"input_image","image_url":"https://a"}').join()}]}]}`,
    status: 200,
  },
  "many texts after a call of responses": {
    path: "/v1/responses",
    body: `{"model":"chat/m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},${Array(many).fill('{"role":"assistant","content":"x"}').join()}]}`,
    status: 200,
  },
  "half a character in a model's name": {
    path: "/v1/chat/completions",
    body: `{"model":"dated/\\ud800","messages":[${user}]}`,
    status: 400,
  },
  "half a character in the model of an embedding": {
    path: "/v1/embeddings",
    body: '{"model":"dated/a\\udfffb","input":"x"}',
    status: 400,
  },
  "a long line of list marks": {
    path: "/v1/chat/completions",
    body: `{"model":"plain/m","messages":[{"role":"user","content":"${"-".repeat(6_000_000)}  x"}]}`,
    status: 200,
  },
};

t.test("no request ends the proxy", async (t) => {
  for (const [name, { path, body, status }] of Object.entries(attacks)) {
    answer = fine;
    const { status: got, text } = await post(path, body);
    t.equal(got, status, `${name}: ${text.slice(0, 200)}`);
    await isUnharmed(t, name);
  }
});

t.test("a handshake behind another request in one packet doesn't end the proxy", async (t) => {
  const { port } = new URL(url);
  for (const path of ["/v1/realtime?model=plain/m", "/p/plain/v1/realtime"]) {
    const socket = connect(Number(port), "127.0.0.1");
    let received = "";
    socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
    socket.write(
      `GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await once(socket, "close");
    t.same(received.match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 400"], path);
    await isUnharmed(t, path);
  }
});

t.test("no answer of a provider ends the proxy", async (t) => {
  const ask = (model: string, stream: boolean): string =>
    JSON.stringify({ model, messages: [{ role: "user", content: "x" }], stream });
  const statuses = ["099", "000", "001", "199", "600", "742", "999", "1000", "20", "-200"];
  for (const status of statuses)
    for (const [path, model] of [
      ["/v1/chat/completions", "plain/m"],
      ["/v1/chat/completions", "claude/m"],
      ["/p/plain/v1/chat/completions", "plain/m"],
    ] as const) {
      answer = http(`${status} Odd`, "{}", json, "connection: close");
      // An informational answer is followed by another, or by the end.
      if (status === "199") answer = Buffer.concat([answer, fine]);
      const { status: got, text } = await post(path, ask(model, false));
      t.equal(got, 502, `${status} at ${path} for ${model}: ${text.slice(0, 200)}`);
      await isUnharmed(t, `${status} at ${path} for ${model}`);
    }
  const events = `event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1}}}\n\n`;
  const block = (input: string): string =>
    `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":${input}}}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n`;
  const stream = "content-type: text/event-stream";
  const deepAnswer = `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":${deep(20_000)}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1,"x":${deep(20_000)}}}`;
  const usage = `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1,"service_tier":${deep(20_000)}}}\n\n`;
  for (const coding of ["gzip", ""])
    for (const [name, body, type, streams] of [
      ["a deep input in a stream", events + block(deep(20_000)), stream, true],
      ["deep usage in a stream", events + usage, stream, true],
      ["a deep answer", deepAnswer, json, false],
      ["a deep answer that becomes a stream", deepAnswer, json, true],
      ["a deep error", `{"error":${deep(20_000)}}`, json, false],
      [
        "a deep detail",
        `{"detail":${'{"message":'.repeat(20_000)}1${"}".repeat(20_000)}}`,
        json,
        false,
      ],
    ] as const)
      for (const [path, model] of [
        ["/v1/chat/completions", "claude/m"],
        ["/v1/chat/completions", "plain/m"],
        ["/v1/responses", "claude/m"],
        ["/v1/messages", "chat/m"],
      ] as const) {
        const isError = name === "a deep detail" || name === "a deep error";
        answer = http(
          isError ? "422 No" : "200 OK",
          coding === "" ? body : gzipSync(body),
          type,
          ...(coding === "" ? [] : [`content-encoding: ${coding}`]),
        );
        const request = { model, max_tokens: 9, stream: streams };
        const content =
          path === "/v1/responses"
            ? { model, stream: streams, input: "x" }
            : { ...request, messages: [{ role: "user", content: "x" }] };
        const { status, text } = await post(path, JSON.stringify(content));
        t.not(status, 500, `${name} at ${path} for ${model}, ${coding}: ${text.slice(0, 200)}`);
        await isUnharmed(t, `${name} at ${path} for ${model}, ${coding}`);
      }
});
