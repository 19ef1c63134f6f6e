/**
 * The positions of an object's members and an array's items in the bytes of a JSON text, so that
 * one value can be replaced and every other byte stays. The text is the Latin-1 reading of the
 * bytes: a position in it is a position in the bytes, the search for a quote is native, and JSON's
 * own characters are all ASCII.
 *
 * Not here: validation. JSON.parse has accepted the text before; nothing is checked twice.
 */
import { assert } from "../../shared/assert.js";

/** One member. Positions count bytes; `end` is the first byte after the value. */
export interface JsonMember {
  /** Without escapes; a key that isn't ASCII is in its Latin-1 reading. */
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
 * The members of the object that begins at or after `at`, in order, repeated keys included.
 * `text` must be valid JSON up to the end of the object; the rest isn't read.
 */
export function scanObject(text: string, at = 0): readonly JsonMember[] {
  const members: JsonMember[] = [];
  let next = skipSpace(text, at);
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

/** The items of the array that begins at or after `at`, in order, under the same conditions. */
export function scanArray(text: string, at = 0): readonly JsonItem[] {
  const items: JsonItem[] = [];
  let next = skipSpace(text, at);
  assert(text.charCodeAt(next) === openBracket, "the text is a JSON array");
  next = skipSpace(text, next + 1);
  while (text.charCodeAt(next) !== closeBracket) {
    const end = valueEnd(text, next);
    items.push({ start: next, end });
    next = skipSpace(text, end);
    if (text.charCodeAt(next) === comma) next = skipSpace(text, next + 1);
  }
  return items;
}

/** The last member with this key, as most parsers choose it, or null. */
export function lastMember(members: readonly JsonMember[], key: string): JsonMember | null {
  return members.findLast((member) => member.key === key) ?? null;
}

/** The position after the string whose opening quote is at `at`, or -1 when it doesn't end. */
export function stringEnd(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    if (!endsEscaping(text, at + 1, end)) return end + 1;
  }
  return -1;
}

/**
 * Whether the part of a string from `start` to `end` ends in a backslash that isn't escaped itself:
 * an even run of them escapes itself only.
 */
export function endsEscaping(text: string, start: number, end: number): boolean {
  let first = end;
  while (first > start && text.charCodeAt(first - 1) === backslash) first--;
  return ((end - first) & 1) === 1;
}

/** The key whose quotes are at `start` and before `end`, without escapes. */
export function readKey(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === quote) {
    const end = stringEnd(text, at);
    assert(end !== -1, "the string ends");
    return end;
  }
  return first === openBrace || first === openBracket ? nestedEnd(text, at) : literalEnd(text, at);
}

/** Brackets are only counted: JSON.parse has checked that they match. */
function nestedEnd(text: string, at: number): number {
  let depth = 0;
  do {
    assert(at < text.length, "the nested value ends");
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at);
      assert(at !== -1, "the nested string ends");
      continue;
    }
    at++;
    if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
  } while (depth > 0);
  return at;
}

/** A number, true, false or null. */
function literalEnd(text: string, at: number): number {
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace || code === closeBracket || isSpace(code)) break;
    at++;
  }
  return at;
}

/** The first of these keys that is there more than once; null: none is. */
export function repeatedKey(
  members: readonly JsonMember[],
  keys: readonly string[],
): string | null {
  for (const key of keys) {
    let seen = 0;
    for (const member of members) if (member.key === key) seen++;
    if (seen > 1) return key;
  }
  return null;
}
