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

t.test("the variables of colours decide in terminals and in pipes", async (t) => {
  for (const [env, inTerminal, inPipe] of [
    [{}, true, false],
    [{ NO_COLOR: "", FORCE_COLOR: "", CLICOLOR_FORCE: "" }, true, false],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, false, false],
    [{ TERM: "dumb" }, false, false],
    [{ TERM: "dumb", FORCE_COLOR: "1" }, true, true],
    [{ FORCE_COLOR: "0" }, false, false],
    [{ CLICOLOR_FORCE: "1" }, true, true],
    [{ CLICOLOR: "0" }, false, false],
    [{ CLICOLOR: "1" }, true, false],
  ] as const) {
    t.equal(showsColour(env, true), inTerminal, JSON.stringify(env));
    t.equal(showsColour(env, false), inPipe, JSON.stringify(env));
  }
});
