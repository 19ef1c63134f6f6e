/**
 * The shape of `sluice.yaml`: the keys at each place, and the kind of each value. It reports every
 * unknown key and invalid value with its path. `../limits/` and `../resolve/` check whether rules,
 * targets, presets and other values fit together.
 */
import { candidatesMax } from "../../bounds.js";
import { isAbsent, isObject, show, showKind } from "../../checked.js";
import { nameHint } from "../closest-name.js";
import type { Affinity, Strategy } from "../config.js";
import { integer } from "../kinds/number-kinds.js";
import { budgetForm } from "../limits/budget-limits.js";
import { ruleForm } from "../limits/rule-limits.js";
import { type KeyHint, keyPath, type Mapping, readMapping } from "../read-mapping.js";
import { type JwtFields, jwtSettings } from "../settings/jwt-settings.js";
import { type McpFields, mcpOptions, mcpSettings } from "../settings/mcp-settings.js";
import {
  type ModelTraitsFields,
  modelTraitsSettings,
  type PerModelFields,
  perModelSettings,
} from "../settings/model-traits-settings.js";
import {
  type ChangeFields,
  changeSettings,
  type PriceFields,
  priceLists,
  priceSettings,
  type TierFields,
  tierSettings,
} from "../settings/price-settings.js";
import {
  type ProviderFields,
  providerLists,
  providerSettings,
} from "../settings/provider-settings.js";
import { type RewriterFields, rewriterSettings } from "../settings/rewriter-settings.js";
import type { EntryList, Field } from "../settings/setting.js";
import { sectionMeanings, settings } from "../settings/settings.js";
import type {
  ConfigFile,
  DeclaredAlias,
  DeclaredPrice,
  DeclaredProvider,
  DeclaredTarget,
  DeclaredVirtualModel,
  ReadFields,
} from "./config-file.js";
import { readAlerts } from "./read-alerts.js";
import {
  type FieldSchemas,
  type LocatedValue,
  listField,
  optional,
  optionalList,
  optionalWord,
  readFields,
  readItems,
  required,
  textField,
} from "./read-fields.js";
import { budgetSection, listNames, readLimitLists, ruleSection } from "./read-limit-lists.js";

/** The sections that contain nothing but scalar settings. */
const scalarSections = Object.keys(sectionMeanings).filter(
  (name) => name !== ruleSection.name && name !== budgetSection.name,
);
/** The keys of a section that contain settings themselves, such as `server.admin`. */
function nestedIn(section: string): readonly string[] {
  const paths = Object.values(settings).map(({ path }) => path.split("."));
  const nested = paths.filter((path) => path[0] === section && path.length === 3);
  return [...new Set(nested.map(([, name]) => name!))];
}
/** The other keys at the top, besides the scalar settings there. */
const topKeys = [
  "providers",
  "mcp_servers",
  "virtual_models",
  "aliases",
  ...scalarSections,
  ruleSection.name,
  budgetSection.name,
  "prices",
  "jwt",
  "rewriters",
  "alerts",
];

/** Reads a document. An empty one (null) is the default configuration. */
export function parseShape(document: unknown, problems: string[]): ConfigFile {
  const scalars = new Map<string, unknown>();
  const hint = (key: string, names: readonly string[]): string => topHint(key, names, document);
  const top = readSection({ raw: document ?? {}, path: "", hint }, topKeys, scalars, problems);
  const section = (name: string, below: readonly string[] = []): Mapping =>
    readSection({ raw: top[name] ?? {}, path: name }, below, scalars, problems);
  for (const name of scalarSections) {
    const below = nestedIn(name);
    const entries = section(name, below);
    for (const subsection of below)
      readSection(
        { raw: entries[subsection] ?? {}, path: `${name}.${subsection}` },
        [],
        scalars,
        problems,
      );
  }
  const rateLimits = section(ruleSection.name, listNames(ruleSection));
  const budgets = section(budgetSection.name, listNames(budgetSection));
  const namedEntries = (name: string): readonly NamedEntry[] =>
    readNamedEntries({ raw: top[name], path: name }, problems);
  const items = (name: string): readonly LocatedValue[] =>
    readItems({ raw: top[name], path: name }, problems);
  return {
    settings: scalars,
    providers: namedEntries("providers").map((entry) => readProvider(entry, problems)),
    mcpServers: namedEntries("mcp_servers").map(({ path, name, raw }) => ({
      path,
      name,
      fields: readTable<McpFields>(mcpSchemas, { raw: raw ?? {}, path }, problems),
    })),
    virtualModels: namedEntries("virtual_models").map((entry) => readVirtualModel(entry, problems)),
    aliases: namedEntries("aliases").flatMap((entry) => readAlias(entry, problems)),
    rules: readLimitLists(ruleSection, rateLimits, Object.keys(ruleForm.fields), problems),
    budgets: readLimitLists(budgetSection, budgets, Object.keys(budgetForm.fields), problems),
    prices: namedEntries("prices").map((entry) => readPrice(entry, problems)),
    issuers: items("jwt").map((item) => ({
      path: item.path,
      fields: readTable<JwtFields>(issuerSchemas, item, problems),
    })),
    rewriters: items("rewriters").map((item) => ({
      fields: readTable<RewriterFields>(rewriterSchemas, item, problems),
    })),
    alerts: readAlerts({ raw: top["alerts"], path: "alerts" }, problems),
  };
}

