import t from "tap";
import { watchedUpstream } from "../../../proxy/objects/answer-watch.js";
import type { Upstream, UpstreamSink } from "../../../proxy/upstream/upstream.js";

const call = { isSent: true, pause() {}, resume() {}, abort() {} };

/** What was seen of an answer in these pieces, and what passed. */
function watched(status: number, type: string, pieces: readonly string[]) {
  const seen: unknown[] = [];
  let passed = "";
  let order = "";
  const upstream: Upstream = {
    send(_, sink) {
      sink.onHead(status, ["content-type", type]);
      for (const piece of pieces) sink.onData(Buffer.from(piece));
      sink.onEnd();
      return call;
    },
    redact: (text) => text,
    close: () => Promise.resolve(),
  };
  const sink: UpstreamSink = {
    onHead() {},
    onData(piece) {
      passed += piece.toString();
    },
    onEnd() {
      order += "end";
    },
    onFailure() {},
    onBug: (error) => {
      throw error;
    },
  };
  watchedUpstream(upstream, (answer) => {
    order += "seen ";
    seen.push(answer);
  }).send({ method: "POST", path: "/", headers: [], body: null, isRepeatable: false }, sink);
  return { seen, passed, order };
}

t.test("a whole answer is seen before its end, in however many pieces it comes", async (t) => {
  const text = '{"metadata":{"id":"x"},"id":"é"}';
  for (const pieces of [[text], [text.slice(0, 9), text.slice(9)]])
    t.same(watched(200, "application/json", pieces), {
      seen: [{ metadata: { id: "x" }, id: "é" }],
      passed: text,
      order: "seen end",
    });
});

t.test("of a stream the first event with data is seen, and no other", async (t) => {
  const first = ': ping\n\nevent: response.created\ndata: {"response":{"id":"resp_1"}}\n\n';
  const second = 'data: {"response":{"id":"resp_2"}}\n\n';
  for (const pieces of [
    [first + second],
    [...(first + second)],
    [(first + second).replaceAll("\n", "\r\n")],
  ])
    t.same(watched(200, "text/event-stream; charset=utf-8", pieces).seen, [{ id: "resp_1" }]);
  t.same(watched(200, "text/event-stream", ['data: {"response":{"id":"resp_1"}}']).seen, []);
});

t.test("errors, what isn't JSON, and what is too large pass unseen", async (t) => {
  const large = `{"id":"${"x".repeat(5_000_000)}"}`;
  for (const [status, type, text] of [
    [400, "application/json", '{"id":"x"}'],
    [200, "application/octet-stream", '{"id":"x"}'],
    [200, "application/json", large],
    [200, "text/event-stream", `data: ${large}\n\n`],
  ] as const)
    t.same(watched(status, type, [text.slice(0, 9), text.slice(9)]), {
      seen: [],
      passed: text,
      order: "end",
    });
});
