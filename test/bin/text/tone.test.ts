import t from "tap";
import { escapeExceptTones, paint, paintWords, showsColour } from "../../../bin/text/tone.js";

t.test("only whole colours pass; what else would control a terminal is escaped", async (t) => {
  const red = paint("100%", "bad");
  for (const [text, shown] of [
    [`a ${red} b`, `a ${red} b`],
    ["\u001b[31mopen", "\\u001b[31mopen"],
    ["\u001b[31ma\nb\u001b[0m", "\\u001b[31ma\nb\\u001b[0m"],
    ["\u001b[32mgreen\u001b[0m", "\\u001b[32mgreen\\u001b[0m"],
    [`\u001b[2J${paint("a\rb", "warn")}`, `\\u001b[2J${paint("a\\u000db", "warn")}`],
  ] as const)
    t.equal(escapeExceptTones(text), shown);
});

t.test("error: and warning: have their colours at the beginning of a line", async (t) => {
  t.equal(paintWords("error: no error: x"), `${paint("error", "bad")}: no error: x`);
  t.equal(paintWords("a\nwarning: x"), `a\n${paint("warning", "warn")}: x`);
});

t.test("NO_COLOR and a dumb terminal have none", async (t) => {
  t.equal(showsColour({}), true);
  t.equal(showsColour({ NO_COLOR: "" }), true, "an empty one is none");
  t.equal(showsColour({ NO_COLOR: "1" }), false);
  t.equal(showsColour({ TERM: "dumb" }), false);
});
