import t from "tap";
import {
  allowsModel,
  modelNotAllowed,
  modelPatternBytesMax,
  modelPatternsMax,
  parseModelPatterns,
} from "../../../shared/access/allowed-models.js";

t.test("a list holds names of models, or how they begin, once and in lower case", (t) => {
  t.same(parseModelPatterns([" GPT-4o", "gpt-4o", "openai/*", "*", "ft:a:b"], "models"), {
    ok: true,
    value: ["gpt-4o", "openai/*", "*", "ft:a:b"],
  });
  t.same(parseModelPatterns([], "models"), { ok: true, value: [] });
  const long = "é".repeat(modelPatternBytesMax / 2);
  t.match(parseModelPatterns([long], "models"), { ok: true });
  for (const wrong of [
    "",
    " ",
    "a b",
    "a*b",
    "**",
    "*a",
    "a\u0000",
    `${long}x`,
    7,
    null,
    {},
    ["a"],
  ])
    t.match(
      parseModelPatterns(["gpt-4o", wrong], "models"),
      { ok: false, failure: { status: 400, param: "models[1]", message: /^models\[1\] must be / } },
      JSON.stringify(wrong),
    );
  for (const wrong of ["gpt-4o", 7, {}, null, Array(modelPatternsMax + 1).fill("a")])
    t.match(parseModelPatterns(wrong, "m"), { ok: false, failure: { param: "m" } });
  t.end();
});

t.test("a model is allowed by one of its names, in any case", (t) => {
  const table: readonly (readonly [readonly string[], readonly string[], boolean])[] = [
    [["gpt-4o"], ["openai/gpt-4o", "gpt-4o"], true],
    [["gpt-4o"], ["openai/GPT-4o", "GPT-4o"], true],
    [["openai/*"], ["openai/gpt-4o", "gpt-4o"], true],
    [["openai/gpt-4"], ["openai/gpt-4o", "gpt-4o"], false],
    [["gpt-4"], ["openai/gpt-4o", "gpt-4o"], false],
    [["openai/*"], ["openai"], false],
    [["*"], ["anything"], true],
    [["*"], [], false],
    [[], ["gpt-4o"], false],
    [["a", "b"], ["b"], true],
  ];
  for (const [patterns, names, expected] of table)
    t.equal(allowsModel(patterns, names), expected, JSON.stringify([patterns, names]));
  t.end();
});

t.test("a refusal names the model and some of those that are allowed", (t) => {
  const many = Array.from({ length: 10 }, (_, i) => `m${i}`);
  t.match(modelNotAllowed("key_7", many, ["openai/x", "x"]), {
    status: 403,
    code: "model_not_allowed",
    message: /^key_7 may not use the model "openai\/x"; it may use: m0, .*m7 and 2 more$/,
  });
  t.match(modelNotAllowed("key_7", [], ["x"]), { message: /it may use: none$/ });
  t.match(modelNotAllowed("key_7", ["a"], []), { message: /could use others; it may use: a$/ });
  t.end();
});
