/**
 * Reads the export of a table: JSON, CSV as PostgreSQL's `COPY … WITH CSV HEADER` writes it, or
 * the tab-separated lines of `mysql --batch`. Pure.
 */
import { isObject } from "../../shared/checked.js";
import type { Fields } from "./imported-values.js";

/** Null if the text isn't an export of a table with this column. */
export function tableRows(text: string, column: string): readonly Fields[] | null {
  if (/^\s*[[{]/.test(text)) return jsonRows(text, column);
  const end = text.search(/\r?\n|$/);
  const head = text.slice(0, end).split("\t");
  const records = head.length > 1 ? tabRecords(text) : csvRecords(text);
  const [names, ...rows] = records.filter((record) => record.some((field) => field !== ""));
  if (names?.includes(column) !== true) return null;
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? ""])));
}

/** A boolean of SQLite, MySQL, PostgreSQL or JSON. */
export function isTrue(value: unknown): boolean {
  return (
    value === true || value === 1 || (typeof value === "string" && /^(?:t|true|1)$/.test(value))
  );
}

function jsonRows(text: string, column: string): readonly Fields[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const list = isObject(value) ? (value["keys"] ?? value["data"]) : value;
  if (!Array.isArray(list)) return null;
  const rows = (list as unknown[]).filter(isObject);
  return rows.every((row) => !(column in row)) && rows.length > 0 ? null : rows;
}

function csvRecords(text: string): readonly (readonly string[])[] {
  const records: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g,
  )) {
    records.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end !== ",") records.push([]);
  }
  return records;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", "0": "\0" };

function tabRecords(text: string): readonly (readonly string[])[] {
  return text
    .split(/\r?\n/)
    .map((line) =>
      line
        .split("\t")
        .map((field) =>
          field === "NULL"
            ? ""
            : field.replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? letter),
        ),
    );
}
