import t from "tap";
import { Counter, copyCounter, isNewChild, keepChild } from "../../../limiterd/counters/counter.js";
import { newWindow } from "../../../limiterd/counters/window.js";
import { hasWindow } from "../../../limiterd/rules/rule-book.js";
import { bookOf, now, rule } from "../book-of.js";

t.test("a counter is named by what it counts: a rule's subject, or the child's path", async (t) => {
  const book = bookOf(
    rule("user_path", "/a"),
    rule("model", "gpt-4o"),
    rule("user_path", "/t", 60, { perChild: true }),
    rule("user_path", "/", 3600, { perChild: true }),
  );
  const met = (path: string): string[] => book.matchPath(path, now).map(({ subject }) => subject);
  t.same(met("/a"), ["/a", "/a"], "the root's child, and the rule's own");
  t.same(met("/t/x/y"), ["/t", "/t/x"]);
  const model = book.sorted().find(({ definition }) => definition.scope === "model")!;
  t.equal(model.own!.subject, "gpt-4o");
  t.equal(model.own!.child, "");
});

t.test(
  "a rule has a counter of its own, or children; without a period it has no window",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/a", 0),
      rule("user_path", "/b", 60),
      rule("user_path", "/c", 60, { perChild: true }),
    );
    const [a, b, c] = ["/a", "/b", "/c"].map(
      (subject) => book.sorted().find(({ definition }) => definition.subject === subject)!,
    );
    t.same(
      [a, b, c].map((each) => each!.own !== null),
      [true, true, false],
    );
    t.same(
      [a, b].map((each) => hasWindow(each!.own!)),
      [false, true],
    );
    t.same(
      [a, b].map((each) => each!.own!.window.startMs),
      [0, now],
    );
    t.match(b!.own, { place: -1, position: -1, inFlight: 0, isDirty: false, restoredLsn: 0 });
  },
);

t.test(
  "an edit replaces the caps and says when, and leaves the definition that it was given alone",
  async (t) => {
    const [edited] = bookOf(rule("user_path", "/a")).sorted();
    const definition = rule("user_path", "/a", 60, { requests: 77 });
    edited!.edit(definition, "config", now + 5);
    t.same(edited!.definition, { ...definition, hostOnly: false });
    t.not(edited!.definition, definition);
    t.match(edited, { source: "config", createdAtMs: now, updatedAtMs: now + 5 });
  },
);

t.test("the counter of a new child is kept once something counts in it", async (t) => {
  const book = bookOf(rule("user_path", "/t", 60, { perChild: true }), rule("user_path", "/"));
  const [own, child] = book
    .matchPath("/t/x", now)
    .toSorted((a, b) => a.child.length - b.child.length) as [Counter, Counter];
  t.same([isNewChild(own), isNewChild(child)], [false, true]);
  keepChild(own);
  t.equal(book.childCount, 0);
  keepChild(child);
  t.equal(book.childCount, 1);
  t.equal(isNewChild(child), false);
  keepChild(child);
  t.equal(book.childCount, 1, "once");
});

t.test("a copy is looked at without a trace in what it was copied from", async (t) => {
  const [template] = bookOf(rule("user_path", "/t", 60, { perChild: true })).sorted();
  const counter = new Counter(template!, "x", newWindow(60_000, now), 9);
  Object.assign(counter, { inFlight: 3, place: 4, position: 5, isDirty: true });
  const copy = copyCounter(counter);
  t.match(copy, { rule: template, child: "x", inFlight: 3, place: 4, restoredLsn: 9 });
  t.same([copy.position, copy.isDirty], [-1, false], "it is checked out nowhere");
  t.same(copy.window, counter.window);
  copy.window.currentRequests = 7;
  t.equal(counter.window.currentRequests, 0);
});
