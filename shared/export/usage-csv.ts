/** Usage records as CSV: a header, and a line for each. Pure. */
import { assert } from "../assert.js";
import { signedPicoFromUsd, usdText } from "../domain/money.js";
import { lineOfCells, quotedCell, textCell } from "./csv-line.js";
import {
  type ExportedRecord,
  type ExportedValue,
  type FieldKind,
  recordFields,
} from "./exported-record.js";

export const csvHeader = lineOfCells(recordFields.map(([name]) => name));

/** The line of a record, with CRLF. Money is in US dollars, exact, and empty if unpriced. */
export function csvLine(record: ExportedRecord): string {
  return lineOfCells(recordFields.map(([name, kind]) => cell(record[name], kind)));
}

function cell(value: ExportedValue, kind: FieldKind): string {
  if (value === null || value === undefined) return "";
  if (kind === "usd") return usdOf(value);
  if (Array.isArray(value)) return value.length === 0 ? "" : quotedCell(JSON.stringify(value));
  return typeof value === "string" ? textCell(value) : String(value);
}

function usdOf(value: unknown): string {
  const pico = signedPicoFromUsd(value);
  assert(pico !== null, "a checked record's money is an amount");
  return usdText(pico);
}
