import t from "tap";
import { CounterPool } from "../../../limiterd/counters/children.js";
import type { Rule } from "../../../limiterd/counters/counter.js";
import { DirtyWindows } from "../../../limiterd/counters/dirty-windows.js";
import { charge } from "../../../limiterd/rules/charge.js";
import type { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { bookOf, matchKept, now, rule } from "../book-of.js";

const written = (book: RuleBook): [string, number][] =>
  [...(book.takeDirty() ?? [])]
    .map(({ child, window }): [string, number] => [child, window.currentRequests])
    .sort();

function count(book: RuleBook, path: string): void {
  charge(book, matchKept(book, path, now), { atMs: now, requests: 1, tokens: 0 }, now);
  book.reclaim();
}

t.test("what has changed is handed out once, until it changes again", async (t) => {
  const book = bookOf(rule("user_path", "/"), rule("user_path", "/t", 60, { perChild: true }));
  t.equal(book.takeDirty(), null);
  for (const path of ["/t/x", "/t/y", "/t/x"]) count(book, path);
  t.same(written(book), [
    ["", 3],
    ["x", 2],
    ["y", 1],
  ]);
  t.equal(book.takeDirty(), null);
  count(book, "/t/y");
  t.same(written(book), [
    ["", 4],
    ["y", 2],
  ]);
});

t.test("a window is as it is when it is taken, and changes again from then on", async (t) => {
  const book = bookOf(rule("user_path", "/"), rule("user_path", "/t", 60, { perChild: true }));
  count(book, "/t/x");
  const taken = book.takeDirty()!;
  count(book, "/t/x");
  t.same(
    [...taken].map(({ window }) => window.currentRequests),
    [2, 2],
  );
  t.equal(book.takeDirty(), null, "both changes have been read");
  count(book, "/t/x");
  t.equal(written(book).length, 2);
});

t.test("what was reset or deleted since it was handed out is left out", async (t) => {
  const reset = bookOf(rule("user_path", "/t", 60, { perChild: true }), rule("user_path", "/u"));
  for (const path of ["/t/x", "/u"]) count(reset, path);
  const taken = reset.takeDirty()!;
  reset.resetAll(2);
  t.same(
    [...taken].map(({ child, window }) => [child, window.currentRequests]),
    [["", 0]],
    "a rule's own is handed over as it is after the reset",
  );

  const pool = new CounterPool([1, 2], 10);
  const gone = new Set<Rule>();
  const windows = new DirtyWindows(pool, (each) => !gone.has(each));
  const [a, b] = bookOf(rule("user_path", "/a"), rule("user_path", "/b")).sorted();
  for (const each of [a, b]) windows.mark(each!.own!);
  windows.mark(a!.own!);
  gone.add(a!);
  t.same(
    [...windows.take()!].map(({ ruleId }) => ruleId),
    [b!.id],
  );
  t.equal(a!.own!.isDirty, false, "it can be marked again");
  t.equal(windows.take(), null);
});
