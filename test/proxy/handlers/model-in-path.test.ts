import t from "tap";
import { googleBody, googleProblem } from "../../../proxy/handlers/model-in-path.js";

t.test("where a body names a model, it is the target's", async (t) => {
  const table: readonly (readonly [body: string, sent: string])[] = [
    ['{ "contents": [] }', '{ "contents": [] }'],
    ['{"model":"models/gemini-x","n":1e400}', '{"model":"models/gemini-x","n":1e400}'],
    ['{"mod\\u0065l":"other"}', '{"model":"models/gemini-x"}'],
    [
      '{"requests":[{"model":"models/a"},{"model":"b","content":{"parts":[{"text":"\\"model\\""}]}},{}]}',
      '{"requests":[{"model":"models/gemini-x"},{"model":"models/gemini-x","content":{"parts":[{"text":"\\"model\\""}]}},{}]}',
    ],
    [
      '{"generateContentRequest":{"model":"models/a","contents":[]}}',
      '{"generateContentRequest":{"model":"models/gemini-x","contents":[]}}',
    ],
    ['{"contents":[{"model":"said"}], "a": 1.0}', '{"contents":[{"model":"said"}], "a": 1.0}'],
    [
      '{"requests":[{"model":"models/other","model":"models/gemini-x"}]}',
      '{"requests":[{"model":"models/gemini-x"}]}',
    ],
    ['{"requests":[{"model":"models/other"}],"requests":[{}]}', '{"requests":[{}]}'],
    [
      '{"generate_content_request":{"model":"models/a"}}',
      '{"generate_content_request":{"model":"models/gemini-x"}}',
    ],
  ];
  for (const [body, sent] of table)
    t.equal(googleBody(Buffer.from(body), "gemini-x").toString(), sent);
  t.equal(
    googleBody(Buffer.from('{"model":"a"}'), "tunedModels/x").toString(),
    '{"model":"tunedModels/x"}',
  );
  const same = Buffer.from('{"contents":[]}');
  t.equal(googleBody(same, "x"), same);
});

t.test("a body that would be written again is nested at most 500 levels deep", async (t) => {
  const nested = (levels: number, key: string): Buffer =>
    Buffer.from(`{"${key}":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`);
  const problemOf = (body: Buffer) => googleProblem(body, JSON.parse(body.toString()));
  t.equal(problemOf(nested(500, "model")), null);
  for (const [levels, key] of [
    [501, "model"],
    [100_000, "model"],
    [100_000, "mod\\u0065l"],
  ] as const)
    t.match(problemOf(nested(levels, key)), { status: 400, param: "body" });
  const deep = nested(100_000, "contents");
  t.equal(problemOf(deep), null, "it passes as it is");
  t.equal(googleBody(deep, "x"), deep);
});
