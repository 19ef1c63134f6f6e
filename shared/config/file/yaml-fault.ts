/** What can be wrong with a YAML text, as messages for people with line and column. */
import type { Position } from "../problems.js";

export interface Fault {
  /** The offset of the character. */
  readonly at: number;
  readonly what: string;
}

/** Ends the parsing: what follows the fault can't be read. */
export class FatalFault extends Error {
  override name = "FatalFault";
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.what);
    this.fault = fault;
  }
}

export const tagFault = "a tag can't be used (a value that begins with ! must be in quotes)";

export function aliasFault(what: string): string {
  return `${what} (a value that begins with * must be in quotes)`;
}

/**
 * The parser's reason in plain words. It quotes no value: one that begins with `!`, `*` or `|` may
 * be a password that lacks its quotes.
 */
export function parserFault(reason: string): string {
  if (/\btags?\b/.test(reason)) return tagFault;
  if (/\balias\b/.test(reason)) return aliasFault("an alias without a name");
  if (/\btab\b/.test(reason)) return "tabs can't be used as indentation: use spaces";
  if (reason === "deficient indentation")
    return "too little indentation, or a [ or { that isn't closed";
  if (/\bcomma\b/.test(reason))
    return "a comma is missing, or a ${NAME} within { } or [ ] isn't in quotes";
  return reason.replace(/[:"(].*$/s, "").trim();
}

/** Where each of the offsets is, which ascend. */
export function positionsOf(text: string, offsets: readonly number[]): readonly Position[] {
  let line = 1;
  let lineStart = 0;
  return offsets.map((at) => {
    for (
      let end = text.indexOf("\n", lineStart);
      end !== -1 && end < at;
      end = text.indexOf("\n", lineStart)
    ) {
      line++;
      lineStart = end + 1;
    }
    return { line, column: at - lineStart + 1 };
  });
}

/** Faults as problems with line and column, in the order of the text. */
export function withPlaces(text: string, faults: readonly Fault[]): string[] {
  const sorted = [...faults].sort((a, b) => a.at - b.at);
  const positions = positionsOf(
    text,
    sorted.map(({ at }) => at),
  );
  return sorted.map(({ what }, i) => {
    const { line, column } = positions[i]!;
    return `line ${line}, column ${column}: ${what}`;
  });
}

/** The key that begins at an offset is there before. */
export function repeatedKey(text: string, at: number): Fault {
  const key = /^[^\s:,{}[\]]{1,60}/.exec(text.slice(at, at + 60))?.[0] ?? "";
  return { at, what: `the key ${key} appears twice` };
}
