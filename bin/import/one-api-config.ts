/**
 * Translates the channels and options of one-api and new-api (docs/coming-from-litellm.md) into
 * Sluice's configuration. Whatever has no counterpart, or another meaning, becomes a note. Pure.
 */
import {
  escapedDollars,
  type Fields,
  type ImportedConfig,
  perMillion,
  trimmedOrNull,
} from "./imported-values.js";
import { channelKind, type OneApiProgram } from "./one-api-channels.js";
import {
  enabledChannels,
  groupsOf,
  integerOf,
  jsonOf,
  namesOf,
  type OneApiTables,
  optionOf,
  quotasOf,
} from "./one-api-tables.js";

/** A channel of a model, under the names that Sluice has for them. */
interface Deployment {
  readonly target: string;
  readonly priority: number;
  readonly weight: number;
  readonly groups: string;
}

/** Options that have a counterpart, or that an import with `--keys` reads. */
const importedOptions = new Set(["ModelRatio", "CompletionRatio", "GroupRatio", "QuotaPerUnit"]);

/** Options with a hint; of all others only the names are listed. */
const optionHints: Readonly<Record<string, string>> = {
  RetryTimes: "retries of each provider, and the targets of a virtual model: docs/failover.md",
  ModelPrice: "prices by the request: set `per_request` of prices",
  GroupGroupRatio: "prices are the same for all",
  ModelRequestRateLimitCount: "a per_child rule on /GROUP: docs/limit-people.md",
  ModelRequestRateLimitSuccessCount: "a per_child rule on /GROUP: docs/limit-people.md",
  ModelRequestRateLimitGroup: "a per_child rule on /GROUP: docs/limit-people.md",
};

/** Columns of a channel that change its requests and have no counterpart. */
const notedColumns = ["system_prompt", "status_code_mapping", "plugin"];

export function translateOneApi(program: OneApiProgram, tables: OneApiTables): ImportedConfig {
  return new Translation(program, tables).result();
}

class Translation {
  readonly #program: OneApiProgram;
  readonly #tables: OneApiTables;
  readonly #notes: string[] = [];
  readonly #providers = new Map<string, Fields>();
  readonly #prices: Record<string, unknown> = {};
  /** By the model's name for clients. */
  readonly #models = new Map<string, Deployment[]>();

  constructor(program: OneApiProgram, tables: OneApiTables) {
    this.#program = program;
    this.#tables = tables;
  }

