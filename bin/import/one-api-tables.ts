/** The tables of one-api and new-api that an import reads. Pure. */
import { isObject } from "../../shared/checked.js";
import { type Fields, objectOf, trimmedOrNull } from "./imported-values.js";

/** Each table with a column by which it is recognized. */
export const oneApiTables = {
  channels: "model_mapping",
  tokens: "remain_quota",
  users: "username",
  options: "value",
} as const;

export type OneApiTables = Readonly<Record<keyof typeof oneApiTables, readonly Fields[]>>;

/** Whether the tables are new-api's, whose channels have other types. */
export function areNewApis({ channels, tokens }: OneApiTables): boolean {
  return [...channels, ...tokens].some((row) => "channel_info" in row || "allow_ips" in row);
}

/** An integer; null for none. */
export function integerOf(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

/** The pieces of a list with commas. */
export function namesOf(value: unknown): readonly string[] {
  return [...new Set((trimmedOrNull(value) ?? "").split(",").map((name) => name.trim()))].filter(
    (name) => name !== "",
  );
}

/** JSON in a column; an empty object for none, or for other text. */
export function jsonOf(value: unknown): Fields {
  if (isObject(value)) return value;
  try {
    return objectOf(JSON.parse(trimmedOrNull(value) ?? "{}"));
  } catch {
    return {};
  }
}

/** new-api keeps deleted rows. */
export function isDeleted({ deleted_at: deletedAt }: Fields): boolean {
  return trimmedOrNull(deletedAt) !== null;
}

/** The channels that are on, with the groups whose users may use them. */
export function enabledChannels({ channels }: OneApiTables): readonly Fields[] {
  return channels.filter(({ status }) => integerOf(status) === 1);
}

export function groupsOf({ group }: Fields): readonly string[] {
  const names = namesOf(group);
  return names.length === 0 ? ["default"] : names;
}

interface Quotas {
  /** What a dollar is in these programs' unit. */
  readonly perDollar: number;
  /** The factor of a group's prices. */
  ratioOf(group: string): number;
}

/** An option by its name; null for none. */
export function optionOf({ options }: OneApiTables, name: string): unknown {
  return options.find(({ key }) => key === name)?.["value"] ?? null;
}

export function quotasOf(tables: OneApiTables): Quotas {
  const perDollar = Number(optionOf(tables, "QuotaPerUnit") ?? 500_000);
  const ratios = jsonOf(optionOf(tables, "GroupRatio"));
  return {
    perDollar: perDollar > 0 ? perDollar : 500_000,
    ratioOf: (group) => {
      const ratio = Number(ratios[group] ?? 1);
      return ratio > 0 ? ratio : 1;
    },
  };
}
