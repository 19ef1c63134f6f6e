import t from "tap";
import { lengthStop } from "../../../../proxy/hard-caps/length-stop.js";
import { type DrawnOutput, OutputAllowance } from "../../../../proxy/hard-caps/output-allowance.js";
import type { PassthroughRequest } from "../../../../proxy/upstream/passthrough/passthrough-upstream.js";
import {
  type RelayRequest,
  relayAnswer,
} from "../../../../proxy/upstream/passthrough/relay-answer.js";
import { heldResponseBytesMax } from "../../../../shared/bounds.js";
import { chunk, completion, usageChunk } from "../../../support/providers/scripted-upstream.js";
import { FakeExchange } from "../../fake-exchange.js";
import { json, limits, RequestUnderWay } from "../request-under-way.js";

const eventStream = ["content-type", "text/event-stream"];

class Relaying extends RequestUnderWay<PassthroughRequest> {
  constructor(what: Partial<RelayRequest> = {}, method = "POST") {
    const exchange = new FakeExchange({ method, path: "/p/test/v1/any" });
    super(exchange, (send) =>
      relayAnswer(exchange, {
        upstream: {
          send,
          tunnel: () => {
            throw new Error("not used here");
          },
          redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
          close: () => Promise.resolve(),
        },
        provider: "test",
        links: {
          baseUrl: "https://api.test.example/v1",
          place: () => "http://localhost:8080/p/test",
        },
        request: { method, path: "/v1/any", headers: [], body: null },
        limits,
        headers: ["x-sluice-target", "test/m"],
        operation: null,
        promptBytes: () => 400,
        monoMs: () => 77,
        ...what,
      }),
    );
  }
}

t.test(
  "an answer passes with its status, headers and bytes, and its last bytes wait for the settle",
  async (t) => {
    const table: readonly (readonly [
      name: string,
      relay: () => Relaying,
      status: number,
      body: string,
      calls: readonly string[],
      before: readonly string[],
    ])[] = [
      [
        "small JSON",
        () => new Relaying().head(200).data('{"a":', "1}").end(),
        200,
        '{"a":1}',
        ["reply"],
        [],
      ],
      [
        "text",
        () => new Relaying().head(200, ["content-type", "text/plain"]).data("one", "two").end(),
        200,
        "onetwo",
        ["begin", "write", "write", "end"],
        ["begin", "write", "write"],
      ],
      [
        "text of known length",
        () =>
          new Relaying()
            .head(200, ["content-type", "text/plain", "Content-Length", "6"])
            .data("one", "two")
            .end(),
        200,
        "onetwo",
        ["begin", "write", "write", "end"],
        ["begin", "write"],
      ],
      [
        "a redirect",
        () => new Relaying().head(302, ["location", "/v1/other"]).end(),
        302,
        "",
        ["begin", "end"],
        ["begin"],
      ],
      [
        "an error",
        () =>
          new Relaying()
            .head(404, ["content-type", "text/plain"])
            .data("sk-secret isn't there")
            .end(),
        404,
        "[redacted] isn't there",
        ["reply"],
        [],
      ],
      [
        "no content",
        () => new Relaying().head(204, []).end(),
        204,
        "",
        ["begin", "end"],
        ["begin"],
      ],
      [
        "events",
        () => new Relaying().head(200, eventStream).data(chunk("a"), "data: [DONE]\n\n").end(),
        200,
        `${chunk("a")}data: [DONE]\n\n`,
        ["begin", "write", "write", "end"],
        ["begin", "write", "write"],
      ],
      [
        "a head alone",
        () => new Relaying({}, "HEAD").head(200, [...json, "content-length", "100"]).end(),
        200,
        "",
        ["begin", "end"],
        ["begin"],
      ],
      [
        "what can't be read",
        () =>
          new Relaying()
            .head(200, [...json, "content-encoding", "br"])
            .data("\u0001")
            .end(),
        200,
        "\u0001",
        ["begin", "write", "end"],
        ["begin", "write"],
      ],
    ];
    for (const [name, relay, status, body, calls, before] of table) {
      const relaying = relay();
      t.same(relaying.exchange.calls, before, `${name}: before the settle`);
      const forwarded = await relaying.finished();
      t.equal(forwarded.status, status, name);
      t.equal(relaying.exchange.status, status);
      t.equal(relaying.exchange.body.toString(), body);
      t.same(relaying.exchange.calls, calls);
      t.equal(relaying.exchange.sent("x-request-id"), "req_test");
      t.equal(relaying.exchange.sent("x-sluice-target"), "test/m");
    }
  },
);

