/**
 * What the audit log says of the daemon's other settings, which a start compares with those of the
 * start before. Rules and budgets are described in `describe-change.ts`. No entry has a secret.
 *
 * `settings`: "configuration" → [[name, value as JSON, mark], …]; the mark shows that a secret
 * changed.
 */
import { parseJson } from "../../shared/checked.js";
import type { Config } from "../../shared/config/config.js";
import type { Change, Store } from "../store/store.js";
import type { Audited } from "./audit-log.js";

/** A setting, or an entry of a list, of which the daemon uses a part. */
export interface ShownSetting {
  readonly name: string;
  /** Without secrets. */
  readonly value: unknown;
  /** Changes with its secrets, too; empty if it has none. */
  readonly mark: string;
}

const sections = /^(?:limiter|usage|audit|cluster|rate_limits|budgets|waiting)\.|^log_level$/;

/** Names are unique. `markOf`: a short digest of a secret, of which many secrets have the same. */
export function shownSettings(
  config: Config,
  markOf: (secret: string) => string,
): readonly ShownSetting[] {
  const { settings, cluster, alerts, providers, mcpServers, virtualModels, aliases } = config;
  return [
    ...settings
      .filter(({ path }) => sections.test(path))
      .map(({ path, value, unit }) => ({
        name: `setting ${path}`,
        value: unit === null ? value : `${value} ${unit}`,
        mark: path === "cluster.password" ? markOf(cluster?.credentials.password ?? "") : "",
      })),
    ...alerts.map(({ id, url, at, forecast, rateLimits, format, secret }) => ({
      name: `alert ${id}`,
      value: { url: new URL(url).origin, at, forecast, rate_limits: rateLimits, format },
      mark: markOf(JSON.stringify([url, secret])),
    })),
    ...providers.map(({ name, type, models, upstreamLimits }) => ({
      name: `provider ${name}`,
      value: { type, models, upstream_limits: upstreamLimits },
      mark: "",
    })),
    ...mcpServers.map(({ name, models }) => ({
      name: `mcp server ${name}`,
      value: { models },
      mark: "",
    })),
    ...virtualModels.map(({ source, strategy, targets }) => ({
      name: `virtual model ${source}`,
      value: { strategy, targets },
      mark: "",
    })),
    ...aliases.map(({ name, to: { kind: _, ...to } }) => ({
      name: `alias ${name}`,
      value: to,
      mark: "",
    })),
  ];
}

const configurationKey = "configuration";

export function isConfigurationKey(key: string | number): boolean {
  return key === configurationKey;
}

/** Name, value as JSON and mark of each. */
type Stored = readonly (readonly [name: string, value: string, mark: string])[];

/** Null for what no start has written. */
export function settingsFromStored(value: readonly unknown[]): Stored | null {
  const isEntry = (entry: unknown): boolean =>
    Array.isArray(entry) &&
    entry.length === 3 &&
    entry.every((part) => typeof part === "string") &&
    parseJson(entry[1] as string) !== undefined;
  return value.every(isEntry) ? (value as Stored) : null;
}

/**
 * Nothing is recorded at a store's first start, which has nothing to compare with, or if `shown` is
 * null.
 */
export function describeSettings(
  store: Pick<Store, "get">,
  shown: readonly ShownSetting[] | null,
): { readonly audited: readonly Audited[]; readonly changes: readonly Change[] } {
  if (shown === null) return { audited: [], changes: [] };
  const now: Stored = shown.map(({ name, value, mark }) => [name, JSON.stringify(value), mark]);
  const value = store.get("settings", configurationKey);
  const before = value === undefined ? null : settingsFromStored(value);
  const changes: Change[] =
    JSON.stringify(before) === JSON.stringify(now)
      ? []
      : [{ table: "settings", key: configurationKey, value: now }];
  return { audited: before === null ? [] : differences(before, now), changes };
}

function differences(before: Stored, now: Stored): readonly Audited[] {
  const were = new Map(before.map(([name, ...rest]) => [name, rest] as const));
  const changed = now.flatMap(([name, value, mark]): Audited[] => {
    const [was = null, oldMark = ""] = were.get(name) ?? [];
    were.delete(name);
    if (was === value && oldMark === mark) return [];
    const after: unknown = JSON.parse(value);
    return [
      {
        subject: name,
        before: was === null ? null : JSON.parse(was),
        after: was === value ? { ...asObject(after), secret: "changed" } : after,
      },
    ];
  });
  const removed = [...were].map(
    ([name, [was]]): Audited => ({ subject: name, before: JSON.parse(was), after: null }),
  );
  return [...changed, ...removed];
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null ? value : { value };
}
