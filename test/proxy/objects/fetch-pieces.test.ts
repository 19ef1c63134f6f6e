import t from "tap";
import {
  AnswerBroken,
  type FetchedPieces,
  fetchPieces,
} from "../../../proxy/objects/fetch-pieces.js";
import type { Upstream, UpstreamSink } from "../../../proxy/upstream/upstream.js";

/** A provider that the test speaks for, and what was asked of it. */
function provider() {
  const calls: string[] = [];
  let sink: UpstreamSink | null = null;
  const upstream = {
    send(request: { readonly path: string }, to: UpstreamSink) {
      calls.push(request.path);
      sink = to;
      const note = (what: string) => () => void calls.push(what);
      return { isSent: true, pause: note("pause"), resume: note("resume"), abort: note("abort") };
    },
  } as unknown as Upstream;
  let leave = (): void => {};
  const fetched = fetchPieces(upstream, {
    path: "/files/f/content",
    headers: [],
    onCall: (abort) => {
      leave = abort;
    },
  });
  return { calls, sink: sink! as UpstreamSink, fetched, leave: () => leave() };
}

const piecesOf = (answer: FetchedPieces): AsyncIterable<Buffer> => {
  if (answer.kind !== "answered") throw new Error("it isn't answered");
  return answer.pieces;
};

t.test("pieces come in their order, and the provider waits for who reads them", async (t) => {
  const { calls, sink, fetched } = provider();
  sink.onHead(200, []);
  const answer = await fetched;
  t.match(answer, { kind: "answered", status: 200 });
  sink.onData(Buffer.from("a"));
  t.same(calls, ["/files/f/content", "pause"]);
  const read: string[] = [];
  for await (const piece of piecesOf(answer)) {
    read.push(piece.toString());
    if (read.length === 1) queueMicrotask(() => sink.onData(Buffer.from("b")));
    if (read.length === 2) sink.onEnd();
  }
  t.same(read, ["a", "b"]);
  t.same(calls, ["/files/f/content", "pause", "resume", "pause"], "it isn't aborted: it has ended");
});

t.test("who stops reading ends the call", async (t) => {
  const { calls, sink, fetched } = provider();
  sink.onHead(200, []);
  sink.onData(Buffer.from("a"));
  for await (const piece of piecesOf(await fetched)) {
    t.equal(piece.toString(), "a");
    break;
  }
  t.equal(calls.at(-1), "abort");
});

t.test("a failure before the answer is the outcome, one within it is thrown", async (t) => {
  const failure = { kind: "unreachable", reason: "ECONNREFUSED" } as const;
  const none = provider();
  none.sink.onFailure(failure);
  t.same(await none.fetched, { kind: "failed", failure });
  for (const end of ["fails", "leaves", "bug"] as const) {
    const { calls, sink, fetched, leave } = provider();
    sink.onHead(200, []);
    const pieces = piecesOf(await fetched)[Symbol.asyncIterator]();
    const next = pieces.next();
    if (end === "fails") sink.onFailure({ kind: "broken", reason: "ECONNRESET" });
    else if (end === "leaves") leave();
    else sink.onBug(new Error("ours"));
    const reason = { fails: "ECONNRESET", leaves: "the client is gone", bug: "Error: ours" }[end];
    await t.rejects(next, new AnswerBroken({ kind: "broken", reason }));
    t.ok(calls.includes("abort"));
  }
});
