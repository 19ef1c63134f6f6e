import t from "tap";
import { FreePlaces } from "../../../proxy/capacity/free-places.js";

t.test(
  "each caller has its places of each kind, and nothing is left of those given back",
  async (t) => {
    const places = new FreePlaces({ lists: 2, reports: 1 });
    t.ok(places.take("lists", "a") && places.take("lists", "a"));
    t.notOk(places.take("lists", "a"));
    t.ok(places.take("lists", "b"));
    t.ok(places.take("reports", "a"));
    t.notOk(places.take("reports", "a"));
    places.give("lists", "a");
    t.ok(places.take("lists", "a"));
    for (const caller of ["a", "a", "b"]) places.give("lists", caller);
    places.give("reports", "a");
    t.equal(places.taken, 0);
  },
);
