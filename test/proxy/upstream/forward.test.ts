import { deepStrictEqual, ok } from "node:assert";
import fc from "fast-check";
import t from "tap";
import { lengthStop } from "../../../proxy/hard-caps/length-stop.js";
import {
  type DrawnOutput,
  OutputAllowance,
  type StreamCap,
} from "../../../proxy/hard-caps/output-allowance.js";
import { bodyForm, forward, mustBeJson } from "../../../proxy/upstream/forward.js";
import type { ForwardRequest, ForwardResult } from "../../../proxy/upstream/forwarded.js";
import type { UpstreamRequest } from "../../../proxy/upstream/upstream.js";
import {
  heldHeadBytesMax,
  heldHeadMs,
  heldResponseBytesMax,
  outputTokensAssumed,
  tokensPerResponseMax,
} from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import { chunk, completion, usageChunk } from "../../support/providers/scripted-upstream.js";
import { FakeExchange } from "../fake-exchange.js";
import { json, limits, RequestUnderWay } from "./request-under-way.js";

const promptBytes = 400;
const done = "data: [DONE]\n\n";
const eventStream = ["content-type", "text/event-stream; charset=utf-8"];

class Forwarding extends RequestUnderWay<UpstreamRequest> {
  constructor(what: Partial<ForwardRequest> = {}) {
    const exchange = new FakeExchange();
    super(exchange, (send) =>
      forward(exchange, {
        upstream: {
          send,
          redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
          close: () => Promise.resolve(),
        },
        provider: "openai",
        request: {
          method: "POST",
          path: "/chat/completions",
          headers: [],
          body: Buffer.from("{}"),
          isRepeatable: true,
        },
        headers: limits,
        operation: "chat_completions",
        translator: null,
        hideUsageChunk: false,
        promptBytes: () => promptBytes,
        holdsHead: false,
        monoMs: () => 77,
        ...what,
      }),
    );
  }
}

const bodyOf = ({ exchange }: Forwarding): { error: Record<string, unknown> } =>
  JSON.parse(exchange.body.toString()) as { error: Record<string, unknown> };
const estimate = (contentBytes: number): number => Math.ceil((promptBytes + contentBytes) / 4);

t.test(
  "a plain answer is held until it is complete, then sent unchanged, and its usage is charged",
  async (t) => {
    const forwarding = new Forwarding();
    const body = completion(30, "größe 日本 🙂");
    forwarding
      .head(200, [...json, "OpenAI-Processing-Ms", "12", "x-ratelimit-limit-requests", "9999"])
      .data(Buffer.from(body).subarray(0, 100), Buffer.from(body).subarray(100));
    t.same(forwarding.exchange.calls, []);
    forwarding.end();
    t.ok(await forwarding.isOver());
    t.same(forwarding.exchange.calls, [], "and until its settle has left");
    t.match(await forwarding.finished(), {
      status: 200,
      usage: { totalTokens: 30 },
      estimated: false,
      outcome: "complete",
      firstByteMonoMs: 77,
      note: null,
    });
    t.same(forwarding.exchange.calls, ["reply"]);
    t.equal(forwarding.exchange.body.toString(), body, "byte for byte");
    t.same(
      [
        forwarding.exchange.status,
        forwarding.exchange.sent("openai-processing-ms"),
        forwarding.exchange.sent("x-request-id"),
        forwarding.exchange.sent("x-ratelimit-limit-requests"),
      ],
      [200, "12", "req_test", "10"],
    );
    t.equal(
      forwarding.exchange.headers.filter((name) => name === "x-ratelimit-limit-requests").length,
      1,
    );
  },
);

t.test("an answer without usage is charged an estimate, and marked so", async (t) => {
  const body = completion(null);
  const plain = new Forwarding().head(200).data(body).end();
  t.match(await plain.finished(), {
    usage: { totalTokens: estimate(body.length) },
    estimated: true,
    outcome: "complete",
  });
  const text = new Forwarding({ operation: "transcriptions" })
    .head(200, ["content-type", "text/plain"])
    .data("what was said")
    .end();
  t.match(await text.finished(), {
    usage: { totalTokens: estimate(13) },
    estimated: true,
    outcome: "complete",
  });
  t.equal(text.exchange.body.toString(), "what was said");
  const empty = new Forwarding({ operation: "transcriptions" }).head(200, []).end();
  t.match(await empty.finished(), {
    usage: { totalTokens: estimate(0) },
    estimated: true,
    status: 200,
  });
});

t.test(
  "where JSON is expected, anything else is no answer: it costs nothing, and may fail over",
  async (t) => {
    const table: readonly (readonly [text: string, given: string])[] = [
      ["", "an empty body"],
      [" \n", "an empty body"],
      ["<!doctype html><p>usage", "a page of HTML or XML"],
      ["\ufeff<html>", "a page of HTML or XML"],
      ["upstream is fine", "a body that is no JSON object"],
      ['{"usage":', "a body that is no JSON object"],
      ["[]", "a body that is no JSON object"],
      ["null", "a body that is no JSON object"],
      ['"text"', "a body that is no JSON object"],
    ];
    for (const [text, given] of table) {
      const forwarding = new Forwarding()
        .head(200, ["content-type", "text/html"])
        .data(...(text === "" ? [] : [text]))
        .end();
      t.match(
        await forwarding.finished(),
        {
          status: 502,
          usage: null,
          estimated: false,
          outcome: "upstream_error",
          note: `200 with ${given}`,
          failed: { why: `200 with ${given}`, status: 502, isAnswered: true },
        },
        text,
      );
      t.match(bodyOf(forwarding).error, {
        type: "provider_error",
        code: "provider_unavailable",
        message: `provider openai answered 200 with ${given}`,
        provider: "openai",
      });
    }
    for (const text of [
      "{}",
      '{"logprob":NaN}\n',
      '\ufeff{"choices":[]}',
      '[{"embedding":[1]}]',
      ' {"error":null,"choices":[]} ',
    ]) {
      const forwarding = new Forwarding()
        .head(200, ["content-type", "text/plain"])
        .data(text)
        .end();
      t.match(
        await forwarding.finished(),
        { status: 200, outcome: "complete", failed: null },
        text,
      );
      t.equal(
        forwarding.exchange.body.toString(),
        text,
        "any JSON passes untouched, and what Python and .NET make of it",
      );
    }
    const deleted = new Forwarding({
      operation: "responses",
      request: {
        method: "DELETE",
        path: "/responses/r",
        headers: [],
        body: null,
        isRepeatable: true,
      },
    })
      .head(204, [])
      .end();
    t.match(await deleted.finished(), { status: 204, outcome: "complete" });
    const mislabelled = new Forwarding()
      .head(200, ["content-type", "application/octet-stream"])
      .data(completion(30))
      .end();
    t.match(
      await mislabelled.finished(),
      { usage: { totalTokens: 30 }, estimated: false },
      "whatever its head calls it",
    );
    const picture = new Forwarding({ operation: "images" })
      .head(200, ["content-type", "image/png"])
      .data(Buffer.from([0x89, 0x50]))
      .end();
    t.match(await picture.finished(), { status: 200, outcome: "complete" });
  },
);

t.test("invalid usage isn't charged but an estimate, and the log line says why", async (t) => {
  for (const usage of [
    { total_tokens: -5 },
    { total_tokens: tokensPerResponseMax + 1 },
    { total_tokens: "many" },
    { prompt_tokens: 1.5 },
  ]) {
    const body = JSON.stringify({ choices: [], usage });
    const forwarding = new Forwarding().head(200).data(body).end();
    t.match(
      await forwarding.finished(),
      {
        usage: { totalTokens: estimate(body.length) },
        estimated: true,
        outcome: "complete",
        note: /^usage not charged: /,
      },
      JSON.stringify(usage),
    );
  }
});

