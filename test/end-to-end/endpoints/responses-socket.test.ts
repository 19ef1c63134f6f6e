/**
 * WebSockets of the Responses API through real processes: continuation at native and translated
 * providers, lanes, refusals, bad input, and every way to end.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import t from "tap";
import { WebSocket } from "ws";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

type Json = Readonly<Record<string, unknown>>;

const sent: { readonly path: string; readonly body: Json }[] = [];
/** Answers that don't end by themselves. */
const open: ServerResponse[] = [];
const textOf = ({ input, messages }: Json): string => JSON.stringify(input ?? messages);

function responseEvents(body: Json, { store }: { readonly store: boolean }): readonly Json[] {
  const id = `resp_${sent.length}`;
  const reasoning = {
    id: `rs_${sent.length}`,
    type: "reasoning",
    summary: [],
    ...(JSON.stringify(body["include"] ?? "").includes("encrypted")
      ? { encrypted_content: `sealed ${sent.length}` }
      : {}),
  };
  const message = {
    id: `msg_${sent.length}`,
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: `answer ${sent.length}`, annotations: [] }],
  };
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  const response = { id, object: "response", store, previous_response_id: null, output: [] };
  return [
    { type: "response.created", response: { ...response, status: "in_progress" } },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    { type: "response.output_text.delta", delta: `answer ${sent.length}` },
    { type: "response.output_item.done", output_index: 1, item: message },
    { type: "response.completed", response: { ...response, status: "completed", usage } },
  ];
}

const claudeEvents: readonly Json[] = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      usage: { input_tokens: 10, output_tokens: 0 },
    },
  },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "thinking", thinking: "", signature: "" },
  },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "hello" } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];

const provider = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const text = Buffer.concat(pieces).toString();
    const body = (text === "" ? {} : JSON.parse(text)) as Json;
    sent.push({ path: request.url ?? "", body });
    const events = (list: readonly Json[]): string =>
      list
        .map((each) => `event: ${String(each["type"])}\ndata: ${JSON.stringify(each)}\n\n`)
        .join("");
    const asked = textOf(body);
    if (asked.includes("overfull"))
      return void response.writeHead(400, { "content-type": "application/json" }).end(
        JSON.stringify({
          type: "error",
          error: {
            type: "invalid_request_error",
            message: "prompt is too long: 300000 tokens > 200000 maximum",
          },
        }),
      );
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (request.url?.includes("/messages")) return void response.end(events(claudeEvents));
    const list = responseEvents(body, { store: body["store"] !== false });
    if (!asked.includes("wait")) return void response.end(events(list));
    open.push(response);
    response.write(events(list.slice(0, 3)));
  });
});
await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  provider.close();
  provider.closeAllConnections();
});
const origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;

/** Ends the answers that are open. */
function finish(how: "end" | "cut"): void {
  for (const response of open.splice(0))
    if (how === "cut") response.destroy();
    else
      response.end(
        `data: ${JSON.stringify({ type: "response.completed", response: { id: "resp_late", object: "response", status: "completed", store: false, output: [], usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } } })}\n\n`,
      );
}

const master = "master-key.of_the-test";
const site = makeSite(
  t,
  `
server: { drain_seconds: 5, max_body_bytes: 1048576 }
providers:
  openai: { type: openai, base_url: "${origin}/v1", api_key: secret, retries: 0, models: ["gpt-5", "gpt-slow"] }
  claude: { type: anthropic, base_url: "${origin}/v1", api_key: secret, retries: 0, models: ["claude-opus-4-8"] }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_tokens: 100000 }, { period: concurrent, max_requests: 40 }] }
    - { path: /one, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /two, limits: [{ period_seconds: ${agesSeconds}, max_requests: 2 }] }
`,
  { SLUICE_MASTER_KEY: master },
);
await site.startDaemon();
const proxy = await site.startProxy();
const { port } = new URL(proxy.ready);
const bearer = { authorization: `Bearer ${master}` };

const rule = async (period: number) =>
  (await admin(proxy.ready, "GET /rate-limits", undefined, bearer)).body.rate_limits.find(
    (item) => item.subject === "/" && item.period_seconds === period,
  )!;
const counted = async () => {
  const { requests_used, tokens_used } = await rule(agesSeconds);
  return [requests_used, tokens_used] as const;
};

class Client {
  readonly socket: WebSocket;
  readonly #events: Json[] = [];
  #changed = (): void => {};

