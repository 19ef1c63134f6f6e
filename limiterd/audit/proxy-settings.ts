/**
 * Records in the audit log how the settings change that only proxies use. Each proxy reports them
 * when it starts. Differences from the last report are recorded once; the report of a proxy that
 * started before the last reporting one is ignored.
 *
 * `settings`: "configuration of proxies" → [boot, when the proxy started in ms since then, [[name,
 * value as JSON, mark], …]].
 */
import { isCount } from "../../shared/checked.js";
import {
  everyPrefix,
  type MarkedSettings,
  markedSettings,
  type SettingsReport,
} from "../../shared/wire/settings-report.js";
import type { Change, Store } from "../store/store.js";
import type { AuditedChange } from "./audit-log.js";
import { differences } from "./describe-settings.js";

const proxySettingsKey = "configuration of proxies";

export function isProxySettingsKey(key: string | number): boolean {
  return key === proxySettingsKey;
}

interface ReportedSettings {
  readonly boot: string;
  readonly startedUpMs: number;
  readonly settings: MarkedSettings;
}

/** Null for what no report has written. */
export function proxySettingsFromStored(value: readonly unknown[]): ReportedSettings | null {
  const [boot, startedUpMs, list] = value;
  const settings = Array.isArray(list) ? markedSettings(list) : null;
  return typeof boot === "string" && isCount(startedUpMs) && settings !== null
    ? { boot, startedUpMs, settings }
    : null;
}

export class ProxySettings {
  readonly #store: Pick<Store, "get">;
  readonly #boot: string;
  /** The last report; undefined until it is read from the store, null if there is none. */
  #last: ReportedSettings | null | undefined;

  /** `boot` differs after each boot of the host. */
  constructor(store: Pick<Store, "get">, boot: string) {
    this.#store = store;
    this.#boot = boot;
  }

  /** Compares a report with the last one. The first report is only stored. */
  report({ startedUpMs, settings }: SettingsReport): {
    readonly auditedChanges: readonly AuditedChange[];
    readonly changes: readonly Change[];
  } {
    const boot = this.#boot;
    this.#last ??= this.#stored();
    const last = this.#last;
    if (last !== null && last.boot === boot && startedUpMs < last.startedUpMs)
      return { auditedChanges: [], changes: [] };
    const now = withUnreported(settings, last?.settings ?? []);
    this.#last = { boot, startedUpMs, settings: now };
    if (last !== null && JSON.stringify(last.settings) === JSON.stringify(now))
      return { auditedChanges: [], changes: [] };
    return {
      auditedChanges:
        last === null
          ? []
          : differences(comparable(last.settings, now), comparable(now, last.settings)),
      changes: [{ table: "settings", key: proxySettingsKey, value: [boot, startedUpMs, now] }],
    };
  }

  #stored(): ReportedSettings | null {
    const value = this.#store.get("settings", proxySettingsKey);
    return value === undefined ? null : proxySettingsFromStored(value);
  }
}

/**
 * If a flag overrides a setting in the reporting proxy, the setting keeps the value of the last
 * report.
 */
function withUnreported(settings: MarkedSettings, before: MarkedSettings): MarkedSettings {
  const formerEntries = new Map(before.map((entry) => [entry[0], entry] as const));
  return settings.flatMap((entry) => {
    if (entry[1] !== "null") return [entry];
    const kept = formerEntries.get(entry[0]);
    return kept === undefined ? [] : [kept];
  });
}

/** Leaves out the entries of lists for which the other report only has a count. */
function comparable(list: MarkedSettings, other: MarkedSettings): MarkedSettings {
  const counted = [...list, ...other].flatMap(([name]) =>
    name.startsWith(everyPrefix) ? [`${name.slice(everyPrefix.length)} `] : [],
  );
  return list.filter(([name]) => !counted.some((start) => name.startsWith(start)));
}
