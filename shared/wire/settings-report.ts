/**
 * The settings that a proxy uses, for the audit log: the proxy reports them once, when it serves
 * requests (`configuration.report`). `proxy/limiter/shown-settings.ts` makes them from a
 * configuration.
 */
import { bad, type Checked, good, isCount, isObject, parseJson } from "../checked.js";

/** A setting, or an entry of a list. */
export interface ShownSetting {
  readonly name: string;
  /**
   * Without secrets. In a report, null if a flag of this process replaces the configuration's
   * value, which is then unknown.
   */
  readonly value: unknown;
  /** Changes with its secrets, too; empty if it has none. */
  readonly mark: string;
}

/** Name, value as JSON and mark of each. */
export type MarkedSettings = readonly (readonly [name: string, value: string, mark: string])[];

export function toMarkedSettings(settings: readonly ShownSetting[]): MarkedSettings {
  return settings.map(({ name, value, mark }) => [name, JSON.stringify(value), mark]);
}

/** Null for a value that `toMarkedSettings` can't have made. */
export function markedSettings(value: readonly unknown[]): MarkedSettings | null {
  const isEntry = (entry: unknown): boolean =>
    Array.isArray(entry) &&
    entry.length === 3 &&
    entry.every((part) => typeof part === "string") &&
    parseJson(entry[1] as string) !== undefined;
  return value.every(isEntry) ? (value as MarkedSettings) : null;
}

/** The name of the one entry in place of all entries of a kind, if there are too many to report. */
export const everyPrefix = "every ";

/** UTF-8 bytes of all settings of a report: it fits into one frame. */
export const reportedSettingsBytesMax = 40 * 1024;
const fileCharsMax = 4_096;

export interface SettingsReport {
  /** When the proxy began to start, in ms since the host's boot: the newest report counts. */
  readonly startedUpMs: number;
  /** The configuration's file; null without one. */
  readonly file: string | null;
  /** Unique by name. */
  readonly settings: MarkedSettings;
}

/** The body: {started_up_ms, file, settings}. */
export function parseSettingsReport(body: unknown): Checked<SettingsReport> {
  const { started_up_ms: startedUpMs, file, settings } = isObject(body) ? body : {};
  if (!isCount(startedUpMs)) return bad("started_up_ms must be a number", "started_up_ms");
  if (file !== null && !(typeof file === "string" && file.length <= fileCharsMax))
    return bad("file must be a path or null", "file");
  const marked = Array.isArray(settings) ? markedSettings(settings) : null;
  if (marked === null)
    return bad("settings must be a list of names, values as JSON and marks", "settings");
  if (new Set(marked.map(([name]) => name)).size < marked.length)
    return bad("settings must have unique names", "settings");
  return good({ startedUpMs, file, settings: marked });
}
