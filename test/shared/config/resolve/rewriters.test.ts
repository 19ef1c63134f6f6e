import t from "tap";
import { accepted, refused } from "../resolve-sample.js";

t.test("rewriters keep their order; paths are normal, models in lower case", async (t) => {
  const text =
    "rewriters: [ { name: Minify_Tool_JSON }, { name: collapse_white_space, paths: [team//a, /B], models: [openai/GPT-4o, gpt-4o] }, { name: minify_tool_json, paths: / , models: } ]\n";
  t.same(accepted(text).config.rewriters, [
    { name: "minify_tool_json", paths: null, models: null },
    { name: "collapse_white_space", paths: ["/team/a", "/B"], models: ["openai/gpt-4o", "gpt-4o"] },
    { name: "minify_tool_json", paths: ["/"], models: null },
  ]);
});

t.test("a wrong rewriter is reported with its place", async (t) => {
  for (const [body, problems] of [
    [
      "{ name: collapse }",
      [
        'rewriters[0].name must be collapse_white_space, minify_tool_json or drop_duplicate_system, not "collapse"',
      ],
    ],
    [
      "{ paths: [/a] }, { name: minify_tool_json, path: [/a] }",
      [
        "rewriters[0].name is required",
        "rewriters[1].path is not a known key; did you mean paths?",
      ],
    ],
    [
      "{ name: minify_tool_json, paths: ['/a/../b'], models: [] }",
      [
        'rewriters[0].paths must be a list of user paths, such as [/team/app], not ["/a/../b"]',
        "rewriters[0].models must be a list of model ids, such as [openai/gpt-4o], not []",
      ],
    ],
    [
      "{ name: minify_tool_json, paths: [5], models: [/m] }",
      [
        "rewriters[0].paths must be a list of user paths, such as [/team/app], not [5]",
        'rewriters[0].models must be a list of model ids, such as [openai/gpt-4o], not ["/m"]',
      ],
    ],
    ["minify_tool_json", ["rewriters[0] must be a mapping of name, paths, models, not a text"]],
  ] as const)
    t.same(refused(`rewriters: [ ${body} ]\n`), problems, body);
  t.same(refused("rewriters: { name: minify_tool_json }\n"), [
    "rewriters must be a list, not a mapping: begin each entry with -",
  ]);
});
