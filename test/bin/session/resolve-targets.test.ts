import t from "tap";
import { resolveTargets } from "../../../bin/session/resolve-targets.js";
import { accepted } from "../../shared/config/resolve-sample.js";
import { exactly } from "../../support/patterns/exactly.js";

const at = 'base_url: "http://127.0.0.1:1/v1"';

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