/** The entries of a section; its scalar settings are added to `scalars` by their paths. */
function readSection(
  { raw, path, hint }: LocatedValue & { readonly hint?: KeyHint },
  below: readonly string[],
  scalars: Map<string, unknown>,
  problems: string[],
): Mapping {
  const names = Object.values(settings)
    .map((setting) => setting.path.split("."))
    .filter((keys) => keys.slice(0, -1).join(".") === path)
    .map((keys) => keys.at(-1)!);
  const entries = readMapping(raw, { path, hint }, [...names, ...below], problems) ?? {};
  for (const name of names)
    if (Object.hasOwn(entries, name)) scalars.set(keyPath(path, name), entries[name]);
  return entries;
}

/** The hint for an unknown key at the top, which may belong into a section. */
function topHint(key: string, names: readonly string[], document: unknown): string {
  if (key === "model_list") return "; of LiteLLM's file, sluice import litellm makes this one";
  if (/[^\x20-\x7e]/.test(key)) return nameHint(key, names);
  const keys = Object.keys(isObject(document) ? document : {});
  const above = keys
    .slice(0, keys.indexOf(key))
    .findLast((earlierKey) => names.includes(earlierKey));
  if (above !== undefined && isObject(document) && isAbsent(document[above]))
    return `; if it is one of ${above}, indent it`;
  const inSection = Object.values(settings).find(({ path }) => path.endsWith(`.${key}`));
  return inSection === undefined ? nameHint(key, names) : `; did you mean ${inSection.path}?`;
}

/** An entry of a mapping whose keys are names that the operator chooses. */
interface NamedEntry extends LocatedValue {
  readonly name: string;
}

function readNamedEntries({ raw, path }: LocatedValue, problems: string[]): readonly NamedEntry[] {
  if (isAbsent(raw)) return [];
  if (isObject(raw))
    return Object.entries(raw).map(([name, value]) => ({
      name,
      raw: value,
      path: keyPath(path, name),
    }));
  const advice = Array.isArray(raw) ? ": write each name as a key, without -" : "";
  problems.push(`${path} must be a mapping of names, not ${showKind(raw)}${advice}`);
  return [];
}

/** The fields of a table of settings, from which both the schemas and the type were made. */
function readTable<T>(
  schemas: FieldSchemas,
  place: LocatedValue,
  problems: string[],
): ReadFields<T> | null {
  return readFields(schemas, place, problems) as ReadFields<T> | null;
}

/** The rows of a table as schemas: a field without a default is required. */
function requiredOrNull(table: Readonly<Record<string, Field<unknown>>>): FieldSchemas {
  return schemasOf(table, ({ kind, defaultText }) =>
    defaultText === null ? required(kind) : optional(kind, null),
  );
}

function orDefault(
  table: Readonly<Record<string, Field<unknown> & { readonly defaultValue: unknown }>>,
): FieldSchemas {
  return schemasOf(table, ({ kind, defaultValue }) =>
    optional<unknown, unknown>(kind, defaultValue),
  );
}

function entryList(noun: string, { entriesMax }: EntryList): FieldSchemas[string] {
  return optionalList(`must be a list of ${noun}`, { min: 0, max: entriesMax, noun });
}

function schemasOf<Row>(
  table: Readonly<Record<string, Row>>,
  schemaOf: (row: Row) => FieldSchemas[string],
): FieldSchemas {
  return Object.fromEntries(Object.entries(table).map(([key, row]) => [key, schemaOf(row)]));
}

