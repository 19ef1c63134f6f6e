import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { ElidedJson } from "../../../proxy/body/elided-json.js";
import { anyText } from "../../support/any-text.js";

const bytesMax = 1024;
/** What one string may take of it. */
const stringBytesMax = 16;

const isContent = (before: string): boolean => /"content":"$/.test(before);

function elided(text: string, cuts: readonly number[] = [], max = bytesMax): ElidedJson {
  const bytes = Buffer.from(text);
  const places = [
    0,
    ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  const event = new ElidedJson(max, isContent);
  for (const [i, end] of places.slice(1).entries()) event.append(bytes.subarray(places[i], end));
  return event;
}

/** The slow reckoning: a string's bytes as it is written, without its quotes. */
function expected(
  value: unknown,
  key = "",
): { readonly value: unknown; readonly textBytes: number } {
  if (typeof value === "string") {
    const bytes = Buffer.byteLength(JSON.stringify(value)) - 2;
    return bytes <= stringBytesMax
      ? { value, textBytes: 0 }
      : { value: "", textBytes: key === "content" ? bytes : 0 };
  }
  if (typeof value !== "object" || value === null) return { value, textBytes: 0 };
  const entries = Object.entries(value).map(
    ([name, inner]) => [name, expected(inner, name)] as const,
  );
  const textBytes = entries.reduce((sum, [, inner]) => sum + inner.textBytes, 0);
  return {
    value: Array.isArray(value)
      ? entries.map(([, inner]) => inner.value)
      : Object.fromEntries(entries.map(([name, inner]) => [name, inner.value])),
    textBytes,
  };
}

const text = fc.oneof(
  anyText({ maxLength: 40 }),
  fc.string({ unit: fc.constantFrom("\\", '"', "a"), maxLength: 60 }),
);
const member = fc.oneof(
  text,
  fc.nat(),
  fc.constant(null),
  fc.array(text, { maxLength: 2 }),
  fc.record({ content: text }),
);

t.test("long strings become empty and all else stays, however the bytes are cut", async () => {
  fc.assert(
    fc.property(
      fc.record({
        content: text,
        b64: text,
        inner: member,
        usage: fc.record({ total_tokens: fc.nat() }),
      }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (value, cuts) => {
        const event = elided(JSON.stringify(value), cuts);
        const { value: left, textBytes } = expected(value);
        assert.deepEqual(JSON.parse(Buffer.from(event.text(), "latin1").toString()), left);
        assert.deepEqual([event.textBytes, event.onlyTail], [textBytes, false]);
      },
    ),
    { numRuns: 3000 },
  );
});

t.test("it doesn't matter where a text with escapes at its bounds is cut", async () => {
  const long = "x".repeat(stringBytesMax);
  for (const content of [
    long,
    `${long}x`,
    `${long}\\`,
    `${"\\".repeat(40)}`,
    `"${long}"`,
    `\\"${long}\\\\"`,
    "é".repeat(20),
  ]) {
    const value = { content, tail: "\\", end: '"' };
    const { value: left, textBytes } = expected(value);
    const length = Buffer.byteLength(JSON.stringify(value));
    for (let first = 0; first <= length; first++) {
      for (let second = first; second <= length; second++) {
        const event = elided(JSON.stringify(value), [first, second]);
        assert.deepEqual(
          [JSON.parse(event.text()), event.textBytes],
          [left, textBytes],
          `${content} ${first} ${second}`,
        );
      }
    }
  }
});

t.test("of what is too large even without its strings the end is kept", async (t) => {
  const value = JSON.stringify({
    list: Array.from({ length: 5000 }, (_, i) => i),
    usage: { total_tokens: 7 },
  });
  for (const cuts of [[], [1, 2, 3], Array.from({ length: 200 }, (_, i) => i * 37)]) {
    const event = elided(value, cuts);
    t.ok(event.onlyTail);
    t.ok(event.text().length <= bytesMax && event.text().length >= bytesMax / 2);
    t.ok(value.endsWith(event.text()));
    t.ok(value.endsWith(event.take().toString()));
  }
});

t.test("a long string is counted as far as it came, and isn't kept", async (t) => {
  const event = new ElidedJson(bytesMax, isContent);
  event.append(Buffer.from('{"content":"'));
  for (let i = 0; i < 100; i++) event.append(Buffer.alloc(10_000, "x"));
  t.same([event.textBytes, event.text(), event.onlyTail], [1_000_000, '{"content":"', false]);
});
