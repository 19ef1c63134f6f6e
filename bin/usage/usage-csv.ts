/**
 * Usage records as CSV by RFC 4180: a header, commas, CRLF, quotes where they are needed; UTF-8
 * without a byte order mark. Pure.
 *
 * A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula, in quotes or not,
 * and a caller chooses the names of models and keys: so such a text gets an apostrophe before it.
 * One that begins with an apostrophe gets another, so that whoever takes one apostrophe off each
 * text has what was recorded.
 */
import { assert } from "../../shared/assert.js";
import { picoFromUsd, usdText } from "../../shared/domain/money.js";
import { type FieldKind, recordFields, type UsageRecord } from "./usage-record.js";

export const csvHeader = line(recordFields.map(([name]) => name));

/**
 * One record's line, its CRLF included. Money is in US dollars to the last digit, empty when
 * unpriced.
 */
export function csvLine(record: UsageRecord): string {
  return line(recordFields.map(([name, kind]) => cell(record[name], kind)));
}

function line(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

function cell(value: string | number | boolean | null, kind: FieldKind): string {
  if (value === null) return "";
  if (kind === "usd") return usdOf(value);
  return kind === "text" || kind === "text or null"
    ? quoted(defused(String(value)))
    : String(value);
}

function usdOf(value: unknown): string {
  const pico = picoFromUsd(value);
  assert(pico !== null, "a checked record's money is an amount");
  return usdText(pico);
}

/** The full-width forms are what some spreadsheets turn into the plain ones. */
function defused(text: string): string {
  return /^\s*['=+\-@＝＋－＠]/.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
