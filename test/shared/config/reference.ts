/**
 * What the documentation repeats of the tables in the code, made of them: the tables of the pages,
 * and docs/examples/sluice.yaml. Pure; `write-reference.ts` writes it, and
 * `configuration-page.test.ts` fails while what is committed differs.
 */
import { configSchema } from "../../../shared/config/config-schema.js";
import {
  type JsonSchema,
  type ValueKind,
  withUnit,
} from "../../../shared/config/kinds/value-kind.js";
import { presets } from "../../../shared/config/presets.js";
import { alertSettings } from "../../../shared/config/settings/alert-settings.js";
import { jwtSettings } from "../../../shared/config/settings/jwt-settings.js";
import { mcpSettings } from "../../../shared/config/settings/mcp-settings.js";
import {
  modelTraitsSettings,
  perModelSettings,
} from "../../../shared/config/settings/model-traits-settings.js";
import {
  changeSettings,
  priceLists,
  priceSettings,
  tierSettings,
} from "../../../shared/config/settings/price-settings.js";
import {
  providerLists,
  providerSettings,
} from "../../../shared/config/settings/provider-settings.js";
import { rewriterSettings } from "../../../shared/config/settings/rewriter-settings.js";
import { type EntryList, flagName, type Setting } from "../../../shared/config/settings/setting.js";
import { sectionMeanings, settings } from "../../../shared/config/settings/settings.js";
import { type LogField, lineFields, requestFields } from "../../../shared/logging/log-fields.js";
import { limiterMetrics } from "../../../shared/metrics/limiter-metrics.js";
import { proxyMetrics } from "../../../shared/metrics/proxy-metrics.js";
import { commandSections, globalFlags } from "../../bin/command-tables.js";
import { code, grouped, meanings } from "../../support/markdown-table.js";
import { boundTables } from "../bounds-table.js";
import { tableOfMetrics } from "../metrics/metric-tables.js";
import { adminTables, apiTables, recordTables } from "./api-reference.js";
import { dialectTables } from "./dialect-reference.js";

interface Row {
  readonly kind: ValueKind<unknown>;
  readonly defaultText: string | null;
  readonly defaultValue?: unknown;
  readonly example?: string;
  readonly meaning: string;
}
type Table = Readonly<Record<string, Row>>;

const rowsOfSettings = Object.values<Setting<unknown>>(settings);

/** What a value may be, with its bounds. The page says that a range is of integers. */
function accepts({ label, range }: ValueKind<unknown>): string {
  if (range === undefined) return label;
  const shown = range.replace(/\d{4,}(?= bytes)/g, inBytes).replace(/(B) bytes/g, "$1");
  return label === "integer" ? shown : `${label}, ${shown}`;
}

/** A number of bytes in the largest unit of which it is a whole number. */
function inBytes(digits: string): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = Number(digits);
  let unit = 0;
  while (value % 1024 === 0 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? digits : `${value} ${units[unit]}`;
}

/** What the page shows of a size, in units. */
function withSizes(key: string, text: string): string {
  if (!key.endsWith("_bytes")) return text;
  return text.replace(/`?(\d{4,})`?/g, (_, digits: string) => inBytes(digits));
}

/** A default as a page shows it: values as code, with their unit unless the key names it. */
function shownDefault(
  key: string,
  { kind, defaultText }: Pick<Row, "kind" | "defaultText">,
): string {
  if (defaultText === null) return "required";
  if (defaultText === "none") return "";
  if (defaultText.includes(" ")) return defaultText;
  if (kind.unit !== undefined && key.includes(unitWord(kind.unit))) return code(defaultText);
  return withUnit(defaultText, kind).replace(defaultText, code(defaultText));
}

/** The key as the file has it, with its default if that is a value; any other default beside it. */
function keyWithDefault(
  key: string,
  row: Row,
): { readonly key: string; readonly byDefault: string } {
  const byDefault = shownDefault(key, row);
  const [, value] = /^`(\S+)`$/.exec(byDefault) ?? [];
  const isSize = key.endsWith("_bytes");
  if (value === undefined || isSize || !isValue(row, value)) return { key: code(key), byDefault };
  return { key: code(`${key}: ${value}`), byDefault: "" };
}

