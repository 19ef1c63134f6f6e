/**
 * Parses and writes JSON without losing the numbers that JavaScript can't represent: a rounded
 * 64-bit id in a tool's input is another id. Such a literal becomes an `ExactNumber`, which is
 * written as the same literal. All other numbers are plain numbers. A text without long numbers
 * costs one search.
 *
 * JSON.parse and JSON.stringify do the work. They see such a number as a string that begins with a
 * NUL, and a client's string that begins with a NUL gets a second one. JSON has only one spelling
 * of a NUL, so the two can't be confused.
 *
 * Not here: bodies that pass unchanged; `edit-model-body.ts` edits those in place.
 */
import { stringEnd } from "./scan-json.js";

/**
 * Matches a number of 16 digits or more, or with an exponent of three digits: shorter numbers are
 * never rounded. A match inside a string only costs time.
 */
const mayBeLong = /[:,[\s]-?(?:[0-9][0-9.]{15}|[0-9][0-9.]{0,14}[eE][-+]?[0-9]{3})/;
const numbers = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/g;

/** The members that hold a client's own data in any dialect: tool inputs and schemas. */
const dataKeys: ReadonlySet<string> = new Set([
  "input",
  "arguments",
  "input_schema",
  "parameters",
  "schema",
  "args",
  "functionResponse",
  "function_response",
  "parametersJsonSchema",
  "parameters_json_schema",
  "responseSchema",
  "responseJsonSchema",
]);

const nul = "\u0000";
/** The beginning, in JSON, of a string that begins with a NUL. */
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

/** For a tool's input: all numbers stay exact. Undefined if the text isn't JSON. */
export function parseExactly(text: string): unknown {
  return parse(text, true);
}

/**
 * For a body or an event of a dialect. In objects that hold a client's own data all numbers stay
 * exact; elsewhere each is a plain number, which code may check. Undefined if the text isn't JSON.
 */
export function parseBodyExactly(text: string): unknown {
  return parse(text, false);
}

/** For a body that was checked to be an object. */
export function parseObjectExactly(body: Buffer): Readonly<Record<string, unknown>> {
  return parseBodyExactly(body.toString("utf8")) as Readonly<Record<string, unknown>>;
}

/** JSON.stringify for values that `parseExactly` and its siblings returned. */
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

/** A replacer for JSON.stringify, which calls `toJSON` before it. */
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

/** Invalid JSON stays invalid: each literal is replaced by another value. */
function withLiterals(text: string): string {
  const editGap = (gap: string): string =>
    gap.replace(numbers, (literal) => (survives(literal) ? literal : `${nulString}${literal}"`));
  return rewritten(text, editGap, (string) => nulString + string.slice(1));
}

/**
 * A JSON text with edited gaps between strings, and with edited strings where they begin with a
 * NUL. Names of members stay.
 */
function rewritten(
  text: string,
  editGap: (gap: string) => string,
  editNulString: (string: string) => string,
): string {
  const colon = /\s*:/y;
  let out = "";
  for (let position = 0; ; ) {
    const quote = text.indexOf('"', position);
    const end = quote === -1 ? -1 : stringEnd(text, quote);
    if (end === -1) return out + editGap(text.slice(position));
    const string = text.slice(quote, end);
    colon.lastIndex = end;
    out +=
      editGap(text.slice(position, quote)) +
      (string.startsWith(nulString) && !colon.test(text) ? editNulString(string) : string);
    position = end;
  }
}

/** Whether a literal still means the same number after it was parsed and written. */
function survives(literal: string): boolean {
  if (literal.length < 16 && !/[eE]/.test(literal)) return true;
  if (literal.length > 400) return false;
  const rewrittenNumber = JSON.stringify(Number(literal));
  return (
    rewrittenNumber === literal ||
    (rewrittenNumber !== "null" && normalForm(rewrittenNumber) === normalForm(literal))
  );
}

/**
 * The significant digits of a number and their power of ten. The sign is left out because it never
 * changes.
 */
function normalForm(literal: string): string {
  const [mantissa, exponent = "0"] = literal.replace(/^-/, "").toLowerCase().split("e") as [
    string,
    string?,
  ];
  const [integer, fraction = ""] = mantissa.split(".") as [string, string?];
  const digits = (integer + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  return significant === ""
    ? "0"
    : `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

type Container = Record<string, unknown>;

/** Without recursion: JSON.parse accepts deeper nesting than the stack does. */
function withNumbers(value: unknown, isData: boolean): unknown {
  const root: Container = { value };
  const open: (readonly [Container, isData: boolean])[] = [[root, isData]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [container, isWithinData] = next;
    for (const key of Object.keys(container)) {
      const inner = container[key];
      if (typeof inner === "string" && inner.startsWith(nul))
        container[key] = fromNulString(inner.slice(1), isWithinData);
      else if (typeof inner === "object" && inner !== null)
        open.push([
          inner as Container,
          isWithinData || (dataKeys.has(key) && !Array.isArray(inner)),
        ]);
    }
  }
  return root["value"];
}

function fromNulString(rest: string, isData: boolean): unknown {
  if (rest.startsWith(nul)) return rest;
  return isData ? new ExactNumber(rest) : Number(rest);
}
