import t from "tap";
import { replyConfig, replyProviders } from "../../../../proxy/handlers/admin/providers-api.js";
import type { RequestContext } from "../../../../proxy/request-context.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { fakeGateway, served } from "../../fake-gateway.js";

const secret = "s3cr3t-0123456789-0123456789-0123456789";

/** A secret wherever the configuration takes one. */
const fake = fakeGateway(`
server: { master_key: ${secret} }
providers:
  openai: { type: openai, api_key: ${secret}, base_url: "https://api.example.com:8443/v1", models: [gpt-4o, other], headers: { x-extra: ${secret} }, proxy: "http://me:${secret}@proxy.example.com:3128" }
  many: { type: openai, base_url: "http://10.0.0.1:80", api_keys: [${secret}, { key: ${secret}2, weight: 3 }], models: ["*"] }
  filed: { type: anthropic, base_url: "https://b.example", api_key_file: /run/secrets/key, models: [${Array.from({ length: 201 }, (_, i) => `m${i}`).join(", ")}] }
  sim: { type: simulator, models: [m] }
virtual_models: { smart: { strategy: round_robin, targets: [ { model: openai/gpt-4o, weight: 2 }, { model: sim/m } ] } }
aliases: { fast: smart, "gpt-*": openai/* }
prices: { openai/gpt-4o: { input: 2.5, output: 10, cached_input: 1.25, per_request: 0.01 } }
jwt: [ { issuer: "https://i.example", audience: a, secret: ${secret}, algorithms: [HS256], user_path: sub } ]
`);

type Handler = (
  context: RequestContext<"models" | "prices" | "targetHealth" | "nowMs" | "config" | "capacity">,
) => Promise<void>;

const get = (run: Handler, query = ""): ReturnType<typeof served> =>
  served(fake, run, { method: "GET", path: "/admin", query });

t.test(
  "each provider is shown with what is known of it, and without its credentials",
  async (t) => {
    const { targetHealth } = fake.gateway;
    const failed = {
      why: "503",
      status: 503,
      refusesCredentials: false,
      isAnswered: true,
      retryAfterMs: null,
      isWorthRetrying: true,
    };
    const openai = { provider: "openai", model: "gpt-4o" };
    targetHealth.note(openai, 0, { failed: null, outcome: "complete", note: null });
    targetHealth.note(openai, 0, { failed, outcome: "upstream_error", note: null });
    const { status, body, exchange } = await get(replyProviders);
    t.equal(status, 200);
    t.notMatch(exchange.body.toString(), /s3cr3t|proxy\.example/);
    t.match(
      body,
      exactly({
        providers: [
          {
            name: "openai",
            type: "openai",
            host: "api.example.com:8443",
            key_source: "key",
            operations: /chat_completions/,
            models_from: "configured",
            models_learned_at: null,
            models_total: 2,
            models: [
              {
                id: "gpt-4o",
                price: {
                  input: 2.5,
                  output: 10,
                  cached_input: 1.25,
                  cache_write_input: null,
                  per_request: 0.01,
                  tiered: false,
                },
              },
              { id: "other" },
            ],
            last_success_at: "1970-01-01T00:00:00.000Z",
            last_failure: { at: "1970-01-01T00:00:00.000Z", model: "gpt-4o", reason: "503" },
            failing: [
              { target: "openai/gpt-4o", state: "failing", failures: 1, retry_in_seconds: 0 },
            ],
          },
          {
            name: "many",
            key_source: "keys",
            models_from: "any",
            models_total: 0,
            failing: { length: 0 },
          },
          { name: "filed", key_source: "file", models_total: 201, models: { length: 200 } },
          {
            name: "sim",
            host: null,
            key_source: "none",
            last_success_at: null,
            last_failure: null,
          },
        ],
        virtual_models: [
          {
            name: "smart",
            strategy: "round_robin",
            affinity: null,
            targets: [
              { target: "openai/gpt-4o", weight: 2 },
              { target: "sim/m", weight: 1 },
            ],
          },
        ],
        aliases: [
          { name: "fast", target: "smart" },
          { name: "gpt-*", target: "openai/*" },
        ],
      }),
    );
  },
);

t.test("the settings are listed with their sources, and without secrets", async (t) => {
  const { status, body, exchange } = await get(replyConfig);
  t.equal(status, 200);
  t.notMatch(exchange.body.toString(), /s3cr3t/);
  const { settings } = body as { settings: readonly Record<string, unknown>[] };
  t.match(
    settings.find(({ path }) => path === "server.master_key"),
    { value: "set", secret: true, source: "file", name: null },
  );
  t.match(
    settings.find(({ path }) => path === "server.max_held_bytes"),
    { value: String(fake.gateway.capacity.memory.max), source: "default" },
    "a default that depends on the machine is what it comes to here",
  );
});

t.test("neither takes a parameter", async (t) => {
  for (const run of [replyProviders, replyConfig])
    t.match(await get(run, "provider=openai"), {
      status: 400,
      body: { param: "provider", message: "unknown parameter provider: there is none" },
    });
  for (const run of [replyProviders, replyConfig])
    t.match(await get(run, "provider="), { status: 200 }, "an empty value is absent");
});
