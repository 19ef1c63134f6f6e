/**
 * Holds docs/configuration.md to the tables that it describes, and its samples to what really
 * happens.
 */
import { readFileSync } from "node:fs";
import t from "tap";
import { buildConfig } from "../../../shared/config/build/build-config.js";
import { baseUrlVariable, modelsVariable, presets } from "../../../shared/config/presets.js";
import { problemLine } from "../../../shared/config/problems.js";
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
import { flagName } from "../../../shared/config/settings/setting.js";
import { configFileVariable, settings } from "../../../shared/config/settings/settings.js";
import { accepted } from "./build-sample.js";

// The compiled test is four directories below the repository.
const docs = new URL("../../../../docs/", import.meta.url);
const page = readFileSync(new URL("configuration.md", docs), "utf8");
const example = readFileSync(new URL("examples/sluice.yaml", docs), "utf8");
const lines = new Set(page.split("\n"));

const code = (text: string | null): string => (text === null ? "–" : `\`${text}\``);

/** A default as the page shows it: words as they are, values as code with their unit. */
function shownDefault(defaultText: string, unit: string | null = null): string {
  if (defaultText === "none" || defaultText.includes(" ")) return defaultText;
  return unit === null ? code(defaultText) : `${code(defaultText)} ${unit}`;
}

t.test("each setting has its row in the page", async (t) => {
  for (const setting of Object.values(settings)) {
    const { path, env, flag, kind, defaultText, unit, meaning } = setting;
    const names = [path, env, flag && flagName(flag)].map(code).join(" | ");
    const row = `| ${names} | ${kind.label} | ${shownDefault(defaultText, unit)} | ${meaning} |`;
    t.ok(lines.has(row), row);
  }
  t.ok(page.includes(code(configFileVariable)));
});

t.test("each field of a provider has its row in the page", async (t) => {
  for (const [key, field] of Object.entries(providerSettings)) {
    const shown = shownDefault(field.defaultText, field.unit);
    const row = `| ${code(key)} | ${field.kind.label} | ${shown} | ${field.meaning} |`;
    t.ok(lines.has(row), row);
  }
});

t.test(
  "each field of a price, of a tier, of an issuer and of a rewriter has its row in the page, below its own heading",
  async (t) => {
    const below = (heading: string): ReadonlySet<string> =>
      new Set(page.slice(page.indexOf(heading)).split("\n## ")[0]?.split("\n"));
    const tables = [
      ["## Prices\n", priceSettings],
      ["An entry of `tiers`:", tierSettings],
      ["An entry of `model_traits`:", modelTraitsSettings],
      ["An entry of `per_model`:", perModelSettings],
      ["## JWT issuers\n", jwtSettings],
      ["## Rewriters\n", rewriterSettings],
    ] as const;
    for (const [heading, table] of tables) {
      for (const [key, { kind, defaultText, meaning }] of Object.entries(table)) {
        const shown = defaultText === null ? "required" : shownDefault(defaultText);
        const row = `| ${code(key)} | ${kind.label} | ${shown} | ${meaning} |`;
        t.ok(below(heading).has(row), row);
      }
    }
    for (const algorithm of [...publicKeyAlgorithms, ...secretAlgorithms])
      t.match(page, new RegExp(`\\b${algorithm}\\b`));
  },
);

t.test("each preset has its row in the page", async (t) => {
  for (const preset of presets) {
    const variables = [preset.keyVariable, baseUrlVariable(preset), modelsVariable(preset)];
    const names = [preset.name, ...variables].map(code).join(" | ");
    const row = `| ${names} | ${preset.baseUrl ?? "your own"} |`;
    t.ok(lines.has(row), row);
  }
});

t.test(
  "the example in the page is the example file, which shows every key but the two that depend on the host, and is accepted",
  async (t) => {
    t.ok(page.includes(`\`\`\`yaml\n${example}\`\`\``));
    const { config, warnings } = accepted(example);
    t.same(warnings, []);
    t.equal(config.rateLimits.rules.length, 5);
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
    for (const key of Object.keys(jwtSettings))
      t.match(example, new RegExp(`^# +(?:- )?${key}:`, "m"), key);
  },
);

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
    const result = buildConfig({
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
  const mistakes = /<!-- mistakes -->\n```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  t.ok(
    page.includes(
      `\`\`\`text\n${report(mistakes, { PORT: "http", SET_RATE_LIMIT_TEAM: "rpn=60" })}\`\`\``,
    ),
    report(mistakes, { PORT: "http", SET_RATE_LIMIT_TEAM: "rpn=60" }),
  );
  const notYaml = report("server:\n\tport: 8080\n", {});
  t.ok(page.includes(`\`\`\`text\n${notYaml}\`\`\``), notYaml);
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
