import t from "tap";
import { budgetPeriod } from "../../../bin/import/budget-duration.js";
import { translateLitellm } from "../../../bin/import/litellm-config.js";
import { writeYaml } from "../../../bin/import/write-yaml.js";
import { parseYaml } from "../../../shared/config/file/parse-yaml.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";

interface Case {
  readonly what: string;
  readonly litellm: string;
  readonly config: object;
  readonly notes?: readonly RegExp[];
}

/** Each with what LiteLLM's documentation shows (docs.litellm.ai/docs/proxy). */
const cases: readonly Case[] = [
  {
    what: "deployments of one name share the load (proxy/configs)",
    litellm: `
model_list:
  - model_name: gpt-4o
    litellm_params:
      { model: azure/gpt-4o-eu, api_base: https://eu.openai.azure.com/, api_key: os.environ/AZURE_EU, rpm: 6 }
  - model_name: gpt-4o
    litellm_params:
      { model: azure/gpt-4o-ca, api_base: https://ca.openai.azure.com/, api_key: os.environ/AZURE_CA, rpm: 6 }
  - model_name: vllm-models
    litellm_params: { model: openai/facebook/opt-125m, api_base: "http://127.0.0.1:4000/v1", api_key: none }
  - model_name: claude
    litellm_params: { model: bedrock/anthropic.claude-instant-v1, aws_region_name: us-east-1 }
  - model_name: "*"
    litellm_params: { model: "*" }
litellm_settings: { drop_params: true, success_callback: [langfuse] }
general_settings: { master_key: sk-1234, alerting: [slack] }
`,
    config: {
      server: { master_key: "sk-1234" },
      providers: {
        azure: {
          base_url: "https://eu.openai.azure.com/openai/v1",
          api_key: "${AZURE_EU}",
          models: ["gpt-4o-eu"],
        },
        "azure-2": {
          type: "azure",
          base_url: "https://ca.openai.azure.com/openai/v1",
          api_key: "${AZURE_CA}",
          models: ["gpt-4o-ca"],
        },
        custom: {
          type: "openai",
          base_url: "http://127.0.0.1:4000/v1",
          api_key: "none",
          models: ["facebook/opt-125m"],
        },
      },
      virtual_models: {
        "gpt-4o": {
          strategy: "round_robin",
          targets: [{ model: "azure/gpt-4o-eu" }, { model: "azure-2/gpt-4o-ca" }],
        },
      },
      aliases: { "vllm-models": "custom/facebook/opt-125m" },
      rate_limits: {
        models: [
          { model: "azure/gpt-4o-eu", limits: [{ period: "minute", max_requests: 6 }] },
          { model: "azure-2/gpt-4o-ca", limits: [{ period: "minute", max_requests: 6 }] },
        ],
      },
    },
    notes: [/model_list\[3\].*no signatures/, /model_list\[4\]/, /success_callback/, /alerting/],
  },
  {
    what: "parameters, versions and headers of a deployment (proxy/configs)",
    litellm: `
model_list:
  - model_name: gpt-4-team1
    litellm_params:
      model: azure/chatgpt-v-2
      api_base: https://one.openai.azure.com/
      api_version: "2023-05-15"
      azure_ad_token: secret
      seed: 12
      max_tokens: 20
  - model_name: openai-gpt-4o
    litellm_params:
      model: openai/gpt-4o
      extra_headers: { "AI-Resource Group": a }
      api_key: sk-plain
      organization: org-1
      temperature: 0.2
      timeout: 300
      stream_timeout: 60
      input_cost_per_token: 0.00000125
      output_cost_per_token: 0.00001
`,
    config: {
      providers: {
        azure: {
          base_url: "https://one.openai.azure.com/openai",
          api_key: "${AZURE_OPENAI_API_KEY}",
          api_version: "2023-05-15",
          models: ["chatgpt-v-2"],
          per_model: [{ models: ["chatgpt-v-2"], defaults: { seed: 12, max_tokens: 20 } }],
        },
        openai: {
          headers: { "OpenAI-Organization": "org-1", "AI-Resource-Group": "a" },
          per_model: [
            {
              models: ["gpt-4o"],
              first_byte_timeout_ms: 60_000,
              total_timeout_ms: 300_000,
              defaults: { temperature: 0.2 },
            },
          ],
        },
      },
      aliases: { "gpt-4-team1": "azure/chatgpt-v-2", "openai-gpt-4o": "openai/gpt-4o" },
      prices: { "openai/gpt-4o": { input: 1.25, output: 10 } },
    },
    notes: [/azure_ad_token: no counterpart/],
  },
  {
    what: "fallbacks, aliases and reliability (proxy/reliability, proxy/load_balancing)",
    litellm: `
model_list:
  - model_name: zephyr-beta
    litellm_params: { model: together_ai/zephyr-7b-beta, api_key: os.environ/TOGETHER }
  - { model_name: gpt-4o, litellm_params: { model: gpt-4o, rpm: 200, tpm: 1000, weight: 2 } }
  - { model_name: claude-3, litellm_params: { model: claude-3-opus, litellm_credential_name: ant } }
credential_list:
  - { credential_name: ant, credential_values: { api_key: os.environ/ANT } }
litellm_settings:
  num_retries: 3
  request_timeout: 10
  fallbacks: [{ zephyr-beta: [gpt-4o, claude-3] }]
  context_window_fallbacks: [{ gpt-4o: [claude-3] }]
  allowed_fails: 3
  max_budget: 100
  budget_duration: 30d
  cache: true
router_settings:
  routing_strategy: least-busy
  model_group_alias: { gpt-4: gpt-4o, z: { model: zephyr-beta, hidden: true }, none: nothing }
  num_retries: 2
  cooldown_time: 30
  redis_host: os.environ/REDIS
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, database_url: "postgresql://x" }
`,
    config: {
      server: { master_key: "${LITELLM_MASTER_KEY}" },
      providers: {
        together: {
          api_key: "${TOGETHER}",
          retries: 2,
          breaker_failures: 4,
          breaker_open_ms: 30_000,
          first_byte_timeout_ms: 10_000,
        },
        openai: { api_key: "${OPENAI_API_KEY}" },
        anthropic: { api_key: "${ANT}" },
      },
      virtual_models: {
        "zephyr-beta": {
          strategy: "failover",
          targets: [
            { model: "together/zephyr-7b-beta" },
            { model: "openai/gpt-4o" },
            { model: "anthropic/claude-3-opus" },
          ],
        },
      },
      aliases: {
        "gpt-4o": "openai/gpt-4o",
        "claude-3": "anthropic/claude-3-opus",
        "gpt-4": "openai/gpt-4o",
        z: "zephyr-beta",
      },
      rate_limits: {
        models: [
          {
            model: "openai/gpt-4o",
            limits: [{ period: "minute", max_requests: 200, max_tokens: 1000 }],
          },
        ],
      },
      budgets: { user_paths: [{ path: "/", limits: [{ period: "monthly", amount: 100 }] }] },
      cache: { enabled: true },
    },
    notes: [/context_window/, /30 days become/, /redis_host/, /database_url/, /none: no model/],
  },
  {
    what: "wildcards, and several keys of one provider (proxy/wildcard, proxy/configs)",
    litellm: `
model_list:
  - { model_name: "openai/*", litellm_params: { model: "openai/*", api_key: os.environ/A } }
  - { model_name: "llama-*", litellm_params: { model: "groq/*" } }
  - { model_name: embed, litellm_params: { model: text-embedding-ada-002, api_key: one } }
  - { model_name: embed, litellm_params: { model: text-embedding-ada-002, api_key: two } }
  - { model_name: other, litellm_params: { model: unheard_of/x } }
`,
    config: {
      providers: {
        openai: { api_key: "${A}" },
        groq: { api_key: "${GROQ_API_KEY}" },
        "openai-2": { base_url: "https://api.openai.com/v1", api_key: "one" },
        "openai-3": { base_url: "https://api.openai.com/v1", api_key: "two" },
      },
      virtual_models: {
        embed: {
          targets: [
            { model: "openai-2/text-embedding-ada-002" },
            { model: "openai-3/text-embedding-ada-002" },
          ],
        },
      },
      aliases: { "llama-*": "groq/*" },
    },
    notes: [/unheard_of/],
  },
];

