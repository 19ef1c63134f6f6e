/**
 * One walk over the bytes of a JSON text before it is parsed. It counts the text's values, finds
 * the positions of the outermost members, and finds strings and numbers that nothing reads: long
 * texts and token ids. Without them, a tenth of an agent's session is left to parse. The count
 * comes first, because a few megabytes of `{},` make millions of objects, which block the event
 * loop for a second and take a hundred times the memory of the text.
 *
 * The walk validates only the long strings that it leaves out. JSON.parse validates the rest:
 * callers must parse `skeleton` before they use the result of the walk.
 */
import { type Failure, invalid } from "../../shared/error-code.js";
import type { JsonMember } from "./scan-json.js";

/**
 * How many values and member names a body may hold: ten times those of the longest agent sessions.
 * JSON.parse takes a fifth of a second for as many different names, and a tenth of that for
 * objects.
 */
export const valuesMax = 250_000;
/**
 * A body of more values is parsed only after its caller's key has been checked. Parsing up to this
 * many takes a few milliseconds.
 */
export const unauthenticatedValuesMax = 20_000;
/**
 * The most fields (names in its outermost object) of a body: ten times those of any dialect. Sluice
 * reads each field.
 */
export const fieldsMax = 1000;

/** A longer number isn't a token id. */
const tokenDigitsMax = 7;

/** The 400 for a body, or a part of one, that holds too many values. `kind` begins the message. */
export function tooManyValues(kind = "the body", param = "body"): Failure {
  return invalid(`${kind} must hold at most ${valuesMax} values, names of members included`, param);
}

/** The 400 for a body with too many fields. */
export function tooManyFields(): Failure {
  return invalid(`the body must have at most ${fieldsMax} fields`, "body");
}

/** Shorter runs of token ids take the parser no time worth saving. */
const runCharsMin = 64;

/** Reading this many bytes takes up to a millisecond or two. */
const sliceBytes = 256 * 1024;

/** Runs to the end. Each slice gets its own turn of the event loop. */
export async function withPauses<T>(
  slices: Generator<undefined, T>,
  nextTurn: () => Promise<void>,
): Promise<T> {
  for (;;) {
    await nextTurn();
    const slice = slices.next();
    if (slice.done === true) return slice.value;
  }
}

function withoutPauses<T>(slices: Generator<undefined, T>): T {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
  }
}

/** Whether a JSON text holds more than `max` values and names. */
export function hasMoreValues(text: string | Buffer, max = valuesMax): boolean {
  // Each value takes at least one character.
  if (text.length <= max) return false;
  const walk = new Walk(typeof text === "string" ? Buffer.from(text) : text, max, false);
  withoutPauses(walk.toEnd(0));
  return walk.values > max;
}

/** What the walk finds in a body. */
export interface BodyOutline {
  /** Values and names. The count stops above `valuesMax`. */
  readonly values: number;
  /** Outermost members. The count stops above `fieldsMax`. */
  readonly fields: number;
  /** The names of members at all depths, in valid JSON. */
  readonly names: number;
  /**
   * The text that is parsed instead of the body: only the beginning of each long string is in
   * it, and a few numbers replace each long run of token ids. It is valid JSON if the body is.
   * Requests for embeddings have millions of token ids, which aren't counted. The same Buffer as
   * the text if nothing was left out.
   */
  readonly skeleton: Buffer;
  /** Whether two strings of the parsed skeleton are the same in the text. */
  isSame(a: string, b: string): boolean;
  /** The whole of a string that the skeleton has shortened, with quotes; null for others. */
  bytesOf(text: string): Buffer | null;
  /** Whether the name of a member at any depth may have escapes. Long names aren't checked. */
  readonly escapesNames: boolean;
  /** Whether a string may have the escape of half a character. */
  readonly escapesHalves: boolean;
  /** The outermost members. Call this only after the text has been parsed. */
  members(): readonly JsonMember[];
}

/** `passesTokens`: don't count runs of whole numbers with commas between them. */
export function outlineOf(bytes: Buffer, passesTokens: boolean): BodyOutline {
  return withoutPauses(outlineSliced(bytes, passesTokens));
}