  constructor(headers: Record<string, string> = {}, path = "/v1/responses") {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
      headers: { ...bearer, ...headers },
    });
    this.socket.on("error", () => {});
    this.socket.on("message", (message: Buffer) => {
      this.#events.push(JSON.parse(message.toString()) as Json);
      this.#changed();
    });
  }

  send(event: Json): void {
    this.socket.send(JSON.stringify({ type: "response.create", model: "openai/gpt-5", ...event }));
  }

  async next(): Promise<Json> {
    while (this.#events.length === 0)
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    return this.#events.shift()!;
  }

  /** Up to the last event of the next response. */
  async response(): Promise<Json[]> {
    const events: Json[] = [];
    for (;;) {
      const event = await this.next();
      events.push(event);
      if (
        /^(?:error|response\.(?:completed|failed|incomplete|steer.*))$/.test(String(event["type"]))
      )
        return events;
    }
  }

  async ask(event: Json): Promise<Json[]> {
    this.send(event);
    return this.response();
  }
}

async function opened(headers?: Record<string, string>): Promise<Client> {
  const client = new Client(headers);
  await once(client.socket, "open");
  return client;
}

const idOf = (events: readonly Json[]): string =>
  String((events.at(-1)!["response"] as Json | undefined)?.["id"]);
const bodyOf = (): Json => sent.at(-1)!.body;

t.test(
  "a conversation that isn't stored goes on at a native provider, counted by turn",
  async (t) => {
    const [requests, tokens] = await counted();
    const client = await opened();
    const fields = { store: false, reasoning: { effort: "low" } };
    const first = await client.ask({ ...fields, input: "one" });
    t.same(
      first.map(({ type }) => type),
      [
        "response.created",
        "response.output_item.done",
        "response.output_text.delta",
        "response.output_item.done",
        "response.completed",
      ],
    );
    t.match(
      bodyOf(),
      exactly({ model: "gpt-5", stream: true, include: ["reasoning.encrypted_content"] }),
    );
    for (const name of ["type", "stream_id", "generate", "previous_response_id"])
      t.notOk(name in bodyOf(), name);
    const id = idOf(first);
    const second = await client.ask({
      ...fields,
      previous_response_id: id,
      input: [{ role: "user", content: "two" }],
    });
    t.match(second.at(-1), { response: { previous_response_id: id } });
    const { input } = bodyOf() as { input: Json[] };
    t.match(
      input,
      exactly([
        { role: "user", content: "one" },
        { type: "reasoning", encrypted_content: /^sealed/ },
        { type: "message", role: "assistant", content: [{ text: /^answer/ }] },
        { role: "user", content: "two" },
      ]),
    );
    t.equal(input.length, 4);
    t.notOk(input.some((item) => "id" in item));
    t.notOk("previous_response_id" in bodyOf());
    await client.ask({ ...fields, previous_response_id: idOf(second), input: "three" });
    t.equal((bodyOf()["input"] as Json[]).length, 7);
    await until(counted, ([now]) => now === requests + 3);
    t.same(await counted(), [requests + 3, tokens + 45]);
    client.socket.close();
  },
);

t.test("a conversation goes on at a translated provider, with its signed thinking", async (t) => {
  const client = await opened();
  const fields = { model: "claude/claude-opus-4-8", store: false, reasoning: { effort: "high" } };
  const first = await client.ask({ ...fields, input: "one" });
  await client.ask({ ...fields, previous_response_id: idOf(first), input: "two" });
  t.match(
    bodyOf()["messages"],
    exactly([
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "c2ln" },
          { type: "text", text: "hello" },
        ],
      },
      { role: "user" },
    ]),
  );
  const lost = await client.ask({
    ...fields,
    previous_response_id: "resp_of_another",
    input: "two",
  });
  t.match(
    lost,
    exactly([{ type: "error", status: 400, error: { code: "previous_response_not_found" } }]),
  );
  const full = await client.ask({ ...fields, input: "overfull" });
  t.match(
    full,
    exactly([{ type: "error", status: 400, error: { code: "context_length_exceeded" } }]),
  );
  client.socket.close();
});

t.test("a provider that stores a response is sent its id", async () => {
  const client = await opened();
  const first = await client.ask({ input: "one" });
  await client.ask({ previous_response_id: idOf(first), input: "two" });
  t.match(bodyOf(), exactly({ previous_response_id: idOf(first), input: [{ content: "two" }] }));
  t.equal((bodyOf()["input"] as Json[]).length, 1);
  client.socket.close();
});