t.test("the case of a header's name and value doesn't matter", async (t) => {
  const plain = new Forwarding()
    .head(200, ["Content-Type", "Application/JSON"])
    .data(completion(30))
    .end();
  t.match(await plain.finished(), { usage: { totalTokens: 30 }, estimated: false });
  const stream = new Forwarding().head(200, ["CONTENT-TYPE", "Text/Event-Stream"]);
  t.same(stream.exchange.calls, ["begin"]);
  stream.end();
  await stream.finished();
});

t.test(
  "a stream begins at its head and passes piece by piece, the last of it after the settle",
  async (t) => {
    const forwarding = new Forwarding();
    forwarding.head(200, eventStream);
    t.same(forwarding.exchange.calls, ["begin"]);
    t.same(
      [
        forwarding.exchange.status,
        forwarding.exchange.sent("x-ratelimit-limit-requests"),
        forwarding.exchange.sent("x-request-id"),
      ],
      [200, "10", "req_test"],
    );
    const events = [chunk("hel"), chunk("lo"), chunk("", "stop"), usageChunk(12), done];
    for (const event of events) forwarding.data(event);
    t.equal(forwarding.exchange.body.toString(), events.join(""));
    forwarding.end();
    await forwarding.isOver();
    t.equal(forwarding.exchange.ended, null, "not ended before the settle has left");
    t.match(await forwarding.finished(), {
      status: 200,
      usage: { totalTokens: 12 },
      estimated: false,
      outcome: "complete",
      firstByteMonoMs: 77,
    });
    t.equal(forwarding.exchange.ended, "end");
    t.equal(forwarding.exchange.body.toString(), events.join(""));
  },
);

t.test(
  "the usage chunk that only Sluice requested is charged and hidden from the client",
  async (t) => {
    const forwarding = new Forwarding({ hideUsageChunk: true })
      .head(200, eventStream)
      .data(chunk("a"), chunk("", "stop"), usageChunk(12), done)
      .end();
    t.match(await forwarding.finished(), { usage: { totalTokens: 12 }, estimated: false });
    t.equal(forwarding.exchange.body.toString(), chunk("a") + chunk("", "stop") + done);
  },
);

t.test("an incomplete event at the end of a stream is sent", async (t) => {
  const forwarding = new Forwarding({ hideUsageChunk: true })
    .head(200, eventStream)
    .data(chunk("", "stop"), "data: [DONE]")
    .end();
  await forwarding.finished();
  t.equal(forwarding.exchange.body.toString(), `${chunk("", "stop")}data: [DONE]`);
});

t.test("a stream without usage is charged an estimate of what was seen", async (t) => {
  const forwarding = new Forwarding()
    .head(200, eventStream)
    .data(chunk("12345678"), chunk("", "stop"), done)
    .end();
  t.match(await forwarding.finished(), {
    usage: { totalTokens: estimate(8) },
    estimated: true,
    outcome: "complete",
  });
});

t.test("an error inside a stream is in the outcome; what was seen is charged", async (t) => {
  const failed = 'data: {"error":{"message":"overloaded"}}\n\n';
  const forwarding = new Forwarding().head(200, eventStream).data(chunk("1234"), failed).end();
  t.match(await forwarding.finished(), {
    status: 200,
    outcome: "upstream_error",
    usage: { totalTokens: estimate(4) },
    estimated: true,
  });
  t.equal(forwarding.exchange.body.toString(), chunk("1234") + failed);
});

t.test("a client that reads slowly pauses the provider until it has caught up", async (t) => {
  const forwarding = new Forwarding().head(200, eventStream);
  forwarding.data(chunk("a"));
  t.equal(forwarding.paused, false);
  forwarding.exchange.reads = false;
  forwarding.data(chunk("b"));
  t.equal(forwarding.paused, true);
  forwarding.exchange.drain();
  t.equal(forwarding.paused, false);
  forwarding.exchange.reads = false;
  forwarding.data(chunk("c"));
  t.equal(forwarding.paused, true, "and again");
  forwarding.exchange.drain();
  forwarding.data(done).end();
  t.match(await forwarding.finished(), { outcome: "complete" });
});

t.test(
  "a plain answer too large to be held is sent as it comes, and its usage is still read",
  async (t) => {
    const body = Buffer.from(
      JSON.stringify({
        choices: [],
        data: "x".repeat(heldResponseBytesMax + 300_000),
        usage: { prompt_tokens: 40, completion_tokens: 2 },
      }),
    );
    const forwarding = new Forwarding().head(200, [...json, "content-length", String(body.length)]);
    forwarding.data(body.subarray(0, heldResponseBytesMax));
    t.same(forwarding.exchange.calls, [], "just the bound is still held");
    forwarding.exchange.reads = false;
    forwarding.data(body.subarray(heldResponseBytesMax, heldResponseBytesMax + 1));
    t.equal(forwarding.exchange.calls[0], "begin");
    t.equal(forwarding.exchange.body.length, heldResponseBytesMax + 1, "all that was held is out");
    t.equal(forwarding.paused, true);
    t.equal(forwarding.exchange.sent("content-length"), undefined);
    forwarding.exchange.drain();
    t.equal(forwarding.paused, false);
    forwarding.data(body.subarray(heldResponseBytesMax + 1)).end();
    t.match(await forwarding.finished(), {
      usage: { totalTokens: 42 },
      estimated: false,
      outcome: "complete",
    });
    t.ok(forwarding.exchange.body.equals(body));
    t.equal(forwarding.exchange.ended, "end");
  },
);

t.test(
  "sound is sent while it is made, and charged by its prompt; an error instead of it is held",
  async (t) => {
    const forwarding = new Forwarding({ operation: "speech" }).head(200, [
      "content-type",
      "audio/mpeg",
    ]);
    t.same(
      forwarding.exchange.calls,
      [],
      "as long as no sound has been sent, another target may answer",
    );
    forwarding.data(Buffer.from([0xff, 0xfb]));
    t.same(forwarding.exchange.calls, ["begin", "write"]);
    forwarding.data(Buffer.alloc(4000, 0xff)).end();
    t.match(await forwarding.finished(), {
      usage: { inputTokens: promptBytes / 4, outputTokens: 0 },
      estimated: true,
      outcome: "complete",
    });
    t.equal(forwarding.exchange.body.length, 4002);
    const failing = new Forwarding({ operation: "speech" })
      .head(500, ["content-type", "application/octet-stream"])
      .data("no")
      .end();
    t.match(await failing.finished(), { status: 500, usage: null, outcome: "upstream_error" });
  },
);

t.test("an answer of any size passes completely, and its usage is read", async (t) => {
  const piece = Buffer.alloc(4 * 1024 * 1024, 0x20);
  const usage =
    '{"metadata":{"usage":"x"},"usage":{"prompt_tokens":1,"completion_tokens":4},"user":"usage"}';
  const forwarding = new Forwarding().head(200);
  for (let i = 0; i < 9; i++) forwarding.data(piece);
  forwarding.data(usage).end();
  const charged = { usage: { totalTokens: 5 }, estimated: false, note: null };
  t.match(await forwarding.finished(), { outcome: "complete", status: 200, ...charged });
  t.equal(forwarding.exchange.body.length, 9 * piece.length + usage.length);
  const atOnce = new Forwarding()
    .head(200)
    .data(Buffer.concat([piece, Buffer.from(usage)]))
    .end();
  t.match(await atOnce.finished(), { outcome: "complete", ...charged });
  t.equal(
    atOnce.exchange.body.length,
    piece.length + usage.length,
    "and so does one that comes in one piece, as a translated one does",
  );
});

