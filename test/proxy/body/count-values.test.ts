import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  fieldsMax,
  hasMoreValues,
  inTurns,
  outlineOf,
  outlineSliced,
  valuesMax,
} from "../../../proxy/body/count-values.js";
import { scanObject } from "../../../proxy/body/scan-json.js";
import { exactly } from "../../support/patterns/exactly.js";

/** As many as are counted in a text. */
function counted(text: string, passesTokens = false): number {
  return outlineOf(text, passesTokens).values;
}

/** Values and names of a parsed text. */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const names = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner), 1 + names);
}

t.test(
  "objects, lists, texts, names and plain values are counted, wherever they are",
  async (t) => {
    const table: readonly (readonly [text: string, values: number])[] = [
      ["{}", 1],
      ["[]", 1],
      ["[{},{}]", 3],
      ["[[],[[]]]", 4],
      ['{"a":1}', 3],
      ['{"a":{"b":[true,false,null]}}', 8],
      ['["{\\"a\\":[1,2]}","\\\\"]', 3],
      [" [ 1 ,\t-2.5e+7\r\n, 1E-9 ] ", 4],
      ['["a long text, with [brackets] and {braces}: 1,2,3"]', 2],
      ['["no end', 1],
    ];
    for (const [text, values] of table) t.equal(counted(text), values, text);
  },
);

t.test("as many values are counted as are parsed, of any JSON", async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, space) => {
      const text = JSON.stringify(value, null, space);
      return counted(text) === valuesIn(JSON.parse(text));
    }),
  );
});

t.test("the ids of tokens are free where they are asked for, and nothing else is", async (t) => {
  const table: readonly (readonly [text: string, values: number])[] = [
    ["[[1,22,333],[4444444]]", 3],
    ['{"input":[1,2,3]}', 3],
    ["[1.5,-1,1e3,12345678,true]", 6],
    ["[1,2,3.5,4,5e1,6, 7,007,8]", 4],
  ];
  for (const [text, values] of table) t.equal(counted(text, true), values, text);
});

t.test("what isn't JSON isn't made JSON by passing over tokens", async (t) => {
  const run = Array(valuesMax).fill(1).join();
  for (const text of [
    `{"n":${run}}`,
    `{"n" :\n ${run},"model":"m"}`,
    `{"n":0,${run}}`,
    `{"n":[]${run}}`,
    `{${run}}`,
    `[${run},]`,
    `[${run} 1]`,
  ])
    t.throws(
      () => JSON.parse(outlineOf(text, true).shape),
      { name: "SyntaxError" },
      text.slice(0, 20),
    );
});

t.test(
  "what is parsed for its shape has few tokens of each long run, and is JSON as before",
  async (t) => {
    const run = Array.from({ length: valuesMax }, (_, at) => at % 1000);
    const body = { model: "1,1,1,1", input: [run, run, ["1,2"]], a: [1, 2], b: 0.5, c: [-1, 1e21] };
    const plain = JSON.stringify(body);
    const indented = JSON.stringify(body, null, 1);
    const spaced = indented.replaceAll(/(?<=\d),\n/g, "\t,\r\n");
    for (const text of [plain, plain.replaceAll(",", ", "), indented, spaced]) {
      const shape = outlineOf(text, true).shape;
      t.ok(shape.length < 250, `${shape.length} characters`);
      const { input, ...rest } = JSON.parse(shape) as { readonly input: readonly unknown[][] };
      t.ok(input[0]!.length < 10 && input[1]!.length < 10);
      t.ok(
        input
          .slice(0, 2)
          .flat()
          .every((token) => token === 0),
      );
      t.match(input[2], exactly([/^1\s?,\s*2$/]));
      t.match(rest, exactly({ a: [1, 2], b: 0.5, c: [-1, 1e21] }));
    }
    for (const wrong of ["[1,2,]", "[,1]", "[1 2]", "[01]", "[1,02]", "[1.]", "{1,2}"]) {
      const { shape } = outlineOf(wrong.replace("1", `${run.join()},1`), true);
      t.throws(() => JSON.parse(shape), SyntaxError, wrong);
    }
    t.ok(outlineOf(`[${"{},".repeat(valuesMax)}1]`, true).values > valuesMax);
    t.ok(hasMoreValues(`[${"{},".repeat(valuesMax)}1]`));
  },
);

