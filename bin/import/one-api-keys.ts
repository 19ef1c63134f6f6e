/**
 * Reads the tokens and users of one-api and new-api, and says which keys and budgets they become
 * (docs/coming-from-litellm.md). Pure, but for the hash of a key.
 */
import { periodSecondsMax } from "../../shared/bounds.js";
import { hashKey } from "../../shared/domain/make-managed-key.js";
import { redactKey } from "../../shared/domain/managed-key.js";
import {
  type Fields,
  type ImportedKeys,
  type KeyToImport,
  segmentOf,
  trimmedOrNull,
} from "./imported-values.js";
import {
  enabledChannels,
  groupsOf,
  integerOf,
  isDeleted,
  namesOf,
  type OneApiTables,
  quotasOf,
} from "./one-api-tables.js";
import { isTrue } from "./table-rows.js";

/** The status of an enabled row, and below it that of a token whose quota is spent. */
const enabled = 1;
const exhausted = 4;
/** For a quota that is spent: it refuses everything, until someone raises it. */
const spentUsd = 0.000_001;

export function readOneApiKeys(tables: OneApiTables, nowMs: number): ImportedKeys {
  return new Reader(tables, nowMs).result();
}

class Reader {
  readonly #tables: OneApiTables;
  readonly #nowMs: number;
  readonly #notes: string[] = [];
  readonly #users: ReadonlyMap<number, Fields>;
  /** The paths that have their user's budget already. */
  readonly #budgeted = new Set<string>();
  readonly #paths = new Set<string>();

  constructor(tables: OneApiTables, nowMs: number) {
    this.#tables = tables;
    this.#nowMs = nowMs;
    this.#users = new Map(
      tables.users.filter((row) => !isDeleted(row)).map((row) => [integerOf(row["id"]) ?? 0, row]),
    );
  }

  result(): ImportedKeys {
    const keys = this.#tables.tokens.flatMap((token) => this.#key(token));
    if (keys.some(({ budgets }) => budgets.length > 0))
      this.#notes.push("quotas: a budget is what was left at the export; it never resets");
    return { keys, notes: this.#notes };
  }

  #key(token: Fields): readonly KeyToImport[] {
    if (isDeleted(token)) return [];
    const id = String(token["id"]);
    const title = `token ${id} (${trimmedOrNull(token["name"]) ?? ""})`;
    const leave = (why: string): readonly KeyToImport[] => {
      this.#notes.push(`${title}: ${why}: left out`);
      return [];
    };
    const status = integerOf(token["status"]);
    const expires = integerOf(token["expired_time"]) ?? -1;
    const user = this.#users.get(integerOf(token["user_id"]) ?? 0);
    const text = trimmedOrNull(token["key"]);
    if (text === null || text.includes("*")) return leave("its key isn't whole in the export");
    if (expires !== -1 && expires * 1000 <= this.#nowMs) return leave("it has expired");
    if (status !== enabled && status !== exhausted) return leave("it is off");
    if (user === undefined) return leave("its user isn't in the table users");
    if (integerOf(user["status"]) !== enabled) return leave("its user is off");
    if ((trimmedOrNull(token["subnet"]) ?? trimmedOrNull(token["allow_ips"])) !== null)
      this.#notes.push(`${title}: its addresses of clients have no counterpart`);
    const key = `sk-${text.replace(/^sk-/, "")}`;
    const userGroup = groupsOf(user)[0]!;
    const ownGroup = trimmedOrNull(token["group"]);
    const group = ownGroup === null || ownGroup === "auto" ? userGroup : ownGroup;
    const userPath = `/${segmentOf(userGroup)}/${uniqueName(user["username"], user["id"])}`;
    const path = this.#newPath(`${userPath}/${uniqueName(token["name"], id)}`, id);
    const models = this.#models(token, group, title);
    const name = trimmedOrNull(token["name"]);
    return [
      {
        hash: hashKey(key),
        redacted: redactKey(key),
        key: {
          user_path: path,
          ...(name === null ? {} : { name: name.slice(0, 60) }),
          ...(models.length === 0 ? {} : { models }),
          ...(expires === -1 ? {} : { expires_at: new Date(expires * 1000).toISOString() }),
        },
        rules: [],
        budgets: [
          ...this.#userBudget(user, userPath, userGroup),
          ...(isTrue(token["unlimited_quota"])
            ? []
            : [this.#budget(path, token["remain_quota"], group)]),
        ],
      },
    ];
  }

  #newPath(path: string, id: string): string {
    const uniquePath = this.#paths.has(path) ? `${path}-${id}` : path;
    this.#paths.add(uniquePath);
    return uniquePath;
  }

  /** One for all keys of a user. */
  #userBudget(user: Fields, path: string, group: string): readonly Fields[] {
    if (this.#budgeted.has(path)) return [];
    this.#budgeted.add(path);
    return [this.#budget(path, user["quota"], group)];
  }

  #budget(subject: string, quota: unknown, group: string): Fields {
    const { perDollar, ratioOf } = quotasOf(this.#tables);
    const usd = (integerOf(quota) ?? 0) / perDollar / ratioOf(group);
    if (usd <= 0)
      this.#notes.push(`${subject}: no quota is left: raise its budget of $${spentUsd.toFixed(6)}`);
    return {
      scope: "user_path",
      subject,
      budget_key: { period_seconds: periodSecondsMax },
      amount: usd <= 0 ? spentUsd : Number(usd.toFixed(6)),
    };
  }

  /** The models that a token and its group's channels allow; empty for any model. */
  #models(token: Fields, group: string, title: string): readonly string[] {
    const isLimited = "model_limits" in token ? isTrue(token["model_limits_enabled"]) : true;
    const tokenModels = isLimited ? namesOf(token["model_limits"] ?? token["models"]) : [];
    const channels = enabledChannels(this.#tables);
    const all = modelsOf(channels);
    const ofGroup = modelsOf(channels.filter((channel) => groupsOf(channel).includes(group)));
    if (ofGroup.size === all.size) return tokenModels;
    const allowedByBoth = tokenModels.filter((name) => ofGroup.has(name));
    if (tokenModels.length > 0 && allowedByBoth.length > 0) return allowedByBoth;
    if (tokenModels.length > 0 || ofGroup.size === 0)
      this.#notes.push(`${title}: its group ${group} has no channel of its models`);
    return tokenModels.length > 0 ? tokenModels : [...ofGroup];
  }
}

function modelsOf(channels: readonly Fields[]): ReadonlySet<string> {
  return new Set(channels.flatMap(({ models }) => namesOf(models)));
}

/** A name as a segment; with the id, where the name can't be written as one. */
function uniqueName(name: unknown, id: unknown): string {
  const text = trimmedOrNull(name) ?? "";
  const segment = segmentOf(text);
  return segment === text ? segment : `${segment}-${String(id)}`.replace(/^-+/, "");
}