t.test("when the answer begins it says so: the request isn't sent again", async (t) => {
  const table: readonly (readonly [string, boolean, (one: Forwarding) => unknown])[] = [
    ["a stream", false, (one) => one.head(200, eventStream)],
    ["a large answer", false, (one) => one.head(200).data(Buffer.alloc(heldResponseBytesMax + 1))],
    ["a head that is held", true, (one) => one.head(200, eventStream).data(chunk("a"))],
  ];
  for (const [name, holdsHead, play] of table) {
    let begun = 0;
    const one = new Forwarding({ holdsHead, onBegun: () => begun++ });
    play(one);
    t.same([one.exchange.hasBegun, begun], [true, 1], name);
  }
  let begun = 0;
  const held = new Forwarding({ holdsHead: true, onBegun: () => begun++ });
  held.head(200, eventStream);
  const failed = new Forwarding({ onBegun: () => begun++ }).head(500).data("{}").end();
  await failed.finished();
  t.equal(begun, 0);
});

t.test(
  "an answer for which there is no memory passes at once, is read as it passes, and leaves the memory to others",
  async (t) => {
    const piece = Buffer.alloc(10_000, 0x20);
    const forwarding = new Forwarding();
    const others = forwarding.exchange.fillMemory(25_000);
    forwarding.head(200).data(piece, piece);
    t.same(forwarding.exchange.calls, [], "it is held as long as it fits");
    t.ok(forwarding.exchange.ledger.held > others + 20_000);
    forwarding.data(piece);
    t.equal(forwarding.exchange.hasBegun, true);
    t.equal(forwarding.exchange.ledger.held, others);
    forwarding.data('{"usage":{"prompt_tokens":1,"completion_tokens":4}}').end();
    t.match(await forwarding.finished(), {
      outcome: "complete",
      status: 200,
      usage: { totalTokens: 5 },
      estimated: false,
      note: null,
    });
    t.equal(forwarding.exchange.body.length, 30_051);
    const failing = new Forwarding();
    failing.exchange.fillMemory(5_000);
    failing.head(500).data(piece, piece);
    t.equal(failing.aborted, true, "an error page isn't read to its end");
    t.match(await failing.finished(), { status: 500, outcome: "upstream_error" });
  },
);

t.test(
  "an upstream's error is sent in our envelope with status, message and Retry-After, at no cost",
  async (t) => {
    const table: readonly (readonly [
      status: number,
      body: string,
      answered: number,
      error: object,
    ])[] = [
      [
        400,
        '{"error":{"message":"bad temperature","param":"temperature","code":"invalid"}}',
        400,
        {
          type: "invalid_request_error",
          message: "bad temperature",
          param: "temperature",
          code: "invalid",
          provider: "openai",
        },
      ],
      [
        401,
        '{"error":{"message":"wrong key sk-secret"}}',
        502,
        {
          type: "provider_error",
          code: "provider_credentials",
          message: "wrong key [redacted]",
        },
      ],
      [404, "{}", 404, { type: "not_found_error", code: null }],
      [
        429,
        '{"error":{"message":"slow down"}}',
        429,
        { type: "rate_limit_error", message: "slow down" },
      ],
      [500, "<html>oops</html>", 500, { type: "provider_error", provider: "openai" }],
      [302, "", 502, { type: "provider_error" }],
    ];
    for (const [status, body, answered, error] of table) {
      const isRefusal = status === 401;
      const forwarding = new Forwarding()
        .head(status, [
          ...json,
          "retry-after",
          "7",
          "Retry-After-Ms",
          "6500",
          "x-should-retry",
          "true",
          "x-other",
          "1",
        ])
        .data(body)
        .end();
      t.match(
        await forwarding.finished(),
        { status: answered, usage: null, estimated: false, outcome: "upstream_error" },
        `${status}`,
      );
      t.match(bodyOf(forwarding).error, error);
      t.same(
        [
          forwarding.exchange.status,
          forwarding.exchange.sent("retry-after"),
          forwarding.exchange.sent("x-ratelimit-limit-requests"),
          forwarding.exchange.sent("x-request-id"),
        ],
        [answered, isRefusal ? undefined : "7", "10", "req_test"],
      );
      t.same(
        [
          forwarding.exchange.sent("retry-after-ms"),
          forwarding.exchange.sent("x-should-retry"),
          forwarding.exchange.sent("x-other"),
        ],
        isRefusal ? [undefined, "false", undefined] : ["6500", "true", undefined],
      );
      t.equal(
        forwarding.exchange.headers.filter((name) => name.toLowerCase() === "x-request-id").length,
        1,
      );
    }
  },
);

t.test(
  "an error inside a 200 is an upstream error too, with the status that it names",
  async (t) => {
    const named = new Forwarding()
      .head(200)
      .data('{"error":{"message":"too many","code":429}}')
      .end();
    t.match(await named.finished(), { status: 429, usage: null, outcome: "upstream_error" });
    t.match(bodyOf(named).error, {
      type: "rate_limit_error",
      message: "too many",
      provider: "openai",
    });
    const text = new Forwarding().head(200).data('{"error":"odd"}').end();
    t.match(await text.finished(), { status: 502, usage: null, outcome: "upstream_error" });
    t.match(bodyOf(text).error, { message: "odd" });
    const bare = new Forwarding().head(200).data('{"error":{"message":"odd"}}').end();
    t.match(await bare.finished(), { status: 502, outcome: "upstream_error" });
    const none = new Forwarding()
      .head(200)
      .data('{"error":null,"choices":[{}],"usage":{"total_tokens":3}}')
      .end();
    t.match(await none.finished(), { status: 200, usage: { totalTokens: 3 }, outcome: "complete" });
  },
);

t.test(
  "a page in an answer's place is none, however long, also with a byte order mark",
  async (t) => {
    const page = `<html>${"x".repeat(heldResponseBytesMax)}`;
    for (const before of ["", " \n", "\ufeff", "\ufeff "]) {
      const forwarding = new Forwarding().head(200, ["content-type", "text/html"]);
      forwarding.data(Buffer.from(before + page));
      t.equal(forwarding.aborted, true, JSON.stringify(before));
      t.match(await forwarding.finished(), {
        status: 502,
        outcome: "upstream_error",
        failed: { why: "200 with a page of HTML or XML" },
      });
    }
  },
);

t.test("an endless error page isn't read to its end", async (t) => {
  const forwarding = new Forwarding().head(500, ["content-type", "text/html"]);
  const piece = Buffer.alloc(64 * 1024, "x");
  for (let bytes = 0; bytes <= heldResponseBytesMax && !forwarding.aborted; bytes += piece.length)
    forwarding.data(piece);
  t.equal(forwarding.aborted, true);
  t.match(await forwarding.finished(), { status: 500, usage: null, outcome: "upstream_error" });
  t.equal(forwarding.exchange.ended, "reply");
  t.ok(forwarding.exchange.body.length < 10_000);
});

const azuresFirst =
  'data: {"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}],"usage":null}\n\n';

