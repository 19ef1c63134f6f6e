/**
 * JSON that is parsed to be written again, with the numbers that JavaScript can't hold: an id of 64
 * bits in a tool's input is another id when it is rounded. Such a literal is an `ExactNumber` in
 * the parsed value, and the literal again when the value is written. All other numbers are numbers,
 * and a text without a long one costs a search.
 *
 * JSON.parse and JSON.stringify do the work. To them such a number is a string that begins with a
 * NUL; one of the client's that does gets a second. In JSON a NUL has one spelling, so they can't
 * be mixed up.
 *
 * Not here: bodies that pass as they came; `edit-model-body.ts` edits those in place.
 */
import { stringEnd } from "./scan-json.js";

/**
 * A number of 16 digits or more, or with an exponent of three: any shorter one survives. What looks
 * so inside a string costs time alone.
 */
const mayBeLong = /[:,[\s]-?(?:[0-9][0-9.]{15}|[0-9][0-9.]{0,14}[eE][-+]?[0-9]{3})/;
const numbers = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/g;

/** Where a client's own data stand in the bodies of all dialects: inputs of tools, and schemas. */
const dataKeys: ReadonlySet<string> = new Set([
  "input",
  "arguments",
  "input_schema",
  "parameters",
  "schema",
]);

const nul = "\u0000";
/** How a string that begins with a NUL begins in JSON. */
const nulString = '"\\u0000';

class ExactNumber {
  readonly literal: string;

  constructor(literal: string) {
    this.literal = literal;
  }

  toJSON(): string {
    return nul + this.literal;
  }
}

/** A tool's input: all numbers are kept. Undefined: the text isn't JSON. */
export function parseExactly(text: string): unknown {
  return parse(text, true);
}

/**
 * A body or an event of a dialect: in the objects that hold a client's own data all numbers are
 * kept; elsewhere each is a number, for whoever checks it. Undefined: the text isn't JSON.
 */
export function parseBodyExactly(text: string): unknown {
  return parse(text, false);
}

/** The text of a value, whatever of it was parsed here. */
export function writeExactly(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(nulString)) return text;
  return rewritten(
    JSON.stringify(value, secondNul),
    (gap) => gap,
    (string) => {
      const rest = string.slice(nulString.length);
      return rest.startsWith(nulString.slice(1)) ? `"${rest}` : rest.slice(0, -1);
    },
  );
}

/** For JSON.stringify, which hands over what `toJSON` has made. */
function secondNul(this: unknown, key: string, value: unknown): unknown {
  return typeof value === "string" &&
    value.startsWith(nul) &&
    !((this as Container)[key] instanceof ExactNumber)
    ? nul + value
    : value;
}

function parse(text: string, isData: boolean): unknown {
  const isLong = mayBeLong.test(text);
  try {
    const value: unknown = JSON.parse(isLong ? withLiterals(text) : text);
    return isLong ? withNumbers(value, isData) : value;
  } catch {
    return undefined;
  }
}

/** What is no JSON stays none: a literal is exchanged for another value. */
function withLiterals(text: string): string {
  const ofGap = (gap: string): string =>
    gap.replace(numbers, (literal) => (survives(literal) ? literal : `${nulString}${literal}"`));
  return rewritten(text, ofGap, (string) => nulString + string.slice(1));
}

/**
 * A JSON text with what stands between its strings, and its strings that begin with a NUL,
 * exchanged. Names of members stay.
 */
function rewritten(
  text: string,
  ofGap: (gap: string) => string,
  ofNulString: (string: string) => string,
): string {
  const colon = /\s*:/y;
  let out = "";
  for (let at = 0; ; ) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? -1 : stringEnd(text, quote);
    if (end === -1) return out + ofGap(text.slice(at));
    const string = text.slice(quote, end);
    colon.lastIndex = end;
    out +=
      ofGap(text.slice(at, quote)) +
      (string.startsWith(nulString) && !colon.test(text) ? ofNulString(string) : string);
    at = end;
  }
}

/** Whether a number that is read and written again is the same, however it is spelled. */
function survives(literal: string): boolean {
  if (literal.length < 16 && !/[eE]/.test(literal)) return true;
  if (literal.length > 400) return false;
  const written = JSON.stringify(Number(literal));
  return written === literal || (written !== "null" && plainly(written) === plainly(literal));
}

/**
 * The significant digits of a number and the power of ten that they are multiplied with; its sign
 * is never lost.
 */
function plainly(literal: string): string {
  const [mantissa, exponent = "0"] = literal.replace(/^-/, "").toLowerCase().split("e") as [
    string,
    string?,
  ];
  const [whole, fraction = ""] = mantissa.split(".") as [string, string?];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  return significant === ""
    ? "0"
    : `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

type Container = Record<string, unknown>;

/** As deep as JSON.parse goes, so without recursion. */
function withNumbers(value: unknown, isData: boolean): unknown {
  const whole: Container = { value };
  const open: (readonly [Container, isData: boolean])[] = [[whole, isData]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [container, within] = next;
    for (const key of Object.keys(container)) {
      const inner = container[key];
      if (typeof inner === "string" && inner.startsWith(nul))
        container[key] = fromNulString(inner.slice(1), within);
      else if (typeof inner === "object" && inner !== null)
        open.push([inner as Container, within || (dataKeys.has(key) && !Array.isArray(inner))]);
    }
  }
  return whole["value"];
}

function fromNulString(rest: string, isData: boolean): unknown {
  if (rest.startsWith(nul)) return rest;
  return isData ? new ExactNumber(rest) : Number(rest);
}
