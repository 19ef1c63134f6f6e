import t from "tap";
import { markingOf } from "../../../proxy/dialects/shared/made-by.js";
import { markedUpstream } from "../../../proxy/upstream/marked-upstream.js";
import type { Upstream, UpstreamSink } from "../../../proxy/upstream/upstream.js";

/** What a client gets of these pieces of an answer. */
function passed(pieces: readonly string[], ends = true): readonly string[] {
  const got: string[] = [];
  const upstream = {
    send(_request: unknown, sink: UpstreamSink) {
      sink.onHead(200, []);
      for (const piece of pieces) sink.onData(Buffer.from(piece));
      if (ends) sink.onEnd();
      else sink.onFailure({ kind: "broken", reason: "x" });
    },
  } as unknown as Upstream;
  const sink = {
    onHead: () => {},
    onData: (chunk: Buffer) => got.push(chunk.toString()),
    onEnd: () => got.push("end"),
    onFailure: () => got.push("failure"),
  } as unknown as UpstreamSink;
  const marking = markingOf("responses", "acme")!;
  markedUpstream(upstream, marking).send(null as never, sink);
  return got;
}

t.test("encrypted reasoning is marked, wherever the pieces are cut", async (t) => {
  const events = [
    'data: {"type":"response.output_text.delta","delta":"grüße"}\n\n',
    'data: {"item":{"type":"reasoning","encrypted_content": "gAAA"}}\n\n',
    'data: {"item":{"type":"reasoning","encrypted_content":""}}\n\n',
  ];
  const right = events.join("").replace("gAAA", "made_by:acme:gAAA");
  t.same(passed(events), [...events.map((one) => one.replace("gAAA", "made_by:acme:gAAA")), "end"]);
  const bytes = Buffer.from(events.join(""));
  for (let at = 1; at < bytes.length; at++) {
    const cut = [bytes.subarray(0, at), bytes.subarray(at)].map((half) => half.toString("latin1"));
    const got = passed(cut.map((half) => Buffer.from(half, "latin1") as unknown as string));
    t.equal(got.join(""), `${right}end`, `cut at ${at}`);
  }
});

t.test("text isn't marked, and what is held goes out at the end", async (t) => {
  const text = JSON.stringify({ text: '"encrypted_content":"x"' });
  t.same(passed([text]), [text, "end"]);
  t.same(passed(['{"encrypted_content":"x"'], false), [
    '{"encrypted_content":"made_by:acme:x"',
    "failure",
  ]);
});

t.test("a long line isn't held", async (t) => {
  const long = "x".repeat(1024 * 1024);
  t.same(passed(["a", long, "b"]), [`a${long}`, "b", "end"]);
});