t.test("with a fallback, the head of a stream is held until an answer begins", async (t) => {
  const beginnings = [
    chunk("a"),
    'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
    'event: message_start\ndata: {"type":"message_start","message":{"content":[]}}\n\n',
    'data: {"type":"response.created","response":{"error":null}}\n\n',
    'data: {"choices":[],"usage":{"total_tokens":1}}\n\n',
    "data: x\r\n\r\n",
  ];
  for (const beginning of beginnings) {
    const forwarding = new Forwarding({ holdsHead: true })
      .head(200, eventStream)
      .data(
        ": PROCESSING\n\n",
        'event: ping\ndata: {"type": "ping"}\n\n',
        azuresFirst.slice(0, 9),
        azuresFirst.slice(9),
      );
    t.same(forwarding.exchange.calls, []);
    forwarding.data(beginning.slice(0, 3));
    t.same(forwarding.exchange.calls, []);
    forwarding.data(beginning.slice(3));
    t.equal(forwarding.exchange.calls[0], "begin", beginning);
    forwarding.data(done).end();
    t.match(await forwarding.finished(), { outcome: "complete", failed: null });
    t.equal(
      forwarding.exchange.body.toString(),
      `: PROCESSING\n\nevent: ping\ndata: {"type": "ping"}\n\n${azuresFirst}${beginning}${done}`,
    );
  }
  const open = new Forwarding({ holdsHead: true }).head(200, eventStream).data("data: x").end();
  t.match(await open.finished(), { outcome: "complete", failed: null });
  t.equal(open.exchange.body.toString(), "data: x", "an answer may begin in a line without an end");
});

t.test("a head isn't held beyond a size, nor beyond a time once something comes", async (t) => {
  const comment = `:${"x".repeat(1022)}\n`;
  const long = new Forwarding({ holdsHead: true }).head(200, eventStream);
  for (let i = 0; i < heldHeadBytesMax / comment.length; i++) long.data(comment);
  t.same(long.exchange.calls, []);
  long.data(comment);
  t.equal(long.exchange.calls[0], "begin");
  t.equal(long.exchange.body.length, heldHeadBytesMax + comment.length);
  let now = 0;
  const slow = new Forwarding({ holdsHead: true, monoMs: () => now })
    .head(200, eventStream)
    .data(": a\n\n");
  now = heldHeadMs;
  t.same(slow.exchange.calls, []);
  slow.data(": b\n\n");
  t.equal(slow.exchange.body.toString(), ": a\n\n: b\n\n");
  const alone = new Forwarding().head(200, eventStream).data(": a\n\n");
  t.equal(alone.exchange.body.toString(), ": a\n\n", "without another target nothing is held");
});

t.test("a failure before anything was sent may fail over, and says why", async (t) => {
  const overloaded = 'data: {"error":{"message":"overloaded sk-secret","code":503}}\n\n';
  const table: readonly (readonly [
    what: string,
    fails: (forwarding: Forwarding) => void,
    why: string | null,
    status: number,
    worthRetrying?: boolean,
  ])[] = [
    ["no connection", (it) => void it.fail("unreachable", "ECONNREFUSED"), "ECONNREFUSED", 502],
    ["no file descriptor of ours", (it) => void it.fail("exhausted", "EMFILE"), null, 503],
    [
      "silence",
      (it) => void it.fail("timed_out", "no response for 400 ms"),
      "no response for 400 ms",
      504,
      false,
    ],
    [
      "a plain answer that breaks off",
      (it) => void it.head(200).data('{"cho').fail("broken"),
      "ECONNRESET",
      502,
    ],
    [
      "a plain answer that stops",
      (it) => void it.head(200).data('{"cho').fail("timed_out", "nothing for 400 ms"),
      "nothing for 400 ms",
      504,
      false,
    ],
    ["a server error", (it) => void it.head(503).data("{}").end(), "503", 503],
    ["no such method", (it) => void it.head(501).data("{}").end(), "501", 501, false],
    ["no such model", (it) => void it.head(404).data("{}").end(), "404", 404, false],
    [
      "a server that says so",
      (it) =>
        void it
          .head(503, [...json, "x-should-retry", "false"])
          .data("{}")
          .end(),
      "503",
      503,
      false,
    ],
    [
      "an account without money",
      (it) => void it.head(429).data('{"error":{"code":"insufficient_quota"}}').end(),
      "429",
      429,
      false,
    ],
    [
      "too many requests",
      (it) =>
        void it
          .head(429, [...json, "retry-after", "7"])
          .data("{}")
          .end(),
      "429",
      429,
    ],
    [
      "an error inside a 200",
      (it) => void it.head(200).data('{"error":{"message":"odd"}}').end(),
      "502",
      502,
    ],
    [
      "a stream that breaks off before its first byte",
      (it) => void it.head(200, eventStream).fail("broken"),
      "ECONNRESET",
      502,
    ],
    [
      "a stream that times out",
      (it) => void it.head(200, eventStream).fail("timed_out", "nothing for 400 ms"),
      "nothing for 400 ms",
      504,
      false,
    ],
    ["an empty stream", (it) => void it.head(200, eventStream).end(), "an empty stream", 502],
    [
      "a stream that begins with an error",
      (it) => void it.head(200, eventStream).data(overloaded),
      "503",
      503,
    ],
    [
      "a stream that begins with an error as a text",
      (it) => void it.head(200, eventStream).data('data: {"error":"overloaded"}\n\n'),
      "502",
      502,
    ],
    [
      "a comment before the error",
      (it) => void it.head(200, eventStream).data(": OPENROUTER PROCESSING\n\n").data(overloaded),
      "503",
      503,
    ],
    [
      "a filter's word before the error, in pieces",
      (it) =>
        void it
          .head(200, eventStream)
          .data(azuresFirst, overloaded.slice(0, 20), overloaded.slice(20)),
      "503",
      503,
    ],
    [
      "an error without its blank line",
      (it) => void it.head(200, eventStream).data(overloaded.trim()).end(),
      "503",
      503,
    ],
    [
      "a comment, and no more",
      (it) => void it.head(200, eventStream).data(": waiting\n\n").fail("broken"),
      "ECONNRESET",
      502,
    ],
    [
      "a filter's word, and an end",
      (it) => void it.head(200, eventStream).data(azuresFirst, done).end(),
      "an empty stream",
      502,
    ],
    [
      "a page instead of an answer",
      (it) => void it.head(200, ["content-type", "text/html"]).data("<html>").end(),
      "200 with a page of HTML or XML",
      502,
    ],
    ["a wrong request", (it) => void it.head(400).data("{}").end(), null, 400],
    [
      "a wrong key",
      (it) => void it.head(401).data("{}").end(),
      "502 provider_credentials",
      502,
      false,
    ],
  ];
  const lost = new Set([
    "silence",
    "a plain answer that breaks off",
    "a plain answer that stops",
    "a stream that breaks off before its first byte",
    "a stream that times out",
    "a comment, and no more",
  ]);
  for (const [what, fails, why, status, worthRetrying = true] of table) {
    const forwarding = new Forwarding({ holdsHead: true });
    fails(forwarding);
    t.ok(await forwarding.isOver(), what);
    t.same(forwarding.exchange.calls, [], what);
    const { failed, usage } = forwarding.forwarded!;
    t.match(
      { failed, usage },
      {
        failed:
          why === null
            ? null
            : {
                why,
                status,
                isWorthRetrying: worthRetrying,
                retryAfterMs: what === "too many requests" ? 7000 : null,
              },
        usage: lost.has(what) ? { inputTokens: estimate(0) } : null,
      },
      what,
    );
    await forwarding.finished();
    t.equal(forwarding.exchange.status, status, `${what}: or the client gets it`);
    t.notMatch(forwarding.exchange.body.toString(), /sk-secret/);
  }
});

t.test("a failed answer without content is charged the usage that it reports", async (t) => {
  const reported = { prompt_tokens: 900, completion_tokens: 20, total_tokens: 920 };
  const failed = {
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: {}, finish_reason: "function_call_filter: NO_IMAGE" }],
    usage: reported,
  };
  const whole = {
    object: "chat.completion",
    choices: [{ index: 0, message: {}, finish_reason: "function_call_filter: NO_IMAGE" }],
    usage: reported,
  };
  for (const forwarding of [
    new Forwarding({ holdsHead: true })
      .head(200, eventStream)
      .data(`data: ${JSON.stringify(failed)}\n\n${done}`)
      .end(),
    new Forwarding({ holdsHead: true }).head(200).data(JSON.stringify(whole)).end(),
  ]) {
    const { failed: failure, usage, estimated } = await forwarding.finished();
    t.match(failure, { status: 502, isWorthRetrying: true });
    t.match({ usage, estimated }, { usage: { totalTokens: 920 }, estimated: false });
  }
});