/** Whether the key has this value by default: not that of another key. */
const isValue = ({ defaultValue, defaultText }: Row, value: string): boolean =>
  defaultValue !== null && defaultValue !== undefined && defaultText === value;

/** A table for each section of the file, and one for what is in none. */
function tableOfSettings(): string {
  const sectionOf = ({ path }: Setting<unknown>): string =>
    path.includes(".") ? path.slice(0, path.indexOf(".")) : "";
  const sections = [
    ...new Set([...Object.keys(sectionMeanings), ...rowsOfSettings.map(sectionOf)]),
  ];
  return sections
    .map((name) => {
      const rows = rowsOfSettings.filter((row) => sectionOf(row) === name && !isFileOfSecret(row));
      return `### ${name === "" ? "At the top level" : name}\n\n${tableOfRows(rows)}`;
    })
    .join("\n");
}

/** The page says once that a secret may be in a file, as `master_key_file` beside `master_key`. */
function isFileOfSecret({ path }: Setting<unknown>): boolean {
  return rowsOfSettings.some((row) => path === `${row.path}_file`);
}

/** The setting of the file that may hold a secret. */
const fileOf = (row: Setting<unknown>): Setting<unknown> | undefined =>
  rowsOfSettings.find(({ path }) => path === `${row.path}_file`);

function tableOfRows(rows: readonly Setting<unknown>[]): string {
  return listOfKeys(
    rows.map((row) => {
      const file = fileOf(row);
      const fileEnv = file?.env === `${row.env}_FILE` ? null : file?.env;
      const names = [row.env, row.flag && flagName(row.flag), fileEnv].flatMap((name) =>
        name === null || name === undefined ? [] : [code(name)],
      );
      const { key, byDefault } = keyWithDefault(row.path, row);
      const value = withDefault(accepts(row.kind), byDefault);
      return [
        [key, ...(file === undefined ? [] : ["`…_file`"]), ...names].join(", "),
        withSizes(row.path, value),
        row.meaning,
      ];
    }),
  );
}

/** Above it, a range is there to catch mistakes: the error names it. */
const tellingMax = 1000;

/** What a field of a limit accepts; empty if its meaning says so: a number, a boolean. */
function shortly(accepted: string): string {
  const number = /^(?:integer|number) (?:from|above) \S+(?: to (\S+))?$/.exec(accepted);
  const isWide = number !== null && Number(number[1] ?? Infinity) > tellingMax;
  return accepted === "boolean" || isWide ? "" : accepted;
}

/** These go without saying: the meaning or the default says them. */
const plainKinds: ReadonlySet<string> = new Set([
  "boolean",
  "integer",
  "number",
  "path",
  "text",
  "URL",
]);

/** What a key accepts, and what it is without one. */
function withDefault(accepted: string, byDefault: string): string {
  const range = /^(?:number, )?(?:0, or )?[\d.]+ to ([\d.]+)$/.exec(accepted);
  const isWide = range !== null && Number(range[1]) > tellingMax;
  const shown = isWide || plainKinds.has(accepted) ? "" : accepted;
  const otherwise = /^(?:required)?$/.test(byDefault) ? byDefault : `default ${byDefault}`;
  return [shown, otherwise].filter((text) => text !== "").join("; ");
}

function tableOfFields(table: Table, lists: Readonly<Record<string, EntryList>> = {}): string {
  const fields = Object.entries(table).map(([name, row]) => {
    const { key, byDefault } = keyWithDefault(name, row);
    return [key, withDefault(accepts(row.kind), byDefault), row.meaning];
  });
  const ofLists = Object.entries(lists).map(([key, { entriesMax, meaning }]) => [
    code(key),
    `list, at most ${entriesMax}`,
    meaning,
  ]);
  return listOfKeys([...together(fields), ...ofLists]);
}

/** The page says once that the model's family has the others. */
const tableOfTraits = (): string =>
  tableOfFields(modelTraitsSettings).replaceAll(
    / \(default the family's\)|; default the family's(?=\))/g,
    "",
  );

