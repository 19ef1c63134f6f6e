import t from "tap";
import { Held } from "../../../limiterd/counters/held.js";

t.test("a child holds what its requests hold, and nothing when they have ended", async (t) => {
  const held = new Held();
  held.add("a", 5);
  held.add("a", 7);
  held.add("", 1);
  t.same([held.of("a"), held.of(""), held.of("b")], [12, 1, 0]);
  held.remove("a", 5);
  t.equal(held.of("a"), 7);
  held.remove("a", 7);
  held.remove("a", 7);
  t.same([held.of("a"), held.of("")], [0, 1]);
});

t.test("sums beyond what is exact leave nothing behind", async (t) => {
  const held = new Held();
  const amounts = [Number.MAX_SAFE_INTEGER, 3, Number.MAX_SAFE_INTEGER, 1];
  for (const amount of amounts) held.add("", amount);
  for (const amount of amounts) held.remove("", amount);
  t.equal(held.of(""), 0);
});
