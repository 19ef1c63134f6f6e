import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { lastMember, scanArray, scanObject, stringEnd } from "../../../proxy/body/scan-json.js";
import { memberText, objectText, spacing, trickyText, valueText } from "../json-text.js";

/** The text as the scanner sees it: one character per byte. */
function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function utf8(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8");
}

t.test("the ranges of an object's values are found, whatever is in and around them", async (t) => {
  const cases: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    ["{}", []],
    [" \n{ \t} ", []],
    ['{"a":1}', [["a", "1"]]],
    [
      '{ "a" : -1.5e3 , "b":null }',
      [
        ["a", "-1.5e3"],
        ["b", "null"],
      ],
    ],
    [
      '{"a":"x\\"y","b":"\\\\"}',
      [
        ["a", '"x\\"y"'],
        ["b", '"\\\\"'],
      ],
    ],
    [
      '{"a":"\\\\\\"","b":true}',
      [
        ["a", '"\\\\\\""'],
        ["b", "true"],
      ],
    ],
    [
      '{"a":{"b":"}"},"c":[[],{"d":"]"}]}',
      [
        ["a", '{"b":"}"}'],
        ["c", '[[],{"d":"]"}]'],
      ],
    ],
    [
      '{"a":1,"a":2}',
      [
        ["a", "1"],
        ["a", "2"],
      ],
    ],
    ['{"mod\\u0065l":"x"}', [["model", '"x"']]],
    ['{"é":"你"}', [["é", '"你"']]],
  ];
  for (const [text, expected] of cases) {
    const bytes = latin1(text);
    t.same(
      scanObject(bytes).map(({ key, start, end }) => [utf8(key), utf8(bytes.slice(start, end))]),
      expected,
      text,
    );
  }
});

t.test("an object inside of a text is scanned from where it begins", async (t) => {
  const text = '{"a":{"b":1,"c":2},"d":3}';
  t.same(
    scanObject(text, 5).map(({ key }) => key),
    ["b", "c"],
  );
});

t.test(
  "the items of an array are found, and an array in an object ends where it ends",
  async () => {
    const items = fc.array(fc.tuple(spacing, valueText, spacing), { maxLength: 6 });
    fc.assert(
      fc.property(items, spacing, (written, inside) => {
        const parts = written.map((part) => part.join(""));
        const array = `[${written.length === 0 ? inside : parts.join(",")}]`;
        const text = latin1(`{"a":${inside}${array}${inside}}`);
        const [member] = scanObject(text);
        const found = scanArray(text, member!.start).map(({ start, end }) =>
          utf8(text.slice(start, end)),
        );
        return (
          text.slice(member!.start, member!.end) === latin1(array) &&
          JSON.stringify(found) === JSON.stringify(written.map(([, value]) => value))
        );
      }),
      { numRuns: 1000 },
    );
    assert.throws(() => scanArray("{}"), /assertion failed/);
  },
);

t.test("any object gives its own keys and values, whatever its spacing and escapes", async () => {
  const members = fc.array(
    trickyText.chain((key) => memberText(key, valueText)),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(members, spacing, spacing, (written, around, inside) => {
      const text = latin1(around + objectText(written, inside) + around);
      const found = scanObject(text);
      // Keys with other than ASCII characters are in their Latin-1 reading unless they are escaped:
      // their values show that they are the right ones.
      return (
        found.length === written.length &&
        found.every(({ key, start, end }, i) => {
          const { key: expected, value } = written[i]!;
          // eslint-disable-next-line no-control-regex
          const keyIsRight = /^[\u0000-\u007f]*$/.test(expected) ? key === expected : true;
          return keyIsRight && text.slice(start, end) === latin1(value);
        })
      );
    }),
    { numRuns: 2000 },
  );
});

t.test("of repeated keys the last is the one that JSON.parse sees", async (t) => {
  const text = '{"a":1,"b":2,"a":3}';
  const member = lastMember(scanObject(text), "a");
  t.equal(text.slice(member?.start, member?.end), "3");
  t.equal(lastMember(scanObject(text), "c"), null);
});

t.test("a string ends at the first quote that isn't escaped", async (t) => {
  const cases: readonly (readonly [string, number])[] = [
    ['""', 2],
    ['"a"b', 3],
    ['"\\""', 4],
    ['"\\\\"x"', 4],
    ['"\\\\\\""', 6],
    ['"', -1],
    ['"\\"', -1],
  ];
  for (const [text, expected] of cases) t.equal(stringEnd(text, 0), expected, text);
});

t.test("a text that isn't JSON fails an assertion", async (t) => {
  for (const text of ["", "[]", '{"a', '{"a":"b', '{"a":[', '{"a":1'])
    t.throws(() => scanObject(text), /assertion failed/, text);
});
