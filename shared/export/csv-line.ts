/**
 * CSV by RFC 4180: commas, CRLF, quotes where they are needed; UTF-8 without a byte order mark.
 * Pure.
 *
 * A spreadsheet treats a text that begins with `=`, `+`, `-` or `@` as a formula, even in quotes,
 * and callers choose the names of models and keys. So such a text gets an apostrophe before it. A
 * text that begins with an apostrophe gets another one, so that removing one apostrophe restores
 * the recorded text.
 */

/** Cells as `textCell` and the like have made them, with CRLF. */
export function lineOfCells(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

export function textCell(text: string): string {
  return quotedCell(withoutFormula(text));
}

/**
 * An apostrophe before a text that could be a formula. Some spreadsheets convert full-width
 * characters to plain ones.
 */
function withoutFormula(text: string): string {
  return /^\s*['=+\-@＝＋－＠]/.test(text) ? `'${text}` : text;
}

/** For a text that can't begin as a formula does. */
export function quotedCell(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
