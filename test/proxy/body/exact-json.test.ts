import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { parseBodyExactly, parseExactly, writeExactly } from "../../../proxy/body/exact-json.js";
import { cpuMsOf } from "../../support/cpu-time.js";
import { spacing, trickyText } from "../json-text.js";

/** As they are written when they were kept, or went through a number. */
const kept = [
  "1750000000000000001",
  "9223372036854775807",
  "-12345678901234567890",
  "1e400",
  "-1E+400",
  "1e-400",
  "0.12345678901234567890",
  "1234567.89012345678901",
  "12345678901234567890.5e-3",
  `1${"0".repeat(500)}`,
];
const written: Readonly<Record<string, string>> = {
  "0": "0",
  "-0": "0",
  "0e999": "0",
  "0.000000000000000000": "0",
  "1.10": "1.1",
  "1E2": "100",
  "-1.5e-7": "-1.5e-7",
  "9007199254740992": "9007199254740992",
  "10000000000000000000": "10000000000000000000",
  "1e100": "1e+100",
  "0.1000000000000000000000": "0.1",
  "-0.0009994634334638715": "-0.0009994634334638715",
  "1730000000.1234567": "1730000000.1234567",
  "100000000000000000000000": "1e+23",
};

interface Texts {
  readonly given: string;
  readonly expected: string;
}

const number: fc.Arbitrary<Texts> = fc.oneof(
  fc.constantFrom(...kept).map((literal) => ({ given: literal, expected: literal })),
  fc.constantFrom(...Object.entries(written)).map(([given, expected]) => ({ given, expected })),
  fc
    .bigInt({ min: 2n ** 54n, max: 2n ** 90n })
    .map((even) => even | 1n)
    .map((odd) => ({ given: String(odd), expected: String(odd) })),
  fc
    .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    .map((value) => ({ given: JSON.stringify(value), expected: JSON.stringify(value) })),
);
const text = fc.oneof(
  trickyText,
  fc.constantFrom(
    ...kept,
    ": 12345678901234567890,",
    "[1e400]",
    '"1e400"',
    "\u0000",
    "\u0000\u0000",
    "\u000012345678901234567890",
    "\u0000\u000012345678901234567890",
    '"\u000012345678901234567890"',
    ' "\u000012345678901234567890',
    "\\\u00001e400",
  ),
);
const literal = text.map((written) => ({
  given: JSON.stringify(written),
  expected: JSON.stringify(written),
}));
/** Some of whose names are those that hold a client's data. */
const key = fc
  .oneof(text, fc.constantFrom("input", "schema", "parameters"))
  .filter((name) => !/^\d+$/.test(name));

function joined(
  open: string,
  items: readonly Texts[],
  gaps: readonly string[],
  close: string,
): Texts {
  const gap = (i: number): string => gaps[i % Math.max(1, gaps.length)] ?? "";
  const given = items.map((item, i) => `${gap(i)}${item.given}${gap(i + 1)}`);
  return {
    given: `${open}${gap(0)}${given.join(",")}${close}`,
    expected: `${open}${items.map(({ expected }) => expected).join(",")}${close}`,
  };
}

const { value } = fc.letrec<{ value: Texts }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    number,
    literal,
    fc
      .tuple(fc.array(tie("value"), { maxLength: 4 }), fc.array(spacing))
      .map(([items, gaps]) => joined("[", items, gaps, "]")),
    fc
      .tuple(
        fc.uniqueArray(fc.tuple(key, spacing, tie("value")), {
          selector: ([name]) => name,
          maxLength: 4,
        }),
        fc.array(spacing),
      )
      .map(([members, gaps]) =>
        joined(
          "{",
          members.map(([name, gap, of]) => ({
            given: `${JSON.stringify(name)}${gap}:${gap}${of.given}`,
            expected: `${JSON.stringify(name)}:${of.expected}`,
          })),
          gaps,
          "}",
        ),
      ),
  ),
}));

t.test(
  "whatever is parsed is written with the same numbers, wherever they are, and the same texts",
  async () => {
    fc.assert(
      fc.property(value, ({ given, expected }) => {
        assert.equal(writeExactly(parseExactly(`[${given}]`)), `[${expected}]`);
        assert.equal(
          writeExactly(parseBodyExactly(`{"messages":[{"input":{"a":${given}}}]}`)),
          `{"messages":[{"input":{"a":${expected}}}]}`,
        );
        assert.equal(
          JSON.stringify(
            parseBodyExactly(
              `{"more":[${given.replaceAll(/"(input|schema|parameters)"/g, '"other"')}]}`,
            ),
          ),
          JSON.stringify({
            more: [JSON.parse(given.replaceAll(/"(input|schema|parameters)"/g, '"other"'))],
          }),
          "elsewhere it is what JSON.parse gives",
        );
      }),
      { numRuns: 500 },
    );
  },
);

t.test("numbers stay exact in a client's own data, and are plain numbers elsewhere", async (t) => {
  const id = "1750000000000000001";
  const rounded = Number(id);
  t.same(
    parseBodyExactly(
      `{"max_tokens":${id},"input":${id},"schema":[${id}],"a":{"b":[[${id},"${id}"]]}}`,
    ),
    { max_tokens: rounded, input: rounded, schema: [rounded], a: { b: [[rounded, id]] } },
  );
  for (const name of ["input", "arguments", "input_schema", "parameters", "schema"]) {
    const body = `{"a":[{"${name}":{"x":[{"y":${id}}]},"b":1}]}`;
    t.equal(writeExactly(parseBodyExactly(body)), body);
  }
  t.same(
    parseBodyExactly('{"__proto__":12345678901234567890}'),
    JSON.parse('{"__proto__":12345678901234567890}'),
  );
});

t.test("invalid JSON is undefined", async (t) => {
  for (const text of [
    "",
    "{",
    '{"a',
    '{"a": 01750000000000000001}',
    '{"a": 1750000000000000001.}',
    '{"a": -}',
    '{"a": 1750000000000000001b}',
    '{"a": +1750000000000000001}',
    '{"a": 1750000000000000001 "b}',
  ]) {
    t.equal(parseExactly(text), undefined, text);
    t.equal(parseBodyExactly(text), undefined, text);
  }
});

t.test("a text made to be slow to parse isn't", async (t) => {
  const long = 1 << 17;
  for (const text of [
    `[ 0.${"0".repeat(long)}1]`,
    `[ ${"0".repeat(long)}]`,
    `[ 1${"0".repeat(long)}1]`,
    `[ 1e${"9".repeat(long)}]`,
    `[ 1234567890123456,"${'\\"'.repeat(long)}"]`,
    `${"[".repeat(long)} 12345678901234567890${"]".repeat(long)}`,
  ]) {
    const read = (): void => void [parseExactly(text), parseBodyExactly(text)];
    t.ok(cpuMsOf(read) < 2500, text.slice(0, 12));
  }
});
