import t from "tap";
import { subjectBytesMax } from "../../../shared/bounds.js";
import {
  exhaustedField,
  exhaustedWords,
  isLenient,
  onExhaustedOfText,
  parseOnExhausted,
} from "../../../shared/domain/on-exhausted.js";

t.test("what happens when a limit is exhausted is read, written and put in words", async (t) => {
  for (const [value, words] of [
    [undefined, null],
    ["warn", "warns only"],
    [{ use: "cheap" }, "then cheap"],
  ] as const) {
    const parsed = parseOnExhausted(value, "on_exhausted");
    t.same(
      parsed.ok && exhaustedField(parsed.value),
      value === undefined ? {} : { on_exhausted: value },
    );
    t.equal(exhaustedWords(value), words);
  }
  t.same(parseOnExhausted("refuse", "on_exhausted"), { ok: true, value: {} });
  t.same(onExhaustedOfText("use=openai/gpt-4o-mini"), { use: "openai/gpt-4o-mini" });
  t.equal(onExhaustedOfText("warn"), "warn");
});

t.test("what is wrong is refused with its name, its value and what was expected", async (t) => {
  for (const [value, message, param] of [
    [
      "stop",
      'at must be refuse, warn, or a mapping with a model, such as {use: gpt-4o-mini}, not "stop"',
      "at",
    ],
    [
      5,
      "at must be refuse, warn, or a mapping with a model, such as {use: gpt-4o-mini}, not 5",
      "at",
    ],
    [{ use: " " }, 'at.use must be the name of a model, not " "', "at.use"],
    [{ use: 5 }, "at.use must be the name of a model, not 5", "at.use"],
    [{ use: "a", then: "b" }, "unknown field at.then: expected at.use", "at.then"],
  ] as const)
    t.match(parseOnExhausted(value, "at"), { ok: false, failure: { message, param } });
  for (const use of ["x".repeat(subjectBytesMax + 1), "a\nb"])
    t.match(parseOnExhausted({ use }, "at"), { ok: false, failure: { param: "at.use" } });
});

t.test("a limit refuses nothing if it warns, or if the request goes to its model", async (t) => {
  const named = { onExhausted: { use: "cheap" } };
  t.notOk(isLenient({}, ["cheap"]));
  t.notOk(isLenient(named, undefined));
  t.notOk(isLenient(named, ["cheaper"]));
  t.ok(isLenient(named, ["cheaper", "cheap"]));
  t.ok(isLenient({ onExhausted: "warn" }, undefined));
});
