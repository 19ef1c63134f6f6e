import fc from "fast-check";
import t from "tap";
import { withoutLoneSurrogates } from "../../../proxy/body/lone-surrogates.js";

const repaired = (json: string): string => withoutLoneSurrogates(Buffer.from(json)).toString();

t.test("halves of characters become U+FFFD, all else stays byte for byte", async (t) => {
  const table: readonly (readonly [string, string])[] = [
    ['"cut \\ud83d"', '"cut \\ufffd"'],
    ['"\\ude00 cut"', '"\\ufffd cut"'],
    ['"\\uD83D\\uDE00"', '"\\uD83D\\uDE00"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['"\\\\ud83d"', '"\\\\ud83d"'],
    ['"\\\\\\ud83d"', '"\\\\\\ufffd"'],
    ['"\\ud7ff \\ue000 é"', '"\\ud7ff \\ue000 é"'],
  ];
  for (const [given, right] of table) t.equal(repaired(given), right);
  const whole = Buffer.from('{"a":"\\ud83d\\ude00"}');
  t.equal(withoutLoneSurrogates(whole), whole, "the same bytes");
});

t.test("any text reads afterwards as its well-formed one", async () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const cut = text.replace(/[\udc00-\udfff]/g, "");
      const read = JSON.parse(repaired(JSON.stringify({ cut }))) as { cut: string };
      return read.cut === cut.replace(/[\ud800-\udbff]/g, "\ufffd");
    }),
  );
});