  result(): ImportedConfig {
    for (const channel of this.#tables.channels)
      if (integerOf(channel["status"]) !== 1)
        this.#notes.push(`${titleOf(channel)}: off: left out`);
    for (const channel of enabledChannels(this.#tables)) this.#channel(channel);
    const names = this.#modelNames();
    this.#noteOptions();
    return {
      config: {
        server: { master_key: "${SLUICE_MASTER_KEY}" },
        ...(this.#providers.size === 0 ? {} : { providers: Object.fromEntries(this.#providers) }),
        ...names,
        ...(Object.keys(this.#prices).length === 0 ? {} : { prices: this.#prices }),
      },
      notes: this.#notes,
    };
  }

  #channel(channel: Fields): void {
    const title = titleOf(channel);
    const version =
      trimmedOrNull(jsonOf(channel["config"])["api_version"]) ?? trimmedOrNull(channel["other"]);
    const base = trimmedOrNull(channel["base_url"]);
    const type = integerOf(channel["type"]) ?? 0;
    const kind = channelKind(this.#program, { type, base, version });
    if (kind === null) {
      this.#notes.push(`${title}: its type ${type} has no counterpart: left out`);
      return;
    }
    const { preset, address } = kind;
    if (address === null) {
      this.#notes.push(`${title}: it has no base_url: left out`);
      return;
    }
    const mapping = jsonOf(channel["model_mapping"]);
    const models = new Map(
      namesOf(channel["models"]).map((name) => [name, trimmedOrNull(mapping[name]) ?? name]),
    );
    const name = this.#newName(preset?.name ?? slugOf(channel["name"]));
    const isPreset = name === preset?.name;
    this.#providers.set(name, {
      ...(isPreset ? {} : { type: preset?.type ?? "openai" }),
      ...(isPreset && address === preset.baseUrl ? {} : { base_url: escapedDollars(address) }),
      ...this.#keys(channel, title, preset?.isKeyless === true),
      ...(preset?.name === "azure" && version !== null
        ? { api_version: escapedDollars(version) }
        : {}),
      ...this.#overrides(channel, title),
      models: [...new Set(models.values())],
    });
    const priority = integerOf(channel["priority"]) ?? 0;
    const weight = this.#program === "new-api" ? (integerOf(channel["weight"]) ?? 0) : 0;
    const groups = [...groupsOf(channel)].sort().join(", ");
    for (const [client, model] of models) {
      const target = `${name}/${model}`;
      const deployments = this.#models.get(client) ?? [];
      this.#models.set(client, [...deployments, { target, priority, weight, groups }]);
      if ((preset?.priceListName ?? null) === null) this.#price(target, [model, client]);
    }
  }

  #newName(base: string): string {
    for (let i = 1; ; i++) {
      const name = i === 1 ? base : `${base}-${i}`;
      if (!this.#providers.has(name)) return name;
    }
  }

  /** The keys of a channel: one of new-api may have several, one a line. */
  #keys(channel: Fields, title: string, isKeyless: boolean): Fields {
    const states = jsonOf(jsonOf(channel["channel_info"])["multi_key_status_list"]);
    const keys = (trimmedOrNull(channel["key"]) ?? "")
      .split("\n")
      .filter((key, i) => key.trim() !== "" && (integerOf(states[i]) ?? 1) === 1)
      .map((key) => escapedDollars(key.trim()));
    if (keys.length === 0 && !isKeyless) this.#notes.push(`${title}: it has no key`);
    if (keys.length === 0) return {};
    return keys.length === 1 ? { api_key: keys[0] } : { api_keys: keys };
  }

  #overrides(channel: Fields, title: string): Fields {
    for (const column of notedColumns)
      if (trimmedOrNull(channel[column]) !== null && trimmedOrNull(channel[column]) !== "{}")
        this.#notes.push(`${title}: ${column} has no counterpart`);
    const { proxy, ...others } = jsonOf(channel["setting"]);
    for (const [name, value] of Object.entries(others))
      if (value !== false && value !== "" && value !== null)
        this.#notes.push(`${title}: setting ${name} has no counterpart`);
    const organization = trimmedOrNull(channel["open_ai_organization"]);
    const headers: Record<string, string> =
      organization === null ? {} : { "OpenAI-Organization": escapedDollars(organization) };
    for (const [name, value] of Object.entries(jsonOf(channel["header_override"])))
      if (typeof value === "string" && !value.includes("{")) headers[name] = escapedDollars(value);
      else this.#notes.push(`${title}: header_override ${name} has no counterpart`);
    const { operations, ...fields } = jsonOf(channel["param_override"]);
    if (operations !== undefined)
      this.#notes.push(`${title}: operations of param_override: see per_model of the provider`);
    const outbound = trimmedOrNull(proxy);
    return {
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(outbound === null ? {} : { proxy: escapedDollars(outbound) }),
      ...(Object.keys(fields).length === 0 ? {} : { per_model: [{ models: ["*"], set: fields }] }),
    };
  }

  /** Prices a model that the price list lacks: a ratio of 1 is one unit of quota a token. */
  #price(target: string, names: readonly string[]): void {
    const ratios = jsonOf(optionOf(this.#tables, "ModelRatio"));
    const completion = jsonOf(optionOf(this.#tables, "CompletionRatio"));
    const name = names.find((candidate) => typeof ratios[candidate] === "number");
    if (name === undefined) return;
    const perToken = (ratios[name] as number) / quotasOf(this.#tables).perDollar;
    const factor = completion[name];
    if (typeof factor !== "number")
      this.#notes.push(`prices of ${target}: its output costs as its input: no CompletionRatio`);
    const output = perToken * (typeof factor === "number" ? factor : 1);
    this.#prices[target] = { input: perMillion(perToken), output: perMillion(output) };
  }

  /** `virtual_models` and `aliases`. */
  #modelNames(): Fields {
    const virtual: Record<string, unknown> = {};
    const aliases: Record<string, string> = {};
    for (const [name, deployments] of this.#models) {
      const ordered = deployments.toSorted((a, b) => b.priority - a.priority);
      const [first] = ordered as [Deployment];
      if (ordered.length === 1) {
        aliases[name] = first.target;
        continue;
      }
      const isFailover = ordered.at(-1)!.priority !== first.priority;
      const levels = new Set(ordered.map(({ priority }) => priority));
      if (isFailover && levels.size < ordered.length)
        this.#notes.push(`model ${name}: channels of one priority are tried in order, not in turn`);
      if (ordered.some(({ groups }) => groups !== first.groups))
        this.#notes.push(`model ${name}: its channels differ by group, and all callers have all`);
      const isWeighted = !isFailover && ordered.every(({ weight }) => weight > 0);
      virtual[name] = {
        strategy: isFailover ? "failover" : "round_robin",
        targets: ordered.map(({ target: model, weight }) => ({
          model,
          ...(isWeighted ? { weight: Math.min(1000, weight) } : {}),
        })),
      };
    }
    return {
      ...(Object.keys(virtual).length === 0 ? {} : { virtual_models: virtual }),
      ...(Object.keys(aliases).length === 0 ? {} : { aliases }),
    };
  }

  #noteOptions(): void {
    const unlisted: string[] = [];
    for (const { key, value } of this.#tables.options) {
      const name = trimmedOrNull(key) ?? "";
      const hint = optionHints[name];
      if (hint === undefined && !importedOptions.has(name)) unlisted.push(name);
      else if (hint !== undefined && !["", "0", "{}"].includes(String(value ?? "")))
        this.#notes.push(`option ${name}: ${hint}`);
    }
    for (const [group, ratio] of Object.entries(jsonOf(optionOf(this.#tables, "GroupRatio"))))
      if (ratio !== 1)
        this.#notes.push(
          `option GroupRatio: prices are the same for all; --keys divides the budgets of ${group} ` +
            `by ${String(ratio)}`,
        );
    if (unlisted.length > 0)
      this.#notes.push(`options without a counterpart: ${unlisted.join(", ")}`);
  }
}

function titleOf({ id, name }: Fields): string {
  return `channel ${String(id)} (${trimmedOrNull(name) ?? ""})`;
}

/** The name of a channel as that of a provider. */
function slugOf(value: unknown): string {
  const slug = (trimmedOrNull(value) ?? "").toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return slug.replace(/^-|-$/g, "").slice(0, 40) || "custom";
}