t.test("the members of any object are found in the same walk", async (t) => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
      fc.constantFrom(undefined, 1),
      fc.boolean(),
      (value, space, passesTokens) => {
        const text = JSON.stringify(value, null, space);
        const { members, fields } = outlineOf(text, passesTokens);
        assert.deepEqual(members(), scanObject(text));
        assert.equal(fields, Object.keys(value).length);
      },
    ),
  );
  const twice = ' { "a\\u0041" : [1,{"a":2}] , "b":"x\\"","b":{} } ';
  t.same(outlineOf(twice, true).members(), scanObject(twice));
});

t.test("what isn't JSON, or isn't an object, has an outline all the same", async (t) => {
  const pieces = ['"', "{", "}", "[", "]", ":", ",", "\\", "1", " ", "a", '"a":'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces)), (list) => {
      const text = list.join("");
      for (const passesTokens of [false, true]) {
        const { values, shape } = outlineOf(text, passesTokens);
        if (!(values <= text.length && shape === text)) return false;
      }
      return true;
    }),
  );
  const many = Array.from({ length: fieldsMax + 2 }, (_, at) => `"n${at}":1`);
  t.equal(outlineOf(`{${many.join()}}`, false).fields, fieldsMax + 1);
});

t.test("a name that is written with escapes is noted wherever it is, and no text is", async (t) => {
  const all = [..."previous_response_id"].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  const table: readonly (readonly [text: string, escapes: boolean])[] = [
    ['{"a":"\\u0061","b":["\\"c\\":"]}', false],
    ['{"a":{"b":[{"c":"\\u4e2d"},"\\\\",":"]}}', false],
    ['{"\\u0061":1}', true],
    ['{"a":[1,{"b":{"f\\u0069le_id" \n\t:"x"}}]}', true],
    [`{"a":{"${all.join("")}":1}}`, true],
    // Longer than each name that is looked for.
    [`{"a":{"${"\\u0061".repeat(25)}":1}}`, false],
    ['{"a":1,"a":{"\\"":1}}', true],
  ];
  for (const [text, escapes] of table)
    for (const passesTokens of [true, false])
      t.equal(outlineOf(text, passesTokens).escapesNames, escapes, text);
});

t.test("a large text is walked through in slices, whatever it is of", async (t) => {
  const bytes = 8_000_000;
  const filled = (piece: string): string => piece.repeat(bytes / piece.length);
  const around = (filling: string): readonly string[] => [
    filling,
    `{${filling}"model":"m"}`,
    `{"model"${filling}:"m"}`,
    `{"model":"m","input":[${filling}]}`,
    `{"model":"m"${filling}`,
  ];
  const turnsOf = async (text: string): Promise<number> => {
    let turns = 0;
    const sliced = await inTurns(outlineSliced(text, true), async () => void turns++);
    const { values, fields, shape } = outlineOf(text, true);
    t.same([sliced.values, sliced.fields], [values, fields]);
    t.ok(sliced.shape === shape);
    return turns;
  };
  const slices = 10;
  for (const piece of [" ", "\n\t "])
    for (const text of around(filled(piece)))
      t.ok((await turnsOf(text)) > slices, text.slice(0, 30));
  for (const piece of ["1,", "1 ,", "1,\n", "1"])
    t.ok((await turnsOf(`{"input":[${filled(piece)}1]}`)) > slices, piece);
  // The rest has too many values, or is passed over.
  for (const piece of ["{},", "[", "]", '"a",', "x", "1 ", '"\\"" ', '"a"  :'])
    for (const text of around(filled(piece))) await turnsOf(text);
});