/** Keys, each with its value in parentheses and its meaning. */
function listOfKeys(rows: readonly (readonly string[])[]): string {
  return meanings(
    rows.map(([keys = "", value = "", meaning = ""]) => [
      value === "" ? keys : `${keys} (${value})`,
      meaning,
    ]),
  );
}

/**
 * Most fields of a price are amounts of the same range: these are in a list for each range. Rates
 * that another rate stands in for are only named: their names say what they are for.
 */
function tablesOfPrices(): string {
  const ranges = grouped(Object.entries<Row>(priceSettings), ([, { kind }]) => accepts(kind));
  const isCommon = ([, alike]: (typeof ranges)[number]): boolean => alike.length > 2;
  const others = ranges.filter((range) => !isCommon(range)).flatMap(([, alike]) => alike);
  const tables = ranges.filter(isCommon).map(([accepted, alike]) => {
    const byDefault = grouped(alike, ([key, row]) => shownDefault(key, row));
    const list = byDefault.map(([other, rows]) => {
      const isRate = /^`[a-z_]+`$/.test(other);
      if (isRate) return `- ${namesOf(rows)} (default ${other})\n`;
      return meanings(rows.map(([key, row]) => [withOther(key, other), row.meaning]));
    });
    return `${accepted[0]?.toUpperCase()}${accepted.slice(1)}:\n\n${list.join("")}`;
  });
  return [...tables, `Others:\n\n${tableOfFields(Object.fromEntries(others), priceLists)}`].join(
    "\n",
  );
}

const namesOf = (rows: readonly (readonly [string, Row])[]): string =>
  rows.map(([key]) => code(key)).join(", ");

const withOther = (key: string, byDefault: string): string =>
  byDefault === "" ? code(key) : `${code(key)} (default ${byDefault})`;

/** The keys of a limit in a section of the file, from the schema that editors use. */
function keysOfLimit(section: string): Readonly<Record<string, JsonSchema>> {
  return propertiesOf(propertyOf(configSchema(), section, "user_paths", "limits"));
}

/** Those that mean the same as another section's are only named. */
function tableOfLimit(section: string, other: string | null = null): string {
  const known = other === null ? {} : keysOfLimit(other);
  const keys = Object.entries(keysOfLimit(section));
  const isKnown = ([key, { description }]: (typeof keys)[number]): boolean =>
    known[key]?.["description"] === description && key !== "period";
  const table = listOfKeys(
    keys
      .filter((each) => !isKnown(each))
      .map(([key, schema]) => [code(key), shortly(acceptedBy(schema)), `${schema["description"]}`]),
  );
  const named = keys.filter(isKnown).map(([key]) => code(key));
  return named.length === 0 ? table : `${table}\n${named.join(", ")} are as for a rule.\n`;
}

function propertyOf(schema: JsonSchema, ...names: readonly string[]): JsonSchema {
  return names.reduce((of, name) => propertiesOf(of)[name]!, schema);
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const entries = (schema["items"] ?? schema) as JsonSchema;
  return entries["properties"] as Readonly<Record<string, JsonSchema>>;
}

/** That a value may come from a variable goes without saying. */
function acceptedBy(schema: JsonSchema): string {
  const alternatives = ((schema["anyOf"] ?? [schema]) as readonly JsonSchema[]).flatMap(
    ({ anyOf, ...own }) => (anyOf as readonly JsonSchema[] | undefined) ?? [own],
  );
  if (alternatives.some(({ type }) => type === "boolean")) return "boolean";
  const texts = alternatives.map((each) => {
    const { minimum, maximum, exclusiveMinimum } = each;
    if (each["enum"] !== undefined) return (each["enum"] as readonly string[]).join(", ");
    if (each["properties"] !== undefined) return "mapping";
    if (each["items"] !== undefined) return "list";
    const type = [each["type"]].flat().filter((name) => name !== "null")[0];
    const low = minimum ?? exclusiveMinimum;
    if (low === undefined) return type === "string" && each["pattern"] === undefined ? "text" : "";
    const from = minimum === undefined ? `above ${low}` : `from ${low}`;
    return maximum === Number.MAX_SAFE_INTEGER
      ? `${type} ${from}`
      : `${type} ${from} to ${maximum}`;
  });
  return [...new Set(texts.filter((text) => text !== ""))].join(", or ");
}

