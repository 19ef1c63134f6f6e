import t from "tap";
import { scanObject } from "../../../proxy/body/scan-json.js";
import { googleBody } from "../../../proxy/handlers/model-in-path.js";

function sentTo(body: Buffer, model: string): Buffer {
  return googleBody(body, model, scanObject(body.toString("latin1")));
}

t.test("where a body names a model, it is the target's", async (t) => {
  const table: readonly (readonly [body: string, sent: string])[] = [
    ['{ "contents": [] }', '{ "contents": [] }'],
    ['{"model":"models/gemini-x","n":1e400}', '{"model":"models/gemini-x","n":1e400}'],
    ['{"mod\\u0065l":"other"}', '{"mod\\u0065l":"models/gemini-x"}'],
    ['{ "model" : null , "é":"ü"}', '{ "model" : "models/gemini-x" , "é":"ü"}'],
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
      '{"requests":[{"model":"models/gemini-x","model":"models/gemini-x"}]}',
    ],
    [
      '{"requests":[{"model":"models/other"}],"requests":[{}],"model":"a"}',
      '{"requests":[{"model":"models/gemini-x"}],"requests":[{}],"model":"models/gemini-x"}',
    ],
    [
      '{"requests":{"model":"a"},"generateContentRequest":[[{"model":"b"}],"model",1]}',
      '{"requests":{"model":"models/gemini-x"},"generateContentRequest":[[{"model":"b"}],"model",1]}',
    ],
    [
      '{"generate_content_request":{"model":"models/a"}}',
      '{"generate_content_request":{"model":"models/gemini-x"}}',
    ],
  ];
  for (const [body, sent] of table) t.equal(sentTo(Buffer.from(body), "gemini-x").toString(), sent);
  t.equal(
    sentTo(Buffer.from('{"model":"a"}'), "tunedModels/x").toString(),
    '{"model":"tunedModels/x"}',
  );
  const said = Buffer.from(
    '{"contents":[{"parts":[{"text":"\\u4e2d \\"model\\":"},{"model":1}]}]}',
  );
  t.equal(sentTo(said, "x"), said);
  const deep = `{"model":"a","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  t.equal(sentTo(Buffer.from(deep), "x").toString(), deep.replace('"a"', '"models/x"'));
});
