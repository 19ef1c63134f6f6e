/**
 * Texts of any characters, for property tests. fast-check's own unit "binary" draws the same, but
 * first makes a table of all million of them, which takes seconds and a hundred megabytes in each
 * process.
 */
import fc from "fast-check";

const surrogateMin = 0xd800;
const surrogates = 0x800;

/** Any character but the halves of pairs. */
const character: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates).map(
  (number) => String.fromCodePoint(number < surrogateMin ? number : number + surrogates),
  // So that fast-check mixes its own texts in that have made trouble elsewhere.
  (text) => {
    const point = typeof text === "string" ? (text.codePointAt(0) ?? surrogateMin) : surrogateMin;
    if (typeof text !== "string" || text !== String.fromCodePoint(point))
      throw new Error("not one character");
    return point < surrogateMin ? point : point - surrogates;
  },
);

/** Any text; lengths count characters. */
export function anyText(
  lengths: Pick<fc.StringConstraints, "minLength" | "maxLength"> = {},
): fc.Arbitrary<string> {
  return fc.string({ unit: character, ...lengths });
}