/** Those on the internet are only named: `sluice providers list` shows their addresses. */
function listOfPresets(): string {
  const addressOf = ({ variables, baseUrl }: (typeof presets)[number]): string => {
    if (baseUrl === null) return `your own, in ${code(`${variables}_BASE_URL`)}`;
    return baseUrl.startsWith("https:") ? "at their public addresses" : baseUrl;
  };
  return meanings(
    grouped(presets, addressOf).map(([address, alike]) => [
      alike
        .map(({ name, keyVariable, variables }) =>
          keyVariable === `${variables}_API_KEY`
            ? code(name)
            : `${code(name)} (${code(keyVariable)})`,
        )
        .join(", "),
      address,
    ]),
  );
}

/** Those that mean the same as a provider's are only named. */
function tableOfMcpFields(): string {
  const ofProviders: Table = providerSettings;
  const fields = Object.entries<Row>(mcpSettings);
  const isShared = ([key, row]: (typeof fields)[number]): boolean =>
    ofProviders[key]?.meaning === row.meaning;
  const shared = fields.filter(isShared).map(([key]) => code(key));
  const own = Object.fromEntries(fields.filter((field) => !isShared(field)));
  return `${tableOfFields(own)}\n${shared.join(", ")} are as for [a provider](#providers).\n`;
}

/** Neighbours that differ in their keys alone are one row. */
function together(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const joined: (readonly string[])[] = [];
  for (const [key = "", ...cells] of rows) {
    const [keysBefore = "", ...cellsBefore] = joined.at(-1) ?? [];
    if (cellsBefore.join("|") === cells.join("|"))
      joined.splice(-1, 1, [`${keysBefore}, ${key}`, ...cells]);
    else joined.push([key, ...cells]);
  }
  return joined;
}

function tableOfLogFields(fields: readonly LogField[]): string {
  const rows = grouped(fields, ({ meaning }) => meaning).map(([meaning, alike]) => [
    alike.map(({ name }) => code(name)).join(", "),
    meaning,
  ]);
  return meanings(rows.map(([names = "", meaning = ""]) => [names, meaning]));
}

/** The tables of each page, by the names in its comments `<!-- generated: NAME -->`. */
export const pages: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "reference/configuration.md": {
    settings: tableOfSettings,
    providers: () => tableOfFields(providerSettings, providerLists),
    mcp_servers: tableOfMcpFields,
    model_traits: tableOfTraits,
    per_model: () => tableOfFields(perModelSettings),
    presets: listOfPresets,
    prices: tablesOfPrices,
    tiers: () => `${tableOfFields(tierSettings).split("\n")[0]}\n`,
    price_changes: () => tableOfFields({ from: changeSettings.from }),
    jwt: () => tableOfFields(jwtSettings),
    rewriters: () => tableOfFields(rewriterSettings),
    alerts: () => tableOfFields(alertSettings),
    rules: () => tableOfLimit("rate_limits"),
    budgets: () => tableOfLimit("budgets", "rate_limits"),
  },
  "reference/bounds.md": boundTables,
  "reference/command-line.md": {
    global_flags: globalFlags,
    ...commandSections,
  },
  "reference/logs.md": {
    line_fields: () => tableOfLogFields(lineFields),
    request_fields: () => tableOfLogFields(requestFields),
  },
  "reference/metrics.md": {
    proxy_metrics: () => tableOfMetrics(proxyMetrics),
    limiter_metrics: () => tableOfMetrics(limiterMetrics),
  },
  "reference/http-api.md": apiTables,
  "reference/admin-api.md": adminTables,
  "reference/dialects.md": dialectTables,
  "reference/usage-record.md": recordTables,
};

/** The page with its tables as they should be. Throws if it lacks one, or has one too many. */
export function withTables(name: string, page: string): string {
  const tables = { ...pages[name] };
  const written = page.replace(
    /(<!-- generated: (\w+) -->\n)[^]*?(?=<!-- end -->)/g,
    (_, begin: string, table: string) => {
      const make = tables[table];
      if (make === undefined) throw new Error(`docs/${name} has an unknown table: ${table}`);
      delete tables[table];
      return `${begin}\n${make()}\n`;
    },
  );
  const missing = Object.keys(tables);
  if (missing.length > 0) throw new Error(`docs/${name} lacks a table: ${missing.join(", ")}`);
  return written;
}