t.test("the provider's length is sent with the provider's bytes", async (t) => {
  const head = new Relaying({}, "HEAD").head(200, [...json, "Content-Length", "100"]).end();
  await head.finished();
  t.equal(head.exchange.sent("content-length"), "100");
  const text = new Relaying().head(200, ["content-length", "3"]).data("one").end();
  await text.finished();
  t.equal(text.exchange.sent("content-length"), "3");
  const error = new Relaying()
    .head(401, [...json, "content-length", "9"])
    .data("sk-secret")
    .end();
  await error.finished();
  t.equal(
    error.exchange.sent("content-length"),
    undefined,
    "it may have changed: the exchange writes its own",
  );
});

t.test("a large answer isn't held", async (t) => {
  const piece = Buffer.alloc(heldResponseBytesMax / 2 + 1, "x");
  const relaying = new Relaying().head(200).data(piece);
  t.notOk(relaying.exchange.hasBegun);
  relaying.data(piece, piece).end();
  t.same(relaying.exchange.calls, ["begin", "write", "write", "write"]);
  t.equal((await relaying.finished()).status, 200);
  t.ok(
    new Relaying().head(200, [...json, "content-length", String(heldResponseBytesMax + 1)]).exchange
      .hasBegun,
    "not even until its first piece, when it says so",
  );
});

t.test("an answer for which there is no memory isn't held", async (t) => {
  const relaying = new Relaying();
  const others = relaying.exchange.fillMemory(12_000);
  const piece = Buffer.alloc(10_000, "x");
  relaying.head(200).data(piece);
  t.notOk(relaying.exchange.hasBegun);
  relaying.data(piece).end();
  t.same(relaying.exchange.calls, ["begin", "write", "write"]);
  t.equal(relaying.exchange.ledger.held, others);
  t.equal((await relaying.finished()).status, 200);
});

