/**
 * The rows of the tables of settings. A scalar setting has one path in the file, and may have a
 * variable and a flag; a field belongs to an entry that the file may repeat, such as a provider.
 * `docs/configuration.md` is checked against the tables.
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

export interface Setting<T> {
  /** Its path in `sluice.yaml`. */
  readonly path: string;
  readonly env: string | null;
  readonly flag: keyof Flags | null;
  readonly kind: ValueKind<T>;
  /** The default, as the kind stores it (seconds are stored as milliseconds). */
  readonly defaultValue: T;
  /** The default as the documentation shows it, in `unit`. */
  readonly defaultText: string;
  readonly unit: string | null;
  /** One sentence. */
  readonly meaning: string;
}

/** Infers the type of a setting's value from its row. */
export function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}

/** A field of an entry in the file; without a default it is required or null. */
export interface Field<T> {
  readonly kind: ValueKind<T>;
  /** What applies without it, as the documentation shows it; null: the field is required. */
  readonly defaultText: string | null;
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