const columnsMax = 100;

/** A comment, in lines of at most a hundred columns. */
function comment(text: string, indent: string): string {
  const lines: string[] = [];
  let line = `${indent}#`;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > columnsMax) {
      lines.push(line);
      line = `${indent}#`;
    }
    line += ` ${word}`;
  }
  return [...lines, line].map((each) => `${each}\n`).join("");
}

/** The meaning, and below it the key: with the default or, as a comment, with an example. */
function keyLines(
  key: string,
  { kind, defaultText, defaultValue, example, meaning }: Row,
  { indent, isLive }: { readonly indent: string; readonly isLive: boolean },
): string {
  const isDefault =
    defaultValue !== null && defaultValue !== undefined && !(`${defaultValue}` === "");
  const value = isLive || !isDefault ? example : defaultText;
  if (value === undefined || value === null) throw new Error(`${key} needs an example`);
  const unit =
    kind.unit === undefined || key.includes(unitWord(kind.unit)) ? "" : ` In ${kind.unit}.`;
  const lead = isLive || isDefault ? "" : "# ";
  return `${comment(`${meaning}${unit}`, indent)}${indent}${lead}${key}: ${value}\n`;
}

/** How a key says its unit: `drain_seconds`, `deadline_ms`. */
function unitWord(unit: string): string {
  return unit === "milliseconds" ? "ms" : unit;
}

/** Settings without a default that are shown in force, so that what they are for works. */
const shownInForce: ReadonlySet<string> = new Set(["entitlements"]);

function settingLines(row: Setting<unknown>, indent: string): string {
  const key = row.path.slice(row.path.lastIndexOf(".") + 1);
  return keyLines(key, row, { indent, isLive: shownInForce.has(row.path) });
}

/** A section's settings; `more` is what else it holds. */
function section(name: string, more = ""): string {
  const rows = rowsOfSettings.filter(({ path }) => path.startsWith(`${name}.`));
  const nested = new Map<string, string>();
  let lines = "";
  for (const row of rows) {
    const [, inner, ...deeper] = row.path.split(".") as [string, string];
    if (deeper.length === 0) lines += settingLines(row, "  ");
    else nested.set(inner, (nested.get(inner) ?? "") + settingLines(row, "    "));
  }
  for (const [inner, innerLines] of nested) lines += `  ${inner}:\n${innerLines}`;
  return `${name}:\n${lines}${more}`;
}

const topLines = (...keys: readonly string[]): string =>
  rowsOfSettings
    .filter(({ path }) => keys.includes(path))
    .map((row) => settingLines(row, ""))
    .join("");

/** All fields of an entry, with their examples. */
function entryLines(table: Table, indent: string): string {
  return Object.entries(table)
    .map(([key, row]) => keyLines(key, row, { indent, isLive: true }))
    .join("");
}

