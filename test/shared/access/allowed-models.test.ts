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
  t.same(parseModelPatterns(["*", "!GPT-4o"], "models"), { ok: true, value: ["*", "!gpt-4o"] });
  for (const wrong of ["!", "!*a", "! a", "!!a*b"])
    t.match(parseModelPatterns(["*", wrong], "m"), { ok: false, failure: { param: "m[1]" } });
  t.match(parseModelPatterns(["!gpt-4o"], "models"), {
    ok: false,
    failure: {
      param: "models",
      message: 'models names only models to leave out: add "*" for all others',
    },
  });
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
    [["*", "!gpt-4o"], ["openai/gpt-4o", "gpt-4o"], false],
    [["*", "!gpt-4o"], ["openai/GPT-4o", "GPT-4o"], false],
    [["*", "!gpt-4o"], ["openai/gpt-4o-mini", "gpt-4o-mini"], true],
    [["*", "!openai/*"], ["openai/gpt-4o", "gpt-4o"], false],
    [["openai/*", "!openai/o3*"], ["openai/o3-pro", "o3-pro"], false],
    [["openai/*", "!openai/o3*"], ["claude/opus", "opus"], false],
    [["mine", "!large"], ["mine", "test/large", "large"], false],
    [["*", "!gpt-4o"], [], false],
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
  t.match(modelNotAllowed("key_7", ["*", "!x*"], ["openai/xy", "xy"]), {
    code: "model_not_allowed",
    message: /^key_7 may not use the model "openai\/xy": !x\* in its list leaves it out$/,
  });
  t.match(modelNotAllowed("key_7", ["a"], []), { message: /could use others; it may use: a$/ });
  t.end();
});
