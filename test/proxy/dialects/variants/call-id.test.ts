import t from "tap";
import { nineCharacterId } from "../../../../proxy/dialects/variants/call-id.js";

t.test(
  "an id of nine letters and digits stays; another becomes one, always the same",
  async (t) => {
    t.equal(nineCharacterId("abcDEF123"), "abcDEF123");
    const ids = Array.from({ length: 20_000 }, (_, i) => nineCharacterId(`toolu_01${i}`));
    t.equal(new Set(ids).size, ids.length, "and differs from the others");
    t.same(
      ids.filter((id) => !/^[A-Za-z0-9]{9}$/.test(id)),
      [],
    );
    t.equal(nineCharacterId("toolu_015"), ids[5]);
  },
);
