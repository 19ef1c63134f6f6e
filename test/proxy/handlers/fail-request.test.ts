/**
 * The boundary around a request: something is thrown at each step of its way, and the request alone
 * ends, with a 500 or a cut, one settle, and its stack in the log.
 */
import t from "tap";
import type { Gateway } from "../../../proxy/gateway.js";
import { handleRequest } from "../../../proxy/handle-request.js";
import type { SpentUsage } from "../../../proxy/limiter/admission.js";
import { BrokenLimiterState } from "../../../proxy/limiter/broken-limiter-state.js";
import type { UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { exactly } from "../../support/patterns/exactly.js";
import { FakeExchange } from "../fake-exchange.js";
import { type FakeGateway, fakeGateway } from "../fake-gateway.js";

const yaml = `
providers:
  plain: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [m] }
  other: { type: anthropic, base_url: "http://127.0.0.1:1/v1", models: [n] }
virtual_models: { either: { strategy: round_robin, targets: [ { model: plain/m }, { model: other/n } ] } }
`;

const planted = new TypeError("planted");
const fail = (): never => {
  throw planted;
};

/** Bytes that can't be read: what throws in the middle of the reading. */
function unreadable(bytes: Buffer): Buffer {
  return new Proxy(bytes, { get: fail });
}

const head = ["content-type", "application/json"];
const streamHead = ["content-type", "text/event-stream"];
const answer = Buffer.from(
  JSON.stringify({
    id: "1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
  }),
);
const chunk = Buffer.from(
  'data: {"choices":[{"index":0,"delta":{"content":"some words of an answer"}}]}\n\n',
);
const event = Buffer.from(
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"n","usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
);

interface Run {
  readonly exchange: FakeExchange;
  readonly fake: FakeGateway;
  readonly bugs: readonly { readonly request_id: string; readonly err: unknown }[];
  readonly lines: readonly string[];
  readonly aborted: boolean;
}

interface Injection {
  readonly body?: object;
  readonly path?: string;
  /** What a gateway has in place of its own. */
  change?(gateway: Gateway): Partial<Gateway>;
  /** What the provider answers. */
  play?(sink: UpstreamSink): void;
  prepare?(exchange: FakeExchange): void;
}

async function run({ body, path, change, play, prepare }: Injection): Promise<Run> {
  const fake = fakeGateway(yaml);
  const bugs: { request_id: string; err: unknown }[] = [];
  const lines: string[] = [];
  let aborted = false;
  const upstream = {
    send(_: unknown, sink: UpstreamSink) {
      setImmediate(() => {
        if (play !== undefined) return play(sink);
        sink.onHead(200, head);
        sink.onData(answer);
        sink.onEnd();
      });
      return { isSent: true, pause() {}, resume() {}, abort: () => (aborted = true) };
    },
    redact: (text: string) => text,
    close: () => Promise.resolve(),
  };
  const gateway = {
    ...fake.gateway,
    providers: new Map(
      [...fake.gateway.providers].map(([name, provider]) => [name, { ...provider, upstream }]),
    ),
    credentials: {
      masterKey: null,
      jwt: null,
      userPathHeader: "x-sluice-user-path",
      open: true,
      adminOpen: true,
      hashKey: () => "",
      isHashOf: () => true,
    },
    limiter: Object.assign(fake.gateway.limiter, {
      notices: { keysExist: false },
      reachable: true,
    }),
    log: {
      error: (fields: { request_id: string; err: unknown }) => void bugs.push(fields),
      isLevelEnabled: () => true,
      line: (_: string, fields: string) => void lines.push(fields),
    },
  } as unknown as Gateway;
  const exchange = new FakeExchange({ path: path ?? "/v1/chat/completions" });
  exchange.sentPieces = [
    Buffer.from(
      JSON.stringify(body ?? { model: "plain/m", messages: [{ role: "user", content: "x" }] }),
    ),
  ];
  prepare?.(exchange);
  await handleRequest({ ...gateway, ...change?.(gateway) }, exchange);
  exchange.memory.onResponseEnd();
  if (exchange.ledger.held > 0) throw new Error("memory is still taken");
  return { exchange, fake, bugs, lines, aborted };
}

/** The first call throws. */
function failingOnce<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
): (...args: Args) => Result {
  let failed = false;
  return (...args) => {
    if (failed) return call(...args);
    failed = true;
    return fail();
  };
}

