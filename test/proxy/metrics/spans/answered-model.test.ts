import t from "tap";
import { modelWatchedUpstream } from "../../../../proxy/metrics/spans/answered-model.js";
import type { Upstream, UpstreamSink } from "../../../../proxy/upstream/upstream.js";

/** What is read of an answer in these pieces; what passed is checked. */
function read(pieces: readonly string[], status = 200): readonly string[] {
  const passed: string[] = [];
  const models: string[] = [];
  const answering = {
    send(_request: unknown, sink: UpstreamSink) {
      sink.onHead(status, []);
      for (const piece of pieces) sink.onData(Buffer.from(piece));
      sink.onEnd();
    },
  } as unknown as Upstream;
  const sink = {
    onHead: (got: number) => passed.push(String(got)),
    onData: (chunk: Buffer) => passed.push(String(chunk)),
    onEnd: () => passed.push("end"),
  } as unknown as UpstreamSink;
  modelWatchedUpstream(answering, (model) => models.push(model)).send({} as never, sink);
  t.same(passed, [String(status), ...pieces, "end"]);
  return models;
}

t.test("the model that an answer names is read, once, and the answer passes", async (t) => {
  const table: readonly [string, readonly string[], readonly string[]][] = [
    ["a whole answer", ['{"id":"1","model":"gpt-4o-2024","choices":[]}'], ["gpt-4o-2024"]],
    ["a stream", ['data: {"model": "a/b:c"}\n\n', 'data: {"model": "a/b:c"}\n\n'], ["a/b:c"]],
    ["in pieces", ['{"id":"1","mod', 'el":"m"', "}"], ["m"]],
    ["none", ['{"id":"1"}'], []],
    ["within a text its quotes are escaped", ['{"text":"{\\"model\\":\\"secret\\"}"}'], []],
    ["what is no name of a model", ['{"model":"say hello to everybody"}'], []],
    [
      "Gemini's own API",
      [
        '{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"model":"x"}}}]}}],',
        '"modelVersion":"gemini-2.5-pro"}',
      ],
      ["gemini-2.5-pro"],
    ],
    [
      "behind a long answer of it",
      [
        `{"candidates":[{"text":"${"x".repeat(5000)}"`,
        `${"x".repeat(5000)}}],"modelVersion":"gem`,
        'ini-2.5","responseId":"r"}',
      ],
      ["gemini-2.5"],
    ],
    [
      "a stream of it",
      [
        'data: {"candidates":[{}],"modelVersion":"g-1"}\n\n',
        'data: {"candidates":[],"modelVersion":"g-1"}\n\n',
      ],
      ["g-1"],
    ],
    ["it leaves it out", [`{"candidates":[{"text":"${"x".repeat(9000)}"}]}`], []],
    ["beyond the beginning", [`{"text":"${"x".repeat(5000)}",`, '"model":"m"}'], []],
  ];
  for (const [name, pieces, expected] of table) t.same(read(pieces), expected, name);
});

t.test("an error isn't read", async (t) => {
  t.same(read(['{"error":{"model":"m"}}'], 404), []);
});