t.test("a translated answer that says that the model failed is charged as reported", async (t) => {
  const usage = { prompt_tokens: 5000, completion_tokens: 80, total_tokens: 5080 };
  const translator = { usage, untranslatedBytes: 0, refused: null, hasFailed: false };
  const whole = new Forwarding({ translator, reasonsByDefault: () => true }).head(200);
  const reason = "the provider ended its answer with an error";
  whole.sink.onFailure({ kind: "broken", reason, isFailedAnswer: true });
  const expected = { usage: { totalTokens: 5080 }, atMost: { totalTokens: 5080 } };
  t.match(await whole.finished(), { ...expected, estimated: false });
});

t.test("a stream that begins with an error has only a bound, held or not", async (t) => {
  for (const holdsHead of [false, true]) {
    const forwarding = new Forwarding({ holdsHead }).head(200, eventStream);
    forwarding.data('data: {"error":{"message":"overloaded"}}\n\n');
    if (!holdsHead) forwarding.end();
    t.match(
      await forwarding.finished(),
      { usage: null, atMost: { totalTokens: Number }, outcome: "upstream_error" },
      `${holdsHead}`,
    );
  }
});

t.test("a request that was lost on a kept connection has a bound in its record", async (t) => {
  const forwarding = new Forwarding();
  forwarding.isResent = true;
  forwarding.fail("unreachable", "ECONNREFUSED");
  t.match(await forwarding.finished(), {
    usage: null,
    executed: true,
    atMost: { totalTokens: Number },
  });
});

t.test("after the first byte nothing fails over, nor when the client leaves", async (t) => {
  const table: readonly ((forwarding: Forwarding) => void)[] = [
    (it) => void it.head(200, eventStream).data(chunk("a")).fail("broken"),
    (it) =>
      void it.head(200, eventStream).data(chunk("a"), 'data: {"error":{"message":"x"}}\n\n').end(),
    (it) =>
      void it
        .head(200)
        .data("x".repeat(heldResponseBytesMax + 1))
        .fail("broken"),
    (it) => it.exchange.leave(),
    (it) => it.head(200, eventStream).exchange.leave(),
  ];
  for (const fails of table) {
    const forwarding = new Forwarding({ holdsHead: true });
    fails(forwarding);
    t.equal((await forwarding.finished()).failed, null);
  }
});

t.test(
  "a provider that can't be reached or breaks off is a 502, one that times out a 504",
  async (t) => {
    const table = [
      [
        "unreachable",
        502,
        "provider_unavailable",
        /^provider openai can't be reached \(ECONNREFUSED\)$/,
      ],
      [
        "broken",
        502,
        "provider_unavailable",
        /^provider openai broke off its answer \(ECONNREFUSED\)$/,
      ],
      ["timed_out", 504, null, /^provider openai was silent past its deadline$/],
    ] as const;
    for (const [kind, status, code, message] of table) {
      const forwarding = new Forwarding().fail(kind, "ECONNREFUSED");
      t.match(
        await forwarding.finished(),
        {
          status,
          usage: kind === "unreachable" ? null : { inputTokens: estimate(0), outputTokens: 0 },
          estimated: kind !== "unreachable",
          executed: kind !== "unreachable",
          outcome: "upstream_error",
          note: "ECONNREFUSED",
          firstByteMonoMs: null,
        },
        kind,
      );
      t.match(bodyOf(forwarding).error, {
        type: "provider_error",
        code,
        provider: "openai",
        message,
      });
      t.equal(forwarding.exchange.sent("x-ratelimit-limit-requests"), "10");
    }
  },
);

t.test(
  "a plain answer that is cut while it is held is an error; the client gets no part of it",
  async (t) => {
    const forwarding = new Forwarding().head(200).data('{"choices":[').fail("broken");
    t.match(await forwarding.finished(), {
      status: 502,
      usage: { totalTokens: estimate(12) },
      estimated: true,
      executed: true,
      outcome: "upstream_cut",
      note: "ECONNRESET",
    });
    t.match(bodyOf(forwarding).error, { code: "provider_unavailable" });
  },
);

t.test(
  "a stream that is cut is cut for the client too, and charged with what was seen",
  async (t) => {
    const seen = new Forwarding().head(200, eventStream).data(chunk("12345678")).fail("broken");
    t.match(await seen.finished(), {
      status: 200,
      usage: { totalTokens: estimate(8) },
      estimated: true,
      outcome: "upstream_cut",
      note: "ECONNRESET",
    });
    t.equal(seen.exchange.ended, "cut");
    const counted = new Forwarding()
      .head(200, eventStream)
      .data(chunk("12345678"), usageChunk(9))
      .fail("timed_out", "nothing for 400 ms");
    t.match(
      await counted.finished(),
      { usage: { totalTokens: 9 }, estimated: true, outcome: "upstream_cut" },
      "its last usage may have been an interim one",
    );
  },
);

t.test("a large plain answer that is cut after it began is cut for the client too", async (t) => {
  const forwarding = new Forwarding()
    .head(200)
    .data(Buffer.alloc(heldResponseBytesMax + 4))
    .fail("broken");
  t.match(await forwarding.finished(), {
    status: 200,
    usage: { totalTokens: estimate(heldResponseBytesMax + 4) },
    estimated: true,
    outcome: "upstream_cut",
  });
  t.equal(forwarding.exchange.ended, "cut");
});

t.test(
  "a client that leaves before the head ends the upstream, and is charged the prompt if that had left",
  async (t) => {
    for (const isSent of [true, false]) {
      const forwarding = new Forwarding();
      forwarding.isSent = isSent;
      forwarding.exchange.leave();
      t.equal(forwarding.aborted, true);
      t.match(await forwarding.finished(), {
        status: 499,
        usage: isSent ? { inputTokens: estimate(0), outputTokens: 0 } : null,
        estimated: isSent,
        executed: isSent,
        outcome: "client_gone",
        firstByteMonoMs: null,
      });
      t.same(forwarding.exchange.calls, []);
    }
  },
);

t.test(
  "a client that leaves in the middle ends the upstream and is charged with what was seen",
  async (t) => {
    const stream = new Forwarding().head(200, eventStream).data(chunk("12345678"));
    stream.exchange.leave();
    t.equal(stream.aborted, true);
    t.match(await stream.finished(), {
      status: 499,
      usage: { totalTokens: estimate(8) },
      estimated: true,
      outcome: "client_gone",
    });
    const counted = new Forwarding().head(200, eventStream).data(usageChunk(9));
    counted.exchange.leave();
    t.match(await counted.finished(), {
      usage: { totalTokens: 9 },
      estimated: true,
      outcome: "client_gone",
    });
    const plain = new Forwarding().head(200).data("1234");
    plain.exchange.leave();
    t.match(await plain.finished(), {
      usage: { totalTokens: estimate(4) },
      estimated: true,
      outcome: "client_gone",
    });
    const failing = new Forwarding().head(500).data("1234");
    failing.exchange.leave();
    t.match(await failing.finished(), { usage: null, estimated: false, outcome: "client_gone" });
  },
);

