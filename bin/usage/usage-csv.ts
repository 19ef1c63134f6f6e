/**
 * Usage records as CSV by RFC 4180: a header, commas, CRLF, quotes where they are needed; UTF-8
 * without a byte order mark. Pure.
 *
 * A spreadsheet treats a text that begins with `=`, `+`, `-` or `@` as a formula, in quotes or not,
 * and callers choose the names of models and keys: so such a text gets an apostrophe before it. A
 * text that begins with an apostrophe gets another, so that removing one apostrophe from each text
 * restores what was recorded.
 */
import { assert } from "../../shared/assert.js";
import { picoFromUsd, usdText } from "../../shared/domain/money.js";
import {
  type ExportedRecord,
  type ExportedValue,
  type FieldKind,
  recordFields,
} from "./exported-record.js";

export const csvHeader = line(recordFields.map(([name]) => name));

/** The line of a record, with CRLF. Money is in US dollars, exact, and empty if unpriced. */
export function csvLine(record: ExportedRecord): string {
  return line(recordFields.map(([name, kind]) => cell(record[name], kind)));
}

function line(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

function cell(value: ExportedValue, kind: FieldKind): string {
  if (value === null || value === undefined) return "";
  if (kind === "usd") return usdOf(value);
  if (Array.isArray(value)) return value.length === 0 ? "" : quoted(JSON.stringify(value));
  return typeof value === "string" ? quoted(withoutFormula(value)) : String(value);
}

function usdOf(value: unknown): string {
  const pico = picoFromUsd(value);
  assert(pico !== null, "a checked record's money is an amount");
  return usdText(pico);
}

/** Some spreadsheets turn the full-width characters into the plain ones. */
function withoutFormula(text: string): string {
  return /^\s*['=+\-@＝＋－＠]/.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