interface Expected extends Injection {
  readonly name: string;
  /** Of the answer; a cut one has that of its head. */
  readonly ended: "reply" | "cut";
  readonly status?: number;
  /** Null: nothing was admitted. */
  readonly settled: Partial<SpentUsage> | null;
}

const translated = { model: "other/n", messages: [{ role: "user", content: "x" }], stream: true };

const table: readonly Expected[] = [
  {
    name: "route",
    prepare: (exchange) =>
      Object.defineProperty(exchange, "method", { get: failingOnce(() => "POST") }),
    ended: "reply",
    settled: null,
  },
  {
    name: "authenticate",
    change: ({ credentials }) => ({
      credentials: { ...credentials, open: false, masterKey: "key", isHashOf: fail },
    }),
    prepare: (exchange) =>
      Object.defineProperty(exchange, "header", {
        value: (name: string) => (name === "authorization" ? "Bearer x" : undefined),
      }),
    ended: "reply",
    settled: null,
  },
  {
    name: "read the body",
    prepare: (exchange) => Object.assign(exchange, { readBody: fail }),
    ended: "reply",
    settled: null,
  },
  {
    name: "resolve",
    change: ({ models }) => ({ models: { ...models, current: fail } }),
    ended: "reply",
    settled: null,
  },
  {
    name: "order",
    body: { model: "either", messages: [{ role: "user", content: "x" }] },
    change: () => ({ targetOrder: { order: fail, peek: fail } }),
    ended: "reply",
    settled: null,
  },
  {
    name: "admit",
    change: ({ limiter }) => ({
      limiter: { ...limiter, admit: () => Promise.reject(planted) } as never,
    }),
    ended: "reply",
    settled: null,
  },
  {
    name: "make the provider's request",
    change: () => ({ rewriters: fail }),
    ended: "reply",
    settled: { tokens: 0, record: null },
  },
  {
    name: "forward",
    change: ({ providers }) => ({
      providers: new Map(
        [...providers].map(([name, provider]) => [
          name,
          { ...provider, upstream: { ...provider.upstream, send: fail } },
        ]),
      ),
    }),
    ended: "reply",
    // Nothing was sent.
    settled: { tokens: 0, estimated: false },
  },
  {
    name: "the head of an answer",
    play(sink) {
      sink.onHead(
        200,
        [fail as never, "x"].map((value) => ({ toString: value }) as never),
      );
      // The head is held until the form of the answer is known.
      sink.onData(answer);
      sink.onEnd();
    },
    ended: "reply",
    settled: { tokens: 0 },
  },
  {
    name: "usage reading",
    play(sink) {
      sink.onHead(200, head);
      sink.onData(unreadable(answer));
      sink.onEnd();
    },
    change: () => ({}),
    ended: "reply",
    settled: { estimated: true },
  },
  {
    name: "an event of a stream",
    body: { model: "plain/m", messages: [], stream: true },
    play(sink) {
      sink.onHead(200, streamHead);
      sink.onData(chunk);
      sink.onData(unreadable(chunk));
      sink.onData(chunk);
      sink.onEnd();
    },
    ended: "cut",
    status: 200,
    settled: { estimated: true },
  },
  {
    name: "the first event of a translated stream",
    body: translated,
    play(sink) {
      sink.onHead(200, streamHead);
      sink.onData(unreadable(event));
      sink.onEnd();
    },
    ended: "cut",
    status: 200,
    settled: { estimated: true },
  },
  {
    name: "a later event of a translated stream",
    body: translated,
    play(sink) {
      sink.onHead(200, streamHead);
      sink.onData(event);
      sink.onData(unreadable(event));
      sink.onFailure({ kind: "broken", reason: "aborted" });
    },
    ended: "cut",
    status: 200,
    settled: { estimated: true },
  },
  {
    name: "a translated answer",
    body: { ...translated, stream: false },
    play(sink) {
      sink.onHead(200, head);
      sink.onData({
        get length() {
          return fail();
        },
      } as never);
      sink.onEnd();
    },
    ended: "reply",
    settled: { estimated: true },
  },
  {
    name: "a failure of the provider",
    play: (sink) =>
      sink.onFailure({
        kind: "broken",
        get reason() {
          return fail();
        },
      } as never),
    ended: "reply",
    settled: { estimated: true },
  },
  {
    name: "price",
    change: ({ prices }) => ({ prices: { ...prices, sourceOf: fail } as never }),
    ended: "reply",
    settled: { tokens: 12, record: null },
  },
  {
    name: "price at the admission",
    change: ({ prices }) => ({ prices: { ...prices, priceOf: fail } as never }),
    ended: "reply",
    settled: null,
  },
  {
    name: "settle",
    change: ({ limiter }) => ({
      limiter: { ...limiter, settle: failingOnce(limiter.settle.bind(limiter)) } as never,
    }),
    ended: "reply",
    settled: { tokens: 12, record: null },
  },
  {
    name: "send the answer",
    prepare: (exchange) =>
      Object.assign(exchange, { reply: failingOnce(exchange.reply.bind(exchange)) }),
    ended: "reply",
    settled: { tokens: 12 },
  },
];