t.test("a warm-up runs no model, and the next request continues it", async (t) => {
  const client = await opened();
  const before = sent.length;
  const warm = await client.ask({ store: false, generate: false, input: "one" });
  t.same(
    warm.map(({ type }) => type),
    ["response.created", "response.completed"],
  );
  t.match(
    warm.at(-1),
    exactly({
      response: { status: "completed", output: [], usage: { total_tokens: 0 } },
    }),
  );
  t.equal(sent.length, before);
  await client.ask({ store: false, previous_response_id: idOf(warm), input: "two" });
  t.match(bodyOf()["input"], exactly([{ content: "one" }, { content: "two" }]));
  const prewarm = { prompt_cache_options: { prewarm: true } };
  const prepared = await client.ask({ ...prewarm, generate: true, input: "three" });
  t.match(prepared.at(-1), exactly({ response: { output: [], usage: { total_tokens: 0 } } }));
  t.equal(sent.length, before + 1, "prewarm takes precedence over generate");
  const lost = await client.ask({ generate: false, previous_response_id: "resp_x", input: [] });
  t.match(lost, exactly([{ type: "error", error: { code: "previous_response_not_found" } }]));
  client.socket.close();
});

t.test("over HTTP a warm-up runs no model at a translated provider", async (t) => {
  const before = sent.length;
  const ask = (fields: Json, headers: Record<string, string> = bearer) =>
    fetch(`${proxy.ready}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({
        model: "claude/claude-opus-4-8",
        input: "one",
        prompt_cache_options: { prewarm: true },
        ...fields,
      }),
    });
  const prepared = { status: "completed", output: [], usage: { total_tokens: 0 } };
  t.match(await (await ask({})).json(), exactly({ object: "response", ...prepared }));
  const stream = await (await ask({ stream: true })).text();
  const data = [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as Json);
  t.match(
    data,
    exactly([{ type: "response.created" }, { type: "response.completed", response: prepared }]),
  );
  t.match(stream, /^event: response\.created\n/);
  t.equal((await ask({}, { authorization: "Bearer wrong" })).status, 401);
  t.equal((await ask({ background: true })).status, 400, "other problems are refused");
  t.equal(sent.length, before);
  await ask({ model: "openai/gpt-5" });
  t.equal(sent.length, before + 1, "a provider of the Responses API prepares its cache itself");
  t.match(bodyOf()["prompt_cache_options"], { prewarm: true });
});

t.test("lanes run beside each other, the requests of one after the other", async (t) => {
  const client = await opened();
  client.send({ stream_id: "a", store: false, input: "wait" });
  await client.next();
  client.send({ stream_id: "a", store: false, input: "later" });
  client.send({ stream_id: "b", store: false, input: "now" });
  const seen: Json[] = [];
  while (seen.at(-1)?.["type"] !== "response.completed") seen.push(await client.next());
  t.equal(seen.at(-1)!["stream_id"], "b");
  t.notMatch(JSON.stringify(sent.map(({ body }) => body)), /later/);
  finish("end");
  const late = await client.response();
  t.equal(late.at(-1)!["stream_id"], "a");
  t.equal(idOf(late), "resp_late");
  const queued = await client.response();
  t.equal(queued.at(-1)!["stream_id"], "a");
  t.match(textOf(bodyOf()), /later/);
  await client.ask({
    stream_id: "c",
    store: false,
    previous_response_id: idOf(seen),
    input: "fork",
  });
  t.match(
    bodyOf()["input"],
    exactly([{ content: "now" }, { type: "message" }, { content: "fork" }]),
  );
  for (let i = 3; i < 32; i++) await client.ask({ stream_id: `lane ${i}`, input: "x" });
  t.match(
    await client.ask({ stream_id: "one too many", input: "x" }),
    exactly([{ type: "error", status: 400, error: { code: "websocket_stream_limit_reached" } }]),
  );
  t.match(
    await client.ask({ stream_id: "", input: "x" }),
    exactly([{ error: { code: "invalid_stream_id" } }]),
  );
  client.socket.close();
});

t.test("refusals and bad input are events, and the socket stays open", async (t) => {
  const client = await opened({ "x-sluice-user-path": "/two" });
  const bad: readonly (readonly [string, object])[] = [
    ["no JSON", { status: 400, error: { message: /JSON object/ } }],
    ["[1]", { status: 400, error: { message: /JSON object/ } }],
    ['{"type":"session.update"}', { status: 400, error: { param: "type" } }],
    ['{"type":"response.create","background":true}', { error: { param: "background" } }],
    ['{"type":"response.create","input":7}', { error: { param: "input" } }],
    ['{"type":"response.create","generate":"no"}', { error: { param: "generate" } }],
    [
      '{"type":"response.create","previous_response_id":7}',
      { error: { param: "previous_response_id" } },
    ],
    ['{"type":"response.create","input":"x"}', { status: 400, error: { param: "model" } }],
    [
      '{"type":"response.create","model":"none/such","input":"x"}',
      { status: 404, error: { code: "model_not_found" } },
    ],
    [`{"type":"response.create","input":${"[".repeat(3000)}${"]".repeat(3000)}}`, { status: 400 }],
  ];
  for (const [text, error] of bad) {
    client.socket.send(text);
    t.match(await client.response(), exactly([{ type: "error", ...error }]), text.slice(0, 60));
  }
  client.socket.send('{"type":"response.processed","response_id":"resp_1"}');
  client.socket.send('{"type":"response.steer","previous_response_id":"resp_1","input":"no"}');
  t.match(
    await client.response(),
    exactly([
      {
        type: "response.steer.failed",
        error: { code: "steering_not_supported" },
        steer: { previous_response_id: "resp_1", input: "no" },
      },
    ]),
  );
  await client.ask({ input: "one" });
  const named = await client.ask({ stream_id: "lane", input: "two" });
  client.socket.send(
    JSON.stringify({ type: "response.steer", previous_response_id: idOf(named), input: "no" }),
  );
  const steered = await client.response();
  t.match(steered, exactly([{ type: "response.steer.failed", stream_id: "lane" }]));
  const refused = await client.ask({ stream_id: "s", input: "three" });
  t.match(
    refused,
    exactly([
      { type: "error", status: 429, stream_id: "s", error: { code: "rate_limit_exceeded" } },
    ]),
  );
  t.match(refused[0]!["headers"], { "retry-after": /^\d+$/, "x-request-id": /^req_/ });
  client.socket.close();
});

t.test("a caller with one slot may send the next request at the end of a response", async (t) => {
  const client = await opened({ "x-sluice-user-path": "/one" });
  for (let i = 0; i < 10; i++)
    t.equal((await client.ask({ store: false, input: "x" })).at(-1)!["type"], "response.completed");
  client.socket.close();
});

t.test("handshakes that can't be accepted are refused over HTTP", async (t) => {
  const get = (headers: Record<string, string>) =>
    fetch(`${proxy.ready}/v1/responses`, { headers });
  t.equal((await get(bearer)).status, 426);
  const client = new Client({ authorization: "Bearer wrong" });
  const [, answer] = (await once(client.socket, "unexpected-response")) as [
    unknown,
    { statusCode: number },
  ];
  t.equal(answer.statusCode, 401);
  const raw = connect(Number(port), "127.0.0.1");
  raw.write(
    `GET /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${master}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 12\r\nsec-websocket-key: eA==\r\n\r\n`,
  );
  const [head] = (await once(raw, "data")) as [Buffer];
  t.match(head.toString(), /^HTTP\/1\.1 426 [^]*sec-websocket-version: 13/i);
  raw.destroy();
});

t.test("a key that is deactivated gets no further response on an open socket", async (t) => {
  const { value, id } = (
    await admin(proxy.ready, "POST /auth-keys", { name: "k", user_path: "/three" }, bearer)
  ).body as unknown as { value: string; id: string };
  const client = await opened({ authorization: `Bearer ${value}` });
  t.equal((await client.ask({ store: false, input: "x" })).at(-1)!["type"], "response.completed");
  const url = `${proxy.ready}/admin/auth-keys/${id}/deactivate`;
  t.equal((await fetch(url, { method: "POST", headers: bearer })).status, 204);
  const before = sent.length;
  t.match(
    await client.ask({ store: false, input: "x" }),
    exactly([{ type: "error", status: 401, error: { type: "authentication_error" } }]),
  );
  t.equal(sent.length, before);
  client.socket.close();
});

t.test("frames may arrive with the handshake, and in any pieces", async (t) => {
  const text = Buffer.from('{"type":"response.create","model":"openai/gpt-5","input":"early"}');
  const head = `GET /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${master}\r\nidempotency-key: once\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
  // With a mask of zeros the payload is as it is.
  const bytes = Buffer.concat([
    Buffer.from(head),
    Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]),
    text,
  ]);
  for (const at of [0, head.length + 1, head.length + 9]) {
    const raw = connect(Number(port), "127.0.0.1");
    let received = "";
    raw.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    raw.setNoDelay();
    raw.write(bytes.subarray(0, at));
    if (at > 0) await once(raw, "data");
    raw.write(bytes.subarray(at));
    await until(
      () => Promise.resolve(received),
      (all) => all.includes('"response.completed"'),
    );
    t.match(received, "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    // The close frame of a client, and the server's: both end the connection.
    raw.write(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 3, 0xe8]));
    await once(raw, "end");
    t.match(received.slice(-4), "\x88\x02\x03\xe8");
    raw.end();
  }
});

