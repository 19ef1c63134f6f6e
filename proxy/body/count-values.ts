/**
 * One walk over a JSON text before it is parsed. It finds how many values the text holds, where its
 * outermost members are, and which of its numbers are token ids. A few megabytes of `{},` make
 * millions of objects, which hold the event loop for a second and take a hundred times the memory
 * of the text. The walk skips long texts and base64, so ordinary bodies cost nothing.
 *
 * Not here: whether the text is JSON. For invalid JSON the result is arbitrary, so callers must
 * parse the text before they use it.
 */
import { type Failure, invalid } from "../../shared/error-code.js";
import { type JsonMember, readKey, stringEnd } from "./scan-json.js";

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
 * How many fields, that is names in its outermost object, a body may have: ten times those of any
 * dialect. Each field is looked at.
 */
export const fieldsMax = 1000;

/** A longer number isn't a token id. */
const tokenDigitsMax = 7;

/** The 400 for a body, or a part of one, that holds too many values. `what` begins the message. */
export function tooManyValues(what = "the body", param = "body"): Failure {
  return invalid(`${what} must hold at most ${valuesMax} values, names of members included`, param);
}

/** The 400 for a body with too many fields. */
export function tooManyFields(): Failure {
  return invalid(`the body must have at most ${fieldsMax} fields`, "body");
}

/** Shorter runs of token ids cost the parser nothing. */
const runCharsMin = 64;

/** Reading this many characters one by one takes up to a few milliseconds. */
const sliceChars = 512 * 1024;

/** Runs to the end. Each slice gets its own turn of the event loop. */
export async function inTurns<T>(
  slices: Generator<undefined, T>,
  nextTurn: () => Promise<void>,
): Promise<T> {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
    await nextTurn();
  }
}

function atOnce<T>(slices: Generator<undefined, T>): T {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
  }
}

/** Whether a JSON text holds more than `max` values and names. */
export function hasMoreValues(text: string, max = valuesMax): boolean {
  // Each value takes at least one character.
  if (text.length <= max) return false;
  const count = new ValueCount(text, max, false);
  atOnce(count.walk(0));
  return count.values > max;
}

/** What the walk finds in a body. */
export interface BodyOutline {
  /** Values and names. The count stops above `valuesMax`. */
  readonly values: number;
  /** Outermost members. The count stops above `fieldsMax`. */
  readonly fields: number;
  /**
   * The text to parse to learn the shape of the body: a few numbers replace each long run of token
   * ids. Requests for embeddings have millions of token ids, which aren't counted.
   */
  readonly shape: string;
  /** Whether the name of a member at any depth may have escapes. Long names aren't checked. */
  readonly escapesNames: boolean;
  /** The outermost members. Call this only after the text has been parsed. */
  members(): readonly JsonMember[];
}

/** `passesTokens`: don't count runs of whole numbers with commas between them. */
export function outlineOf(text: string, passesTokens: boolean): BodyOutline {
  return atOnce(outlineSliced(text, passesTokens));
}

