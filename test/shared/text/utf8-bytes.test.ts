import fc from "fast-check";
import t from "tap";
import { utf8Bytes } from "../../../shared/text/utf8-bytes.js";
import { anyText } from "../../support/any-text.js";

t.test("the bytes of a text are counted as UTF-8 writes them", async (t) => {
  fc.assert(
    fc.property(anyText(), (text) => utf8Bytes(text) === Buffer.byteLength(text)),
    { numRuns: 2000 },
  );
  t.equal(utf8Bytes("aé日🙂"), 1 + 2 + 3 + 4);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "é", "日", "\ud83d", "\ude42") }),
      (text) => utf8Bytes(text) === Buffer.byteLength(text),
    ),
    { numRuns: 500 },
  );
});