t.test("frames are bounded and checked", async (t) => {
  const large = await opened();
  large.socket.send(JSON.stringify({ type: "response.create", input: "x".repeat(1_048_576) }));
  t.match(await large.next(), { type: "error", status: 413, error: { code: "request_too_large" } });
  t.equal((await once(large.socket, "close"))[0], 1009);
  const binary = await opened();
  binary.socket.send(Buffer.from("x"));
  t.equal((await once(binary.socket, "close"))[0], 1003);
  const text = await opened();
  text.socket.send(Buffer.from([0xff]), { binary: false });
  t.equal((await once(text.socket, "close"))[0], 1007);
  const unmasked = await opened();
  unmasked.socket.send("{}", { mask: false });
  t.equal((await once(unmasked.socket, "close"))[0], 1002);
  const pieces = await opened();
  pieces.socket.send('{"type":"response.create","model":"openai/gpt-5",', { fin: false });
  pieces.socket.ping("hello");
  t.equal(String((await once(pieces.socket, "pong"))[0]), "hello");
  pieces.socket.send('"input":"in pieces"}', { fin: true });
  t.equal((await pieces.response()).at(-1)!["type"], "response.completed");
  t.match(textOf(bodyOf()), /in pieces/);
  pieces.socket.close(1000);
  t.equal((await once(pieces.socket, "close"))[0], 1000);
});

