import t from "tap";
import { endedUpstream } from "../../../proxy/upstream/ended-upstream.js";
import type { UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { bodyEndGraceMs, streamEndGraceMs } from "../../../shared/bounds.js";

let nowMs = 0;
let waiting: { readonly atMs: number; readonly run: () => void }[] = [];
t.beforeEach(() => {
  nowMs = 0;
  waiting = [];
});

function after(ms: number, run: () => void): () => void {
  const one = { atMs: nowMs + ms, run };
  waiting.push(one);
  return () => {
    waiting = waiting.filter((other) => other !== one);
  };
}

function pass(ms: number): void {
  nowMs += ms;
  const due = waiting.filter(({ atMs }) => atMs <= nowMs);
  waiting = waiting.filter((one) => !due.includes(one));
  for (const { run } of due) run();
}

/** A call: the provider's side, and what the other side has received. */
function call() {
  const received: string[] = [];
  const done: string[] = [];
  let provider: UpstreamSink | null = null;
  const upstream = {
    send: (_: null, sink: UpstreamSink) => {
      provider = sink;
      return {
        isSent: true,
        isResent: true,
        keyName: "key",
        pause: () => void done.push("pause"),
        resume: () => void done.push("resume"),
        abort: () => void done.push("abort"),
      };
    },
  };
  const mine = endedUpstream(upstream, "chat_completions", after).send(null, {
    onHead: (status) => void received.push(String(status)),
    onData: (chunk) => void received.push(chunk.toString()),
    onEnd: () => void received.push("END"),
    onFailure: ({ kind }) => void received.push(kind),
    onBug: (error) => void received.push(`bug: ${String(error)}`),
  });
  provider!.onHead(200, ["content-type", "text/event-stream"]);
  return { provider: provider!, received, done, mine };
}

const end = "data: [DONE]\n\n";
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const usage = 'data: {"choices":[],"usage":{}}\n\n';
const text = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';

t.test("the answer ends at once, and a connection that stays open is closed", async (t) => {
  const { provider, received, done } = call();
  provider.onData(Buffer.from(text));
  provider.onData(Buffer.from(end));
  t.same(received, ["200", text, end, "END"]);
  provider.onData(Buffer.from(": ping\n\n"));
  pass(bodyEndGraceMs - 1);
  t.same(done, ["resume"]);
  pass(1);
  t.same(done, ["resume", "abort"]);
  t.equal(received.length, 4, "what comes after the end has no place");
});

t.test("a connection whose body ends soon is kept", async (t) => {
  const { provider, received, done } = call();
  provider.onData(Buffer.from(end));
  provider.onEnd();
  pass(bodyEndGraceMs);
  t.same(done, ["resume"]);
  t.same(received, ["200", end, "END"]);
});

t.test("a connection that breaks after the end changes nothing", async (t) => {
  const { provider, received } = call();
  provider.onData(Buffer.from(end));
  provider.onFailure({ kind: "broken", reason: "it closed the connection" });
  t.same(received, ["200", end, "END"]);
});

t.test("after a finish reason the answer ends when its time has passed", async (t) => {
  const { provider, received, done } = call();
  provider.onData(Buffer.from(finish));
  pass(streamEndGraceMs - 1);
  provider.onData(Buffer.from(usage));
  t.same(received, ["200", finish, usage]);
  pass(1);
  t.same(received, ["200", finish, usage, "END"]);
  t.same(done, ["abort"]);
});

t.test("an answer that goes on after its finish reason isn't cut", async (t) => {
  const { provider, received } = call();
  provider.onData(Buffer.from(finish));
  provider.onData(Buffer.from(text));
  pass(streamEndGraceMs);
  t.notOk(received.includes("END"));
});

t.test("while the client makes the provider wait, no time passes", async (t) => {
  const { provider, received, mine } = call();
  provider.onData(Buffer.from(finish));
  mine.pause();
  pass(streamEndGraceMs);
  t.notOk(received.includes("END"));
  mine.resume();
  pass(streamEndGraceMs - 1);
  t.notOk(received.includes("END"));
  pass(1);
  t.ok(received.includes("END"));
});

t.test("an aborted call hears nothing more", async (t) => {
  const { provider, received, done, mine } = call();
  provider.onData(Buffer.from(finish));
  mine.abort();
  pass(streamEndGraceMs);
  t.same(received, ["200", finish]);
  t.same(done, ["abort"]);
});

t.test("the call's own facts are the provider's call's", async (t) => {
  const { mine } = call();
  t.match(mine, { isSent: true, isResent: true, keyName: "key" });
});

t.test("a body with a length has its own end", async (t) => {
  const { provider, received } = call();
  provider.onHead(200, ["Content-Length", "100"]);
  provider.onData(Buffer.from(end));
  t.notOk(received.includes("END"));
  provider.onEnd();
  t.ok(received.includes("END"));
});

t.test("failures and bugs pass", async (t) => {
  const { provider, received } = call();
  provider.onFailure({ kind: "broken", reason: "x" });
  provider.onBug(new Error("y"));
  t.same(received, ["200", "broken", "bug: Error: y"]);
});

t.test("an operation without a known end passes as it is", async (t) => {
  const upstream = { send: () => ({ isSent: true, pause() {}, resume() {}, abort() {} }) };
  t.equal(endedUpstream(upstream, "embeddings", after), upstream);
});