t.test("a client that a stopping proxy cuts off is charged alike, and isn't blamed", async (t) => {
  const stages: readonly (readonly [string, Forwarding, usage: object | null])[] = [
    ["before the head", new Forwarding(), { totalTokens: estimate(0) }],
    ["after it", new Forwarding().head(200, eventStream), { totalTokens: estimate(0) }],
    [
      "in the middle",
      new Forwarding().head(200, eventStream).data(chunk("12345678")),
      { totalTokens: estimate(8) },
    ],
  ];
  for (const [name, forwarding, usage] of stages) {
    forwarding.exchange.cutAtStop();
    t.equal(forwarding.aborted, true);
    const ended = { status: 599, outcome: "shutdown", executed: true, estimated: true, usage };
    t.match(await forwarding.finished(), ended, name);
  }
});

t.test("what isn't known has a bound: the body, and the most output", async (t) => {
  const body = Buffer.from('{"max_tokens":50,"n":2,"messages":[]}');
  const request = { method: "POST", path: "/x", headers: [], body, isRepeatable: true } as const;
  const open = Buffer.from('{"messages":[]}');
  const gemini = Buffer.from('{"generationConfig":{"maxOutputTokens":7,"candidateCount":3}}');
  const cases: readonly (readonly [what: Partial<ForwardRequest>, output: number])[] = [
    [{ request }, 100],
    [{ request: { ...request, body: open }, modelOutputMax: () => 16_384 }, 16_384],
    [{ request: { ...request, body: open } }, outputTokensAssumed],
    [{ request: { ...request, body: gemini } }, 21],
    [{ request, operation: "embeddings" }, 0],
  ];
  for (const [what, output] of cases) {
    const atMost = { inputTokens: promptBytes, outputTokens: output };
    const ends: readonly ((it: Forwarding) => void)[] = [
      (it) => it.exchange.leave(),
      (it) => it.head(200, eventStream).exchange.leave(),
      (it) => void it.fail("timed_out"),
      (it) => void it.head(200, eventStream).data(chunk("ab")).fail("broken"),
    ];
    for (const end of ends) {
      const it = new Forwarding(what);
      end(it);
      t.match(await it.finished(), { atMost, estimated: true }, JSON.stringify(output));
    }
  }
  const whole = new Forwarding({ request }).head(200).data(completion(30, "a")).end();
  t.match(await whole.finished(), { atMost: null });
  const long = new Forwarding({ request }).head(200, eventStream).data(chunk("x".repeat(4000)));
  long.exchange.leave();
  t.match(await long.finished(), { atMost: { outputTokens: 1000 } }, "what was seen is the least");
});

t.test("of a stream that reported its usage at the start, the rest is estimated", async (t) => {
  const stream = [
    'data: {"type":"message_start","message":{"usage":{"input_tokens":100,"cache_read_input_tokens":600,"output_tokens":1}}}\n\n',
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"12345678"}}\n\n',
  ];
  const seen = {
    usage: { inputTokens: 700, cachedInputTokens: 600, outputTokens: 3, totalTokens: 703 },
    estimated: true,
  };
  const left = new Forwarding({ operation: "messages" }).head(200, eventStream).data(...stream);
  left.exchange.leave();
  t.match(await left.finished(), { ...seen, outcome: "client_gone" });
  t.match(
    await new Forwarding({ operation: "messages" })
      .head(200, eventStream)
      .data(...stream)
      .fail("broken")
      .finished(),
    { ...seen, outcome: "upstream_cut" },
  );
  const failed = new Forwarding({ operation: "messages" })
    .head(200, eventStream)
    .data(
      ...stream,
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
    )
    .end();
  t.match(
    await failed.finished(),
    { ...seen, outcome: "upstream_error" },
    "an error event cuts it as well",
  );
});

t.test("a client that leaves while it is paused ends the upstream all the same", async (t) => {
  const forwarding = new Forwarding().head(200, eventStream);
  forwarding.exchange.reads = false;
  forwarding.data(chunk("a"));
  forwarding.exchange.leave();
  t.equal(forwarding.aborted, true);
  t.match(await forwarding.finished(), { outcome: "client_gone" });
});

t.test("a client that leaves between the end and the last byte changes nothing", async (t) => {
  for (const [head, body] of [
    [json, completion(5)],
    [eventStream, chunk("a", "stop")],
  ] as const) {
    const forwarding = new Forwarding().head(200, head).data(body).end();
    await forwarding.isOver();
    forwarding.exchange.leave();
    const { outcome, status } = forwarding.forwarded!;
    t.same([outcome, status, forwarding.aborted], ["complete", 200, false]);
  }
});

t.test("the request is sent to the provider as it was made", async (t) => {
  const request: UpstreamRequest = {
    method: "POST",
    path: "/chat/completions",
    headers: ["a", "b"],
    body: Buffer.from("body"),
    isRepeatable: true,
  };
  const forwarding = new Forwarding({ request });
  t.equal(forwarding.request, request);
  forwarding.exchange.leave();
});

/**
 * What a request is charged with adds up and stays in its bounds; what wasn't executed is charged
 * with nothing.
 */
function isSane({ usage, executed }: ForwardResult): boolean {
  if (usage === null) return true;
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, cacheWriteInputTokens } =
    usage;
  return (
    executed &&
    [inputTokens, outputTokens, totalTokens].every(
      (tokens) => Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= tokensPerResponseMax,
    ) &&
    inputTokens + outputTokens === totalTokens &&
    cachedInputTokens + cacheWriteInputTokens <= inputTokens
  );
}

t.test(
  "a stream that is cut at any byte, by either side, is charged with what was seen and marked",
  async (t) => {
    const stream = Buffer.from(
      [
        chunk("Größe 大きい"),
        ": a comment\r\n\r\n",
        chunk('more \\"quoted"'),
        chunk("", "stop"),
        usageChunk(50),
        done,
      ].join(""),
    );
    const usageAt = stream.indexOf(usageChunk(50)) + usageChunk(50).length;
    for (const side of ["client", "provider"] as const) {
      let least = 0;
      for (let cut = 0; cut <= stream.length; cut++) {
        const forwarding = new Forwarding({ hideUsageChunk: true }).head(200, eventStream);
        // In two pieces, so that the cut lies in the middle of what was already being read.
        for (const piece of [stream.subarray(0, cut >> 1), stream.subarray(cut >> 1, cut)])
          if (piece.length > 0) forwarding.data(piece);
        if (side === "client") forwarding.exchange.leave();
        else forwarding.fail("broken");
        const forwarded = await forwarding.finished();
        const { usage, estimated, executed, outcome } = forwarded;
        if (
          !isSane(forwarded) ||
          // The stream has no more to say once its usage was read.
          estimated === cut >= usageAt ||
          !executed ||
          outcome !== (side === "client" ? "client_gone" : "upstream_cut")
        )
          t.fail(`${side} at ${cut}: ${JSON.stringify(forwarded)}`);
        if (cut >= usageAt) {
          if (usage!.totalTokens !== 50)
            t.fail(`${side} at ${cut}: the usage that was reported isn't taken`);
        } else if (usage!.inputTokens !== promptBytes / 4 || usage!.outputTokens < least)
          t.fail(`${side} at ${cut}: ${JSON.stringify(usage)} after ${least}`);
        else least = usage!.outputTokens;
      }
      t.ok(least > 5, `${side}: the words that were seen count`);
    }
  },
);

const body = fc.oneof(
  fc.constantFrom(
    chunk("abc"),
    chunk("", "stop"),
    usageChunk(7),
    done,
    completion(5),
    "data: {",
    '{"error":{"message":"x"}}',
    "",
  ),
  fc.string(),
  fc.nat(2 * heldResponseBytesMax).map((bytes) => "x".repeat(bytes)),
);
const script = fc.record({
  head: fc.option(
    fc.record({
      status: fc.constantFrom(200, 200, 200, 201, 302, 400, 429, 500),
      headers: fc.constantFrom(json, eventStream, ["content-type", "text/plain"], []),
    }),
    { freq: 8 },
  ),
  pieces: fc.array(fc.record({ text: body, slow: fc.boolean(), drain: fc.boolean() }), {
    maxLength: 6,
  }),
  ending: fc.constantFrom(
    "end" as const,
    "end" as const,
    "broken" as const,
    "timed_out" as const,
    "none" as const,
  ),
  leavesAt: fc.option(fc.nat(9)),
  hideUsageChunk: fc.boolean(),
  holdsHead: fc.boolean(),
});