// Which fields an issuer must have depends on its type: `jwt-issuers.ts` reports missing ones.
const issuerSchemas = schemasOf<Field<unknown>>(jwtSettings, ({ kind }) => optional(kind, null));
const rewriterSchemas = requiredOrNull(rewriterSettings);
const tierSchemas = requiredOrNull(tierSettings);
const priceSchemas = {
  ...requiredOrNull(priceSettings),
  tiers: entryList("tiers", priceLists.tiers),
  changes: entryList("changes", priceLists.changes),
};
const changeSchemas = requiredOrNull(changeSettings);
const traitsSchemas = requiredOrNull(modelTraitsSettings);
const perModelSchemas = requiredOrNull(perModelSettings);
const providerSchemas = {
  ...orDefault(providerSettings),
  model_traits: entryList("entries", providerLists.model_traits),
  per_model: entryList("entries", providerLists.per_model),
};

const mcpSchemas = { url: required(mcpSettings.url.kind), ...orDefault(mcpOptions) };

const virtualModelSchemas = {
  strategy: optionalWord<Strategy>(
    ["round_robin", "cost", "latency", "least_busy", "failover"],
    "must be round_robin, cost, latency, least_busy or failover",
    "round_robin",
  ),
  affinity: optionalWord<Affinity>(
    ["none", "session", "conversation"],
    "must be none, session or conversation",
    "session",
  ),
  targets: listField("must be a list of targets", { min: 1, max: candidatesMax, noun: "targets" }),
};
const targetSchemas = {
  model: textField("must be provider/model"),
  weight: optional(integer({ min: 1, max: 1000 }), 1),
};

function readProvider({ name, raw, path }: NamedEntry, problems: string[]): DeclaredProvider {
  const place = { raw: raw ?? {}, path };
  const table = readTable<ProviderFields & Readonly<Record<"model_traits" | "per_model", unknown>>>(
    providerSchemas,
    place,
    problems,
  );
  if (table === null) return { path, name, fields: null, modelTraits: [], perModel: [] };
  const { model_traits: traits, per_model: overrides, ...fields } = table;
  const modelTraits = readItems({ raw: traits, path: `${path}.model_traits` }, problems).map(
    (entry) => ({ fields: readTable<ModelTraitsFields>(traitsSchemas, entry, problems) }),
  );
  const perModel = readItems({ raw: overrides, path: `${path}.per_model` }, problems).map(
    (entry) => ({
      fields: readTable<PerModelFields>(perModelSchemas, entry, problems),
    }),
  );
  return { path, name, fields, modelTraits, perModel };
}

function readPrice(entry: NamedEntry, problems: string[]): DeclaredPrice {
  const { path, name } = entry;
  const table = readTable<PriceFields & Readonly<Record<"tiers" | "changes", unknown>>>(
    priceSchemas,
    entry,
    problems,
  );
  const tiers = readItems({ raw: table?.tiers, path: `${path}.tiers` }, problems).map((tier) => ({
    path: tier.path,
    fields: readTable<TierFields>(tierSchemas, tier, problems),
  }));
  const changes = readItems({ raw: table?.changes, path: `${path}.changes` }, problems).map(
    (change) => ({
      path: change.path,
      fields: readTable<ChangeFields>(changeSchemas, change, problems),
    }),
  );
  if (table === null) return { path, name, fields: null, tiers, changes };
  const { tiers: _tiers, changes: _changes, ...fields } = table;
  return { path, name, fields, tiers, changes };
}

function readAlias({ name, raw, path }: NamedEntry, problems: string[]): DeclaredAlias[] {
  if (typeof raw === "string" && raw.trim() !== "") return [{ path, name, target: raw.trim() }];
  problems.push(
    `${path} must be provider/model, provider/* or the name of a virtual model, not ${show(raw)}`,
  );
  return [];
}

function readVirtualModel(entry: NamedEntry, problems: string[]): DeclaredVirtualModel {
  const { path, name } = entry;
  const fields = readFields(virtualModelSchemas, entry, problems);
  const affinity = fields?.affinity ?? "session";
  const list = { raw: fields?.targets, path: `${path}.targets` };
  const targets = readItems(list, problems).flatMap((item): readonly DeclaredTarget[] => {
    if (typeof item.raw === "string") {
      problems.push(`${item.path} must be a mapping: write model: ${item.raw.trim()}`);
      return [];
    }
    const target = readFields(targetSchemas, item, problems);
    if (target?.model === undefined) return [];
    return [{ path: item.path, model: target.model.trim(), weight: target.weight ?? 1 }];
  });
  return { path, source: name, strategy: fields?.strategy ?? null, affinity, targets };
}