t.test("an exception at any step ends its request, and nothing else", async (t) => {
  for (const { name, ended, status = 500, settled, ...injection } of table) {
    const { exchange, fake, bugs, lines, aborted } = await run(injection);
    t.equal(exchange.ended, ended, name);
    t.equal(exchange.status, status, name);
    if (ended === "reply")
      t.match(JSON.parse(exchange.body.toString()), {
        error: { type: "internal_error", code: null, param: null, message: /req_test/ },
      });
    t.equal(fake.settled.length, settled === null ? 0 : 1, `${name}: settled once`);
    if (settled !== null) t.match(fake.settled[0], settled, name);
    t.match(bugs, exactly([{ request_id: "req_test", err: TypeError }]), name);
    t.equal(lines.length, 1, name);
    if (name !== "send the answer") t.match(lines[0], '"outcome":"internal_error"', name);
    if (injection.play !== undefined) t.ok(aborted, `${name}: the provider is let go`);
  }
});

t.test("a client that speaks Anthropic's dialect gets the 500 in it", async (t) => {
  const { exchange } = await run({
    path: "/v1/messages",
    change: ({ models }) => ({ models: { ...models, current: fail } }),
  });
  t.match(JSON.parse(exchange.body.toString()), { type: "error", error: { type: "api_error" } });
  const admin = await run({
    path: "/admin/explain",
    prepare: (e) => Object.assign(e, { readBody: fail }),
  });
  t.match(JSON.parse(admin.exchange.body.toString()), { status_code: 500, type: "internal_error" });
});

t.test("a log that fails costs its line alone", async (t) => {
  const { exchange, fake, bugs } = await run({
    change: ({ log }) => ({ log: { ...log, line: fail } as never }),
  });
  t.equal(exchange.status, 200);
  t.equal(fake.settled.length, 1);
  t.match(bugs, exactly([{ request_id: "req_test", err: planted }]));
});

t.test("a broken limiter state is no request's to survive", async (t) => {
  const broken = new BrokenLimiterState("planted");
  await t.rejects(
    run({
      change: ({ limiter }) => ({
        limiter: { ...limiter, admit: () => Promise.reject(broken) } as never,
      }),
    }),
    broken,
  );
});
