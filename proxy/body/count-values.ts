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

/**
 * Whether a JSON text holds more than `max` values and names. `tokens`: the ids of tokens aren't
 * counted, of which requests for embeddings have millions; a plain number takes JSON.parse 20 ns.
 */
export function hasMoreValues(
  text: string,
  max = valuesMax,
  tokens: "free" | "count" = "count",
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
        const end = plainEnd(text, at);
        const isToken = tokens === "free" && end - at <= tokenDigitsMax && isWhole(text, at, end);
        at = end;
        if (isToken) continue;
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

function isWhole(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}
