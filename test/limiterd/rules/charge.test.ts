import t from "tap";
import { charge, hold, release } from "../../../limiterd/rules/charge.js";
import { bookOf, matchKept, now, rule } from "../book-of.js";

const template = rule("user_path", "/users", 60, { requests: 9, tokens: 99, perChild: true });

t.test(
  "a slot that is held keeps its child, and a child that holds none is put back",
  async (t) => {
    const book = bookOf(template);
    const { children } = book.find(template)!;
    const counters = book.matchPath("/users/a", now);
    hold(counters);
    hold(book.matchPath("/users/a", now));
    const [counter] = counters;
    t.equal(counter!.inFlight, 2, "of one child there is one counter");
    const isOut = (): boolean => {
      book.reclaim();
      return children.isCheckedOut(counter!);
    };
    t.equal(isOut(), true);
    release(counters);
    t.equal(isOut(), true);
    release(counters);
    t.equal(isOut(), false);
    t.equal(children.size, 1);
  },
);

t.test("what a child that isn't there would take back, it doesn't count", async (t) => {
  const book = bookOf(template);
  const at = { atMs: now, tokens: 0 };
  charge(book, book.matchPath("/users/a", now), { ...at, requests: -1 }, now);
  charge(book, book.matchPath("/users/a", now), { ...at, requests: 0 }, now);
  t.equal(book.childCount, 0, "nor does one that nothing is counted of");
  charge(book, book.matchPath("/users/a", now), { ...at, requests: 1 }, now);
  charge(book, book.matchPath("/users/b", now), { ...at, requests: 0, tokens: 5 }, now);
  t.equal(book.childCount, 2);
  charge(book, book.matchPath("/users/a", now), { ...at, requests: -1 }, now);
  const { children } = book.find(template)!;
  t.match(children.copy("a")!.window, { currentRequests: 0 });
  t.match(children.copy("b")!.window, { currentRequests: 0, currentTokens: 5 });
});

t.test(
  "a charge lies in the half of its moment; what is now, behind a clock that stepped back, in the current one",
  async (t) => {
    const plain = rule("user_path", "/a", 60);
    for (const [nowMs, atMs, previous, current] of [
      [now + 30_000, now + 30_000, 0, 1],
      [now + 30_000, now, 0, 1],
      [now + 30_000, now - 1, 1, 0],
      [now + 30_000, now - 60_000, 1, 0],
      [now + 30_000, now - 60_001, 0, 0],
      [now - 30_000, now - 30_000, 0, 1],
      [now - 30_000, now - 29_999, 0, 1],
      [now - 30_000, now - 30_001, 1, 0],
    ] as const) {
      const book = bookOf(plain);
      charge(book, matchKept(book, "/a", now), { atMs, requests: 1, tokens: 0 }, nowMs);
      const { window } = book.find(plain)!.own!;
      t.match(
        window,
        { startMs: now, previousRequests: previous, currentRequests: current },
        `${atMs - now} ms, at ${nowMs - now} ms`,
      );
      t.equal(book.counted.size, previous + current, "the journal has what a window counts");
    }
  },
);
