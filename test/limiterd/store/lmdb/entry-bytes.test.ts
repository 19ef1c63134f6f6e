import t from "tap";
import {
  keyFromBytes,
  keyToBytes,
  sealValue,
  unsealValue,
} from "../../../../limiterd/store/lmdb/entry-bytes.js";
import { createRandom } from "../../../sim/random.js";
import { anyText } from "./any-text.js";

t.test("every text and every number comes back as it went in", async (t) => {
  const random = createRandom(7);
  const keys: (string | number)[] = ["", "\u0000", "\u001b", "\u001c", "\ufffd", "a\ufffd\ud800"];
  keys.push("\ud800", "\udc00\ud800", "a\u0000", "\u0004\u0000", "\ud83d\ude00\ud83d", 0, 1);
  for (let bits = 1; bits <= 53; bits++) keys.push(2 ** bits - 1, 2 ** (bits - 1) + 1);
  for (let i = 0; i < 5_000; i++) {
    keys.push(anyText(random, 200));
    keys.push(random.int(0, 2 ** random.int(1, 52)), random.between(0, 1e6));
  }
  t.same(
    keys.filter((key) => keyFromBytes(keyToBytes(key)) !== key),
    [],
  );
});

t.test("bytes that aren't a key's are recognised, and no bytes make it throw", async (t) => {
  const random = createRandom(8);
  let unreadable = 0;
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(Array.from({ length: random.int(0, 12) }, () => random.int(0, 255)));
    const key = keyFromBytes(bytes);
    if (key === null) unreadable++;
    else if (!keyToBytes(key).equals(bytes)) t.fail(`${bytes.toString("hex")} came back changed`);
  }
  t.ok(unreadable > 1000 && unreadable < 20_000);
  t.equal(keyFromBytes(Buffer.alloc(0)), null);
  // The mark is before texts alone that need it.
  t.equal(keyFromBytes(Buffer.of(27, 28)), null);
  t.equal(keyFromBytes(Buffer.of(27, 27)), "\u001b");
});

t.test("numbers are in the order of their bytes, before all texts", async (t) => {
  const random = createRandom(9);
  const numbers = Array.from({ length: 2000 }, () => random.int(0, 2 ** random.int(1, 52)));
  const inOrder = (keys: readonly (string | number)[]) =>
    [...keys].sort((a, b) => Buffer.compare(keyToBytes(a), keyToBytes(b)));
  t.same(
    inOrder(numbers),
    numbers.sort((a, b) => a - b),
  );
  t.same(inOrder(["", "a", "\u0000", 2 ** 53 - 1]), [2 ** 53 - 1, "", "\u0000", "a"]);
});

t.test("what would be a number below 0 is no key, minus zero neither", async (t) => {
  t.same(keyFromBytes(keyToBytes(0)), 0);
  for (const first of [0x18, 0x19])
    t.equal(keyFromBytes(Buffer.of(first, 0, 0, 0)), null, first.toString(16));
});

t.test("a number has one form: as many bytes as it needs, and no other bits", async (t) => {
  for (const [number, length] of [
    [0, 4],
    [1, 4],
    [2 ** 24 + 1, 6],
    [2 ** 40 + 1, 8],
    [2 ** 53 - 1, 9],
  ] as const) {
    const bytes = keyToBytes(number);
    t.equal(bytes.length, length);
    for (let longer = length + 1; longer <= 12; longer++)
      t.equal(keyFromBytes(Buffer.concat([bytes, Buffer.alloc(longer - length)])), null);
    for (const shorter of [1, 2, 3, 5, 7])
      if (shorter < length) t.equal(keyFromBytes(bytes.subarray(0, shorter)), null);
  }
  const nine = keyToBytes(2 ** 53 - 1);
  t.equal(
    keyFromBytes(Buffer.from(nine.with(8, nine[8]! | 1))),
    null,
    "the last four bits are none",
  );
  for (const first of [0x00, 0x0f])
    t.equal(keyFromBytes(Buffer.of(first, 0, 0, 1)), null, "another mark");
});

t.test("a key is read from any view of its bytes", async (t) => {
  for (const key of ["a", "é\ud800", "", 7, 2 ** 40 + 1]) {
    const bytes = keyToBytes(key);
    const larger = new Uint8Array(bytes.length + 8).fill(0x41);
    larger.set(bytes, 5);
    t.equal(keyFromBytes(larger.subarray(5, 5 + bytes.length)), key, String(key));
  }
});

t.test("a value comes back as it was, and changed bytes give none", async (t) => {
  for (const value of [[], [1, "a", null, true], [["nested", [2 ** 52]], "é".repeat(300)]]) {
    const key = Buffer.from("key");
    const sealed = sealValue("usage", key, value);
    t.same(unsealValue("usage", key, sealed), value);
    t.equal(unsealValue("days", key, sealed), null, "it is no value of another table");
    t.equal(unsealValue("usage", Buffer.from("kez"), sealed), null, "nor of another key");
    const read: unknown[] = [];
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = sealed[at]! ^ 1;
      if (unsealValue("usage", key, changed) !== null) read.push(`with byte ${at} changed`);
      if (at < sealed.length - 1 && unsealValue("usage", key, sealed.subarray(0, at + 1)) !== null)
        read.push(`cut after byte ${at}`);
    }
    t.same(read, []);
  }
});

t.test("a head without a body is no value, nor is less than a head", async (t) => {
  for (let bytes = 0; bytes <= 5; bytes++)
    t.equal(
      unsealValue("usage", Buffer.of(1), Buffer.of(1, 0, 0, 0, 0).subarray(0, bytes)),
      null,
      `${bytes} bytes`,
    );
});
