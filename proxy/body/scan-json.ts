/**
 * The positions of an object's members and an array's items in the bytes of a JSON text, so that
 * one value can be replaced and every other byte stays. The text is the Latin-1 reading of the
 * bytes: positions in both are the same, the search for a quote is native, and JSON's own
 * characters are all ASCII.
 *
 * Not here: validation. JSON.parse has already accepted the text.
 */
import { assert } from "../../shared/assert.js";

/** One member. Positions count bytes; `end` is the first byte after the value. */
export interface JsonMember {
  /** Without escapes. A key that isn't ASCII is in its Latin-1 reading. */
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * The members of the object that begins at or after `position`, in order, including repeated keys.
 * `text` must be valid JSON up to the end of the object; the rest isn't read.
 */
export function scanObject(text: string, position = 0): readonly JsonMember[] {
  const members: JsonMember[] = [];
  let next = skipSpace(text, position);
  assert(text.charCodeAt(next) === openBrace, "the text is a JSON object");
  next = skipSpace(text, next + 1);
  while (text.charCodeAt(next) !== closeBrace) {
    const keyEnd = stringEnd(text, next);
    assert(keyEnd !== -1, "the key ends");
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    members.push({ key: readKey(text, next, keyEnd), start, end });
    next = skipSpace(text, end);
    if (text.charCodeAt(next) === comma) next = skipSpace(text, next + 1);
  }
  return members;
}

/** An item of an array. Positions as in `JsonMember`. */
export interface JsonItem {
  readonly start: number;
  readonly end: number;
}

/**
 * The items, at most `itemsMax`, of the array that begins at or after `position`, in order. `text`
 * as in `scanObject`.
 */
export function scanArray(text: string, position = 0, itemsMax = Infinity): readonly JsonItem[] {
  const items: JsonItem[] = [];
  let next = skipSpace(text, position);
  assert(text.charCodeAt(next) === openBracket, "the text is a JSON array");
  next = skipSpace(text, next + 1);
  while (text.charCodeAt(next) !== closeBracket && items.length < itemsMax) {
    const end = valueEnd(text, next);
    items.push({ start: next, end });
    next = skipSpace(text, end);
    if (text.charCodeAt(next) === comma) next = skipSpace(text, next + 1);
  }
  return items;
}

/** The last member with this key, which most parsers use, or null. */
export function lastMember(members: readonly JsonMember[], key: string): JsonMember | null {
  return members.findLast((member) => member.key === key) ?? null;
}

/** A body that returns the values of its top-level fields, such as a `ModelCall`. */
export interface NamedValues {
  valuesOf(name: string): readonly string[];
}

/** The JSON, in Latin-1, of all values that this key has in a body, in order. */
export function valuesOf(
  bytes: Buffer,
  members: readonly JsonMember[],
  key: string,
): readonly string[] {
  let values: string[] | null = null;
  for (const member of members) {
    if (member.key !== key) continue;
    values ??= [];
    values.push(bytes.toString("latin1", member.start, member.end));
  }
  return values ?? none;
}

const none: readonly string[] = [];

/**
 * The position after the string whose opening quote is at `position`; -1 if the string doesn't end.
 */
export function stringEnd(text: string, position: number): number {
  for (let from = position + 1; ; ) {
    const end = text.indexOf('"', from);
    if (end === -1) return -1;
    if (!endsEscaping(text, from, end)) return end + 1;
    // Code in a string has many quotes: a search for each takes longer than reading on.
    from = end + 1;
    for (let until = from + escapesNearby; from < until && from < text.length; from++) {
      const code = text.charCodeAt(from);
      if (code === quote) return from + 1;
      if (code !== backslash) continue;
      from++;
      until = from + escapesNearby;
    }
  }
}

/** After this many characters without an escape, the search for the next quote resumes. */
const escapesNearby = 16;

/**
 * Whether the part of a string from `start` to `end` ends in a backslash that isn't itself escaped:
 * the backslashes of an even run escape each other.
 */
function endsEscaping(text: string, start: number, end: number): boolean {
  let first = end;
  while (first > start && text.charCodeAt(first - 1) === backslash) first--;
  return ((end - first) & 1) === 1;
}

/** The key without escapes. Its quotes are at `start` and before `end`. */
export function readKey(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

/** The next position from `position` on that isn't white space. */
function skipSpace(text: string, position: number): number {
  for (let next = position; ; next++) {
    const code = text.charCodeAt(next);
    // Nearly every other character is above 0x20. Past the end `code` is NaN.
    if (code > 0x20 || !isSpace(code)) return next;
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function valueEnd(text: string, position: number): number {
  const first = text.charCodeAt(position);
  if (first === quote) {
    const end = stringEnd(text, position);
    assert(end !== -1, "the string ends");
    return end;
  }
  return first === openBrace || first === openBracket
    ? nestedEnd(text, position)
    : literalEnd(text, position);
}

/** Counts brackets only: JSON.parse has checked that they match. */
function nestedEnd(text: string, position: number): number {
  let depth = 0;
  do {
    assert(position < text.length, "the nested value ends");
    const code = text.charCodeAt(position);
    if (code === quote) {
      position = stringEnd(text, position);
      assert(position !== -1, "the nested string ends");
      continue;
    }
    position++;
    if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
  } while (depth > 0);
  return position;
}

/** The end of a number, true, false or null. */
function literalEnd(text: string, position: number): number {
  while (position < text.length) {
    const code = text.charCodeAt(position);
    if (code === comma || code === closeBrace || code === closeBracket || isSpace(code)) break;
    position++;
  }
  return position;
}

/** The first of these keys that appears more than once, or null. */
export function repeatedKey(
  members: readonly JsonMember[],
  keys: readonly string[],
): string | null {
  for (const key of keys) {
    let count = 0;
    for (const member of members) if (member.key === key) count++;
    if (count > 1) return key;
  }
  return null;
}