/** The same as the only item of a list. */
function itemLines(table: Table, indent: string): string {
  const [first = "", ...rest] = Object.entries(table).map(([key, row]) =>
    keyLines(key, row, { indent: `${indent}  `, isLive: true }),
  );
  const begun = first.replace(/^ {2}(?= *#)/gm, "").replace(/ {2}(?=\w+:.*\n$)/, "- ");
  return [begun, ...rest].join("");
}

function commented(lines: string): string {
  return lines.replace(/^(?=.)/gm, "# ");
}

const providerInForce: ReadonlySet<string> = new Set(["type", "base_url", "api_key", "models"]);

function providerLines(indent: string): string {
  return Object.entries<Row>(providerSettings)
    .map(([key, row]) => {
      const isDefault = `${row.defaultValue ?? ""}` !== "" && typeof row.defaultValue !== "object";
      const shown = isDefault ? row : { ...row, defaultValue: null };
      return keyLines(key, shown, { indent, isLive: providerInForce.has(key) });
    })
    .join("");
}

const listLines = (
  lists: Readonly<Record<string, EntryList>>,
  name: string,
  indent: string,
): string => `${comment(lists[name]!.meaning, indent)}${indent}${name}:\n`;

/** docs/examples/sluice.yaml */
export function exampleFile(): string {
  return [
    comment(
      "A complete sluice.yaml, made by `npm run docs`. Every key is optional; an empty file is the default configuration. ${NAME} in a value is taken from the environment; $${ stands for the two characters themselves. A key behind a # has no default that could be shown; what is there is an example.",
      "",
    ),
    section("server"),
    section("limiter"),
    `providers:
  # A preset, whose base_url is known. An unset or empty variable: no key is sent.
  openai:
    api_key: "\${OPENAI_API_KEY}"
  local:
${providerLines("    ")}${listLines(providerLists, "model_traits", "    ")}${itemLines(modelTraitsSettings, "      ")}${listLines(providerLists, "per_model", "    ")}${itemLines(perModelSettings, "      ")}  # Answers by itself, for trying things out.
  simulator:
    type: simulator
`,
    `mcp_servers:                                # behind /mcp/{name}
  tracker:
    url: http://127.0.0.1:9200/mcp
    api_key: "\${TRACKER_TOKEN}"
`,
    `virtual_models:
  smart:
    strategy: failover                      # or round_robin (the default), cost, latency, least_busy
    affinity: session                       # the default; or none, conversation
    targets:
      - model: openai/gpt-4o
      - model: local/llama-3
        weight: 2                           # 1 to 1000, default 1; for round_robin and least_busy
`,
    `aliases:                                    # other names for models
  best: smart                               # a virtual model
  gpt-4-turbo: openai/gpt-4o                # or a provider's model
  llama-*: local/*                          # names that begin so, at this provider
  # "*": local/llama-3                      # every name that nothing else knows
`,
    `# US dollars per million tokens; beats the built-in price list.
prices:
  openai/gpt-4o:
${entryLines(priceSettings, "    ")}${listLines(priceLists, "tiers", "    ")}${itemLines(tierSettings, "      ")}${listLines(priceLists, "changes", "    ")}${itemLines({ from: changeSettings.from, input: changeSettings.input }, "      ")}  # Every model of a provider; 0 is free, no price is unpriced.
  local/*: { input: 0, output: 0 }
`,
    `# Who may sign tokens for callers. One of jwks_url, jwks_file, secret and secret_file.
${commented(`jwt:\n${itemLines(jwtSettings, "  ")}`)}`,
    section("usage"),
    section("cache"),
    section("metrics"),
    section("tracing"),
    section("tools"),
    section("cluster"),
    `# In this order.
rewriters:
  - name: minify_tool_json
${itemLines(rewriterSettings, "  ")}`,
    `# Where warnings are posted before a limit ends.
${commented(`alerts:\n${itemLines(alertSettings, "  ")}`)}`,
    topLines("price_list_file"),
    topLines("entitlements"),
    section(
      "rate_limits",
      `  user_paths:
    - path: /                               # all traffic
      limits:
        - { period: concurrent, max_requests: 200 }
    - path: /team
      per_child: true                       # each direct child of /team has its own counters
      limits:
        - { period: minute, max_requests: 600, max_tokens: 200000 }
        - { period_seconds: 300, max_requests: 2000 }
    - path: /agents                         # warns agents that repeat themselves, then refuses
      limits:
        - { period: concurrent, loops: { warn_after: 5, refuse_after: 20 } }
  providers:
    - name: openai
      limits:
        - { period: minute, max_requests: 5000 }
  models:
    - model: openai/gpt-4o                  # this provider's; gpt-4o alone is every provider's
      limits:
        - { period: day, max_tokens: 50000000 }
`,
    ),
    section(
      "budgets",
      `  user_paths:
    - path: /                               # all traffic
      limits:
        - { period: monthly, amount: 5000 } # US dollars
    - path: /team
      per_child: true                       # each direct child of /team has the amount for itself
      limits:
        - { period: daily, amount: 20 }
  labels:
    - label: research                       # every key that carries this label
      limits:
        - { period: weekly, amount: 250 }
`,
    ),
    section("waiting"),
    section("admin"),
    topLines("log_level", "log_format", "log_sample"),
  ].join("\n");
}
