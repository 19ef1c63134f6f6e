import { EventEmitter, once } from "node:events";
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import t from "tap";
import { DecodedAnswer } from "../../../../proxy/upstream/client/decoded-answer.js";
import { codingOf } from "../../../../proxy/upstream/client/http-call.js";
import type { UpstreamFailure } from "../../../../proxy/upstream/errors/upstream-failure.js";

/** A sink, and the source of what goes to it. */
class Answering extends EventEmitter {
  readonly calls: string[] = [];
  readonly pieces: Buffer[] = [];
  headers: readonly (Buffer | string)[] = [];
  failure: UpstreamFailure | null = null;
  full = false;
  readonly answer: DecodedAnswer;

  constructor(coding: string, status = 200) {
    super();
    this.answer = new DecodedAnswer(this, coding, this);
    this.answer.onHead(status, [
      "Content-Encoding",
      coding,
      "content-type",
      "text/plain",
      "content-length",
      "9",
    ]);
  }

  onHead(status: number, headers: readonly (Buffer | string)[]): void {
    this.calls.push(`head ${status}`);
    this.headers = headers;
  }

  onData(chunk: Buffer): void {
    this.pieces.push(chunk);
    this.emit("piece");
  }

  onEnd(): void {
    this.calls.push("end");
    this.emit("over");
  }

  onBug(error: unknown): void {
    throw error;
  }

  onFailure(failure: UpstreamFailure): void {
    this.calls.push(`failure ${failure.kind}`);
    this.failure = failure;
    this.emit("over");
  }

  setFull(full: boolean): void {
    this.full = full;
    this.emit("full", full);
  }

  abort(): void {
    this.calls.push("abort");
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString();
  }
}

const text = `data: {"usage":{"total_tokens":7}}\n\n`.repeat(50);
const codings: readonly (readonly [coding: string, bytes: Buffer])[] = [
  ["gzip", gzipSync(text)],
  ["x-gzip", gzipSync(text)],
  ["deflate", deflateSync(text)],
  ["deflate", deflateRawSync(text)],
  ["br", brotliCompressSync(text)],
];

t.test(
  "a compressed answer is decoded, without the headers of its coding, in any pieces",
  async (t) => {
    for (const [coding, bytes] of codings) {
      for (const size of [1, 10, bytes.length]) {
        const answering = new Answering(coding);
        t.same(answering.headers, ["content-type", "text/plain"]);
        for (let at = 0; at < bytes.length; at += size)
          answering.answer.onData(bytes.subarray(at, at + size));
        answering.answer.onEnd();
        await once(answering, "over");
        t.same([answering.calls, answering.text], [["head 200", "end"], text], coding);
      }
    }
  },
);

t.test("what has come of a stream is passed on before it ends", async (t) => {
  const gzip = createGzip();
  const answering = new Answering("gzip");
  gzip.on("data", (chunk: Buffer) => answering.answer.onData(chunk));
  gzip.write("data: 1\n\n");
  gzip.flush();
  await once(answering, "piece");
  t.equal(answering.text, "data: 1\n\n");
  answering.answer.stop();
  gzip.destroy();
});

t.test("an answer without a body ends immediately", async (t) => {
  const answering = new Answering("gzip", 204);
  answering.answer.onEnd();
  t.same(answering.calls, ["head 204", "end"]);
});

t.test("an answer that isn't in its coding, or breaks off, is a failure", async (t) => {
  const table: readonly (readonly [coding: string, bytes: Buffer])[] = [
    ["gzip", Buffer.from("no gzip")],
    ["br", Buffer.alloc(100, 0xff)],
    ["gzip", codings[0]![1].subarray(0, -20)],
    ["deflate", codings[2]![1].subarray(0, 20)],
  ];
  for (const [coding, bytes] of table) {
    const answering = new Answering(coding);
    answering.answer.onData(bytes);
    answering.answer.onEnd();
    await once(answering, "over");
    t.same(answering.calls, ["head 200", "abort", "failure broken"], coding);
    t.match(answering.failure!.reason, /^its content-encoding \w+ is broken: \w+/);
  }
});

t.test("a failure of the provider's is passed on, and nothing after it", async (t) => {
  const answering = new Answering("gzip");
  answering.answer.onData(codings[0]![1]);
  answering.answer.onFailure({ kind: "broken", reason: "ECONNRESET" });
  answering.answer.onEnd();
  await new Promise((resolve) => setImmediate(resolve));
  t.same([answering.calls, answering.text], [["head 200", "failure broken"], ""]);
});

t.test(
  "a coding that can't be read is named: a success can't be passed on, an error keeps its status",
  async (t) => {
    const success = new Answering("zstd");
    t.same(success.calls, ["abort", "head 200", "failure untranslatable"]);
    t.same(
      [success.headers, success.failure!.reason],
      [[], 'its content-encoding "zstd" can\'t be read'],
    );
    const error = new Answering("gzip, br", 429);
    error.answer.onData(Buffer.from("x"));
    error.answer.onEnd();
    t.same(error.calls, ["abort", "head 429", "end"]);
    t.match(JSON.parse(error.text), {
      error: {
        message:
          'the provider answered 429, with a content-encoding that can\'t be read: "gzip, br"',
      },
    });
  },
);

t.test(
  "a paused sink gets nothing more, and nothing piles up, however well it was compressed",
  async (t) => {
    // More than a decoder takes in at once, which was 16 KiB in Node 20 and is 64 since 22.
    const bytes = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 1 });
    const answering = new Answering("gzip");
    answering.answer.pause();
    for (let at = 0; at < bytes.length && !answering.full; at += 1024)
      answering.answer.onData(bytes.subarray(at, at + 1024));
    t.ok(answering.full, "it says so");
    t.equal(answering.pieces.length, 0);
    answering.answer.resume();
    await once(answering, "full");
    t.notOk(answering.full);
    t.ok(answering.text.length > 0);
    answering.answer.stop();
  },
);

t.test("the coding comes from the headers, and identity is none", async (t) => {
  for (const [flat, coding] of [
    [[], ""],
    [["content-type", "x"], ""],
    [["a", "b", "Content-Encoding", " GZip "], "gzip"],
    [["content-encoding", "identity"], ""],
    [["content-encoding", ""], ""],
    [["content-language", "gzip"], ""],
    [["content-encoding", "gzip, br"], "gzip, br"],
  ] as const)
    t.equal(codingOf(flat), coding, flat.join());
});
