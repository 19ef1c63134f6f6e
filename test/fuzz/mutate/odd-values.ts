/** Values that programs trip over: the edges of numbers, texts that aren't what they seem. */
import type { Random } from "../../sim/random.js";

const numbers: readonly number[] = [
  0,
  -0,
  -1,
  1,
  2,
  0.5,
  1e-7,
  255,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53) + 1,
  2 ** 63,
  1e15,
  1e21,
  1.7e302,
  1e308,
  -1e308,
  5e-324,
];

/** As JSON writes them, though no JavaScript number is written so. */
const numberTexts: readonly string[] = [
  "1e999",
  "-1e999",
  "1e-999",
  "123456789012345678901234567890",
  "-9223372036854775808",
  "18446744073709551616",
  "0.12345678901234567890123",
  "1E+0400",
  "-0",
  "-0.0",
  "1.0",
  "10000000000000000000000e-22",
];

const texts: readonly string[] = [
  "",
  " ",
  "\t\n ",
  "\u0000",
  "\u0000\u0000",
  "\u0000\u0002x",
  "\u0001",
  "\u001f\u007f\u0080\u009f",
  "\ud800",
  "\udc00",
  "a\ud83d",
  "\udc4bb\ud83d\udc4b\ud83d",
  "\u2028\u2029",
  "\ufeff",
  "\ufffe\uffff",
  "\r",
  "\r\n\r\n",
  "\n\ndata: x\n\n",
  "\u202eabc",
  "\u0130ı\u1e9e",
  "e\u0301\u0301\u0301",
  "日本語",
  "👩‍👩‍👧‍👦",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "null",
  "true",
  "0",
  "-1",
  "1e9",
  "NaN",
  "%",
  "%zz",
  "%00",
  "%ff",
  "/",
  "//",
  "/../..",
  "..",
  "*",
  "?",
  "#",
  '"',
  "\\",
  "\\u0000",
  "{}",
  "[]",
  "[",
  '{"a":',
  "${X}",
  "$&",
  "[DONE]",
  "data:",
  "data:image/png;base64,",
  "data:;base64,====",
  "data:image/png;base64,iVBORw0KGgo=",
  "http://[",
  "https://x/\u0000",
  "file:///etc/passwd",
  "2025-02-30",
  "1970-01-01T00:00:00Z",
  "=1+1",
  "__signed__",
  "1__signed__cw",
];

/** Characters of which long runs are made: what parsers count, match and search for. */
const runs: readonly string[] = [
  "-",
  " ",
  "\n",
  "\t",
  "`",
  "~",
  "|",
  "*",
  "#",
  ">",
  "_",
  "=",
  "a",
  '"',
  "\\",
  "'",
  "{",
  "[",
  "(",
  "<",
  "/",
  "%",
  ";",
  ",",
  ":",
  ".",
  "0",
  "\u0000",
  "é",
  "日",
  "👋",
  "\ud800",
  "- ",
  " -",
  " \n",
  "\r\n",
  "\\n",
  '\\"',
  '{"a":',
  "[1,",
  "1. ",
  "| a ",
  "```\n",
];

export function oddNumber(random: Random): number {
  return random.chance(0.8) ? random.pick(numbers) : Math.round(random.skewed(1, 2 ** 53));
}

export function oddNumberText(random: Random): string {
  return random.pick(numberTexts);
}

/** The unit of a run, such as a hyphen. */
export function runUnit(random: Random): string {
  const unit = random.pick(runs);
  return random.chance(0.2) ? unit + random.pick(runs) : unit;
}

export function oddText(random: Random): string {
  if (random.chance(0.9)) return random.pick(texts);
  return runUnit(random).repeat(Math.round(random.skewed(2, 9000)));
}

/** A text with another put in, cut, doubled, or in another case. */
export function mutateText(text: string, random: Random): string {
  const at = random.int(0, text.length);
  const to = Math.min(text.length, at + Math.round(random.skewed(1, 20)));
  switch (random.int(0, 5)) {
    case 0:
      return text.slice(0, at) + oddText(random) + text.slice(at);
    case 1:
      return text.slice(0, at);
    case 2:
      return text.slice(0, at) + text.slice(to);
    case 3:
      return text + text;
    case 4:
      return random.chance(0.5) ? text.toUpperCase() : ` ${text} `;
    default:
      return text.slice(0, at) + String.fromCharCode(random.int(0, 0xffff)) + text.slice(to);
  }
}

/** A small value of any type. */
export function oddValue(random: Random): unknown {
  switch (random.int(0, 9)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
    case 3:
      return oddNumber(random);
    case 4:
      return [];
    case 5:
      return {};
    case 6:
      return [oddText(random), null, oddNumber(random)];
    case 7:
      return { type: oddText(random), [oddText(random)]: oddText(random) };
    default:
      return oddText(random);
  }
}
