import t from "tap";
import { subjectBytesMax } from "../../../shared/bounds.js";
import {
  isPrintable,
  modelNameProblem,
  printableName,
  targetName,
} from "../../../shared/domain/target-name.js";

t.test("a target is named by its provider and its model, if there is one", async (t) => {
  t.equal(targetName({ provider: "openai", model: "gpt-4o" }), "openai/gpt-4o");
  t.equal(targetName({ provider: "openai", model: "" }), "openai/-");
});

t.test("control characters and halves of characters are found and marked", async (t) => {
  for (const name of ["", "gpt-4o", "llama:latest", "modèle 模型", "😀"]) {
    t.ok(isPrintable(name), name);
    t.equal(printableName(name), name);
    t.equal(modelNameProblem(name), null);
  }
  for (const [name, shown, code] of [
    ["a\u0000b\u0007", "a\ufffdb\ufffd", "U+0000"],
    ["a\u007fb", "a\ufffdb", "U+007F"],
    ["a\nb", "a\ufffdb", "U+000A"],
    ["\ud83d", "\ufffd", "U+D83D"],
  ] as const) {
    t.notOk(isPrintable(name));
    t.equal(printableName(name), shown);
    t.equal(
      modelNameProblem(name),
      `model must not hold control characters or halves of characters, as ${code}`,
    );
  }
  t.equal(modelNameProblem(" gpt-4o\n"), null, "white space around a name is dropped");
});

t.test("a model's name has a bound in bytes", async (t) => {
  t.equal(modelNameProblem("x".repeat(subjectBytesMax)), null);
  for (const name of ["x".repeat(subjectBytesMax + 1), "é".repeat(subjectBytesMax / 2 + 1)])
    t.equal(modelNameProblem(name), `model must be at most ${subjectBytesMax} bytes`);
});