t.test(
  "in whatever order events come, a request ends once, with one response or none, and frees all",
  async (t) => {
    const outcomes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        script,
        async ({ head, pieces, ending, leavesAt, hideUsageChunk, holdsHead }) => {
          const forwarding = new Forwarding({ hideUsageChunk, holdsHead });
          const { exchange } = forwarding;
          const ends =
            ending === "end"
              ? () => void (head !== null ? forwarding.end() : forwarding.fail("broken"))
              : ending === "none"
                ? () => {}
                : () => void forwarding.fail(ending);
          const steps: (() => void)[] = [
            ...(head === null ? [] : [() => void forwarding.head(head.status, head.headers)]),
            ...(head === null
              ? []
              : pieces.map(({ text, slow, drain }) => () => {
                  if (slow) exchange.reads = false;
                  forwarding.data(text);
                  if (drain) exchange.drain();
                })),
            ends,
          ];
          for (const [at, step] of steps.entries()) {
            if (leavesAt === at) exchange.leave();
            if (forwarding.aborted) break;
            step();
            if (forwarding.paused && exchange.reads) return false;
          }
          const untilEnd = [...exchange.calls];
          if (!(await forwarding.isOver())) {
            exchange.leave();
            if (!forwarding.aborted || !(await forwarding.isOver())) return false;
          }
          if (JSON.stringify(exchange.calls) !== JSON.stringify(untilEnd)) return false;
          const forwarded = forwarding.forwarded!;
          forwarded.finish();
          outcomes.set(forwarded.outcome, (outcomes.get(forwarded.outcome) ?? 0) + 1);
          exchange.drain();
          const left = exchange.gone && forwarded.outcome === "client_gone";
          const status = left ? 499 : exchange.status;
          return (
            (left ? exchange.ended === null && forwarding.aborted : exchange.ended !== null) &&
            forwarded.status === status &&
            isSane(forwarded) &&
            (forwarded.firstByteMonoMs === null) === (head === null || leavesAt === 0)
          );
        },
      ),
      { numRuns: 600, includeErrorInReport: true },
    );
    t.same(
      [...outcomes.keys()].sort(),
      ["client_gone", "complete", "upstream_cut", "upstream_error"],
      "every outcome came up",
    );
  },
);

t.test("a body that turns out invalid while it is sent is the client's error", async (t) => {
  for (const [kind, status] of [
    ["too_large", 413],
    ["refused", 400],
  ] as const) {
    const forwarding = new Forwarding().fail(kind, "model is given more than once");
    t.match(await forwarding.finished(), { status, usage: null, executed: false });
    t.match(bodyOf(forwarding).error, {
      type: "invalid_request_error",
      message: "model is given more than once",
    });
  }
});

t.test(
  "what must be JSON is the answer of a model in JSON, but pictures and deletions",
  async (t) => {
    const table: readonly (readonly [string, Operation, string, boolean])[] = [
      ["POST", "chat_completions", "application/json", true],
      ["POST", "chat_completions", "text/html", true],
      ["POST", "chat_completions", "image/png", true],
      ["GET", "responses", "", true],
      ["DELETE", "responses", "", false],
      ["POST", "images", "text/html", true],
      ["POST", "images", "image/png", false],
      ["POST", "image_edits", "application/octet-stream", false],
      ["POST", "image_variations", "video/mp4", false],
      ["POST", "images", "text/image/png", true],
      ["POST", "speech", "text/html", false],
      ["GET", "files", "application/json", false],
    ];
    for (const [method, operation, contentType, must] of table)
      t.equal(
        mustBeJson(method, operation, contentType),
        must,
        `${method} ${operation} ${contentType}`,
      );
  },
);

t.test("a body is read as JSON, text or bytes; what providers keep is never read", async (t) => {
  const table: readonly (readonly [string, Operation, string])[] = [
    ["", "chat_completions", "json"],
    ["application/json; charset=utf-8", "embeddings", "json"],
    ["application/problem+json", "speech", "json"],
    ["application/json", "files", "text"],
    ["", "batches", "text"],
    ["text/plain", "chat_completions", "text"],
    ["audio/mpeg", "speech", "bytes"],
    ["image/png", "images", "bytes"],
    ["video/mp4", "images", "bytes"],
    ["application/octet-stream", "files", "bytes"],
    ["text/audio/mpeg", "speech", "text"],
  ];
  for (const [contentType, operation, form] of table)
    t.equal(bodyForm(contentType, operation), form, `${contentType} ${operation}`);
});

/** A cap of one byte a token, and the daemon that grants. */
function cappedAt(granted: number, wantsUsage = false) {
  const drawn: DrawnOutput = {
    granted,
    spent: 0,
    cap: null,
    promptTokens: 9,
    isPromptKnown: false,
  };
  const draws: { total: number; then: () => void }[] = [];
  const learned: number[][] = [];
  const cap: StreamCap = {
    allowance: new OutputAllowance(drawn, {
      draw: ({ total }, then) => void draws.push({ total, then }),
      monoMs: () => 77,
    }),
    stop: lengthStop("chat_completions", { choices: 1, wantsUsage }),
    bytesPerToken: 1,
    learn: (...seen) => void learned.push(seen),
    promptBytes: () => 0,
    learnPrompt: (tokens) => void learned.push([tokens]),
  };
  return {
    cap,
    drawn,
    learned,
    draws,
    answer(total: number, words: string | null = null): void {
      Object.assign(drawn, { granted: total, cap: words });
      draws.at(-1)!.then();
    },
  };
}

const words = "max_tokens 1000 of /a";
const twenty = "x".repeat(20);

t.test(
  "a hard cap ends a stream as its maximum of output does, and charges what came",
  async (t) => {
    for (const wantsUsage of [false, true])
      for (const holdsHead of [false, true]) {
        const { cap, answer } = cappedAt(30, wantsUsage);
        const forwarding = new Forwarding({ cap, holdsHead, hideUsageChunk: !wantsUsage });
        forwarding.head(200, eventStream).data(chunk(twenty));
        answer(45, words);
        forwarding.data(chunk(twenty).slice(0, 40));
        forwarding.data(`${chunk(twenty).slice(40)}${chunk("y").slice(0, 30)}`);
        t.notOk(await forwarding.isOver());
        forwarding.data(`${chunk("y").slice(30)}${chunk(twenty)}${chunk("z").slice(0, 10)}`);
        t.ok(forwarding.paused, "more may have been given back");
        answer(45, words);
        t.notOk(forwarding.paused, "what has arrived is read");
        forwarding.data(`${chunk("z").slice(10)}${chunk(twenty)}`, chunk("y").slice(0, 30));
        const forwarded = await forwarding.finished();
        t.ok(forwarding.aborted, "the call is cancelled");
        t.match(forwarded, {
          status: 200,
          outcome: "complete",
          estimated: true,
          usage: { totalTokens: estimate(4 * 82) },
          cutBy: words,
          failed: null,
        });
        const sent = forwarding.exchange.body.toString();
        t.ok(sent.startsWith(chunk(twenty) + chunk(twenty) + chunk("y") + chunk(twenty)));
        const end = sent.slice((chunk(twenty) + chunk(twenty) + chunk("y") + chunk(twenty)).length);
        t.ok(end.startsWith(`: cut at a hard cap: ${words}\n\ndata: {`), end);
        t.ok(end.endsWith(done));
        t.equal(end.includes('"finish_reason":"length"'), true);
        t.equal(end.includes('"usage"'), wantsUsage);
      }
  },
);

