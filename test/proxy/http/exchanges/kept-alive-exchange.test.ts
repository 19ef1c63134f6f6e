import t from "tap";
import { keptAliveExchange } from "../../../../proxy/http/exchanges/kept-alive-exchange.js";
import type { Operation } from "../../../../shared/operation.js";
import { FakeExchange } from "../../fake-exchange.js";

const silenceMs = 15_000;
const stream = ["content-type", "text/event-stream"];

/** An exchange with a clock of its own; `pass` lets time pass, and the timers ring. */
function begin(
  operation: Operation = "chat_completions",
  { streamKeepAliveMs = silenceMs, keepAliveMs = 0 } = {},
) {
  const path = operation === "messages" ? "/v1/messages" : "/v1/x";
  const query = operation === "stream_generate_content" ? "alt=sse" : "";
  const inner = new FakeExchange({ path, query });
  let nowMs = 0;
  let timer: { readonly atMs: number; readonly run: () => void } | null = null;
  const exchange = keptAliveExchange(inner, operation, {
    config: { server: { streamKeepAliveMs }, waiting: { keepAliveMs } },
    monoMs: () => nowMs,
    setTimer(ms, run) {
      if (timer !== null) throw new Error("one timer at a time");
      timer = { atMs: nowMs + ms, run };
      return () => {
        timer = null;
      };
    },
  })!;
  const pass = (ms: number): void => {
    const untilMs = nowMs + ms;
    while (timer !== null && timer.atMs <= untilMs) {
      const { atMs, run } = timer;
      nowMs = atMs;
      timer = null;
      run();
    }
    nowMs = untilMs;
  };
  const sent = (): string => inner.body.toString();
  return { inner, exchange, pass, sent, isArmed: () => timer !== null };
}

const event = (text: string): Buffer => Buffer.from(`data: ${text}\n\n`);

t.test("while nothing comes, its client is sent a comment, or Anthropic's ping", async (t) => {
  for (const [operation, keepAlive] of [
    ["chat_completions", ": keep-alive\n\n"],
    ["completions", ": keep-alive\n\n"],
    ["responses", ": keep-alive\n\n"],
    ["messages", 'event: ping\ndata: {"type": "ping"}\n\n'],
  ] as const) {
    const { inner, exchange, pass, sent } = begin(operation);
    exchange.keepAlive(["x-ratelimit-limit-requests", "5"]);
    pass(silenceMs - 1);
    t.same(inner.calls, [], "not a moment too early");
    pass(1);
    t.equal(inner.status, 200);
    t.equal(inner.sent("content-type"), "text/event-stream");
    t.equal(inner.sent("x-request-id"), "req_test");
    t.equal(inner.sent("x-ratelimit-limit-requests"), "5");
    t.equal(sent(), keepAlive);
    t.notOk(exchange.hasBegun, "to the steps nothing has begun");
    pass(2 * silenceMs);
    t.equal(sent(), keepAlive.repeat(3));
    exchange.begin(200, stream);
    t.ok(exchange.hasBegun);
    exchange.write(event("a"));
    exchange.end();
    t.same(inner.calls, ["begin", "write", "write", "write", "write", "end"]);
    t.equal(sent(), `${keepAlive.repeat(3)}data: a\n\n`);
  }
});

t.test("an answer that is fast enough is untouched, and nothing is sent after it", async (t) => {
  const streamed = begin();
  streamed.exchange.keepAlive([]);
  streamed.pass(silenceMs - 1);
  streamed.exchange.begin(200, [...stream, "x-of-the-provider", "1"]);
  streamed.exchange.write(event("a"));
  streamed.exchange.end();
  t.equal(streamed.inner.sent("x-of-the-provider"), "1");
  const replied = begin();
  replied.exchange.keepAlive([]);
  replied.exchange.reply(429, ["retry-after", "5"], "{}", "utf8");
  t.equal(replied.inner.status, 429);
  const other = begin();
  other.exchange.keepAlive([]);
  other.exchange.begin(200, ["content-type", "application/json"]);
  const packed = begin();
  packed.exchange.keepAlive([]);
  packed.exchange.begin(200, [...stream, "content-encoding", "gzip"]);
  const cut = begin();
  cut.exchange.keepAlive([]);
  cut.exchange.cut();
  const left = begin();
  left.exchange.keepAlive([]);
  left.inner.leave();
  for (const { inner, pass, isArmed } of [streamed, replied, other, packed, cut, left]) {
    const calls = [...inner.calls];
    pass(3 * silenceMs);
    t.same(inner.calls, calls);
    t.notOk(isArmed());
  }
});

