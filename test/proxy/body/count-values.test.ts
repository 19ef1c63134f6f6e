import fc from "fast-check";
import t from "tap";
import { hasMoreValues, valuesMax, withoutTokens } from "../../../proxy/body/count-values.js";

/** As many as are counted in a text. */
function counted(text: string, onTokens?: () => void): number {
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (hasMoreValues(text, middle, onTokens)) low = middle + 1;
    else high = middle;
  }
  return low;
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
  for (const [text, values] of table)
    t.equal(
      counted(text, () => {}),
      values,
      text,
    );
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
    t.throws(() => JSON.parse(withoutTokens(text)!), { name: "SyntaxError" }, text.slice(0, 20));
});

t.test(
  "what is parsed for its shape has each long run of tokens once, and is JSON as before",
  async (t) => {
    const run = Array.from({ length: valuesMax }, (_, at) => at % 1000);
    const body = { model: "1,1,1,1", input: [run, run, ["1,2"]], a: [1, 2], b: 0.5, c: [-1, 1e21] };
    for (const text of [JSON.stringify(body), JSON.stringify(body).replaceAll(",", ", ")]) {
      const shape = withoutTokens(text)!;
      t.ok(shape.length < 200, `${shape.length} characters`);
      t.match(JSON.parse(shape), {
        input: [[0], [0], [/^1, ?2$/]],
        a: [1, 2],
        b: 0.5,
        c: [-1, 1e21],
      });
    }
    for (const wrong of ["[1,2,]", "[,1]", "[1 2]", "[01]", "[1,02]", "[1.]", "{1,2}"]) {
      const shape = withoutTokens(wrong.replace("1", `${run.join()},1`))!;
      t.throws(() => JSON.parse(shape), SyntaxError, wrong);
    }
    t.equal(withoutTokens(`[${"{},".repeat(valuesMax)}1]`), null);
  },
);
