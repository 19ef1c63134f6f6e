import t from "tap";
import { sealValue, unsealValue } from "../../../../limiterd/store/lmdb/sealed-value.js";

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
