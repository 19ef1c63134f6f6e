import t from "tap";
import { explainRequest } from "../../../../proxy/handlers/admin/explain-request.js";
import type { ModelCatalog } from "../../../../proxy/routing/model-catalog.js";
import { subjectBytesMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { fakeGateway, operator, type Served, served } from "../../fake-gateway.js";

const yaml = `
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [gpt-4o] }
  local: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] }
`;

/** `unlearned`: providers whose list isn't known. */
function explain(model: string, unlearned: readonly string[], file = yaml): Promise<Served> {
  const fake = fakeGateway(file);
  const { models } = fake.gateway;
  const waiting: ModelCatalog = {
    ...models,
    current: () => ({ ...models.current(), unlearned }),
    firstLearned: () => Promise.resolve(),
    unlearned: () => unlearned,
  };
  Object.assign(fake.gateway, { models: waiting });
  Object.assign(fake.gateway.limiter, {
    call: (_: string, question: unknown) => Promise.resolve({ ok: true, body: question }),
  });
  return served(fake, explainRequest, {
    caller: operator,
    path: "/admin/explain",
    body: JSON.stringify({ model }),
  });
}

t.test("a name is explained as a request for it would be resolved", async (t) => {
  t.match(
    await explain("GPT-4o", ["other"]),
    exactly({
      status: 200,
      body: { targets: [{ provider: "one", model: "gpt-4o" }] },
    }),
  );
  t.match(
    await explain("x", []),
    exactly({ body: { targets: [{ provider: "local", model: "x" }] } }),
  );
  t.match(
    await explain("x", ["other"]),
    { status: 503, body: { code: "provider_unavailable", param: "model" } },
    "it may belong to a provider whose models aren't loaded",
  );
  t.match(await explain("x", [], yaml.replace('"*"', "y")), {
    status: 404,
    body: { code: "model_not_found", param: "model" },
  });
  t.match(await explain("x".repeat(subjectBytesMax + 1), []), {
    status: 400,
    body: { param: "model" },
  });
});
