import t from "tap";
import { googleBody } from "../../../proxy/handlers/model-in-path.js";

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
    ['{"contents":[{"model":"said"}]}', '{"contents":[{"model":"said"}]}'],
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
