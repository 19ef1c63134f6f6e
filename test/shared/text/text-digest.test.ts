import t from "tap";
import { textDigest } from "../../../shared/text/text-digest.js";

t.test("a text has the same digest always, and another text another one", async (t) => {
  t.equal(textDigest(""), "811c9dc501000193");
  const texts = ["", "a", "b", "ab", "ba", "\u00e9", "\ud83d\ude00", "a".repeat(100_000)];
  const digests = texts.map(textDigest);
  for (const digest of digests) t.match(digest, /^[0-9a-f]{16}$/);
  t.equal(new Set(digests).size, texts.length);
});
