import t from "tap";
import { modelPatternsMax } from "../../../shared/access/allowed-models.js";
import {
  isLimitedModels,
  limitedModelsBytesMax,
  modelsField,
  parseLimitedModels,
  subjectWithModels,
} from "../../../shared/domain/limited-models.js";

function read(raw: unknown): unknown {
  const parsed = parseLimitedModels(raw, "models");
  return parsed.ok ? parsed.value : parsed.failure.message;
}

t.test("the same models have one text, whatever their order, case and form", async (t) => {
  const text = "claude-opus-* openai/* !openai/gpt-4o-mini";
  for (const written of [
    ["claude-opus-*", "openai/*", "!openai/gpt-4o-mini"],
    ["!OpenAI/gpt-4o-mini", " openai/* ", "Claude-Opus-*", "openai/*"],
  ])
    t.equal(read(written), text);
  t.ok(isLimitedModels(text));
  t.same(modelsField(text), { models: text.split(" ") });
  t.equal(
    subjectWithModels({ subject: "/team", models: text }),
    "/team on claude-opus-*, openai/*, !openai/gpt-4o-mini",
  );
});

t.test("all models are the same as none named", async (t) => {
  for (const all of [undefined, null, ["*"], ["*", " * "]]) t.equal(read(all), undefined);
  t.same(modelsField(undefined), {});
  t.equal(subjectWithModels({ subject: "/team" }), "/team");
});

t.test(
  "what names no models is refused with the field, the value and what is expected",
  async (t) => {
    const pattern =
      "must be a model's name such as gpt-4o or openai/gpt-4o, how names begin and *, or one of these after !";
    const table: readonly (readonly [unknown, string])[] = [
      [[], `models must be a list of 1 to ${modelPatternsMax} names of models, not one of 0`],
      [7, `models must be a list of 1 to ${modelPatternsMax} names of models, not 7`],
      [
        Array.from({ length: modelPatternsMax + 1 }, (_, i) => `m${i}`),
        `models must be a list of 1 to ${modelPatternsMax} names of models, not one of ${modelPatternsMax + 1}`,
      ],
      [["gpt-4o", 4], `models[1] ${pattern}, not 4`],
      [["*-mini"], `models[0] ${pattern}, not "*-mini"`],
      [["!"], `models[0] ${pattern}, not "!"`],
      [["gpt 4"], `models[0] ${pattern}, not "gpt 4"`],
      ["gpt-4o", `models must be a list of 1 to ${modelPatternsMax} names of models, not "gpt-4o"`],
      [["a,b"], `models[0] ${pattern}, not "a,b"`],
      [["!gpt-4o"], 'models names only models to leave out: add "*" for all others'],
      [
        [`a${"x".repeat(200)}`, `b${"x".repeat(200)}`, `c${"x".repeat(200)}`],
        `models must be at most ${limitedModelsBytesMax} bytes together`,
      ],
    ];
    for (const [raw, message] of table) t.equal(read(raw), message);
    for (const wrong of [7, "", "b a", "A", "* ", "!a", "*", "a a"])
      t.notOk(isLimitedModels(wrong), JSON.stringify(wrong));
  },
);
