import t from "tap";
import type { Gateway } from "../../../proxy/gateway.js";
import { passthroughRoute } from "../../../proxy/handlers/passthrough-request.js";
import { buildCatalog } from "../../../proxy/routing/resolve-model.js";
import { providerConfig } from "../../support/provider-config.js";
import { FakeExchange } from "../fake-exchange.js";

const providers = [
  providerConfig({ name: "openai", baseUrl: "https://api.openai.com/v1" }),
  providerConfig({
    name: "azure",
    type: "azure",
    baseUrl: "https://res.openai.azure.com/openai",
    apiVersion: "2024-10-21",
  }),
  providerConfig({ name: "sim", type: "simulator", baseUrl: "" }),
];

function gateway(passthrough: boolean): Gateway {
  return {
    config: { server: { passthrough } },
    models: { current: () => buildCatalog(providers, [], new Map()) },
    providers: new Map(
      providers.map((config) => [
        config.name,
        { config, passthrough: config.type === "simulator" ? null : "passthrough upstream" },
      ]),
    ),
  } as unknown as Gateway;
}

t.test("a path names its provider, and the rest and the query become the provider's", async (t) => {
  const table = [
    ["/p/openai/v1/models", "a=1&key=k", "openai", "/v1/models", "?a=1"],
    ["/p/OpenAI/models", "", "openai", "/v1/models", ""],
    ["/p/openai", "", "openai", "/", ""],
    [
      "/p/azure/openai/deployments/d/chat/completions",
      "",
      "azure",
      "/openai/deployments/d/chat/completions",
      "?api-version=2024-10-21",
    ],
  ] as const;
  for (const [path, query, name, expected, passed] of table)
    t.match(
      passthroughRoute(gateway(true), new FakeExchange({ path, query })),
      { ok: true, route: { provider: { name }, path: expected, query: passed } },
      path,
    );
});

t.test("a path that leads nowhere is refused with the reason", async (t) => {
  const table = [
    [
      "/p/nobody/v1",
      "",
      { status: 404, type: "not_found_error", message: 'no provider "nobody" is configured' },
    ],
    ["/p/sim/v1", "", { status: 400, message: /^provider sim is a simulator/ }],
    [
      "/p/openai/../v1",
      "",
      { status: 400, message: "this path can't be passed on: it holds a dot segment" },
    ],
    ["/p/openai/v1", "a#b", { status: 400, message: /query holds a character/ }],
  ] as const;
  for (const [path, query, expected] of table)
    t.match(
      passthroughRoute(gateway(true), new FakeExchange({ path, query })),
      { ok: false, failure: expected },
      path,
    );
  t.match(passthroughRoute(gateway(false), new FakeExchange({ path: "/p/openai/v1" })), {
    ok: false,
    failure: { status: 404, message: /passthrough is off/ },
  });
});