t.test(
  "a client that leaves ends its request; a provider that breaks off ends the response",
  async (t) => {
    const client = await opened();
    client.send({ input: "wait" });
    await client.next();
    const closed = once(open.at(-1)!, "close");
    client.socket.terminate();
    await closed;
    open.length = 0;
    await until(
      () => rule(0),
      ({ in_flight }) => in_flight === 0,
    );
    const other = await opened();
    other.send({ input: "wait" });
    await other.next();
    finish("cut");
    const events = await other.response();
    t.match(String(events.at(-1)!["type"]), /^(?:error|response\.failed)$/);
    t.equal((await other.ask({ input: "again" })).at(-1)!["type"], "response.completed");
    other.socket.close();
  },
);

t.test("OpenAI's own client talks over it", async (t) => {
  const openai = new OpenAI({ baseURL: `${proxy.ready}/v1`, apiKey: master });
  // It always takes TLS; only the connection differs.
  const options = { createConnection: () => connect(Number(port), "127.0.0.1") } as never;
  const ws = new ResponsesWS(openai, options);
  ws.send({ type: "response.create", model: "openai/gpt-5", input: "hello" });
  const types: string[] = [];
  for await (const event of ws) {
    if (event.type === "error") throw event.error;
    if (event.type !== "message") continue;
    types.push(event.message.type);
    if (event.message.type === "response.completed") break;
  }
  t.equal(types[0], "response.created");
  ws.close();
});

t.test("a stopping proxy closes sockets, after their running response", async (t) => {
  const idle = await opened();
  const busy = await opened();
  busy.send({ input: "wait" });
  await busy.next();
  const idleClosed = once(idle.socket, "close");
  const busyClosed = once(busy.socket, "close");
  void proxy.kill("SIGTERM");
  t.equal((await idleClosed)[0], 1001);
  finish("end");
  t.equal((await busy.response()).at(-1)!["type"], "response.completed");
  t.equal((await busyClosed)[0], 1001);
});
