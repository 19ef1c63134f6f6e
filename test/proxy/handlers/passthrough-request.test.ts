import t from "tap";
import { authenticatedCaller, type Caller } from "../../../proxy/auth/caller.js";
import type { Gateway } from "../../../proxy/gateway.js";
import {
  passthroughRequest,
  passthroughRoute,
} from "../../../proxy/handlers/passthrough-request.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import { buildCatalog } from "../../../proxy/routing/resolve-model.js";
import type { PassthroughAccess } from "../../../shared/config/provider-type.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { providerConfig } from "../../support/provider-config.js";
import { FakeExchange } from "../fake-exchange.js";
import { fakeGateway } from "../fake-gateway.js";

const providers = [
  providerConfig({ name: "openai", baseUrl: "https://api.openai.com/v1" }),
  providerConfig({
    name: "azure",
    type: "azure",
    baseUrl: "https://res.openai.azure.com/openai",
    apiVersion: "2024-10-21",
  }),
  providerConfig({ name: "sim", type: "simulator", baseUrl: "" }),
  providerConfig({ name: "gemini", type: "gemini", baseUrl: "https://g.example/v1beta/openai" }),
];

interface Asked {
  readonly server?: PassthroughAccess;
  readonly provider?: PassthroughAccess | null;
  readonly isOperator?: boolean;
}

function routeOf(
  request: { readonly method?: string; readonly path: string; readonly query?: string },
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
    [
      "/p/gemini/v1beta/models/g:generateContent",
      "$fields=candidates",
      { status: 400, message: /query holds "\$fields", with which/ },
    ],
  ] as const;
  for (const [path, query, expected] of table)
    t.match(routeOf({ method: "POST", path, query }), { ok: false, failure: expected }, path);
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

interface Passed {
  readonly path?: string;
  readonly query?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** The model that a request is admitted for; or the message of its refusal. */
async function admittedModel({ path = "/p/openai/v1/chat/completions", ...asked }: Passed) {
  const { query = "", headers = ["content-type", "application/json"], body = "" } = asked;
  const fake = fakeGateway(`
server: { passthrough: all }
providers:
  openai: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [m] }
  azure: { type: azure, base_url: "http://127.0.0.1:1/openai", api_version: "2024-10-21", api_key: k, models: [d] }
`);
  for (const [name, provider] of fake.gateway.providers)
    (fake.gateway.providers as Map<string, unknown>).set(name, { ...provider, passthrough: {} });
  const exchange = new FakeExchange({
    path,
    query,
    headers: [...headers, "content-length", String(Buffer.byteLength(body))],
  });
  exchange.sentPieces = [Buffer.from(body)];
  const admitted: string[] = [];
  Object.assign(fake.gateway.limiter, {
    notices: { keysExist: false },
    reachable: true,
    admit(_: Caller, [target]: readonly Target[]) {
      admitted.push(target!.model);
      return Promise.resolve({ kind: "unavailable" });
    },
  });
  await passthroughRequest({
    gateway: fake.gateway,
    exchange,
    caller: authenticatedCaller("/"),
    record: new RequestRecord(0),
  } as unknown as RequestContext);
  const { error } = JSON.parse(exchange.body.toString()) as { error: { message: string } };
  return admitted[0] ?? error.message;
}

t.test("a request is admitted for the model that is executed, or refused", async (t) => {
  const twice = "model is given more than once";
  const deployment = "/openai/deployments/d/chat/completions";
  const json = ["content-type", "application/json"];
  const table: readonly (readonly [name: string, asked: Passed, found: string])[] = [
    ["in the body", { body: '{"model":"m"}' }, "m"],
    ["nowhere", { body: "{}" }, "model is required"],
    ["no body", {}, "model is required"],
    ["where none is needed", { path: "/p/openai/v1/files", body: "{}" }, ""],
    ["in the query", { path: "/p/openai/v1/speak", query: "model=m" }, "m"],
    ["twice in the query", { path: "/p/openai/v1/speak", query: "model=m&Model=n" }, twice],
    ["in query and body", { query: "model=m", body: '{"model":"n"}' }, twice],
    ["the same in both", { query: "model=m", body: '{"model":"m"}' }, "m"],
    ["Azure's path", { path: `/p/azure${deployment}`, body: '{"model":"n"}' }, "d"],
    ["Azure's path, encoded", { path: "/p/azure/openai%2Fdeployments/d/chat/completions" }, "d"],
    ["its like elsewhere", { path: `/p/openai${deployment}`, body: '{"model":"n"}' }, twice],
    ["the same there", { path: `/p/openai${deployment}`, body: '{"model":"d"}' }, "d"],
    ["Gemini's path", { path: "/p/openai/v1beta/models/g:generateContent", body: "{}" }, "g"],
    ["Ollama's own API", { path: "/p/openai/api/chat", body: "{}" }, "model is required"],
    [
      "two content types",
      { headers: [...json, ...json], body: '{"model":"m"}' },
      "content-type is given more than once",
    ],
    [
      "compressed",
      { headers: [...json, "content-encoding", "gzip, identity"], body: '{"model":"m"}' },
      "the body must not be compressed: its model can't be read",
    ],
  ];
  for (const [name, asked, found] of table) t.equal(await admittedModel(asked), found, name);
});
