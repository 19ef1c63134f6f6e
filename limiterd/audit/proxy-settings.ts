/**
 * What the audit log says of the settings that only proxies use. Each proxy reports them when it
 * starts; what differs from the report before is recorded once, and a proxy that started earlier
 * changes nothing.
 *
 * `settings`: "configuration of proxies" → [boot, when the proxy started in ms since then,
 * [[name, value as JSON, mark], …]].
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
  /** The newest report; undefined until it is read, null if there was none. */
  #last: ReportedSettings | null | undefined;

  /** `boot` differs after each boot of the host. */
  constructor(store: Pick<Store, "get">, boot: string) {
    this.#store = store;
    this.#boot = boot;
  }

  /** Nothing is recorded at the first report, which has nothing to compare with. */
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

/** A setting that a flag replaces in the reporting proxy keeps the value of the report before. */
function withUnreported(settings: MarkedSettings, before: MarkedSettings): MarkedSettings {
  const were = new Map(before.map((entry) => [entry[0], entry] as const));
  return settings.flatMap((entry) => {
    if (entry[1] !== "null") return [entry];
    const kept = were.get(entry[0]);
    return kept === undefined ? [] : [kept];
  });
}

/** Without the entries of which the other list says only how many there are. */
function comparable(list: MarkedSettings, other: MarkedSettings): MarkedSettings {
  const counted = [...list, ...other].flatMap(([name]) =>
    name.startsWith(everyPrefix) ? [`${name.slice(everyPrefix.length)} `] : [],
  );
  return list.filter(([name]) => !counted.some((start) => name.startsWith(start)));
}
