import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { collapseWhiteSpace } from "../../../../proxy/body/rewriters/collapse-white-space.js";
import { findPrompt, withoutCuts } from "../../../../proxy/body/rewriters/rewrite-places.js";
import { cpuMsOf } from "../../../support/cpu-time.js";

/** What becomes of a user's text. */
function collapse(text: string): string {
  const body = Buffer.from(
    JSON.stringify({ messages: [{ role: "user", content: text }] }),
  ).toString("latin1");
  const { cuts, savedBytes } = collapseWhiteSpace(body, findPrompt(body, "chat_completions"));
  const rewritten = Buffer.from(withoutCuts(body, cuts), "latin1").toString();
  const { content } = (JSON.parse(rewritten) as { messages: [{ content: string }] }).messages[0];
  assert.equal(savedBytes, Buffer.byteLength(text) - Buffer.byteLength(content));
  return content;
}

t.test("white space without a meaning is removed", async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["runs of spaces", "a  b     c d", "a b c d"],
    ["spaces at the ends of lines", "a \nb\n\nc   \n\nd  ", "a\nb\n\nc\n\nd"],
    ["the same with CRLF", "a \r\nb  \r\n\r\n\r\n\r\nc", "a\r\nb\r\n\r\nc"],
    ["several blank lines", "a\n\n\nb\n \n\t\n\n\nc", "a\n\nb\n\nc"],
    ["blank lines at the ends", "\n\n\na\n\n\n", "\na\n\n"],
    [
      "Chinese, with its own wide space",
      "你  好\u3000\u3000世界 \n再见",
      "你 好\u3000\u3000世界\n再见",
    ],
    ["accents and emoji", "é  ü \n\n\n🎉  ß", "é ü\n\n🎉 ß"],
    [
      "a URL",
      "see  https://example.com/a?b=c&d=%20%20#e  now",
      "see https://example.com/a?b=c&d=%20%20#e now",
    ],
    ["text behind a closed fence", "```\na  b\n```\nc  d\n\n\ne", "```\na  b\n```\nc d\n\ne"],
    ["what only begins like JSON", "{a  b}", "{a b}"],
  ];
  for (const [name, text, expected] of cases) {
    t.equal(collapse(text), expected, name);
    t.equal(collapse(expected), expected, `${name}, again`);
  }
});

t.test("white space with a meaning stays", async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ["nothing to do", "a b\n\nc"],
    ["a line break of Markdown", "a  \nb  \n    c"],
    ["indentation", "a\n  b\n   c"],
    ["indented code, with its blank lines", "a\n\n    b  c  \n\n\n    d  e\n\tf  g  "],
    ["indented code with backticks", "    a\n\n\n    ```b"],
    ["space behind marks", "-   a\n>   b\n1.   c"],
    ["code behind marks", "-     a  b"],
    ["code in backticks", "a `b  c` d ``e  `  f`` g"],
    ["code in backticks, behind one that is in another block", "``\n> ``  ``"],
    ["code in backticks that ends in a line like a fence", "a ``   \n``b```\n"],
    ["a backslash before the end of a line", "a\\ \nb"],
    ["code in backticks over two lines", "a `b  \nc  d` e"],
    ["code between fences", "```js\na  b  \n\n\n\nc\n```\n"],
    ["code between fences that are never closed", "a\n~~~\nb  c \n\n\n\n"],
    ["all behind a doubtful fence", "a: ```\nb  c\n```\nd  e"],
    ["tabs", "a\t\tb\tc\t\nd \te\t  f"],
    ["white space alone", " \n\n\n "],
    ["JSON", '{ "a":  "b  c" }\n\n\n'],
    ["no-break and other spaces", "a\u00a0\u00a0b\u2003\u2003c"],
  ];
  for (const [name, text] of cases) t.equal(collapse(text), text, name);
});

t.test(
  "a line break of Markdown keeps two of its spaces, and none before a blank line",
  async (t) => {
    t.equal(collapse("a     \nb   \n\nc"), "a  \nb\n\nc");
  },
);

const piece = fc.constantFrom(
  "a",
  "bc",
  "你",
  "é",
  " ",
  "  ",
  "   ",
  "\t",
  "\n",
  "\n",
  "\n\n",
  "\r\n",
  "`",
  "``",
  "- ",
  "> ",
  "1. ",
  "\\",
  "    ",
  ".",
  "{",
  "[",
  '"',
);
const prose = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(""));
/** Code in which no fence begins or ends. */
const code = prose.map((text) => text.replace(/`{3,}/g, "``"));
const fence = fc.record({
  mark: fc.constantFrom("```", "````", "~~~", "~~~~~"),
  info: fc.constantFrom("", "js", " python  x"),
  code,
});

t.test("it is idempotent; the text never grows, and no word is lost", async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        prose,
        fc
          .array(fc.oneof(piece, fc.constantFrom("```", "~~~", "\n```\n", "\n~~~\n")), {
            maxLength: 25,
          })
          .map((pieces) => pieces.join("")),
      ),
      (text) => {
        const once = collapse(text);
        assert.equal(collapse(once), once);
        assert.ok(once.length <= text.length);
        assert.deepEqual(once.trim().split(/\s+/), text.trim().split(/\s+/));
      },
    ),
    { numRuns: 2000 },
  );
});

t.test("code between fences stays as it is, byte for byte, wherever it is", async () => {
  const plain = prose.map((text) => text.replace(/`/g, "'"));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(plain, fence), { minLength: 1, maxLength: 4 }),
      plain,
      fc.boolean(),
      (parts, last, closed) => {
        const blocks = parts.map(
          ([, { mark, info, code }], i) =>
            `${mark}${info}\n${code}\n${closed || i < parts.length - 1 ? `${mark}\n` : ""}`,
        );
        const text = parts.map(([before], i) => `${before}\n${blocks[i]!}`).join("") + last;
        const collapsed = collapse(text);
        let from = 0;
        for (const block of blocks) {
          const at = collapsed.indexOf(block, from);
          assert.ok(at !== -1, JSON.stringify({ text, block }));
          from = at + block.length;
        }
        if (!closed) assert.ok(collapsed.endsWith(blocks.at(-1)! + last), JSON.stringify(text));
      },
    ),
    { numRuns: 2000 },
  );
});

t.test("half a megabyte of the worst input takes no more than a moment", async (t) => {
  for (const unit of [
    " ",
    "a  ",
    "`",
    "` ``",
    "\\`",
    "\n",
    " \n",
    "```\n",
    "- ",
    "\t",
    "~~~ x\n",
    "1.",
    "``` ```` ",
  ]) {
    const text = `a${unit.repeat(Math.floor(500_000 / unit.length))}b`;
    t.ok(cpuMsOf(() => collapse(text)) < 3000, JSON.stringify(unit));
  }
});
