/** Mutates a text of lines, such as a YAML file, by its lines, indents and words. */
import type { Random } from "../../sim/random.js";
import { mutateText, oddNumber, oddText } from "./odd-values.js";

/** What YAML gives a meaning to. */
const yamlValues: readonly string[] = [
  "~",
  "null",
  "yes",
  ".inf",
  "-.inf",
  ".nan",
  "0x7fffffffffffffff",
  "0o17",
  "1_000",
  "12e03",
  "1:30",
  "2024-10-21",
  "!!js/function 'x'",
  "!!binary AAAA",
  "!!set {a, b}",
  "!!float 1",
  "!!str 1",
  "!x y",
  "&a [*a]",
  "*a",
  "&a x",
  "|",
  ">-",
  "? a",
  "[",
  "[]",
  "[[[[]]]]",
  "{",
  "{}",
  "{a: 1, a: 2}",
  "{<<: {a: 1}}",
  '"',
  "'",
  '"\\x00"',
  '"\\ud800"',
  "%YAML 1.2",
  "---",
  "...",
  "- a",
  "a: b: c",
  "${OPENAI_API_KEY}",
  "${",
  "${X:-y}",
  "$${X}",
  "${__proto__}",
  "@x",
  "`x`",
  "#",
  "\t",
];

export function oddYaml(random: Random): string {
  switch (random.int(0, 3)) {
    case 0:
      return String(oddNumber(random));
    case 1:
      return JSON.stringify(oddText(random));
    case 2:
      return oddText(random);
    default:
      return random.pick(yamlValues);
  }
}

/** `words`: names and values that are valid somewhere. */
export function mutateLines(text: string, words: readonly string[], random: Random): string {
  const lines = text.split("\n");
  for (let left = Math.round(random.skewed(1, 5)); left > 0; left--) {
    const at = random.int(0, lines.length - 1);
    lines.splice(at, 1, ...changed(lines[at]!, lines, words, random));
    if (lines.length === 0) lines.push("");
  }
  return lines.join("\n");
}

function changed(
  line: string,
  lines: readonly string[],
  words: readonly string[],
  random: Random,
): readonly string[] {
  const colon = line.indexOf(":");
  const indent = /^\s*/.exec(line)![0];
  switch (random.int(0, 9)) {
    case 0:
      return [];
    case 1:
      return [line, line];
    case 2:
      return [line, random.pick(lines)];
    case 3:
      return [random.chance(0.5) ? `  ${line}` : line.replace(/^ {1,2}/, "")];
    case 4:
      return [colon === -1 ? line : `${indent}${random.pick(words)}${line.slice(colon)}`];
    case 5:
      return [line, `${indent}${random.pick(words)}: ${oddYaml(random)}`];
    case 6:
      return [mutateText(line, random)];
    default:
      return [colon === -1 ? oddYaml(random) : `${line.slice(0, colon)}: ${oddYaml(random)}`];
  }
}
