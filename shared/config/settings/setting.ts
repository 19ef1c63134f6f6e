/**
 * The rows of the tables of settings. A scalar setting has one path in the file, and may have a
 * variable and a flag; a field belongs to an entry that the file may repeat, such as a provider.
 * `docs/reference/configuration.md` is checked against the tables.
 */
import type { ValueKind } from "../kinds/value-kind.js";

/** The settings that the command line may override, with their values as commander parses them. */
export interface Flags {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly socket?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly logLevel?: string | undefined;
}

/** A flag as it is typed: `--data-dir`. */
export function flagName(flag: keyof Flags): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The part that settings and fields have in common. */
interface Row<T> {
  readonly kind: ValueKind<T>;
  /** A value for the example file, in YAML, where the default can't be shown. */
  readonly example?: string;
  /** One sentence, or two. */
  readonly meaning: string;
}

interface SettingRow<T> extends Row<T> {
  /** Its path in `sluice.yaml`. */
  readonly path: string;
  readonly env?: string;
  readonly flag?: keyof Flags;
  /** The default, as the kind stores it (seconds are stored as milliseconds). */
  readonly defaultValue: T;
  /** The default in words, where the value doesn't say it. */
  readonly defaultText?: string;
}

export interface Setting<T> extends Omit<SettingRow<T>, "env" | "flag"> {
  readonly env: string | null;
  readonly flag: keyof Flags | null;
  /** The default as the documentation shows it, in `unit`. */
  readonly defaultText: string;
  readonly unit: string | null;
}

/** Infers the type of a setting's value from its row. */
export function setting<T>(row: SettingRow<T>): Setting<T> {
  const defaultText = textOfDefault(row);
  return { env: null, flag: null, unit: row.kind.unit ?? null, ...row, defaultText };
}

/** The default as written in the file; `none` for null and for an empty list. */
function textOfDefault<T>({ defaultText, defaultValue, kind }: SettingRow<T>): string {
  if (defaultText !== undefined) return defaultText;
  if (defaultValue === null || (Array.isArray(defaultValue) && defaultValue.length === 0))
    return "none";
  return String(
    kind.unit === "seconds" && typeof defaultValue === "number"
      ? defaultValue / 1000
      : defaultValue,
  );
}

/** The checked values of a table of settings. */
export type SettingValuesOf<
  Table extends Readonly<Record<string, { readonly defaultValue: unknown }>>,
> = {
  readonly [K in keyof Table]: Table[K]["defaultValue"];
};

/** A field of an entry in the file; without a default it is required or null. */
export interface Field<T> extends Row<T> {
  /** The default for the documentation; null if the field is required. */
  readonly defaultText: string | null;
}

/** A list of entries within an entry, each with a table of fields of its own. */
export interface EntryList {
  readonly entriesMax: number;
  readonly meaning: string;
}

/** Infers the type of a field's value from its row. */
export function field<T>(row: Field<T>): Field<T> {
  return row;
}

/** The checked fields of an entry, by a table of them; null for those that the file leaves out. */
export type FieldValues<Table extends Readonly<Record<string, Field<unknown>>>> = {
  readonly [K in keyof Table]: (Table[K] extends Field<infer T> ? T : never) | null;
};