/** As `outlineOf`, in slices for `withPauses`. */
export function* outlineSliced(
  bytes: Buffer,
  passesTokens: boolean,
): Generator<undefined, BodyOutline> {
  const walk = new Walk(bytes, valuesMax, passesTokens);
  const places: MemberPlace[] = [];
  let next = yield* spaceSliced(bytes, 0);
  if (bytes[next] === openBrace) {
    walk.values++;
    next = yield* spaceSliced(bytes, next + 1);
    while (bytes[next] === quote && places.length <= fieldsMax && walk.values <= valuesMax) {
      const keyEnd = yield* walk.stringEnd(next);
      const colonAt = keyEnd === -1 ? -1 : yield* spaceSliced(bytes, keyEnd);
      if (colonAt === -1 || bytes[colonAt] !== colon) break;
      walk.values++;
      walk.names++;
      walk.noteName(next, keyEnd);
      const start = yield* spaceSliced(bytes, colonAt + 1);
      const end = yield* walk.valueEnd(start);
      places.push({ keyStart: next, keyEnd, start, end });
      next = yield* spaceSliced(bytes, end);
      if (bytes[next] === comma) next = yield* spaceSliced(bytes, next + 1);
    }
  }
  if (places.length <= fieldsMax) yield* walk.toEnd(next);
  return {
    values: walk.values,
    fields: places.length,
    names: walk.names,
    skeleton: walk.values > valuesMax ? bytes : cutBytes(bytes, walk.cuts),
    escapesNames: walk.escapesNames,
    escapesHalves: walk.escapesHalves,
    isSame(a, b) {
      if (a === b) return true;
      const [first, second] = [bytesIn(bytes, walk.cuts, a), bytesIn(bytes, walk.cuts, b)];
      return first !== null && second !== null && first.equals(second);
    },
    bytesOf: (text) => bytesIn(bytes, walk.cuts, text),
    members: () =>
      places.map(({ keyStart, keyEnd, start, end }) => ({
        key: nameIn(bytes, keyStart, keyEnd),
        start,
        end,
      })),
  };
}

interface MemberPlace {
  /** The position of the opening quote. */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly start: number;
  readonly end: number;
}