/** As `outlineOf`, in slices for `inTurns`. */
export function* outlineSliced(
  text: string,
  passesTokens: boolean,
): Generator<undefined, BodyOutline> {
  const count = new ValueCount(text, valuesMax, passesTokens);
  const places: MemberPlace[] = [];
  let next = yield* spaceSliced(text, 0);
  if (text[next] === "{") {
    count.values++;
    next = yield* spaceSliced(text, next + 1);
    while (text[next] === '"' && places.length <= fieldsMax && count.values <= valuesMax) {
      const keyEnd = stringEnd(text, next);
      const colon = keyEnd === -1 ? -1 : yield* spaceSliced(text, keyEnd);
      if (colon === -1 || text[colon] !== ":") break;
      count.values++;
      count.noteName(next, keyEnd);
      const start = yield* spaceSliced(text, colon + 1);
      const end = yield* count.valueEnd(start);
      places.push({ keyStart: next, keyEnd, start, end });
      next = yield* spaceSliced(text, end);
      if (text[next] === ",") next = yield* spaceSliced(text, next + 1);
    }
  }
  if (places.length <= fieldsMax) yield* count.walk(next);
  return {
    values: count.values,
    fields: places.length,
    shape: withoutRuns(text, count.runs),
    escapesNames: count.escapesNames,
    members: () =>
      places.map(({ keyStart, keyEnd, start, end }) => ({
        key: readKey(text, keyStart, keyEnd),
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

interface Run {
  readonly start: number;
  readonly end: number;
}

function withoutRuns(text: string, runs: readonly Run[]): string {
  if (runs.length === 0) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of runs) {
    pieces.push(text.slice(from, start));
    from = end;
  }
  return `${pieces.join("0")}0${text.slice(from)}`;
}

/** A longer run of white space isn't skipped. */
const spaceNearby = 1024;

/** The length of a name of 24 escaped letters with its quotes. */
const escapedNameCharsMax = 2 + 24 * 6;

/** A depth that no text can close. */
const endless = 2 ** 40;

class ValueCount {
  /** Values and names so far. */
  values = 0;
  escapesNames = false;
  /** Long runs of token ids. */
  readonly runs: Run[] = [];
  readonly #text: string;
  readonly #max: number;
  readonly #passesTokens: boolean;

  constructor(text: string, max: number, passesTokens: boolean) {
    this.#text = text;
    this.#max = max;
    this.#passesTokens = passesTokens;
  }

  /** Counts from a position to the end of the text, or until there are too many. */
  *walk(from: number): Generator<undefined, void> {
    if (from < this.#text.length && this.values <= this.#max) yield* this.valueEnd(from, endless);
  }

  /**
   * Counts the value at a position and all values within it, and returns its end. `outerDepth`: how
   * many levels must close first.
   */
  *valueEnd(from: number, outerDepth = 0): Generator<undefined, number> {
    const text = this.#text;
    let depth = outerDepth;
    let at = from;
    let sliceEnd = from + sliceChars;
    do {
      if (at >= sliceEnd) {
        yield;
        sliceEnd = at + sliceChars;
      }
      switch (text.charCodeAt(at)) {
        case 0x2c: // ,
        case 0x3a: // :
          at++;
          break;
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          at = spaceEnd(text, at + 1, sliceEnd);
          break;
        case 0x7d: // }
        case 0x5d: // ]
          at++;
          depth--;
          break;
        case 0x7b: // {
        case 0x5b: // [
          at++;
          depth++;
          this.values++;
          break;
        case 0x22: {
          // "
          const end = stringEnd(text, at);
          // Not JSON: the parser fails here too.
          if (end === -1) return text.length;
          this.values++;
          this.noteName(at, end);
          // Most of the string was searched, not read one character at a time.
          sliceEnd += end - at;
          at = end;
          break;
        }
        default:
          at = this.#plainEnd(at, { isWithin: depth > outerDepth, until: sliceEnd });
      }
    } while (depth > 0 && at < text.length && this.values <= this.#max);
    return at;
  }

  /** Looks at a string, which is a name if a colon follows. */
  noteName(start: number, end: number): void {
    if (end - start > escapedNameCharsMax || this.escapesNames) return;
    if (!this.#text.slice(start, end).includes("\\")) return;
    const next = spaceEnd(this.#text, end, end + spaceNearby);
    this.escapesNames = next === end + spaceNearby || this.#text.charCodeAt(next) === 0x3a;
  }

  /** The end of a number, true, false, null or an invalid literal, or of a run of token ids. */
  #plainEnd(at: number, { isWithin, until }: { isWithin: boolean; until: number }): number {
    const text = this.#text;
    const end = this.#passesTokens && isWithin ? tokensEnd(text, at, until) : at;
    if (end === at) {
      this.values++;
      return plainEnd(text, at, until);
    }
    // After a colon a run isn't JSON, so it must not be replaced by valid JSON.
    if (end - at >= runCharsMin && !isMember(text, at)) this.runs.push({ start: at, end });
    return end;
  }
}

function isMember(text: string, valueAt: number): boolean {
  return text.slice(0, valueAt).trimEnd().endsWith(":");
}

/** The end of the white space, or `until`. */
function spaceEnd(text: string, from: number, until: number): number {
  for (let at = from; at < until; at++) {
    const code = text.charCodeAt(at);
    // Past the end `code` is NaN.
    if (!(code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09)) return at;
  }
  return until;
}

function* spaceSliced(text: string, from: number): Generator<undefined, number> {
  for (let at = from; ; yield) {
    const until = at + sliceChars;
    at = spaceEnd(text, at, until);
    if (at < until) return at;
  }
}

/** The end of a number, true, false, null or an invalid literal; or `until`. */
function plainEnd(text: string, from: number, until: number): number {
  const end = Math.min(text.length, until);
  for (let at = from + 1; at < end; at++) {
    const code = text.charCodeAt(at);
    // Digits, letters, + - .
    const isPlain = (code >= 0x2d && code <= 0x39) || (code | 0x20) >= 0x61 || code === 0x2b;
    if (!isPlain || code === 0x5b || code === 0x5d || code >= 0x7b) return at;
  }
  return Math.max(end, from + 1);
}

/** The end of the last of several whole numbers, up to `until`; `from` if none begins there. */
function tokensEnd(text: string, from: number, until: number): number {
  let end = from;
  for (let at = from; ; ) {
    let after = at;
    let next = text.charCodeAt(after);
    while (next >= 0x30 && next <= 0x39) next = text.charCodeAt(++after);
    const digits = after - at;
    const isWhole = digits === 1 || (digits > 1 && text.charCodeAt(at) !== 0x30);
    // A decimal point or an exponent follows.
    const isFraction = next === 0x2e || (next | 0x20) === 0x65;
    if (!isWhole || digits > tokenDigitsMax || isFraction) return end;
    end = after;
    if (end >= until) return end;
    // Skip the call where a comma follows: runs have millions of numbers.
    if (next !== 0x2c) after = spaceEnd(text, after, after + spaceNearby);
    if (text.charCodeAt(after) !== 0x2c) return end;
    at = after + 1;
    if (text.charCodeAt(at) <= 0x20) at = spaceEnd(text, at, at + spaceNearby);
  }
}
