import fc from "fast-check";
import t from "tap";
import { ModelScan } from "../../../../proxy/body/passed/model-scan.js";

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
    ['{"x":"\\\\","model":"yes"}', "yes"],
    ['{"x":"\\\\\\"model","model":"yes"}', "yes"],
    ['{"Model":"any letters"}', "any letters"],
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

t.test("the scan ends with the object, or when it can't be one", async (t) => {
  for (const text of ['{"model":"m"}', "{}", '{"a":{}}', "[", '"', '{"model":1,"model"'])
    t.ok(scan(text).isOver, text);
  for (const text of ["", " ", "{", '{"a":{}', '{"model":"m"']) t.notOk(scan(text).isOver, text);
});

t.test("a repeated model is seen, however it is written and wherever it is cut", async (t) => {
  const twice = [
    '{"model":"m","model":"n"}',
    '{"model":"m","x":{"model":[1,"\\\\"]},"MODEL":"n"}',
    '{"mod\\u0065l":"m","x":"\\"","model":"n"}',
    '{"model":7,"Model":"n"}',
    '{"Model":"m","model":"n"}',
  ];
  const once = [
    '{"model":"m","x":{"model":"n"},"y":["model"],"z":"\\"model\\":"}',
    '{"model":"m","models":"n","mode":"l","model ":"n"}',
    '{"model":"m"}{"model":"n"}',
  ];
  for (const text of [...twice, ...once])
    for (let cut = 0; cut <= text.length; cut++)
      t.equal(
        scan(text.slice(0, cut), text.slice(cut)).isRepeated,
        twice.includes(text),
        `${text.slice(0, cut)} ${text.slice(cut)}`,
      );
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
          for (const key of Object.keys(before))
            if (key.toLowerCase() === "model") delete before[key];
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
