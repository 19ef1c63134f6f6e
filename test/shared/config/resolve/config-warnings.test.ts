import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted } from "../resolve-sample.js";

t.test(
  "token limits while usage is off get one warning that names them all, and stay",
  async (t) => {
    const text = `
usage: { enabled: false }
rate_limits:
  user_paths:
    - { path: /team, limits: [ { period: minute, max_requests: 1, max_tokens: 2 }, { period: hour, max_requests: 3 } ] }
  providers:
    - { name: simulator, limits: [ { period_seconds: 300, max_tokens: 4 } ] }
`;
    const { config, warnings } = accepted(text, { env: { SET_RATE_LIMIT_: "tpd=5" } });
    t.same(warnings, [
      "limits of tokens and cost need usage.enabled: these aren't enforced: /team minute, provider simulator 300s, / day",
    ]);
    t.equal(config.rateLimits.rules.length, 4);
    t.same(accepted(text, { env: { USAGE_ENABLED: "true" } }).warnings, []);
  },
);

t.test("rules for a provider that isn't configured cause one warning each", async (t) => {
  const text =
    "rate_limits: { providers: [ { name: Simulatr, limits: [ { period: minute, max_requests: 1 }, { period: day, max_requests: 1 } ] }, { name: SIMULATOR, limits: [ { period: day, max_requests: 1 } ] } ] }\n";
  t.same(accepted(text).warnings, [
    "the rules for the provider Simulatr limit nothing: no such provider is configured; did you mean simulator?",
  ]);
});

t.test("a rule for a model of a misspelt provider says what was meant", async (t) => {
  const models = ["simulatr/sim-fast", "simulator/sim-fast", "vendor/simulator", "simulatr"].map(
    (model) => ({ model, limits: [{ period: "minute", max_requests: 1 }] }),
  );
  t.same(accepted(JSON.stringify({ rate_limits: { models } })).warnings, [
    "the rules for the model simulatr/sim-fast: no provider simulatr is configured; did you mean simulator/sim-fast?",
  ]);
});

t.test(
  "what is set for several hosts does nothing without their engine: one warning",
  async (t) => {
    const nothing = "without cluster.url: this host shares no limits";
    for (const [text, env, warnings] of [
      ["cluster: { password: hidden }\n", {}, [`cluster.password does nothing ${nothing}`]],
      [
        "cluster: { failure_mode: local, username: u }\n",
        { SLUICE_CLUSTER_PASSWORD_FILE: "/run/secret", SLUICE_CLUSTER_CA_FILE: " " },
        [
          `cluster.failure_mode, cluster.username, SLUICE_CLUSTER_PASSWORD_FILE do nothing ${nothing}`,
        ],
      ],
      ["cluster: { sentinel_password_file: f, sentinel_master: m }\n", {}, [/^cluster\.sentinel_/]],
      ["cluster: { name: sluice, failure_mode: closed }\n", {}, []],
      ["cluster: { name: other }\n", { SLUICE_CLUSTER_URL: "valkey://127.0.0.1:1" }, []],
    ] as const) {
      const found = accepted(text, { env }).warnings;
      t.equal(found.length, warnings.length, text);
      t.match(found, warnings);
      t.notMatch(found, [/hidden/]);
    }
  },
);

t.test("variables that look like ours and aren't are warned about", async (t) => {
  for (const [name, warning] of [
    [
      "SLUICE_MASTERKEY",
      "SLUICE_MASTERKEY is ignored: it is not a known variable; did you mean SLUICE_MASTER_KEY?",
    ],
    [
      "SLUICE_COLOUR",
      "SLUICE_COLOUR is ignored: it is not a known variable; docs/reference/configuration.md lists the variables",
    ],
    [
      "SET_RATE_LIMIT",
      "SET_RATE_LIMIT is ignored: the rule for the root path is SET_RATE_LIMIT_, with its last underscore",
    ],
    [
      "SET_PROVIDER_RATE_LIMIT",
      "SET_PROVIDER_RATE_LIMIT is ignored: write SET_PROVIDER_RATE_LIMIT_<NAME>",
    ],
    ["SET_RATE_LIMT_TEAM", "SET_RATE_LIMT_TEAM is ignored: did you mean SET_RATE_LIMIT_<PATH>?"],
    [
      "SET_RATE_LIMITS_TEAM",
      "SET_RATE_LIMITS_TEAM is ignored: did you mean SET_RATE_LIMIT_<PATH>?",
    ],
    [
      "SET_PROVIDERS_RATE_LIMIT_X",
      "SET_PROVIDERS_RATE_LIMIT_X is ignored: did you mean SET_PROVIDER_RATE_LIMIT_<NAME>?",
    ],
    ["SET_BUGDET_TEAM", "SET_BUGDET_TEAM is ignored: did you mean SET_BUDGET_<PATH>?"],
    [
      "SET_MODEL_RATE_LIMIT_X",
      "SET_MODEL_RATE_LIMIT_X is ignored: it is not a known variable: expected SET_RATE_LIMIT_<PATH>, SET_PROVIDER_RATE_LIMIT_<NAME>, SET_BUDGET_<PATH>",
    ],
    ["RATE_LIMIT_ENABLED", "RATE_LIMIT_ENABLED is ignored: did you mean RATE_LIMITS_ENABLED?"],
    ["LIMITER_FAILURE_MOD", "LIMITER_FAILURE_MOD is ignored: did you mean LIMITER_FAILURE_MODE?"],
    [
      "SET_BUDGET",
      "SET_BUDGET is ignored: the budget for the root path is SET_BUDGET_, with its last underscore",
    ],
  ] as const) {
    t.match(accepted(null, { env: { [name]: "x" } }).warnings, exactly([warning]), name);
    t.same(accepted(null, { env: { [name]: "" } }).warnings, [], `${name}, blank`);
  }
});

t.test("an ordinary environment is no reason for a warning", async (t) => {
  t.same(
    accepted(null, {
      env: {
        PATH: "/bin",
        HOME: "/home/a",
        SLUICE_CONFIG: "/x",
        SLUICE_MASTER_KEY: "mk",
        SET_RATE_LIMIT_A: "rpm=1",
        SET_BUDGET_B: "daily=1",
        SETUP_DIR: "x",
        HOSTS: "x",
        LOG_DIR: "x",
        RATE_LIMITER: "x",
        OPENAI_API_KEY_2: "x",
      },
    }).warnings,
    [],
  );
});

t.test("budgets without usage tracking are named in one warning", async (t) => {
  const env = { SET_BUDGET_TEAM: "daily=1", SET_BUDGET_: "monthly=5" };
  t.same(accepted(null, { env: { ...env, USAGE_ENABLED: "false" } }).warnings, [
    "budgets need usage.enabled: these aren't enforced: / monthly, /team daily",
  ]);
  t.same(accepted(null, { env }).warnings, []);
});

t.test(
  "a public service without TLS causes a warning, a server of one's own doesn't",
  async (t) => {
    const of = (url: string) =>
      accepted(
        `providers: { one: { type: openai, base_url: "${url}", api_key: k, models: [m] } }\n`,
      ).warnings;
    t.same(of("http://api.openai.com/v1"), [
      "providers.one.base_url begins with http://, so keys and prompts aren't encrypted: write https://api.openai.com/v1",
    ]);
    t.same(of("https://api.openai.com/v1"), []);
    t.same(of("http://vllm.internal:8000/v1"), []);
  },
);
