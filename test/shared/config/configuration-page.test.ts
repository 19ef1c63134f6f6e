/**
 * Holds docs/reference/configuration.md to the tables that it describes, and its samples to what
 * really happens.
 */
import { readFileSync } from "node:fs";
import t from "tap";
import type { ValueKind } from "../../../shared/config/kinds/value-kind.js";
import { problemLine } from "../../../shared/config/problems.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";
import { alertSettings } from "../../../shared/config/settings/alert-settings.js";
import {
  jwtSettings,
  publicKeyAlgorithms,
  secretAlgorithms,
} from "../../../shared/config/settings/jwt-settings.js";
import {
  modelTraitsSettings,
  perModelSettings,
} from "../../../shared/config/settings/model-traits-settings.js";
import { priceSettings, tierSettings } from "../../../shared/config/settings/price-settings.js";
import { providerSettings } from "../../../shared/config/settings/provider-settings.js";
import { rewriterSettings } from "../../../shared/config/settings/rewriter-settings.js";
import { configFileVariable, settings } from "../../../shared/config/settings/settings.js";
import { exampleFile, pages, withTables } from "./reference.js";
import { accepted } from "./resolve-sample.js";

// The compiled test is four directories below the repository.
const docs = new URL("../../../../docs/", import.meta.url);
const page = readFileSync(new URL("reference/configuration.md", docs), "utf8");
const example = readFileSync(new URL("examples/sluice.yaml", docs), "utf8");

t.test(
  "the pages and the example are what the tables make: npm run docs writes them",
  async (t) => {
    for (const name of Object.keys(pages)) {
      const committed = readFileSync(new URL(name, docs), "utf8");
      t.equal(committed, withTables(name, committed), name);
    }
    t.equal(example, exampleFile());
    t.ok(page.includes(`\`${configFileVariable}\``));
    for (const algorithm of [...publicKeyAlgorithms, ...secretAlgorithms])
      t.match(page, new RegExp(`\\b${algorithm}\\b`));
  },
);

t.test("a page that lacks a table, or has an unknown one, isn't written", async (t) => {
  t.throws(
    () => withTables("reference/http-api.md", ""),
    /lacks a table: endpoints, operations, presets/,
  );
  t.throws(
    () => withTables("reference/http-api.md", "<!-- generated: x -->\n<!-- end -->"),
    /an unknown table: x/,
  );
});

t.test("every bound that an error names is on the page", async (t) => {
  const tables = [
    settings,
    providerSettings,
    modelTraitsSettings,
    perModelSettings,
    priceSettings,
    tierSettings,
    jwtSettings,
    rewriterSettings,
    alertSettings,
  ];
  let bounded = 0;
  for (const table of tables)
    for (const [key, { kind }] of Object.entries<{ readonly kind: ValueKind<unknown> }>(table)) {
      const numbers =
        kind.expected.match(/(?:from|to|at most|at least|of|be) (\d[\d.]*)(?= |,|$)/g) ?? [];
      for (const number of numbers)
        t.match(kind.range ?? "", number.split(" ").at(-1)!, `${key} ${kind.expected}`);
      bounded += numbers.length === 0 ? 0 : 1;
    }
  t.ok(bounded > 50, `${bounded} settings have bounds`);
});

t.test("the example file shows every key, and is accepted", async (t) => {
  const { config, warnings } = accepted(example);
  t.same(warnings, []);
  t.equal(config.rateLimits.rules.length, 6);
  t.equal(config.budgets.budgets.length, 3);
  const keys = [
    ...Object.values(settings).map(({ path }) => path.split(".").at(-1) ?? ""),
    ...Object.keys(providerSettings),
    ...Object.keys(priceSettings),
    ...Object.keys(tierSettings),
    "tiers",
    ...Object.keys(modelTraitsSettings),
    "model_traits",
    ...Object.keys(perModelSettings),
    "per_model",
    ...Object.keys(rewriterSettings),
  ];
  for (const key of keys) t.match(example, new RegExp(`^\\s*(?:# |- )?${key}:`, "m"), key);
  for (const key of [...Object.keys(jwtSettings), ...Object.keys(alertSettings)])
    t.match(example, new RegExp(`^# +(?:- )?${key}:`, "m"), key);
});

t.test("the values of the example that repeat a default repeat it right", async (t) => {
  const ours = accepted(example).config;
  const builtIn = accepted(null).config;
  t.same({ ...ours.server }, builtIn.server);
  t.same(ours.limiter, builtIn.limiter);
  t.same(
    [
      ours.usageEnabled,
      ours.logLevel,
      ours.rateLimits.enabled,
      ours.rateLimits.flushIntervalMs,
      ours.budgets.enabled,
    ],
    [true, "info", true, 1000, true],
  );
});

t.test("the samples of mistakes are what a start really prints", async (t) => {
  const report = (text: string, env: Record<string, string>): string => {
    const result = resolveConfig({
      file: { path: "/etc/sluice/sluice.yaml", text },
      flags: {},
      env,
      cwd: "/",
      uid: 0,
    });
    return result.ok
      ? "accepted"
      : result.problems.map((problem) => `${problemLine(problem)}\n`).join("");
  };
  const shown = /<!-- mistakes -->\n```text\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  t.equal(report("server: { prot: 8080 }\n", { PORT: "http" }), shown);
  const mistakes = `server: { port: 8080 }
providers:
  local: { type: openai, base_url: "127.0.0.1:9100", api_key: none }
virtual_models:
  smart: { targets: [ { model: locl/llama-3 } ] }
`;
  t.equal(
    report(mistakes, { SET_RATE_LIMIT_TEAM: "rpn=60" }),
    `/etc/sluice/sluice.yaml:3:26: providers.local.base_url must be an http or https URL without credentials, query or fragment, such as https://api.example.com/v1, not "127.0.0.1:9100"
/etc/sluice/sluice.yaml:5:25: virtual_models.smart.targets[0].model names the provider "locl", which isn't configured; did you mean local?
environment: SET_RATE_LIMIT_TEAM holds the unknown key "rpn"; did you mean rpm?
`,
  );
  t.equal(
    report("server:\n\tport: 8080\n", {}),
    "/etc/sluice/sluice.yaml:2:1: tabs can't be used as indentation: use spaces\n",
  );
});

t.test("the examples of rule variables are accepted", async (t) => {
  const examples = [
    ...page.matchAll(/^\| `(SET_(?:PROVIDER_)?RATE_LIMIT_[A-Z0-9_]*)=([^`]+)` \|/gm),
  ];
  t.equal(examples.length, 5);
  for (const [, name = "", value = ""] of examples) {
    const result = accepted(null, {
      env: { [name]: value, SLUICE_ENTITLEMENTS: "quota_templates" },
    });
    t.equal(result.config.rateLimits.rules.length, 1, name);
  }
});

t.test("the examples of budget variables are accepted", async (t) => {
  const examples = [...page.matchAll(/^\| `(SET_BUDGET_[A-Z0-9_]*)=([^`]+)` \|/gm)];
  t.same(
    examples.map(
      ([, name = "", value = ""]) =>
        accepted(null, { env: { [name]: value, SLUICE_ENTITLEMENTS: "quota_templates" } }).config
          .budgets.budgets.length,
    ),
    [1, 2, 1],
  );
});
