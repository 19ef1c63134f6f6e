/**
 * JSON as texts, for property tests: any value, any spacing, any way to escape a string. What the
 * texts mean is JSON.parse's to say.
 */
import fc from "fast-check";
import { anyText } from "../support/any-text.js";

/** Spacing where JSON allows it. */
export const spacing: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(" ", "\n", "\t", "\r", "\r\n"), { maxLength: 2 })
  .map((parts) => parts.join(""));

/** A string literal for `text` in which each character is raw or escaped, as the choices say. */
export function literalOf(text: string): fc.Arbitrary<string> {
  return fc
    .array(fc.integer({ min: 0, max: 5 }), { minLength: text.length, maxLength: text.length })
    .map((choices) => {
      let literal = '"';
      for (let i = 0; i < text.length; i++) literal += escapeUnit(text, i, choices[i]!);
      return `${literal}"`;
    });
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "/": "\\/",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

function escapeUnit(text: string, at: number, choice: number): string {
  const unit = text[at]!;
  const code = unit.charCodeAt(0);
  const hex = code.toString(16).padStart(4, "0");
  const short = shortEscapes[unit];
  // Half of a pair stays raw only beside its other half, so both are written the same way: raw.
  if (code >= 0xd800 && code <= 0xdfff) return unit;
  if (choice === 0) return `\\u${hex}`;
  if (choice === 1) return `\\u${hex.toUpperCase()}`;
  if (short !== undefined && (choice === 2 || unit !== "/")) return short;
  return code < 0x20 ? `\\u${hex}` : unit;
}

/**
 * Texts that search for trouble: brackets, quotes, backslashes and the names that matter, in
 * strings.
 */
export const trickyText: fc.Arbitrary<string> = fc.oneof(
  anyText({ maxLength: 12 }),
  fc
    .array(
      fc.constantFrom(
        '"',
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "model",
        "stream",
        "__proto__",
        '"model":',
        "é",
        "你",
        "🎉",
        "\n",
        "\u0000",
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join("")),
);

export const stringLiteral: fc.Arbitrary<string> = trickyText.chain(literalOf);

const numberLiteral = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom("12345678901234567890123456789", "-0", "1e400", "0.10", "1E+2", "-1.5e-7"),
);

/** Any value, as a text without spacing around it. */
export const valueText: fc.Arbitrary<string> = fc.letrec<{
  value: string;
  array: string;
  object: string;
}>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    stringLiteral,
    numberLiteral,
    fc.constantFrom("true", "false", "null"),
    tie("array"),
    tie("object"),
  ),
  array: fc
    .tuple(
      spacing,
      fc.array(
        fc.tuple(spacing, tie("value"), spacing).map((parts) => parts.join("")),
        { maxLength: 4 },
      ),
    )
    .map(([inside, items]) => `[${items.length === 0 ? inside : items.join(",")}]`),
  object: fc
    .tuple(
      spacing,
      fc.array(
        fc
          .tuple(spacing, stringLiteral, spacing, spacing, tie("value"), spacing)
          .map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`),
        { maxLength: 4 },
      ),
    )
    .map(([inside, members]) => `{${members.length === 0 ? inside : members.join(",")}}`),
})).value;

/** One member of an object, in the pieces that it is written in. */
export interface MemberText {
  readonly key: string;
  /** All that stands before the value: spacing, key, colon. */
  readonly before: string;
  readonly value: string;
  readonly after: string;
}

/** A member with this key, written in any way. */
export function memberText(key: string, value: fc.Arbitrary<string>): fc.Arbitrary<MemberText> {
  return fc
    .tuple(spacing, literalOf(key), spacing, spacing, value, spacing)
    .map(([a, literal, b, c, text, after]) => ({
      key,
      before: `${a}${literal}${b}:${c}`,
      value: text,
      after,
    }));
}

/** Members with other keys than the given ones. */
export function otherMembers(taken: readonly string[]): fc.Arbitrary<readonly MemberText[]> {
  const key = trickyText.filter((text) => !taken.includes(text));
  return fc.array(
    key.chain((text) => memberText(text, valueText)),
    { maxLength: 4 },
  );
}

/** The object that the members make. */
export function objectText(members: readonly MemberText[], inside = ""): string {
  const texts = members.map(({ before, value, after }) => before + value + after);
  return `{${texts.length === 0 ? inside : texts.join(",")}}`;
}
