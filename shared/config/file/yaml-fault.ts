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
 * The parser's reason in plain words, told from what stands where it gave up. It quotes no value:
 * one that begins with `!`, `*` or `|` may be a password that lacks its quotes.
 */
export function parserFault(reason: string, text: string, at: number): Fault {
  return { at, what: plainFault(reason, text, at) };
}

function plainFault(reason: string, text: string, at: number): string {
  if (/\btags?\b/.test(reason)) return tagFault;
  if (/\balias\b/.test(reason)) return aliasFault("an alias without a name");
  if (/\btab\b/.test(reason)) return "tabs can't be used as indentation: use spaces";
  if (reason === "deficient indentation")
    return "too little indentation, or a quote, [ or { that isn't closed";
  if (reason.startsWith("unexpected end of the stream within a"))
    return "a quote that isn't closed";
  if (/\bcomma\b/.test(reason))
    return "a comma is missing, or a ${NAME} within { } or [ ] isn't in quotes";
  if (/\bescape\b|\bhexadecimal\b/.test(reason))
    return "an unknown escape: within double quotes a backslash is written \\\\";
  if (reason.startsWith("bad indentation of a mapping entry")) return misplaced(text, at);
  if (reason.startsWith("can not read a block mapping entry"))
    return "a key without a colon and a space behind it";
  if (reason.startsWith("end of the stream or a document separator"))
    return "this can't follow what stands above: a key without its colon, or keys and - mixed";
  return reason.replace(/[:"(].*$/s, "").trim();
}

/** Why a mapping can't go on at a character, which is all that the parser knows. */
function misplaced(text: string, at: number): string {
  const char = text.charAt(at);
  if (char !== "" && "@`%".includes(char))
    return `a value that begins with ${char} must be in quotes`;
  if (char === "}" || char === "]") return `a ${char} that nothing has opened`;
  const before = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  if (/:[ \t]+["'].*["'][ \t]*$/.test(before))
    return 'text behind the closing quote: within \'…\' a \' is written twice, within "…" a " is \\"';
  if (char !== ":") return "wrong indentation";
  return /:[ \t]/.test(before)
    ? "a value with a colon and a space in it must be in quotes"
    : "wrong indentation, or the line above lacks its colon and the space behind it";
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