function nameIn(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString("latin1", start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/** A range of the text that isn't needed, and the text that is parsed in its place. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly instead: string;
}

/**
 * The bytes that were cut from a string of the parsed skeleton, whose last characters are the cut's
 * position.
 */
function bytesIn(bytes: Buffer, cuts: readonly Cut[], text: string): Buffer | null {
  const markAt = text.lastIndexOf(shortenedMark);
  if (markAt === -1) return null;
  const position = Number(text.slice(markAt + 1));
  const cut = cuts[position];
  return cut?.instead === shortenedString(text.slice(0, markAt), position)
    ? bytes.subarray(cut.start, cut.end)
    : null;
}

/** `position`: the position of its cut. */
function shortenedString(beginning: string, position: number): string {
  return `"${beginning}\\u0000${position}"`;
}

function cutBytes(bytes: Buffer, cuts: readonly Cut[]): Buffer {
  if (cuts.length === 0) return bytes;
  const saved = cuts.reduce(
    (sum, { start, end, instead }) => sum + end - start - instead.length,
    0,
  );
  const skeleton = Buffer.allocUnsafe(bytes.length - saved);
  let from = 0;
  let to = 0;
  for (const { start, end, instead } of cuts) {
    to += bytes.copy(skeleton, to, from, start);
    to += skeleton.write(instead, to, "latin1");
    from = end;
  }
  bytes.copy(skeleton, to, from);
  return skeleton;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBrace = 0x7b;

/** The skeleton leaves out longer strings (as written). No id of an object is as long. */
export const shortStringBytes = 2048;
/**
 * How many bytes of a long string stay in the skeleton, up to the first escape or the first
 * character that isn't ASCII. They include ids and Sluice's marks of signatures.
 */
const beginningBytes = 256;
const plainBeginning = /^[^\\\x80-\xff]*/;
/**
 * Precedes the position of the cut in a shortened string, so that the string is no valid name or
 * id.
 */
const shortenedMark = "\u0000";

/** A longer run of white space isn't skipped. */
const spaceNearby = 1024;

/** The length of a name of 24 escaped letters with its quotes. */
const escapedNameCharsMax = 2 + 24 * 6;

/** A depth that no text can close. */
const endless = 2 ** 40;

/** Marks the bytes that a string may have without an escape, other than its quote. */
const plain = new Uint8Array(256).fill(1, 0x20);
plain[quote] = 0;
plain[backslash] = 0;
/** Marks what may follow a backslash, other than `u`. */
const escapable = new Uint8Array(256);
for (const char of '"\\/bfnrt') escapable[char.charCodeAt(0)] = 1;
const hex = new Uint8Array(256);
for (const char of "0123456789abcdefABCDEF") hex[char.charCodeAt(0)] = 1;

class Walk {
  /** Values and names so far. */
  values = 0;
  names = 0;
  escapesNames = false;
  escapesHalves = false;
  /** Long strings, and long runs of token ids. */
  readonly cuts: Cut[] = [];
  readonly #bytes: Buffer;
  /** The bytes in groups of four. */
  readonly #words: Int32Array;
  /** How many bytes precede the first group. */
  readonly #unaligned: number;
  readonly #max: number;
  readonly #passesTokens: boolean;
  /** Where `#stringEnd` has stopped in a string. */
  #reached = 0;

  constructor(bytes: Buffer, max: number, passesTokens: boolean) {
    this.#bytes = bytes;
    const unaligned = -bytes.byteOffset & 3;
    this.#unaligned = unaligned;
    this.#words =
      bytes.length < unaligned
        ? new Int32Array(0)
        : new Int32Array(
            bytes.buffer,
            bytes.byteOffset + unaligned,
            (bytes.length - unaligned) >> 2,
          );
    this.#max = max;
    this.#passesTokens = passesTokens;
  }

  /** Counts from a position to the end of the text, or until there are too many. */
  *toEnd(from: number): Generator<undefined, void> {
    if (from < this.#bytes.length && this.values <= this.#max) yield* this.valueEnd(from, endless);
  }

  /**
   * Counts the value at a position and all values within it, and returns its end. `outerDepth`: how
   * many levels must close first.
   */
  *valueEnd(from: number, outerDepth = 0): Generator<undefined, number> {
    const bytes = this.#bytes;
    let depth = outerDepth;
    let position = from;
    let sliceEnd = from + sliceBytes;
    do {
      if (position >= sliceEnd) {
        yield;
        sliceEnd = position + sliceBytes;
      }
      switch (bytes[position]) {
        case 0x3a: // :
          this.names++;
          position++;
          break;
        case 0x2c: // ,
          position++;
          break;
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          position = spaceEnd(bytes, position + 1, sliceEnd);
          break;
        case 0x7d: // }
        case 0x5d: // ]
          position++;
          depth--;
          break;
        case 0x7b: // {
        case 0x5b: // [
          position++;
          depth++;
          this.values++;
          break;
        case 0x22: {
          // "
          let end = this.#stringEnd(position + 1, sliceEnd);
          while (end === unfinished) {
            yield;
            sliceEnd = this.#reached + sliceBytes;
            end = this.#stringEnd(this.#reached, sliceEnd);
          }
          // Not JSON: the parser fails here too.
          if (end === -1) return bytes.length;
          this.values++;
          if (end - position > shortStringBytes) this.#shorten(position, end);
          else this.noteName(position, end);
          position = end;
          break;
        }
        default:
          position = this.#plainEnd(position, { isWithin: depth > outerDepth, until: sliceEnd });
      }
    } while (depth > 0 && position < bytes.length && this.values <= this.#max);
    return position;
  }

  /** The position after the string that begins at `position`; -1 if it isn't a valid string. */
  *stringEnd(position: number): Generator<undefined, number> {
    let end = this.#stringEnd(position + 1, position + sliceBytes);
    while (end === unfinished) {
      yield;
      end = this.#stringEnd(this.#reached, this.#reached + sliceBytes);
    }
    return end;
  }

  /**
   * The position after a string's closing quote; -1 if the string isn't valid, and `unfinished` if
   * it continues after `until`. `from`: a position within it, not within an escape.
   */
  #stringEnd(from: number, until: number): number {
    const bytes = this.#bytes;
    for (let position = from; ; ) {
      position = this.#textEnd(position, until);
      const code = bytes[position];
      if (code === quote) return position + 1;
      if (code === backslash) {
        const next = bytes[position + 1]!;
        if (escapable[next] === 1) position += 2;
        else if (next === 0x75 && this.#isCode(position + 2)) position += 6;
        else return -1;
      } else if (code === undefined || plain[code] === 0) return -1;
      if (position >= until) {
        this.#reached = position;
        return unfinished;
      }
    }
  }

  /** Whether four hexadecimal digits begin at a position. */
  #isCode(position: number): boolean {
    const bytes = this.#bytes;
    // Half of a character begins with D8 to DF.
    if ((bytes[position]! | 0x20) === 0x64) this.escapesHalves = true;
    for (let i = position; i < position + 4; i++) if (hex[bytes[i]!] !== 1) return false;
    return true;
  }

  /** The next quote, backslash or control character; `until` or a little more without one. */
  #textEnd(from: number, until: number): number {
    const bytes = this.#bytes;
    const words = this.#words;
    const unaligned = this.#unaligned;
    const end = Math.min(until, bytes.length);
    let position = from;
    while (position < end && (position < unaligned || ((position - unaligned) & 3) !== 0)) {
      if (plain[bytes[position]!] === 0) return position;
      position++;
    }
    // Four bytes at once. The first term has a high bit set for a byte below 0x20 or a quote, the
    // second one for a backslash; a byte from 0x80 on has none.
    const wordsEnd = (end - unaligned) >> 2;
    let word = (position - unaligned) >> 2;
    for (; word < wordsEnd; word++) {
      const four = words[word]!;
      const match =
        (((four ^ 0x02020202) - 0x21212121) | ((four ^ 0x5c5c5c5c) - 0x01010101)) & ~four;
      if ((match & 0x80808080) !== 0) break;
    }
    position = Math.max(position, word * 4 + unaligned);
    while (position < end && plain[bytes[position]!] === 1) position++;
    return position;
  }

  /** Leaves a long string out of the skeleton, unless it is the name of a member. */
  #shorten(position: number, end: number): void {
    const next = spaceEnd(this.#bytes, end, end + spaceNearby);
    if (next === end + spaceNearby || this.#bytes[next] === colon) return;
    const beginning = this.#bytes.toString("latin1", position + 1, position + beginningBytes);
    const shortened = plainBeginning.exec(beginning)![0];
    this.cuts.push({ start: position, end, instead: shortenedString(shortened, this.cuts.length) });
  }

  /** Notes a string's escapes if it is a name, that is, if a colon follows. */
  noteName(start: number, end: number): void {
    if (end - start > escapedNameCharsMax || this.escapesNames) return;
    const bytes = this.#bytes;
    let position = start + 1;
    while (position < end && bytes[position] !== backslash) position++;
    if (position === end) return;
    const next = spaceEnd(bytes, end, end + spaceNearby);
    this.escapesNames = next === end + spaceNearby || bytes[next] === colon;
  }

  /** The end of a number, true, false, null or an invalid literal, or of a run of token ids. */
  #plainEnd(position: number, { isWithin, until }: { isWithin: boolean; until: number }): number {
    const bytes = this.#bytes;
    const end = this.#passesTokens && isWithin ? tokensEnd(bytes, position, until) : position;
    if (end === position) {
      this.values++;
      return plainEnd(bytes, position, until);
    }
    // After a colon a run isn't JSON, so it must not be replaced by valid JSON.
    if (end - position >= runCharsMin && !isMember(bytes, position))
      this.cuts.push({ start: position, end, instead: "0" });
    return end;
  }
}

/** A string that continues after the slice. */
const unfinished = -2;

function isMember(bytes: Buffer, valueAt: number): boolean {
  let position = valueAt - 1;
  while (position >= 0 && isSpace(bytes[position]!)) position--;
  return bytes[position] === colon;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The end of the white space, or `until`. */
function spaceEnd(bytes: Buffer, from: number, until: number): number {
  for (let position = from; position < until; position++)
    if (!isSpace(bytes[position]!)) return position;
  return until;
}

function* spaceSliced(bytes: Buffer, from: number): Generator<undefined, number> {
  for (let position = from; ; yield) {
    const until = position + sliceBytes;
    position = spaceEnd(bytes, position, until);
    if (position < until) return position;
  }
}

/** The end of a number, true, false, null or an invalid literal; or `until`. */
function plainEnd(bytes: Buffer, from: number, until: number): number {
  const end = Math.min(bytes.length, until);
  for (let position = from + 1; position < end; position++) {
    const code = bytes[position]!;
    // Digits, letters, + - .
    const isPlain = (code >= 0x2d && code <= 0x39) || (code | 0x20) >= 0x61 || code === 0x2b;
    if (!isPlain || code === 0x5b || code === 0x5d || code >= 0x7b) return position;
  }
  return Math.max(end, from + 1);
}

/** The end of the last of several whole numbers, up to `until`; `from` if none begins there. */
function tokensEnd(bytes: Buffer, from: number, until: number): number {
  let end = from;
  for (let position = from; ; ) {
    let after = position;
    let next = bytes[after]!;
    while (next >= 0x30 && next <= 0x39) next = bytes[++after]!;
    const digits = after - position;
    const isWhole = digits === 1 || (digits > 1 && bytes[position] !== 0x30);
    // A decimal point or an exponent follows.
    const isFraction = next === 0x2e || (next | 0x20) === 0x65;
    if (!isWhole || digits > tokenDigitsMax || isFraction) return end;
    end = after;
    if (end >= until) return end;
    // Skip the call where a comma follows: runs have millions of numbers.
    if (next !== 0x2c) after = spaceEnd(bytes, after, after + spaceNearby);
    if (bytes[after] !== 0x2c) return end;
    position = after + 1;
    if (bytes[position]! <= 0x20) position = spaceEnd(bytes, position, position + spaceNearby);
  }
}
