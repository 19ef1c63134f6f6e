/**
 * How many values a JSON text holds, counted before it is parsed: a few megabytes of `{},` make
 * millions of objects, which hold the event loop for a second and take a hundred times the memory
 * of the text. Long texts and base64 are passed over, so that ordinary bodies cost nothing.
 *
 * Not here: whether the text is JSON.
 */
import { type Failure, invalid } from "../../shared/error-code.js";
import { stringEnd } from "./scan-json.js";

/**
 * Values of one body, and the names of members with them: ten times those of the longest sessions
 * of agents. As many names that all differ take JSON.parse a fifth of a second, objects a tenth of
 * that.
 */
export const valuesMax = 250_000;
/**
 * A body of more values is parsed only once its caller's key has been checked: up to here it takes
 * a few milliseconds.
 */
export const strangerValuesMax = 20_000;

/** A longer number isn't the id of a token. */
const tokenDigitsMax = 7;

/** The 400 for a body, or a part of one, that holds more. `what` begins the message. */
export function tooManyValues(what = "the body", param = "body"): Failure {
  return invalid(`${what} must hold at most ${valuesMax} values, names of members included`, param);
}

/** Shorter runs of tokens cost the parser nothing. */
const runCharsMin = 64;

/**
 * A JSON text to be parsed instead, for its shape: each long run of the ids of tokens is one number
 * in it. Requests for embeddings have millions of them, which aren't counted. Null: of other values
 * it holds too many.
 */
export function withoutTokens(text: string): string | null {
  const pieces: string[] = [];
  let from = 0;
  const isOver = hasMoreValues(text, valuesMax, (start, end) => {
    // Behind a colon it isn't JSON, and must not become it.
    if (end - start < runCharsMin || isMember(text, start)) return;
    pieces.push(text.slice(from, start), "0");
    from = end;
  });
  if (isOver) return null;
  return pieces.length === 0 ? text : pieces.join("") + text.slice(from);
}

function isMember(text: string, valueAt: number): boolean {
  return text.slice(0, valueAt).trimEnd().endsWith(":");
}

/**
 * Whether a JSON text holds more than `max` values and names. `onTokens` is told of each run of
 * whole numbers with commas between, as the ids of tokens are; without it they are counted too.
 */
export function hasMoreValues(
  text: string,
  max = valuesMax,
  onTokens: ((start: number, end: number) => void) | null = null,
): boolean {
  // Each value takes a character at the least.
  if (text.length <= max) return false;
  let count = 0;
  for (let at = 0; at < text.length; ) {
    switch (text.charCodeAt(at)) {
      case 0x2c: // ,
      case 0x3a: // :
      case 0x7d: // }
      case 0x5d: // ]
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        at++;
        continue;
      case 0x22: // "
        at = stringEnd(text, at);
        // Not JSON: the parser stops here too.
        if (at === -1) return false;
        break;
      case 0x7b: // {
      case 0x5b: // [
        at++;
        break;
      default: {
        const end = onTokens === null ? at : tokensEnd(text, at);
        if (end > at) {
          onTokens?.(at, end);
          at = end;
          continue;
        }
        at = plainEnd(text, at);
      }
    }
    if (++count > max) return true;
  }
  return false;
}

/** Where a number, true, false or null ends, or what isn't JSON. */
function plainEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Digits, letters, + - .
    const isPlain = (code >= 0x2d && code <= 0x39) || (code | 0x20) >= 0x61 || code === 0x2b;
    if (!isPlain || code === 0x5b || code === 0x5d || code >= 0x7b) return at;
  }
  return text.length;
}

/** Where the last of some whole numbers ends; `from` itself: none begins there. */
function tokensEnd(text: string, from: number): number {
  let end = from;
  for (let at = from; ; at++) {
    let after = at;
    while (isDigit(text.charCodeAt(after))) after++;
    const digits = after - at;
    const isWhole = digits === 1 || (digits > 1 && text.charCodeAt(at) !== 0x30);
    const next = text.charCodeAt(after);
    // A point or an exponent.
    const goesOn = next === 0x2e || (next | 0x20) === 0x65;
    if (!isWhole || digits > tokenDigitsMax || goesOn) return end;
    end = after;
    if (next !== 0x2c) return end;
    at = after;
    while (text.charCodeAt(at + 1) === 0x20) at++;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