t.test("what a request is charged", async (t) => {
  const chat = { operation: "chat_completions" as const };
  const messages = { operation: "messages" as const };
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":100,"cache_read_input_tokens":600,"output_tokens":1}}}\n\n';
  const reported = completion(34);
  const table: readonly (readonly [name: string, relay: () => Relaying, expected: object])[] = [
    [
      "usage in JSON",
      () => new Relaying().head(200).data(reported).end(),
      { usage: { totalTokens: 34 }, estimated: false, outcome: "complete", executed: true },
    ],
    [
      "usage in events",
      () => new Relaying().head(200, eventStream).data(chunk("a"), usageChunk(7)).end(),
      { usage: { totalTokens: 7 }, estimated: false },
    ],
    [
      "usage of Gemini's own API",
      () =>
        new Relaying()
          .head(200)
          .data(
            '{"candidates":[],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,"totalTokenCount":15}}',
          )
          .end(),
      { usage: { inputTokens: 10, outputTokens: 5 }, estimated: false },
    ],
    [
      "the same in a stream that is an array",
      () =>
        new Relaying()
          .head(200)
          .data(
            '[{"candidates":[]}',
            ',{"usageMetadata":{"promptTokenCount":10,"totalTokenCount":15}}]',
          )
          .end(),
      { usage: { totalTokens: 15 } },
    ],
    [
      "the same in events",
      () =>
        new Relaying()
          .head(200, eventStream)
          .data(
            'data: {"usageMetadata":{"promptTokenCount":10,"totalTokenCount":11}}\r\n\r\n',
            'data: {"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}\r\n\r\n',
          )
          .end(),
      { usage: { totalTokens: 15 }, estimated: false },
    ],
    [
      "none, at an unknown path",
      () => new Relaying().head(200).data("{}").end(),
      { usage: null, estimated: false },
    ],
    [
      "none, in events at an unknown path",
      () => new Relaying().head(200, eventStream).data(chunk("a")).end(),
      { usage: null },
    ],
    [
      "none, at a known call",
      () => new Relaying(chat).head(200).data("{ }").end(),
      { usage: { inputTokens: 100, totalTokens: 101 }, estimated: true },
    ],
    [
      "none, in events of a known call",
      () => new Relaying(chat).head(200, eventStream).data(chunk("abcd")).end(),
      { usage: { totalTokens: 101 }, estimated: true },
    ],
    [
      "an invalid usage, at an unknown path",
      () => new Relaying().head(200).data('{"usage":{"total_tokens":-1}}').end(),
      { usage: null, note: /usage not charged: total_tokens/ },
    ],
    [
      "an error",
      () => new Relaying(chat).head(400).data(reported).end(),
      { usage: null, outcome: "upstream_error", status: 400 },
    ],
    [
      "an error inside a success",
      () => new Relaying(chat).head(200).data('{"error":{"message":"no"}}').end(),
      { usage: null, outcome: "upstream_error", status: 200 },
    ],
    [
      "an answer with nothing but a failure of the model",
      () =>
        new Relaying()
          .head(200)
          .data('{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}],')
          .data('"usageMetadata":{"promptTokenCount":9}}')
          .end(),
      { usage: { inputTokens: 9 }, outcome: "upstream_error", status: 200 },
    ],
    [
      "the same in events",
      () =>
        new Relaying()
          .head(200, eventStream)
          .data('data: {"choices":[{"delta":{"role":"assistant"},"finish_reason":')
          .data('"function_call_filter: UNEXPECTED_TOOL_CALL"}]}\n\n')
          .end(),
      { outcome: "upstream_error", status: 200 },
    ],
    [
      "a success that can't be read",
      () =>
        new Relaying(chat)
          .head(200, [...json, "content-encoding", "gzip"])
          .data("12345678")
          .end(),
      {
        usage: { inputTokens: 100, outputTokens: 2 },
        estimated: true,
        note: 'usage unknown: the answer\'s content-encoding is "gzip"',
        outcome: "complete",
      },
    ],
    [
      "the same in events",
      () =>
        new Relaying(chat)
          .head(200, [...eventStream, "content-encoding", "br"])
          .data("12345678")
          .end(),
      { usage: { totalTokens: 102 }, estimated: true, note: /"br"/ },
    ],
    [
      "the same at an unknown path",
      () =>
        new Relaying()
          .head(200, [...json, "content-encoding", "gzip"])
          .data("x")
          .end(),
      { usage: null, estimated: false, note: /"gzip"/ },
    ],
    [
      "an error that can't be read",
      () =>
        new Relaying(chat)
          .head(400, [...json, "content-encoding", "gzip"])
          .data("x")
          .end(),
      { usage: null, note: null, outcome: "upstream_error" },
    ],
    [
      "a GET",
      () => new Relaying({}, "GET").head(200).data(reported).end(),
      { usage: null, outcome: "complete" },
    ],
    [
      "a stream that is cut",
      () => new Relaying(chat).head(200, eventStream).data(chunk("abcd")).fail("broken"),
      { usage: { totalTokens: 101 }, estimated: true, outcome: "upstream_cut", note: "ECONNRESET" },
    ],
    [
      "a stream that is cut, at an unknown path",
      () => new Relaying().head(200, eventStream).data(chunk("abcd")).fail("broken"),
      { usage: null, estimated: false, outcome: "upstream_cut" },
    ],
    [
      "a stream that begins with an error",
      () =>
        new Relaying(chat)
          .head(200, eventStream)
          .data('data: {"error":{"message":"no"}}\n\n')
          .end(),
      { usage: null, atMost: { inputTokens: 400 }, outcome: "upstream_error", status: 200 },
    ],
    [
      "an answer that holds nothing",
      () => new Relaying(chat).head(200).data('{"object":"chat.completion","choices":[]}').end(),
      { usage: null, atMost: { inputTokens: 400 }, outcome: "upstream_error", status: 200 },
    ],
    [
      "a stream that ends in an error",
      () =>
        new Relaying(messages)
          .head(200, eventStream)
          .data(
            start,
            'data: {"delta":{"type":"text_delta","text":"12345678"}}\n\n',
            'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
          )
          .end(),
      {
        usage: { inputTokens: 700, outputTokens: 3 },
        estimated: true,
        outcome: "upstream_error",
        status: 200,
      },
    ],
  ];
  for (const [name, relay, expected] of table) t.match(await relay().finished(), expected, name);
});

