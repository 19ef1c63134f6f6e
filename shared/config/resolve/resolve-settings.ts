/**
 * The value of each scalar setting: a flag overrides the environment, the environment overrides the
 * file, the file overrides the default (docs/reference/configuration.md).
 */
import { isAbsent } from "../../checked.js";
import type { DerivedPath, EffectiveSetting } from "../config.js";
import { type Environment, variable } from "../environment.js";
import { kindProblem, never, withUnit } from "../kinds/value-kind.js";
import type { Problems } from "../problems.js";
import { type Flags, flagName, type Setting } from "../settings/setting.js";
import { type SettingValues, settings } from "../settings/settings.js";

export interface SettingSources {
  readonly flags: Flags;
  readonly env: Environment;
  /** Raw values by their paths in the file. */
  readonly file: ReadonlyMap<string, unknown>;
}

interface PlacedSources extends SettingSources {
  /** The bases of relative paths: of flags and variables, and of the file. */
  readonly cwd: string;
  readonly fileDirectory: string;
}

/** A source that sets a setting, under the `name` that messages use. */
interface GivenValue {
  readonly name: string;
  readonly place: keyof Problems;
  readonly raw: unknown;
}

/**
 * Resolves every setting; paths are absolute. A wrong value is a problem even if a stronger source
 * overrides it.
 */
export function resolveSettings(sources: PlacedSources, problems: Problems): SettingValues {
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries<Setting<unknown>>(settings)) {
    let value: unknown;
    for (const { name, place, raw } of givenFor(setting, sources)) {
      const parsed = setting.kind.parse(raw);
      if (parsed === undefined) problems[place].push(kindProblem(setting.kind, name, raw));
      value ??=
        setting.kind.isPath && typeof parsed === "string"
          ? absolutePath(parsed, place === "file" ? sources.fileDirectory : sources.cwd)
          : parsed;
    }
    values[key] = value ?? setting.defaultValue;
  }
  // The table gave both the keys and the types.
  const all = values as SettingValues;
  return {
    ...all,
    ...keyOrFile(all, ["masterKey", "masterKeyFile"], sources, problems),
    ...keyOrFile(all, ["metricsToken", "metricsTokenFile"], sources, problems),
    ...keyOrFile(all, ["tracingHeaders", "tracingHeadersFile"], sources, problems),
    ...keyOrFile(all, ["clusterPassword", "clusterPasswordFile"], sources, problems),
    ...keyOrFile(all, ["searchKey", "searchKeyFile"], sources, problems),
  };
}

/**
 * Allows either a key or its file; the environment overrides the configuration. Returns the values
 * to change.
 */
function keyOrFile(
  values: SettingValues,
  [keyName, fileName]:
    | readonly ["masterKey", "masterKeyFile"]
    | readonly ["metricsToken", "metricsTokenFile"]
    | readonly ["tracingHeaders", "tracingHeadersFile"]
    | readonly ["clusterPassword", "clusterPasswordFile"]
    | readonly ["searchKey", "searchKeyFile"],
  sources: SettingSources,
  problems: Problems,
): Partial<SettingValues> {
  if (values[keyName] === null || values[fileName] === null) return {};
  const key = decidedBy(settings[keyName], sources);
  const file = decidedBy(settings[fileName], sources);
  if (key.place === file.place)
    problems[key.place].push(`${key.name} and ${file.name} are both set: keep one of them`);
  return key.place === "file" ? { [keyName]: null } : { [fileName]: null };
}

/** The values of one table. */
export function valuesOf<Table extends Partial<typeof settings>>(
  table: Table,
  values: SettingValues,
): Pick<SettingValues, keyof Table & keyof SettingValues> {
  const names = Object.keys(table) as (keyof SettingValues)[];
  return Object.fromEntries(names.map((name) => [name, values[name]])) as Pick<
    SettingValues,
    keyof Table & keyof SettingValues
  >;
}

/** The effective paths, whose defaults depend on the user and on other settings. */
type DerivedPaths = Readonly<Record<DerivedPath, string>>;

/**
 * Each setting in force and its source. For a secret, which messages must not quote, only whether
 * it is set. The sources have no problems.
 */
export function describeSettings(
  sources: SettingSources,
  { socket, adminSocket, dataDir, spoolDir }: DerivedPaths,
): readonly EffectiveSetting[] {
  const derived = new Map(Object.entries({ socket, adminSocket, dataDir, spoolDir }));
  return Object.entries<Setting<unknown>>(settings).map(([key, setting]) => {
    const { path, meaning, kind, defaultText } = setting;
    const source = givenFor(setting, sources).find(({ raw }) => !isAbsent(kind.parse(raw)));
    const isSecret = kind.quotable === never;
    const byDefault = derived.get(key) ?? defaultText;
    const quotedValue =
      source === undefined ? byDefault : kind.quotable(source.raw) ? textOfRaw(source.raw) : "set";
    const value = isSecret ? (source === undefined ? "not set" : "set") : quotedValue;
    return {
      path,
      value,
      source: source === undefined ? "default" : sourceNames[source.place],
      name: source === undefined || source.place === "file" ? null : source.name,
      unit: withUnit(value, kind) === value ? null : setting.unit,
      secret: isSecret,
      meaning,
    };
  });
}

const sourceNames = { flags: "flag", environment: "variable", file: "file" } as const;

function textOfRaw(raw: unknown): string {
  if (typeof raw === "string") return raw.trim();
  return Array.isArray(raw) ? raw.map(textOfRaw).join(", ") : JSON.stringify(raw);
}

/** The sources that set a setting, strongest first. A blank variable or key sets none. */
function givenFor(
  setting: Pick<Setting<unknown>, "path" | "env" | "flag">,
  { flags, env, file }: SettingSources,
): readonly GivenValue[] {
  const values: GivenValue[] = [];
  const flag = setting.flag === null ? undefined : flags[setting.flag];
  if (setting.flag !== null && flag !== undefined)
    values.push({ name: flagName(setting.flag), place: "flags", raw: flag });
  const text = setting.env === null ? null : variable(env, setting.env);
  if (setting.env !== null && text !== null)
    values.push({ name: setting.env, place: "environment", raw: text });
  const raw = file.get(setting.path);
  if (!isAbsent(raw)) values.push({ name: setting.path, place: "file", raw });
  return values;
}

/**
 * The source of a setting's value, for messages; the setting's path if the value is the default.
 */
export function decidedBy(
  setting: Pick<Setting<unknown>, "path" | "env" | "flag">,
  sources: SettingSources,
): Omit<GivenValue, "raw"> {
  return givenFor(setting, sources)[0] ?? { name: setting.path, place: "file" };
}

/** The directory of a file with an absolute path. */
export function directoryOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

/** A path of the configuration; a relative one starts from `directory`. */
export function absolutePath(path: string, directory: string): string {
  if (path.startsWith("/")) return path;
  return `${directory.replace(/\/+$/, "")}/${path.replace(/^(?:\.\/+)+/, "")}`;
}
