import t from "tap";
import { TextDigest, textDigest } from "../../../shared/text/text-digest.js";

t.test("a text has the same digest always, and another text another one", async (t) => {
  t.equal(textDigest(""), "811c9dc501000193");
  const texts = ["", "a", "b", "ab", "ba", "\u00e9", "\ud83d\ude00", "a".repeat(100_000)];
  const digests = texts.map(textDigest);
  for (const digest of digests) t.match(digest, /^[0-9a-f]{16}$/);
  t.equal(new Set(digests).size, texts.length);
});

t.test("a text in pieces has the digest of the whole, wherever it is cut", async (t) => {
  for (const cut of [0, 1, 4, 9]) {
    const digest = new TextDigest();
    digest.add("a \ud83d\ude00 text".slice(0, cut));
    digest.add("a \ud83d\ude00 text".slice(cut));
    t.equal(String(digest), textDigest("a \ud83d\ude00 text"));
  }
});
