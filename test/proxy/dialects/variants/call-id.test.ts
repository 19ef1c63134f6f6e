import t from "tap";
import { nineCharacterId, shortCallId } from "../../../../proxy/dialects/variants/call-id.js";

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

t.test("a long id becomes one of 40 characters", async (t) => {
  t.equal(shortCallId("toolu_01"), "toolu_01");
  const long = "functions.read_file:".repeat(5);
  t.equal(shortCallId(`${long}1`), shortCallId(`${long}1`));
  t.not(shortCallId(`${long}1`), shortCallId(`${long}2`));
  t.equal(shortCallId(long).length, 40);
});
