import t from "tap";
import { CheckedOutCounters } from "../../../limiterd/counters/checked-out-counters.js";
import { Counter } from "../../../limiterd/counters/counter.js";
import { newWindow } from "../../../limiterd/counters/window.js";
import { bookOf, rule } from "../book-of.js";

const [template] = [...bookOf(rule("user_path", "/t", 60, { perChild: true })).sorted()];
const counter = (child: string): Counter => new Counter(template!, child, newWindow(60_000, 0));

t.test(
  "a counter has a slot of its own from check-out to check-in, and no slot after",
  async (t) => {
    const counters = new CheckedOutCounters();
    const [a, b, c] = [counter("a"), counter("b"), counter("c")];
    t.equal(counters.has(a), false);
    for (const one of [a, b]) counters.add(one);
    t.same([a.slot, b.slot], [0, 1]);
    t.equal(counters.at(0), a);
    t.equal(counters.at(1), b);
    counters.remove(a);
    t.equal(a.slot, -1);
    t.equal(counters.has(a), false);
    t.equal(counters.at(0), null, "nothing holds it any more");
    t.equal(counters.has(b), true);
    counters.add(c);
    t.equal(c.slot, 0, "the slot that is free");
    counters.add(a);
    t.equal(a.slot, 2);
  },
);

t.test("a counter that is checked out elsewhere isn't here", async (t) => {
  const [here, there] = [new CheckedOutCounters(), new CheckedOutCounters()];
  const [a, b] = [counter("a"), counter("b")];
  here.add(a);
  there.add(b);
  t.same([here.has(a), here.has(b), there.has(a)], [true, false, false]);
});