t.test("a keep-alive comes between events, never inside of one", async (t) => {
  for (const [pieces, isBetween] of [
    [["data: a\n\n"], true],
    [["data: a\n", "\n"], true],
    [["data: a\r\n\r\n"], true],
    [["data: a\r\n", "\r", "\n"], true],
    [["data: a\r\r"], true],
    [["data: a\n"], false],
    [["data: a\r\n"], false],
    [["data: a"], false],
    [["data: a\n\nda"], false],
    [["d"], false],
  ] as const) {
    const { exchange, pass, sent } = begin();
    exchange.keepAlive([]);
    exchange.begin(200, stream);
    for (const piece of pieces) exchange.write(Buffer.from(piece));
    pass(silenceMs);
    t.equal(sent().endsWith(": keep-alive\n\n"), isBetween, JSON.stringify(pieces));
  }
  const { exchange, pass, sent } = begin();
  exchange.keepAlive([]);
  exchange.begin(200, stream);
  for (let i = 0; i < 10; i++) {
    exchange.write(event("a"));
    pass(silenceMs - 1);
  }
  t.notMatch(sent(), /keep-alive/, "what comes is alive by itself");
});

t.test("a client that doesn't read is sent no more, and all who wait go on after", async (t) => {
  const { inner, exchange, pass, sent } = begin();
  exchange.keepAlive([]);
  inner.reads = false;
  pass(4 * silenceMs);
  t.equal(sent(), ": keep-alive\n\n");
  let resumed = 0;
  exchange.begin(200, stream);
  t.notOk(exchange.write(event("a")));
  exchange.onDrain(() => resumed++);
  t.equal(resumed, 0);
  inner.drain();
  t.equal(resumed, 1);
  pass(silenceMs);
  t.match(sent(), /data: a\n\n: keep-alive\n\n$/);
  inner.reads = false;
  t.notOk(exchange.write(event("b")));
  exchange.onDrain(() => resumed++);
  inner.drain();
  t.equal(resumed, 2);
});

