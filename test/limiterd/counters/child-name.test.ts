import fc from "fast-check";
import t from "tap";
import { type HashKey, NameReader, nameWords } from "../../../limiterd/counters/child-name.js";

const anyName = fc.string({
  unit: fc.constantFrom("a", "b", "\0", "ÿ", "\u0100", "é", "ł", "漢", "\ud800"),
  maxLength: 9,
});

/** HalfSipHash-1-3 of the words and, as the last one, the head; from its description. */
function reference([key0, key1]: HashKey, words: readonly number[]): number {
  const rotated = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
  let [a, b, c, d] = [key0, key1, 0x6c796765 ^ key0, 0x74656462 ^ key1];
  const round = (): void => {
    a = (a + b) | 0;
    b = rotated(b, 5) ^ a;
    a = rotated(a, 16);
    c = (c + d) | 0;
    d = rotated(d, 8) ^ c;
    a = (a + d) | 0;
    d = rotated(d, 7) ^ a;
    c = (c + b) | 0;
    b = rotated(b, 13) ^ c;
    c = rotated(c, 16);
  };
  for (const word of words) {
    d ^= word;
    round();
    a ^= word;
  }
  c ^= 0xff;
  for (let i = 0; i < 3; i++) round();
  return b ^ d;
}

/** The bytes of a name: one for each character as long as all fit into one, else two. */
function wordsOf(name: string): number[] {
  const isWide = [...Array(name.length).keys()].some((i) => name.charCodeAt(i) > 255);
  const bytes = Buffer.from(name, isWide ? "utf16le" : "latin1");
  const filled = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  bytes.copy(filled);
  return Array.from({ length: filled.length / 4 }, (_, i) => filled.readInt32LE(4 * i));
}

t.test("words, length and keyed hash are the name's, whatever was read before", async () => {
  const key = fc.tuple(fc.integer(), fc.integer());
  fc.assert(
    fc.property(key, fc.array(anyName, { minLength: 1, maxLength: 4 }), (key, names) => {
      const reader = new NameReader(key);
      for (const name of names) {
        reader.read(name);
        const words = wordsOf(name);
        const own = [...reader.words.subarray(0, nameWords(reader.head))];
        if (own.join() !== words.join()) throw new Error(`${own}, not ${words}`);
        if (reader.head >>> 4 !== name.length) throw new Error("the length is another");
        if (reader.hash !== reference(key, [...words, reader.head]))
          throw new Error("the hash is another");
      }
    }),
    { numRuns: 300 },
  );
});

t.test("a name has a bound, up to which it is read", async (t) => {
  const reader = new NameReader([1, 2]);
  for (const unit of ["a", "漢"]) {
    const longest = `${unit.repeat(2047)}b`;
    reader.read(longest);
    t.equal(reader.head >>> 4, 2048);
    t.same([...reader.words.subarray(0, nameWords(reader.head))], wordsOf(longest));
    t.throws(() => reader.read(unit.repeat(2049)), /a name has a bound/);
  }
});

t.test("the marks are no part of a head as it is read", async (t) => {
  const reader = new NameReader([1, 2]);
  for (const name of ["", "a", "漢"]) {
    reader.read(name);
    t.equal(reader.head & 7, 0);
  }
});
