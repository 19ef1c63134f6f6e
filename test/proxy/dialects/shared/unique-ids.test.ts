import t from "tap";
import { signedMark } from "../../../../proxy/dialects/shared/thought-signature.js";
import { UniqueIds } from "../../../../proxy/dialects/shared/unique-ids.js";

t.test("an id that has occurred gets a number, before the signature that it carries", async (t) => {
  const ids = new UniqueIds();
  const given = ["a", "a", "a_2", "b", `a${signedMark}x`, `c${signedMark}x`, `c${signedMark}y`, ""];
  t.same(
    given.map((id) => ids.of(id)),
    ["a", "a_2", "a_2_2", "b", `a_3${signedMark}x`, `c${signedMark}x`, `c_2${signedMark}y`, ""],
  );
});

t.test("many calls of one id take time in proportion to their number", async (t) => {
  const ids = new UniqueIds();
  const own = Array.from({ length: 100_000 }, () => ids.of("a"));
  t.equal(new Set(own).size, own.length);
});
