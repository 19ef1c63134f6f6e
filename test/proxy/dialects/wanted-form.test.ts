import t from "tap";
import { inWantedForm } from "../../../proxy/dialects/wanted-form.js";
import type { Upstream, UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { readableResponseBytesMax } from "../../../shared/bounds.js";

const plain = ["content-type", "text/plain", "x-a", "b"];
const eventStream = ["content-type", "text/event-stream"];
const stream =
  'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const answer =
  '{"object":"chat.completion","choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}';

/** A call: the provider's side, and what the other side has received. */
function call(wantsStream: boolean, memoryBytes = 2 * readableResponseBytesMax) {
  let freeBytes = memoryBytes;
  const memory = {
    takeForAnswer(bytes: number) {
      if (bytes > freeBytes) return false;
      freeBytes -= bytes;
      return true;
    },
    give(bytes: number) {
      freeBytes += bytes;
    },
  };
  const received: string[] = [];
  let provider: UpstreamSink | null = null;
  let aborted = 0;
  const upstream: Upstream = {
    send: (_, sink) => {
      provider = sink;
      return { isSent: true, pause() {}, resume() {}, abort: () => void aborted++ };
    },
    redact: (text) => text,
    close: () => Promise.resolve(),
  };
  inWantedForm(upstream, { operation: "chat_completions", wantsStream, memory }).send(
    { method: "POST", path: "/x", headers: [], body: null, isRepeatable: true },
    {
      onHead: (status, headers) => void received.push(`${status} ${headers.join(" ")}`),
      onData: (chunk) => void received.push(chunk.toString()),
      onEnd: () => void received.push("END"),
      onFailure: ({ kind }) => void received.push(kind),
      onBug: (error) => void received.push(`bug: ${String(error)}`),
    },
  );
  return { provider: provider!, received, aborted: () => aborted, freeBytes: () => freeBytes };
}

t.test("a stream is recognized by its beginning, in pieces of any size", async (t) => {
  for (const size of [1, 3, 7, stream.length]) {
    const { provider, received } = call(true);
    provider.onHead(200, plain);
    for (let i = 0; i < stream.length; i += size)
      provider.onData(Buffer.from(stream.slice(i, i + size)));
    provider.onEnd();
    t.equal(received[0], "200 content-type text/event-stream x-a b");
    t.equal(received.slice(1).join(""), `${stream}END`, `${size} bytes`);
  }
});

t.test("the first event isn't held until the end", async (t) => {
  const { provider, received } = call(true);
  provider.onHead(200, plain);
  provider.onData(Buffer.from(": ping\n\ndata: 1\n\n"));
  t.equal(received.length, 2);
});

t.test("whatever doesn't begin as a stream passes as it is", async (t) => {
  for (const wantsStream of [true, false])
    for (const body of [
      "",
      "{}",
      "<html>",
      "d",
      "data",
      "database: none",
      "a text of some length",
    ]) {
      const { provider, received } = call(wantsStream);
      provider.onHead(200, plain);
      if (body !== "") provider.onData(Buffer.from(body));
      provider.onEnd();
      t.same(received, [
        "200 content-type text/plain x-a b",
        ...(body === "" ? [] : [body]),
        "END",
      ]);
    }
});

t.test("an error passes at once", async (t) => {
  const { provider, received } = call(false);
  provider.onHead(500, eventStream);
  provider.onData(Buffer.from("data: x\n\n"));
  t.same(received, ["500 content-type text/event-stream", "data: x\n\n"]);
});

t.test("a stream that wasn't asked for becomes one answer, whatever it is called", async (t) => {
  const memoryBytes = 1024 * 1024;
  for (const headers of [plain, eventStream]) {
    const { provider, received, freeBytes } = call(false, memoryBytes);
    provider.onHead(200, headers);
    for (const byte of stream) provider.onData(Buffer.from(byte));
    t.same(received, [], "nothing before the end");
    provider.onEnd();
    t.equal(freeBytes(), memoryBytes);
    t.match(received[0], /^200 content-type application\/json/);
    t.same(received.slice(1), [answer, "END"]);
  }
});

t.test("a stream that breaks off is a failure, and no answer", async (t) => {
  const { provider, received } = call(false);
  provider.onHead(200, eventStream);
  provider.onData(Buffer.from(stream));
  provider.onFailure({ kind: "broken", reason: "cut" });
  t.same(received, ["200 content-type application/json", "broken"]);
});

t.test("a stream that is too large to put together ends the call", async (t) => {
  const piece = Buffer.from(`data: ${"x".repeat(1024 * 1024)}\n\n`);
  for (const memoryBytes of [2 * readableResponseBytesMax, 3 * piece.length]) {
    const { provider, received, aborted, freeBytes } = call(false, memoryBytes);
    provider.onHead(200, eventStream);
    for (let i = 0; aborted() === 0 && i * piece.length <= readableResponseBytesMax; i++) {
      provider.onData(piece);
      if (i === 1) t.ok(freeBytes() < memoryBytes - 2 * piece.length, "its memory is counted");
    }
    t.same(received, ["200 content-type text/event-stream", "broken"]);
    t.equal(aborted(), 1);
    t.equal(freeBytes(), memoryBytes);
  }
});