t.test("a client that leaves ends the call, and is charged with what it saw", async (t) => {
  const early = new Relaying({ operation: "chat_completions" });
  early.exchange.leave();
  t.match(await early.finished(), {
    status: 499,
    outcome: "client_gone",
    usage: { totalTokens: 100 },
    estimated: true,
    executed: true,
  });
  t.ok(early.aborted);
  const late = new Relaying({ operation: "chat_completions" })
    .head(200, eventStream)
    .data(chunk("abcd"));
  late.exchange.leave();
  t.match(await late.finished(), {
    outcome: "client_gone",
    usage: { totalTokens: 101 },
    estimated: true,
  });
  t.ok(late.aborted);
  late.end();
  late.fail("broken");
  t.same(late.exchange.calls, ["begin", "write"], "what comes after that is ignored");
});

t.test(
  "a provider's failure is an error in our shape before its answer, and a cut within it",
  async (t) => {
    const table = [
      [() => new Relaying().fail("unreachable", "ECONNREFUSED"), 502, "upstream_error", false],
      [() => new Relaying().fail("timed_out", "no response for 5 ms"), 504, "upstream_error", true],
      [
        () => new Relaying().fail("too_large", "the body is larger than 5 bytes"),
        413,
        "upstream_error",
        false,
      ],
      [() => new Relaying().head(200).data("{").fail("broken"), 502, "upstream_cut", true],
    ] as const;
    for (const [relay, status, outcome, executed] of table) {
      const relaying = relay();
      t.match(await relaying.finished(), { status, outcome, executed, usage: null });
      t.equal(relaying.exchange.status, status);
      t.equal(relaying.exchange.sent("x-ratelimit-limit-requests"), "10");
      t.ok(JSON.parse(relaying.exchange.body.toString()).error);
    }
    const begun = new Relaying()
      .head(200, ["content-type", "text/plain"])
      .data("half")
      .fail("broken");
    t.match(await begun.finished(), { status: 200, outcome: "upstream_cut" });
    t.equal(begun.exchange.ended, "cut");
  },
);

t.test("a client that reads slowly pauses the provider", async (t) => {
  const relaying = new Relaying().head(200, ["content-type", "text/plain"]);
  relaying.exchange.reads = false;
  relaying.data("one");
  t.ok(relaying.paused);
  relaying.exchange.drain();
  t.notOk(relaying.paused);
});

t.test(
  "a hard cap ends a stream that passes unchanged as its maximum of output does",
  async (t) => {
    const drawn: DrawnOutput = {
      granted: 10,
      spent: 0,
      cap: null,
      promptTokens: 9,
      isPromptKnown: false,
    };
    let then = (): void => {};
    const cap = {
      allowance: new OutputAllowance(drawn, {
        draw: (_wanted, run) => {
          then = run;
        },
        monoMs: () => 77,
      }),
      stop: lengthStop("chat_completions", { choices: 1, wantsUsage: false }),
      bytesPerToken: 1,
      learn: () => {},
      promptBytes: () => 0,
      learnPrompt: () => {},
    };
    const relaying = new Relaying({ cap, operation: "chat_completions" });
    relaying.head(200, [...eventStream, "content-length", "9000"]).data(chunk("abc"));
    relaying.data(chunk("x".repeat(10)), chunk("late").slice(0, 20));
    t.ok(relaying.paused);
    Object.assign(drawn, { granted: 13, cap: "budget of /a" });
    then();
    t.notOk(relaying.aborted, "more may have been given back");
    then();
    t.notOk(relaying.paused, "what has arrived is read");
    relaying.data(chunk("late").slice(20));
    t.match(await relaying.finished(), {
      outcome: "complete",
      estimated: true,
      usage: { outputTokens: 17 },
      cutBy: "budget of /a",
    });
    t.ok(relaying.aborted);
    const { body, calls, headers } = relaying.exchange;
    const begun = chunk("abc") + chunk("x".repeat(10));
    t.ok(body.toString().startsWith(`${begun}: cut at a hard cap: budget of /a\n\ndata: {"id":`));
    t.ok(body.toString().endsWith('"finish_reason":"length"}]}\n\ndata: [DONE]\n\n'));
    t.equal(calls.at(-1), "end");
    t.notOk(headers.includes("content-length"), "the length isn't known any more");
  },
);
