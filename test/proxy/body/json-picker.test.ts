import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { JsonPicker, type Picks } from "../../../proxy/body/json-picker.js";
import { anyText } from "../../support/any-text.js";

const picks: Picks = new Map<string, "all" | Picks>([
  ["usage", "all"],
  ["response", new Map([["usage", "all"]])],
  ["output", new Map([["type", "all"]])],
]);

function picked(text: string, cuts: readonly number[] = [], texts?: ReadonlySet<string>) {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  const picker = new JsonPicker(picks, texts);
  for (const [i, end] of places
    .sort((a, b) => a - b)
    .slice(1)
    .entries())
    picker.append(bytes.subarray(places[i], end));
  return { value: picker.value(), textChars: picker.textChars };
}

/** The slow way, on what was parsed. */
function expected(value: unknown, of: Picks): unknown {
  if (Array.isArray(value)) return value.map((item) => expected(item, of));
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    [...of]
      .filter(([name]) => Object.hasOwn(fields, name))
      .map(([name, pick]) => [name, pick === "all" ? fields[name] : expected(fields[name], pick)]),
  );
}

const names = fc.constantFrom("usage", "response", "output", "type", "a", "__proto__", '"', "\\");
const ascii = fc.string({
  unit: fc.constantFrom("\\", '"', "a", "{", "}", "[", "]", ":", ",", "\n"),
  maxLength: 30,
});
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    ascii,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, {}, []),
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(names, tie("tree"), { maxKeys: 5 }),
  ),
}));
const cuts = fc.array(fc.nat(), { maxLength: 6 });

t.test("what is picked is what JSON.parse finds in its place, cut anywhere", async () => {
  fc.assert(
    fc.property(
      fc.dictionary(names, tree, { maxKeys: 6 }),
      fc.constantFrom(undefined, 1, "\t"),
      cuts,
      (object, indent, cuts) => {
        const text = JSON.stringify(object, null, indent);
        // By their texts: the order is the text's, and a zero has no sign.
        const sorted = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
        assert.deepEqual(
          sorted(picked(text, cuts).value),
          sorted(expected(JSON.parse(text), picks)),
          text,
        );
      },
    ),
    { numRuns: 2000 },
  );
});

t.test("names may be escaped, and of repeated ones the last counts", async (t) => {
  for (const [text, value] of [
    ['{"us\\u0061ge":{"a":1}}', { usage: { a: 1 } }],
    ['{"usage":{"a":1},"\\u0075sage":[2]}', { usage: [2] }],
    ['{"usage":{"a":1},"usage":null}', { usage: null }],
    ['{"response":{"usage":1},"response":{}}', { response: {} }],
    ['{"response":{"usage":1},"response":7}', { response: 7 }],
    ['{"metadata":{"usage":1,"response":{"usage":2}},"x":["usage"]}', {}],
    ['{"x":"\\",\\"usage\\":1","usage":2}', { usage: 2 }],
    [
      '{"output":[{"type":"a","x":{"type":1}},3,[{"type":"b"}]]}',
      { output: [{ type: "a" }, 3, [{ type: "b" }]] },
    ],
    [" { } ", {}],
    ["12", 12],
    ['"usage"', "usage"],
    ["[]", []],
  ] as const)
    for (const cut of text.split("").keys()) t.same(picked(text, [cut]).value, value, text);
});

t.test("of a list only the last item is kept", async (t) => {
  t.same(picked('[{"usage":1},{"usage":{"a":[1,2]}},{"a":1,"usage":{"a":3}}]').value, [
    { usage: { a: 3 } },
  ]);
});

t.test("what is no complete JSON, or would be too much, is nothing", async (t) => {
  for (const text of [
    "",
    "{",
    '{"usage":1',
    '{"usage":{"a":1}',
    '{"usage":1}}',
    '{"usage":1} {}',
    '{"usage" 1}',
    '{"usage":}',
    '{"usage":1]',
    "{usage:1}",
    '{"usage":nul}',
    '{"usage":"a',
    "[1",
    "data: {}",
  ])
    t.equal(picked(text).value, undefined, text);
  t.equal(picked(`{"usage":[${"1,".repeat(600_000)}1]}`).value, undefined);
  const long = "x".repeat(5000);
  t.same(picked(`{"usage":"${long}","response":"${long}","x":"${long}"}`).value, {
    usage: "*",
    response: "*",
  });
});

t.test(
  "what is nested too deep to be read isn't picked; beside what is picked it may be",
  async (t) => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    for (const [depth, isPicked] of [
      [100, true],
      [101, false],
      [20_000, false],
    ] as const)
      t.equal(picked(`{"usage":${nested(depth)}}`).value !== undefined, isPicked, `${depth}`);
    t.same(picked(`{"x":${nested(20_000)},"usage":1}`).value, { usage: 1 });
    // A list is as deep as its lists are, each of which may have such members.
    for (const [depth, isPicked] of [
      [100, true],
      [101, false],
      [20_000, false],
    ] as const)
      t.equal(picked(nested(depth)).value !== undefined, isPicked, `lists, ${depth}`);
  },
);

t.test("the text of an answer is counted under its names, cut anywhere", async () => {
  const member = fc.oneof(anyText({ maxLength: 30 }), ascii, fc.nat(), fc.constant(null));
  const texts = new Set(["delta", "type"]);
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.constantFrom("delta", "type", "a"), member), { maxLength: 4 }),
      fc.constantFrom(undefined, 1),
      cuts,
      (list, indent, cuts) => {
        for (const value of [{ a: list }, { usage: list }, { output: list }]) {
          const text = JSON.stringify(value, null, indent);
          const sum = list
            .flatMap((item) => Object.entries(item))
            .filter(([name, inner]) => texts.has(name) && typeof inner === "string")
            .reduce((all, [, inner]) => all + Buffer.byteLength(JSON.stringify(inner)) - 2, 0);
          assert.equal(picked(text, cuts, texts).textChars, sum, text);
        }
      },
    ),
    { numRuns: 1000 },
  );
});
