import fc from "fast-check";
import t from "tap";
import { ModelScan } from "../../../proxy/body/model-scan.js";

function scan(...pieces: readonly (string | Buffer)[]): ModelScan {
  const scanning = new ModelScan();
  for (const piece of pieces) scanning.push(Buffer.from(piece));
  return scanning;
}

t.test("the model is the top-level one, unescaped, wherever it is", async (t) => {
  const table = [
    ['{"model":"gpt-4o","messages":[]}', "gpt-4o"],
    [
      ' {\n "messages" : [{"model":"no","content":"\\"model\\":\\"no\\""}] , "model" : "yes" }',
      "yes",
    ],
    ['{"a":{"model":"no"},"b":["model","no"],"model":"yes"}', "yes"],
    ['{"mod\\u0065l":"y\\u0065s"}', "yes"],
    ['{"model":"日本"}', "日本"],
    ['{"model":"first","model":"second"}', "first"],
    ['{"model":5,"x":"no"}', ""],
    ['{"model":{"id":"no"},"x":"no"}', ""],
    ['{"model":null}', ""],
    ['{"x":"model","y":"no"}', ""],
    ['{"model":"a\nb"}', ""],
    ['{"model":" spaced "}', "spaced"],
    [`{"model":"${"a".repeat(513)}"}`, ""],
    [`{"model":"${"a".repeat(5000)}"}`, ""],
    ['["model","no"]', ""],
    ['"model"', ""],
    ["5", ""],
    ["", ""],
    ['{"model"', ""],
    ['{"model":"cut', ""],
  ] as const;
  for (const [text, model] of table) t.equal(scan(text).model, model, text.slice(0, 60));
});

t.test("the scan ends as soon as nothing more can be found", async (t) => {
  for (const text of ['{"model":"m"', "{}", '{"a":{}}', "[", '"']) t.ok(scan(text).over, text);
  for (const text of ["", " ", "{", '{"a":{}', '{"model":"m']) t.notOk(scan(text).over, text);
});

t.test("whatever the object and however it is cut, what JSON.parse finds is found", async (t) => {
  const object = fc.record({
    before: fc.dictionary(fc.string(), fc.jsonValue()),
    model: fc.string({ unit: "grapheme", maxLength: 40 }),
    after: fc.jsonValue(),
  });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        object,
        fc.array(fc.nat(), { maxLength: 6 }),
        ({ before, model, after }, cuts) => {
          delete before["model"];
          const bytes = Buffer.from(JSON.stringify({ ...before, model, after }));
          const places = [
            0,
            ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
            bytes.length,
          ];
          return (
            scan(...places.slice(1).map((end, i) => bytes.subarray(places[i], end))).model ===
            model.trim()
          );
        },
      ),
      { seed: 11 },
    ),
  );
});

t.test("any bytes are read without harm", async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array(), { maxLength: 5 }),
        (pieces) => typeof scan(...pieces.map((piece) => Buffer.from(piece))).model === "string",
      ),
    ),
  );
});
