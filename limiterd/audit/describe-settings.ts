/**
 * What the audit log says of the daemon's other settings, which a start compares with those of the
 * start before. Rules and budgets are described in `describe-change.ts`, the settings of proxies in
 * `proxy-settings.ts`. No entry has a secret.
 *
 * `settings`: "configuration" → [[name, value as JSON, mark], …]; the mark shows that a secret
 * changed.
 */
import type { Config } from "../../shared/config/config.js";
import { isDaemonSetting } from "../../shared/config/daemon-config.js";
import { secretMark } from "../../shared/secret-mark.js";
import {
  type MarkedSettings,
  markedSettings,
  type ShownSetting,
  toMarkedSettings,
} from "../../shared/wire/settings-report.js";
import type { Change, Store } from "../store/store.js";
import type { AuditedChange } from "./audit-log.js";

/** Names are unique. */
export function shownSettings(config: Config): readonly ShownSetting[] {
  const { settings, cluster, alerts } = config;
  return [
    ...settings
      .filter(({ path }) => isDaemonSetting(path))
      .map(({ path, value, unit }) => ({
        name: `setting ${path}`,
        value: unit === null ? value : `${value} ${unit}`,
        mark: path === "cluster.password" ? secretMark(cluster?.credentials.password ?? "") : "",
      })),
    ...alerts.map(({ id, url, at, forecast, rateLimits, format, secret }) => ({
      name: `alert ${id}`,
      value: { url: new URL(url).origin, at, forecast, rate_limits: rateLimits, format },
      mark: secretMark(JSON.stringify([url, secret])),
    })),
  ];
}

const configurationKey = "configuration";

export function isConfigurationKey(key: string | number): boolean {
  return key === configurationKey;
}

/**
 * Nothing is recorded at a store's first start, which has nothing to compare with, or if `shown` is
 * null.
 */
export function describeSettings(
  store: Pick<Store, "get">,
  shown: readonly ShownSetting[] | null,
): { readonly auditedChanges: readonly AuditedChange[]; readonly changes: readonly Change[] } {
  if (shown === null) return { auditedChanges: [], changes: [] };
  const now = toMarkedSettings(shown);
  const value = store.get("settings", configurationKey);
  const before = value === undefined ? null : markedSettings(value);
  const changes: Change[] =
    JSON.stringify(before) === JSON.stringify(now)
      ? []
      : [{ table: "settings", key: configurationKey, value: now }];
  return { auditedChanges: before === null ? [] : differences(before, now), changes };
}

/** One entry for each setting that differs. */
export function differences(before: MarkedSettings, now: MarkedSettings): readonly AuditedChange[] {
  const were = new Map(before.map(([name, ...rest]) => [name, rest] as const));
  const changed = now.flatMap(([name, value, mark]): AuditedChange[] => {
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
    ([name, [was]]): AuditedChange => ({ subject: name, before: JSON.parse(was), after: null }),
  );
  return [...changed, ...removed];
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null ? value : { value };
}
