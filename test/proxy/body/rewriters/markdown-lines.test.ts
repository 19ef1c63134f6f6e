import fc from "fast-check";
import t from "tap";
import {
  codeZones,
  leadOf,
  markdownLines,
} from "../../../../proxy/body/rewriters/markdown-lines.js";

/** The kinds as letters: prose, blank, indented, code. */
function kinds(text: string): string {
  return markdownLines(text)
    .map(({ kind }) => kind[0])
    .join("");
}

t.test("each line has its kind, and what could be code is code", async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["nothing", "", ""],
    ["prose and blank lines, with LF and CRLF", "a\n\n \t\r\nb\r\n", "pbbp"],
    ["four columns of indentation", "a\n    b\n\tc\n  \td\n   e", "piiip"],
    ["the same behind marks", "- a\n-     b\n>     c\n1.\td\n  * e", "piiip"],
    ["a fence", "a\n```js\nx\n\n    y\n```\nb", "pcccccp"],
    ["a fence of tildes, with backticks in it", "~~~ a`b\n```\n~~~\nb", "cccp"],
    ["a longer end", "```\nx\n`````  \nb", "cccp"],
    ["a shorter run doesn't end it", "````\n```\nx\n```\n````\nb", "cccccp"],
    ["nor does the other kind", "```\n~~~\n```\nb", "cccp"],
    ["an end may be indented by three", "```\nx\n   ```\nb", "cccp"],
    ["unclosed", "a\n```\nx\n\ny", "pcccc"],
    ["in CRLF", "```\r\nx\r\n```\r\nb", "cccp"],
    ["in a list", "- a\n\n  ```\n  x\n\n  ```\n- b", "pbccccp"],
    ["indented as far as code", "1. a\n\n    ```\n    x\n    ```\nb", "pbcccp"],
    ["code within a line", "a ```x``` b\nc", "pp"],
    ["a line that looks like a fence, and is code within a line", "``` x ``` y\nb", "pp"],
  ];
  for (const [name, text, expected] of cases) t.equal(kinds(text), expected, name);
});

t.test("from a fence with two interpretations on, all is code", async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["behind other text", "see: ```\nx\n```\nb", "cccc"],
    ["in a quote", "> ```\n> x\n> ```\nb", "cccc"],
    ["behind a list mark", "- ```\n  x\n  ```\nb", "cccc"],
    ["tildes behind other text", "see: ~~~\nx\n~~~\nb", "cccc"],
    ["left of its list", "  ```\nx\n  ```\nb", "cccc"],
    ["an end indented in another way", "  ```\n  x\n   ```\nb", "cccc"],
    ["an end indented too far", "```\nx\n    ```\nb\n```\nc", "cccccc"],
    ["an end behind other text", "```\nprint(1)```\nb\n```\nc", "ccccc"],
    ["a fence in a fence", "```md\n```js\nx\n```\nb\n```\nc", "ccccccc"],
  ];
  for (const [name, text, expected] of cases) t.equal(kinds(text), expected, name);
});

t.test("the lines make up the text, in order", async () => {
  const text = fc
    .array(fc.constantFrom("a", " ", "\t", "\r", "\n", "\r\n", "```", "~~~", "-", "    "), {
      maxLength: 20,
    })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, (text) => {
      const lines = markdownLines(text);
      return (
        lines.every(
          ({ start, end, next }, i) =>
            start === (lines[i - 1]?.next ?? 0) &&
            start <= end &&
            end <= next &&
            /^(?:\r?\n)?$/.test(text.slice(end, next)) &&
            !text.slice(start, end).includes("\n"),
        ) && (lines.at(-1)?.next ?? 0) === text.length
      );
    }),
    { numRuns: 1000 },
  );
});

t.test("from the first to the last run of backticks of one length it may be code", async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["a b", []],
    ["a `b", []],
    ["a `b` c", ["`b`"]],
    ["a `b` c ``d`` e", ["`b`", "``d``"]],
    ["a `b` c `d` e", ["`b` c `d`"]],
    ["``a`b`` c` d", ["``a`b`` c`"]],
    ["`a\nb` c", ["`a\nb`"]],
    ["\\`a` `b", ["`a` `"]],
    ["\\``a` b", ["``a`"]],
  ];
  for (const [text, zones] of cases)
    t.same(
      codeZones(text, 0, text.length, false).map(({ start, end }) => text.slice(start, end)),
      zones,
      text,
    );
  t.same(codeZones("`a` `b` `c`", 4, 7, false), [{ start: 4, end: 7 }], "of a part of a text");
  t.same(codeZones("a `b c", 0, 6, true), [{ start: 2, end: 6 }], "of a part that may continue");
});

t.test("the lead of a line ends with its marks and the space after them", async (t) => {
  for (const [line, lead] of [
    ["  a b", "  "],
    ["- a", "- "],
    ["> 1.  a", "> 1.  "],
    ["- - a", "- - "],
    ["12 a", ""],
    ["", ""],
    ["*a*", "*"],
  ] as const)
    t.equal(leadOf(line), lead, line);
});
