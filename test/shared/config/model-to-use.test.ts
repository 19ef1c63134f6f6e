import t from "tap";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { createUseProblem } from "../../../shared/config/model-to-use.js";

const provider = (name: string, models: readonly string[] | null): ProviderConfig =>
  ({ name, models }) as ProviderConfig;
const cheap = { source: "cheap", strategy: "failover", targets: [] } as const;
const aliases = [{ name: "house-*", to: { kind: "virtual", source: "cheap" } }] as const;

t.test("a limit goes on to a model that exists", async (t) => {
  const known = { providers: [provider("openai", ["gpt-4o"])], virtualModels: [cheap], aliases };
  const problemOf = createUseProblem(known);
  for (const use of ["cheap", "Cheap", "gpt-4o", "openai/gpt-4o", "OpenAI/o3", "house-small"])
    t.equal(problemOf({ onExhausted: { use } }), null, use);
  for (const limit of [{}, { onExhausted: "warn" }] as const) t.equal(problemOf(limit), null);
  t.match(problemOf({ onExhausted: { use: "cheep" } }), {
    status: 400,
    param: "on_exhausted.use",
    message:
      'on_exhausted.use must be a model that exists, such as cheap, house-*, openai/gpt-4o, not "cheep"; did you mean cheap?',
  });
  t.match(problemOf({ onExhausted: { use: "azure/gpt-4o" } }), { status: 400 });
});

t.test("a long list of models is cut, and a provider with any model has each", async (t) => {
  const ids = Array.from({ length: 14 }, (_, i) => `m${i}`);
  const many = createUseProblem({ providers: [provider("p", ids)], virtualModels: [] });
  t.match(many({ onExhausted: { use: "x" } })?.message, /p\/m11, and 2 more, not "x"$/);
  for (const models of [null, ["*"]]) {
    const problemOf = createUseProblem({ providers: [provider("p", models)], virtualModels: [] });
    t.equal(problemOf({ onExhausted: { use: "x" } }), null);
  }
  const none = createUseProblem({ providers: [], virtualModels: [] });
  t.match(none({ onExhausted: { use: "x" } })?.message, /exists, and none is configured, not "x"/);
});