t.test("a stream that waits for its allowance isn't read meanwhile", async (t) => {
  const { cap, drawn, answer, draws } = cappedAt(10);
  const forwarding = new Forwarding({ cap });
  forwarding.head(200, eventStream).data(chunk(twenty));
  t.ok(forwarding.paused);
  t.equal(draws.length, 1);
  forwarding.exchange.drain?.();
  t.ok(forwarding.paused);
  answer(1000);
  t.notOk(forwarding.paused);
  forwarding.data(chunk("", "stop"), done).end();
  t.match(await forwarding.finished(), { outcome: "complete", note: null });
  t.equal(drawn.spent, 20);
});

t.test("events that arrive together, and the end, wait for the allowance one by one", async (t) => {
  for (const isCut of [false, true]) {
    const { cap, answer } = cappedAt(30);
    const forwarding = new Forwarding({ cap });
    const last = `${chunk("", "stop")}${done}`;
    forwarding
      .head(200, eventStream)
      .data(`${chunk(twenty).repeat(5)}${last}`)
      .end();
    const sent = (): string => forwarding.exchange.body.toString();
    t.equal(sent(), chunk(twenty).repeat(2));
    t.ok(forwarding.paused);
    answer(70);
    t.equal(sent(), chunk(twenty).repeat(4));
    t.ok(forwarding.paused);
    if (isCut) answer(70, words);
    answer(isCut ? 70 : 1000, isCut ? words : null);
    const forwarded = await forwarding.finished();
    t.equal(forwarded.outcome, "complete");
    if (isCut) {
      t.equal(forwarded.cutBy, words);
      t.equal(forwarded.usage?.totalTokens, estimate(4 * 100), "what has arrived is charged");
      t.match(sent(), `${chunk(twenty).repeat(4)}: cut at a hard cap`);
    } else t.equal(sent(), `${chunk(twenty).repeat(5)}${last}`);
  }
});

const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
const before = fc.constantFrom("", ": a comment\n\n", ": a\r\rid: 5\n", "event: x\r\n", "\n");
const endings = fc.record({ before, end: lineEnd, last: lineEnd, isSplit: fc.boolean() });

/** An event of a chat completion with one of the forms that a stream may give it. */
function written(
  data: string,
  { before, end, last, isSplit }: ReturnType<typeof endings.generate>["value"],
): string {
  const json = data.slice("data: ".length, -2);
  const at = json.indexOf(",");
  const text = isSplit && at !== -1 ? `${json.slice(0, at)}${end}data:${json.slice(at)}` : json;
  // A CR and an LF would be one end.
  return `${before}data: ${text}${end}${end === "\r" ? end : last}`;
}

t.test("a cap holds at an event, however its stream is written and cut", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(endings, { minLength: 2, maxLength: 12 }),
      fc.array(fc.nat(3000), { maxLength: 20 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 200 }),
      async (forms, cuts, isCut, granted) => {
        const events = forms.slice(1).map((form) => written(chunk(twenty), form));
        const last = written(chunk("", "stop"), forms[0]!);
        const stream = Buffer.from(`${events.join("")}${last}${done}`);
        const { cap, answer, draws } = cappedAt(granted);
        const forwarding = new Forwarding({ cap });
        forwarding.head(200, eventStream);
        const at = [0, ...cuts.filter((cut) => cut < stream.length), stream.length];
        at.sort((a, b) => a - b);
        let answered = 0;
        const answerAll = (): void => {
          while (answered < draws.length) {
            answered++;
            if (isCut) answer(granted, words);
            else answer(draws.at(-1)!.total);
          }
        };
        for (const [i, start] of at.slice(0, -1).entries()) {
          forwarding.data(stream.subarray(start, at[i + 1]));
          answerAll();
        }
        forwarding.end();
        answerAll();
        const forwarded = await forwarding.finished();
        const sent = forwarding.exchange.body.toString();
        const tokens = (sent.match(/x{20}/g) ?? []).length * 20;
        const all = events.length * 20;
        deepStrictEqual(
          forwarded.usage?.totalTokens,
          estimate(forwarded.cutBy === "" ? all : 4 * all),
        );
        if (isCut) ok(tokens < granted + 20, `${tokens} of ${granted}`);
        else deepStrictEqual(sent, stream.toString());
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

t.test(
  "what waits for its allowance is charged if the client or the provider leaves",
  async (t) => {
    for (const how of ["left", "lost"] as const) {
      const { cap } = cappedAt(30);
      const forwarding = new Forwarding({ cap });
      forwarding.head(200, eventStream).data(chunk(twenty).repeat(5));
      if (how === "left") forwarding.exchange.leave();
      else forwarding.fail("broken");
      const { usage } = await forwarding.finished();
      t.equal(usage?.totalTokens, estimate(4 * 100), how);
    }
  },
);

t.test(
  "an answer whose end has come isn't cut, and teaches the bytes of a token, in its prompt too",
  async (t) => {
    const { cap, answer, learned } = cappedAt(10);
    const forwarding = new Forwarding({ cap });
    forwarding.head(200, eventStream).data(`${chunk(twenty)}${chunk("", "stop")}`);
    answer(10, words);
    forwarding.data(
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } })}\n\n${done}`,
    );
    forwarding.end();
    const forwarded = await forwarding.finished();
    t.match(forwarded, { outcome: "complete", estimated: false, usage: { totalTokens: 8 } });
    t.equal(forwarded.note, null);
    t.same(learned, [[3], [20, 5]]);
  },
);

t.test("an answer that ends while a hard cap cuts it counts as it was reported", async (t) => {
  const { cap, answer } = cappedAt(10);
  const forwarding = new Forwarding({ cap });
  forwarding.head(200, eventStream).data(chunk(twenty));
  answer(10, words);
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
  const last = `data: ${JSON.stringify({ choices: [], usage })}\n\n${done}`;
  forwarding.data(chunk(twenty), chunk("", "stop"), last).end();
  t.match(await forwarding.finished(), {
    ...{ outcome: "complete", cutBy: words, estimated: false },
    usage: { totalTokens: 8 },
  });
  const sent = forwarding.exchange.body.toString();
  t.equal(sent.split('"finish_reason":"length"').length, 2);
  t.notOk(sent.includes('"finish_reason":"stop"'));
});

t.test("a client that leaves, or a lost connection, ends a stream at its cap once", async (t) => {
  for (const how of ["left", "lost"] as const) {
    const { cap, answer } = cappedAt(10);
    const forwarding = new Forwarding({ cap });
    forwarding.head(200, eventStream).data(chunk(twenty));
    answer(10, words);
    forwarding.data(chunk(twenty));
    if (how === "left") forwarding.exchange.leave();
    else forwarding.fail("broken");
    const forwarded = await forwarding.finished();
    t.match(forwarded, {
      ...{ outcome: how === "left" ? "client_gone" : "complete", cutBy: words },
      usage: { totalTokens: estimate(4 * 40) },
    });
  }
});

t.test("without an end of its dialect, a stream at a cap is cut", async (t) => {
  const { cap, answer } = cappedAt(10);
  const forwarding = new Forwarding({ cap: { ...cap, stop: null } });
  forwarding.head(200, eventStream).data(chunk(twenty));
  answer(10, words);
  t.match(await forwarding.finished(), { outcome: "complete", cutBy: words });
  t.equal(forwarding.exchange.calls.at(-1), "cut");
});
