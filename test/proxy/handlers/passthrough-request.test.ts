import t from "tap";
import { authenticatedCaller } from "../../../proxy/auth/caller.js";
import type { Gateway } from "../../../proxy/gateway.js";
import { passthroughRoute } from "../../../proxy/handlers/passthrough-request.js";
import { buildCatalog } from "../../../proxy/routing/resolve-model.js";
import type { PassthroughAccess } from "../../../shared/config/provider-type.js";
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

interface Asked {
  readonly server?: PassthroughAccess;
  readonly provider?: PassthroughAccess | null;
  readonly isOperator?: boolean;
}

function routeOf(
  request: { readonly path: string; readonly query?: string },
  { server = "master_key", provider = null, isOperator = true }: Asked = {},
): ReturnType<typeof passthroughRoute> {
  const gateway = {
    config: { server: { passthrough: server } },
    models: { current: () => buildCatalog(providers, [], new Map()) },
    providers: new Map(
      providers.map((config) => [
        config.name,
        {
          config: { ...config, passthrough: provider },
          passthrough: config.type === "simulator" ? null : "passthrough upstream",
        },
      ]),
    ),
  } as unknown as Gateway;
  const caller = { ...authenticatedCaller("/"), isOperator };
  return passthroughRoute({ gateway, exchange: new FakeExchange(request), caller });
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
      routeOf({ path, query }),
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
    t.match(routeOf({ path, query }), { ok: false, failure: expected }, path);
});

t.test("passthrough is for whom the operator opens it, for each provider", async (t) => {
  const opens = { ok: true };
  const off = { ok: false, failure: { status: 404, message: "passthrough to openai is off" } };
  const closed = { ok: false, failure: { status: 403, type: "permission_error" } };
  const table = [
    ["off", null, off, off],
    ["master_key", null, opens, closed],
    ["all", null, opens, opens],
    ["off", "all", opens, opens],
    ["all", "master_key", opens, closed],
    ["all", "off", off, off],
  ] as const;
  for (const [server, provider, forOperator, forOthers] of table) {
    const path = "/p/openai/v1/files";
    t.match(routeOf({ path }, { server, provider }), forOperator, `${server} ${provider}`);
    t.match(
      routeOf({ path }, { server, provider, isOperator: false }),
      forOthers,
      `${server} ${provider}, another caller`,
    );
  }
});
