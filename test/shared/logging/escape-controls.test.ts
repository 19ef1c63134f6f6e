import t from "tap";
import { escapeControls, escapeInLine } from "../../../shared/logging/escape-controls.js";

t.test("what steers a terminal is shown, and lines and columns stay", (t) => {
  const cases = [
    [
      "a plain line\n  and\tanother: Ünïcode 日本 👩‍💻",
      "a plain line\n  and\tanother: Ünïcode 日本 👩‍💻",
    ],
    ["\u001b]0;title\u0007", "\\u001b]0;title\\u0007"],
    ["\u009b31m", "\\u009b31m"],
    ["over\rwritten\u007f", "over\\u000dwritten\\u007f"],
    ["/team\u202e/nimda", "/team\\u202e/nimda"],
  ] as const;
  for (const [text, shown] of cases) t.equal(escapeControls(text), shown, JSON.stringify(text));
  t.end();
});

t.test("a text within a line stays there", async (t) => {
  t.equal(escapeInLine("a\nb\tc\r\u2029\u202ed é"), "a\\nb\\tc\\u000d\\u2029\\u202ed é");
});

t.test("JSON is the same value afterwards", (t) => {
  const value = { name: "a\u001b\u009b\u007f\u2028\u202e\n\t" };
  t.strictSame(JSON.parse(escapeControls(JSON.stringify(value))), value);
  t.end();
});
