import { Duplex } from "node:stream";
import t from "tap";
import { MemoryLedger, MemoryShare } from "../../../proxy/capacity/memory-ledger.js";
import { responsesSocket } from "../../../proxy/handlers/responses-socket.js";
import type { Exchange } from "../../../proxy/http/exchange.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import { OpenSessions } from "../../../proxy/upstream/passthrough/open-sessions.js";
import { exactly } from "../../support/patterns/exactly.js";
import { FakeExchange } from "../fake-exchange.js";
import { fakeGateway, operator } from "../fake-gateway.js";

type Json = Readonly<Record<string, unknown>>;

function frame(payload: Buffer, opcode = 1): Buffer {
  const head = Buffer.alloc(8);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | 126;
  head.writeUInt16BE(payload.length, 2);
  if (opcode < 8) return Buffer.concat([head, payload]);
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80, 0, 0, 0, 0]), payload]);
}

class FakeSocket extends Duplex {
  bytes = Buffer.alloc(0);
  override _read(): void {}
  override _write(chunk: Buffer, _: unknown, next: () => void): void {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    next();
  }
}

/** A request that the test answers. */
interface Handled {
  readonly exchange: Exchange;
  readonly body: Json;
  answer(fields?: Json): Promise<void>;
}

async function open({ keptMax = 1e6, bodyMax = 60_000 } = {}) {
  const { gateway } = fakeGateway(
    `
server: { max_body_bytes: ${bodyMax} }
providers:
  openai: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [m] }
`,
  );
  const clock = { ms: 0 };
  let tick: (() => void) | null = null;
  const timers: (() => void)[] = [];
  const sessions = new OpenSessions();
  Object.assign(gateway, {
    sessions,
    monoMs: () => clock.ms,
    webSocketAccept: () => "accepted",
    setTimer(ms: number, run: () => void) {
      if (ms === 30_000) tick = run;
      else timers.push(run);
      return () => {
        if (tick === run) tick = null;
      };
    },
  });
  const exchange = new FakeExchange({
    method: "GET",
    path: "/v1/responses",
    headers: ["sec-websocket-version", "13", "sec-websocket-key", `${"A".repeat(22)}==`],
  });
  exchange.ledger = new MemoryLedger(keptMax * 4);
  exchange.memory = new MemoryShare(exchange.ledger);
  const socket = new FakeSocket();
  socket.once("close", () => exchange.memory.onResponseEnd());
  exchange.webSocket = { socket, takeOver() {} };
  const requests: Handled[] = [];
  const record = new RequestRecord(0);
  const context = { gateway, exchange, caller: operator, record } as RequestContext;
  const settle = (): Promise<void> =>
    new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const ended = responsesSocket(context, async (request) => {
    const read = await request.readBody(1e6);
    if (!read.ok) return;
    const body = JSON.parse(read.bytes.toString()) as Json;
    request.memory.give(read.bytes.length);
    await new Promise<void>((resolve) => {
      request.onGone(resolve);
      requests.push({
        exchange: request,
        body,
        async answer(fields = {}) {
          request.begin(200, ["content-type", "text/event-stream"]);
          const done = { type: "response.completed", response: { ...fields } };
          request.write(Buffer.from(`data: ${JSON.stringify(done)}\n\n`));
          request.end();
          resolve();
          await settle();
        },
      });
    });
    request.memory.onHandlerEnd();
  });
  await settle();
  return {
    ...{ clock, sessions, exchange, socket, requests, record, ended, settle },
    async send(...events: readonly Json[]) {
      const frames = events.map((event) =>
        frame(Buffer.from(JSON.stringify({ type: "response.create", model: "m", ...event }))),
      );
      socket.push(Buffer.concat(frames));
      await settle();
    },
    async receive(bytes: Buffer) {
      socket.push(bytes);
      await settle();
    },
    /** One tick later; the client answers its ping. */
    async pass(ms: number, answers = true) {
      clock.ms += ms;
      const run = tick;
      tick = null;
      run?.();
      if (answers) socket.push(frame(Buffer.alloc(0), 10));
      await settle();
    },
    sent: () => socket.bytes.toString("latin1"),
    runTimers: () => {
      for (const run of timers.splice(0)) run();
    },
  };
}

t.test("after 60 minutes it closes, once no request runs or waits", async (t) => {
  const socket = await open();
  t.match(socket.sent(), "101 Switching Protocols");
  await socket.pass(59 * 60_000);
  await socket.send({ input: "1" }, { input: "2" });
  await socket.pass(60_000);
  t.equal(socket.requests.length, 1);
  await socket.send({ input: "3" });
  t.match(socket.sent(), "websocket_connection_limit_reached");
  await socket.requests[0]!.answer();
  t.notMatch(socket.sent(), "served its time", "the second one still runs");
  await socket.requests[1]!.answer();
  t.match(socket.sent(), "served its time");
  socket.socket.push(null);
  await socket.ended;
  t.match(socket.record, { status: 101 });
  t.equal(socket.sessions.size, 0);
  const idle = await open();
  await idle.pass(60 * 60_000);
  t.match(idle.sent(), "60 minutes");
});

