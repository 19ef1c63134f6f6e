import t from "tap";
import { percentDecoded } from "../../../shared/text/percent-decoded.js";

t.test("a text in percent form is decoded, or is none", async (t) => {
  const table: readonly (readonly [text: string, decoded: string | null])[] = [
    ["", ""],
    ["a%2Fb", "a/b"],
    ["%C3%A9", "\u00e9"],
    ["100%", null],
    ["%zz", null],
    ["%ff", null],
  ];
  for (const [text, decoded] of table) t.equal(percentDecoded(text), decoded, text);
});