t.test("an error after the status has been sent is the stream's last event", async (t) => {
  const error = { type: "provider_error", message: "no", code: "provider_unavailable" };
  const table: readonly (readonly [Operation, object, string, RegExp])[] = [
    ["chat_completions", { error }, "data: ", /^data: \{"error":\{"type":"provider_error",/],
    [
      "messages",
      { type: "error", error: { type: "overloaded_error", message: "no" } },
      "event: error\n",
      /"error":\{"type":"overloaded_error","message":"no"\}/,
    ],
    [
      "responses",
      { error },
      "event: error\n",
      /"code":"provider_unavailable","message":"no".*\n\nevent: response.failed\ndata: .*"status":"failed"/s,
    ],
  ];
  for (const [operation, body, begins, expected] of table) {
    const { inner, exchange, pass, sent } = begin(operation);
    exchange.keepAlive([]);
    pass(silenceMs);
    const before = sent().length;
    exchange.reply(502, [], JSON.stringify(body, null, 1), "utf8");
    t.equal(inner.ended, "end");
    const written = sent().slice(before);
    t.ok(written.startsWith(begins), written);
    t.match(written, expected, operation);
    t.match(written, /\n\n$/);
    for (const data of written.matchAll(/^data: (.*)$/gm))
      t.doesNotThrow(() => JSON.parse(data[1]!));
  }
  for (const [status, body] of [
    [200, '{"choices":[]}'],
    [500, "<html>"],
    [500, "[]"],
  ] as const) {
    const { exchange, pass, sent } = begin();
    exchange.keepAlive([]);
    pass(silenceMs);
    exchange.reply(status, [], body, "utf8");
    t.match(sent(), /"message":"the provider answered without the requested stream/, body);
  }
  const { inner, exchange, pass } = begin();
  exchange.keepAlive([]);
  pass(silenceMs);
  exchange.begin(200, ["content-type", "application/json"]);
  t.equal(inner.ended, "cut");
});

t.test("a client whose request waits is told its place, then gets its stream", async (t) => {
  const said = (text: string): string => `: waiting for room under a limit: ${text}\n\n`;
  const ping = 'event: ping\ndata: {"type": "ping"}\n\n';
  for (const [operation, first, second] of [
    ["chat_completions", said("number 4, about 6 s"), said("number 1")],
    ["responses", said("number 4, about 6 s"), said("number 1")],
    ["messages", said("number 4, about 6 s") + ping, said("number 1") + ping],
    ["stream_generate_content", null, null],
  ] as const) {
    const how = { streamKeepAliveMs: 0, keepAliveMs: silenceMs };
    const { inner, exchange, pass, sent, isArmed } = begin(operation, how);
    const onPlace = exchange.onPlace!;
    pass(9 * silenceMs);
    t.same(inner.calls, [], "it has no clock of its own");
    onPlace({ position: 4, expectedMs: 5500 });
    t.equal(inner.status, 200);
    t.equal(inner.sent("content-type"), "text/event-stream");
    t.equal(inner.sent("x-request-id"), "req_test");
    t.notOk(exchange.hasBegun);
    onPlace({ position: 1, expectedMs: null });
    if (first !== null) t.equal(sent(), first + second);
    else t.match(sent(), /^(data: \{.*"parts": \[\{"text": ""\}\].*\}\n\n){2}$/);
    exchange.keepAlive(["x-ratelimit-limit-requests", "5"]);
    t.notOk(isArmed(), "a silent stream has its own setting");
    const before = sent();
    exchange.begin(200, stream);
    exchange.write(event("a"));
    exchange.end();
    t.equal(sent(), `${before}data: a\n\n`);
    t.equal(inner.ended, "end");
  }
});

t.test("a refusal after that is the stream's last event, and nobody else is told", async (t) => {
  const { inner, exchange, sent } = begin("stream_generate_content", { keepAliveMs: 1 });
  exchange.onPlace!({ position: 1, expectedMs: null });
  const before = sent().length;
  const error = { code: 429, message: "full", status: "RESOURCE_EXHAUSTED" };
  exchange.reply(429, ["retry-after", "1"], JSON.stringify({ error }), "utf8");
  t.equal(sent().slice(before), `data: ${JSON.stringify({ error })}\n\n`);
  t.equal(inner.ended, "end");
  t.equal(begin().exchange.onPlace, undefined);
  const left = begin("chat_completions", { keepAliveMs: 1 });
  left.inner.leave();
  left.exchange.onPlace!({ position: 1, expectedMs: null });
  t.same(left.inner.calls, []);
  const slow = begin("chat_completions", { keepAliveMs: 1 });
  slow.inner.reads = false;
  for (let i = 0; i < 5; i++) slow.exchange.onPlace!({ position: 1, expectedMs: null });
  t.equal(slow.sent().split("waiting").length, 2, "a client that doesn't read gets no more");
  const broken = begin("chat_completions", { keepAliveMs: 1 });
  broken.inner.begin = () => {
    throw new Error("no head");
  };
  broken.exchange.onPlace!({ position: 1, expectedMs: null });
  t.equal(broken.inner.ended, "cut");
});

t.test("streams of dialects that have keep-alives get them if they are configured", async (t) => {
  const gateway = (streamKeepAliveMs: number) => ({
    config: { server: { streamKeepAliveMs }, waiting: null },
    monoMs: () => 0,
    setTimer: () => () => {},
  });
  const isKept = (operation: Operation, ms: number): boolean =>
    keptAliveExchange(new FakeExchange(), operation, gateway(ms)) !== null;
  t.ok(isKept("chat_completions", 1));
  t.notOk(isKept("chat_completions", 0));
  t.notOk(isKept("stream_generate_content", 1));
  t.notOk(isKept("speech", 1));
  const waits = { ...gateway(0), config: { ...gateway(0).config, waiting: { keepAliveMs: 1 } } };
  const array = new FakeExchange({ query: "" });
  t.equal(keptAliveExchange(array, "stream_generate_content", waits), null, "no stream of events");
});