t.test("a client without a frame for 10 minutes has left", async (t) => {
  const socket = await open();
  await socket.pass(30_000);
  for (let i = 0; i < 20; i++) await socket.pass(30_000, false);
  t.notMatch(socket.sent(), "no traffic");
  await socket.pass(30_000, false);
  t.match(socket.sent(), "no traffic for 10 minutes");
  socket.runTimers();
  await socket.ended;
  const answering = await open();
  for (let i = 0; i < 50; i++) await answering.pass(30_000);
  t.notMatch(answering.sent(), "no traffic");
});

t.test("a client that leaves ends its requests, and returns all memory", async (t) => {
  const { send, requests, socket, ended, exchange } = await open();
  await send(
    { stream_id: "a", store: false, input: "1" },
    { stream_id: "a", input: "waits" },
    { stream_id: "b", input: "2" },
    { generate: false, input: "kept" },
  );
  await requests[1]!.answer({ id: "r", store: false });
  t.equal(requests.length, 2);
  socket.destroy();
  await ended;
  exchange.memory.onHandlerEnd();
  t.equal(exchange.ledger.held, 0);
  t.ok(exchange.ledger.keep(exchange.ledger.max / 4), "nothing is kept");
  t.equal(requests.length, 2, "what waited never runs");
});

t.test("a refused warm-up doesn't hold up what waits behind it", async (t) => {
  const { send, requests, sent } = await open();
  await send(
    { input: "1" },
    { generate: false, previous_response_id: "unknown", input: "2" },
    { input: "3" },
  );
  await requests[0]!.answer();
  t.match(sent(), "previous_response_not_found");
  t.match(requests[1]?.body, exactly({ input: [{ content: "3" }] }));
});

t.test("a response that is continued elsewhere is unknown there", async (t) => {
  const one = await open();
  await one.send({ store: false, input: "secret" });
  await one.requests[0]!.answer({ id: "r", store: false });
  await one.send({ previous_response_id: "r", input: "2" });
  t.match(one.requests[1]!.body, exactly({ input: [{ content: "secret" }, { content: "2" }] }));
  const other = await open();
  await other.send({ previous_response_id: "r", input: "2" });
  t.match(
    other.requests[0]!.body,
    exactly({ previous_response_id: "r", input: [{ content: "2" }] }),
  );
});

t.test(
  "kept conversations are bounded, and the last one of a lane replaces the other",
  async (t) => {
    const { send, requests, exchange } = await open({ keptMax: 3000 });
    const filler = "é".repeat(600);
    for (let i = 0; i < 10; i++) {
      await send({ store: false, input: filler });
      await requests.at(-1)!.answer({ id: `r${i}`, store: false });
    }
    await send({ previous_response_id: "r9", input: "" });
    t.match(requests.at(-1)!.body, exactly({ input: [{ content: filler }, {}] }));
    t.notMatch(requests.at(-1)!.body, { previous_response_id: "r9" });
    await requests.at(-1)!.answer();
    for (let i = 0; i < 4; i++) {
      await send({ stream_id: `s${i}`, store: false, input: filler });
      await requests.at(-1)!.answer({ id: `s${i}`, store: false });
    }
    await send({ previous_response_id: "s3", input: "" });
    t.match(requests.at(-1)!.body, { previous_response_id: "s3" }, "it was forgotten");
    t.ok(exchange.ledger.held < 3000, "requests have all their memory");
  },
);

t.test("requests that wait for their lane or for others are bounded", async (t) => {
  const { send, requests, sent } = await open();
  await send(...Array.from({ length: 32 }, (_, i) => ({ stream_id: `s${i}`, input: "x" })));
  t.equal(requests.length, 16);
  await send(...Array.from({ length: 48 }, () => ({ stream_id: "s0", input: "x" })));
  t.notMatch(sent(), "waiting already");
  await send({ input: "x" });
  t.match(sent(), "waiting already");
  t.match(sent(), /"status":503,"error":\{[^}]*"code":"overloaded"/);
  for (let i = 0; i < 80; i++) await requests[i]?.answer();
  t.equal(requests.length, 80, "each has run");
});

t.test("messages that are no requests are answered without one", async (t) => {
  const { receive, requests, sent, exchange } = await open();
  for (const text of [
    '{"type":"response.steer","previous_response_id":{"toString":1},"input":{"id":12345678901234567890}}',
    '{"type":"response.processed"}',
    "no JSON",
  ])
    await receive(frame(Buffer.from(text)));
  t.match(sent(), '"steer":{"previous_response_id":"","input":{"id":12345678901234567890}}');
  t.match(sent(), "must be a JSON object");
  t.equal(requests.length, 0);
  t.equal(exchange.ledger.held, 0);
  await receive(frame(Buffer.alloc(60_001, 65)));
  t.match(sent(), /"status":413,"error":\{[^}]*"code":"request_too_large"/);
});

t.test("a stop that cuts a running response says so, and closes it", async (t) => {
  const { exchange, send, sent, socket, ended } = await open();
  await send({ input: "1" });
  exchange.webSocket!.onStop!();
  t.match(sent(), /"type":"error".*"status":503.*the gateway is stopping/);
  t.match(sent(), "the proxy stops");
  socket.push(null);
  await ended;
});

t.test("a stopping proxy closes it after its running response", async (t) => {
  const { send, requests, sessions, sent, socket, ended } = await open();
  await send({ input: "1" });
  sessions.drain();
  await requests[0]!.answer();
  t.match(sent(), "served its time");
  socket.push(null);
  await ended;
  await sessions.ended();
});
