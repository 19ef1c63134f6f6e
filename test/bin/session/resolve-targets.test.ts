import t from "tap";
import { resolveTargets } from "../../../bin/session/resolve-targets.js";
import { accepted } from "../../shared/config/resolve-sample.js";
import { exactly } from "../../support/patterns/exactly.js";

const at = 'base_url: "http://127.0.0.1:1/v1"';

t.test("a tool of an MCP server is a target", async (t) => {
  const file = `providers: { one: { ${at}, models: [x] } }\nmcp_servers: { git: { url: "http://127.0.0.1:1/" } }\n`;
  const resolve = (model: string) => resolveTargets(accepted(file).config, model);
  t.same(await resolve("mcp:GIT/create_issue"), {
    ok: true,
    targets: [{ provider: "mcp:git", model: "create_issue" }],
    names: ["mcp:git/create_issue"],
  });
  t.match(await resolve("mcp:other/create_issue"), { ok: false, proxyKnows: false });
});

t.test("a catch-all doesn't resolve names that another provider may list", async (t) => {
  const resolve = (first: string, model: string): ReturnType<typeof resolveTargets> =>
    resolveTargets(
      accepted(`providers: { first: { ${at}${first} }, any: { ${at}, models: ["*"] } }\n`).config,
      model,
    );
  t.same(await resolve(", models: [x]", "y"), {
    ok: true,
    targets: [{ provider: "any", model: "y" }],
    names: ["any/y", "y"],
  });
  t.match(await resolve("", "y"), {
    ok: false,
    reason: /"y" can't be resolved by the configuration alone: first lists its models to a running/,
  });
  t.match(
    await resolve("", "any/y"),
    exactly({ ok: true, targets: [{ provider: "any", model: "y" }] }),
  );
});