for (const { what, litellm, config, notes = [] } of cases)
  t.test(what, async (t) => {
    const parsed = parseYaml(litellm);
    t.same(parsed.problems, []);
    const made = translateLitellm(parsed.document);
    t.match(made.config, config);
    for (const note of notes)
      t.match(
        made.notes.filter((one) => note.test(one)),
        { length: 1 },
        String(note),
      );
    t.equal(made.notes.length, notes.length, made.notes.join("\n"));
    const text = writeYaml(made.config);
    t.same(parseYaml(text).document, made.config);
    const checked = resolveConfig({
      file: { path: "sluice.yaml", text },
      flags: {},
      env: {},
      cwd: "/",
      uid: 0,
    });
    t.same(checked.ok ? [] : checked.problems.map(({ message }) => message), []);
  });

t.test("any document is translated without an exception", async (t) => {
  for (const document of [
    null,
    7,
    [],
    {},
    { model_list: 7, litellm_settings: [], router_settings: "x" },
    { model_list: [null, 7, {}, { model_name: "a" }, { model_name: "a", litellm_params: 7 }] },
    { model_list: [{ model_name: "a", litellm_params: { model: "azure/x" } }] },
  ])
    t.ok(Array.isArray(translateLitellm(document).notes), JSON.stringify(document));
});

t.test("a file whose models aren't a list says so", async (t) => {
  for (const [document, note] of [
    [
      { model_list: { model_name: "a" } },
      "model_list: it must be a list, each entry with - before it",
    ],
    [{ providers: {} }, "model_list: the file has none, so no model either"],
  ] as const)
    t.equal(translateLitellm(document).notes[0], note);
});

t.test("a budget's duration becomes a period", async (t) => {
  for (const [given, period] of [
    ["1h", { period: "hourly" }],
    ["24h", { period: "daily" }],
    ["1d", { period: "daily" }],
    ["7d", { period: "weekly" }],
    ["30d", { period: "monthly" }],
    ["1mo", { period: "monthly" }],
    ["90s", { period_seconds: 90 }],
    ["90d", { period_seconds: 7_776_000 }],
    ["soon", { period: "monthly" }],
    [null, { period_seconds: 3_153_600_000 }],
  ] as const)
    t.same(budgetPeriod(given).period, period, String(given));
});
