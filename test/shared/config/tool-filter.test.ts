import t from "tap";
import { ToolFilter } from "../../../shared/config/model-filter.js";
import { budgetGrammar } from "../../../shared/domain/budget.js";
import {
  isLimitedModels,
  namesTools,
  parseLimitedModels,
} from "../../../shared/domain/limited-models.js";

t.test("which tools a rule covers, named or as those of a connector", async (t) => {
  for (const [models, covered, others] of [
    ["tool:*", ["a", "mcp:g/*", "*"], []],
    ["tool:web_search", ["web_search", "*"], ["web_fetch", "mcp:g/*"]],
    ["tool:google_search", ["web_search"], ["google"]],
    ["tool:mcp:g/*", ["mcp:g/a", "mcp:g/*", "*"], ["mcp:gg/a", "web_search"]],
    ["tool:mcp:g/create_*", ["mcp:g/create_x", "mcp:g/*"], ["mcp:g/delete_x", "mcp:h/*"]],
    ["tool:mcp:* !tool:mcp:g/*", ["mcp:h/*", "mcp:h/a", "*"], ["mcp:g/a", "mcp:g/*"]],
    ["tool:mcp:g/* !tool:mcp:g/a", ["mcp:g/*", "mcp:g/b"], ["mcp:g/a"]],
  ] as const) {
    const filter = new ToolFilter(models);
    for (const tool of covered) t.ok(filter.covers({ tools: ["x_y", tool] }), `${models} ${tool}`);
    for (const tool of others) t.notOk(filter.covers({ tools: [tool] }), `${models} not ${tool}`);
    t.notOk(filter.covers({}), "a request without tools");
  }
  t.equal(new ToolFilter("tool:mcp:g/*").callsIn({ "mcp:g/a": 2, "mcp:g/b": 1, web_search: 9 }), 3);
});

t.test("a list names tools or models; budgets are for models", async (t) => {
  const parsed = parseLimitedModels(["tool:Web_Search", "!tool:mcp:*"], "models");
  t.same(parsed, { ok: true, value: "tool:web_search !tool:mcp:*" });
  t.ok(namesTools("tool:web_search !tool:mcp:*"));
  t.notOk(namesTools("gpt-4o"));
  t.match(parseLimitedModels(["tool:a", "gpt-4o"], "models"), {
    failure: { message: "models names tools and models: make a limit for each" },
  });
  t.match(parseLimitedModels(["!tool:a"], "models"), { ok: false });
  t.match(budgetGrammar.parseModels(["tool:a"], "models"), {
    failure: { message: /^models of a budget can't name tools, as / },
  });
});

t.test("a tool that no request can include is a mistake, not a limit of nothing", async (t) => {
  for (const right of [
    ...["tool:*", "tool:web_search", "tool:Google_Search", "tool:web_*", "tool:m*", "tool:mcp:*"],
    ...["tool:mcp:github/*", "tool:mcp:github/create_issue", "tool:code_interpreter"],
  ])
    for (const list of [[right], ["tool:*", `!${right}`]])
      t.ok(parseLimitedModels(list, "models").ok, list.join());
  for (const wrong of [
    ...["tool:", "tool:web_serch", "tool:read_file", "tool:webb*", "tool:mcp:", "tool:mcp:github"],
    ...["tool:mcp:github/", "tool:mcp:/a"],
  ])
    for (const list of [[wrong], ["tool:*", `!${wrong}`]]) {
      const expected = `must name tools that requests may include: web_search, .*, or mcp:.*, not "${wrong.slice(5).replace("*", ".")}"$`;
      t.match(
        parseLimitedModels(list, "models"),
        { failure: { message: new RegExp(`^models ${expected}`), param: "models" } },
        list.join(),
      );
      t.ok(isLimitedModels(list.join(" ")), "the store may have it from another release");
    }
});
