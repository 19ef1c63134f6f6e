import fc from "fast-check";
import t from "tap";
import {
  isJsonDocument,
  minifyToolJson,
} from "../../../../proxy/body/rewriters/minify-tool-json.js";
import { findPrompt, withoutCuts } from "../../../../proxy/body/rewriters/rewrite-places.js";
import { objectText, otherMembers, spacing } from "../../json-text.js";

function minify(text: string, role = "tool"): string {
  const body = Buffer.from(JSON.stringify({ messages: [{ role, content: text }] })).toString(
    "latin1",
  );
  const rewritten = Buffer.from(
    withoutCuts(body, minifyToolJson(body, findPrompt(body, "chat_completions")).cuts),
    "latin1",
  ).toString();
  return (JSON.parse(rewritten) as { messages: [{ content: string }] }).messages[0].content;
}

t.test("a tool's JSON loses the white space between its parts, and nothing else", async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['{ "b" : 1 ,\r\n\t"a" : [ 1.0, 2e5 , -0 ] }\n', '{"b":1,"a":[1.0,2e5,-0]}'],
    [
      ' [ 12345678901234567890123, "a  b", "\\u00e9 \\" { " , {} ] ',
      '[12345678901234567890123,"a  b","\\u00e9 \\" { ",{}]',
    ],
    ['{"a": 1, "a": 2}', '{"a":1,"a":2}'],
    ['{"text": "```\\n a  b \\n```"}', '{"text":"```\\n a  b \\n```"}'],
    ['{"你 好": "世 界"}', '{"你 好":"世 界"}'],
  ];
  for (const [text, expected] of cases) t.equal(minify(text), expected, text);
});

t.test("what isn't one JSON object or array stays", async (t) => {
  for (const text of [
    "",
    " 5 ",
    ' "a  b" ',
    "{ a: 1 }",
    '{ "a": 1 } and more',
    '{ "a": 1 }\n{ "b": 2 }',
    "[ 1,\u00a02 ]",
    "see { }",
  ])
    t.equal(minify(text), text, text);
  t.equal(minify('{ "a": 1 }', "user"), '{ "a": 1 }', "and so does a user's");
  t.same(["[]", " {}", "{", "5", ""].map(isJsonDocument), [true, true, false, false, false]);
});

t.test("any object means the same afterwards, down to its numbers", async () => {
  fc.assert(
    fc.property(otherMembers([]), spacing, (members, around) => {
      const text = around + objectText(members) + around;
      const once = minify(text);
      // Texts compared as JSON.parse sees them; numbers as they are written.
      const numbers = (of: string): readonly string[] =>
        of.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
      return (
        JSON.stringify(JSON.parse(once)) === JSON.stringify(JSON.parse(text)) &&
        numbers(once).join() === numbers(text).join() &&
        minify(once) === once &&
        !/[ \t\r\n]/.test(once.replace(/"(?:[^"\\]|\\.)*"/g, '""'))
      );
    }),
    { numRuns: 1000 },
  );
});
