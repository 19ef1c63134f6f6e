/**
 * Windows that lie in the store after a start: read when they are needed, and never counted from
 * zero.
 */
import t from "tap";
import { loadWindow } from "../../../limiterd/counters/unread-windows.js";
import { loadRules } from "../../../limiterd/lifecycle/load-unread.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, askFor, pathRule, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const template = { ...pathRule("/users", 60, { requests: 3 }), perChild: true };
const plain = pathRule("/users", 3600, { requests: 100 });
const rules = [template, plain];

/** A daemon after a restart, with two requests of `/users/a` and one of `/users/b` in its store. */
async function restarted(ruleBook = rules): Promise<TestDaemon> {
  const before = startDaemon(rules);
  const peer = before.proxy("p");
  for (const [i, path] of ["/users/a", "/users/a", "/users/b"].entries()) askFor(peer, i + 2, path);
  await before.snapshot();
  return startDaemon(ruleBook, { store: before.store.crash(), loads: false });
}

const childrenOf = ({ state }: TestDaemon) => state.book.find(template)!.children;

t.test("a start has no window in memory; a request finds those that it meets", async (t) => {
  const daemon = await restarted();
  const { book } = daemon.state;
  t.equal(book.childCount, 0);
  t.equal(book.rules.get(book.find(plain)!.id)!.own!.window.currentRequests, 3);
  const peer = daemon.proxy("p");
  t.not(askFor(peer, 2, "/users/a"), null);
  t.equal(askFor(peer, 3, "/users/a"), null, "the fourth");
  t.equal(book.childCount, 1, "the other one lies in the store");
  t.not(askFor(peer, 4, "/users/new"), null, "a child that the store doesn't have");
});

t.test("reading a child loads its windows from the store", async (t) => {
  const daemon = await restarted();
  const explained = await ask(daemon, "explain", {
    user_path: "/users/a",
    targets: [{ provider: "openai", model: "gpt-4o" }],
  });
  t.match(explained, exactly({ rules: [{ requests_used: 2 }, { requests_used: 3 }] }));
  await loadRules(daemon.state, 9);
  const listed = (await ask(daemon, "rate-limits.list", { after: null })) as {
    rate_limits: readonly { period_label: string; requests_used: number }[];
  };
  t.same(
    listed.rate_limits.map((item) => [item.period_label, item.requests_used]),
    [
      ["minute", 0],
      ["hour", 3],
    ],
  );
});

t.test("windows in the store from before a reset don't count", async (t) => {
  for (const reset of ["rate-limits.reset", "rate-limits.reset-one"] as const) {
    const daemon = await restarted();
    const one = { user_path: "/users", limit_key: { period: "minute" } };
    await ask(daemon, reset, reset === "rate-limits.reset" ? { confirmation: "reset" } : one);
    const peer = daemon.proxy("p");
    for (let i = 0; i < 3; i++) t.not(askFor(peer, i + 2, "/users/a"), null, reset);
    t.equal(askFor(peer, 9, "/users/a"), null);
    t.equal(
      daemon.state.book.find(plain)!.own!.window.currentRequests,
      reset === "rate-limits.reset" ? 3 : 6,
    );
  }
});

t.test("a window that is loaded late changes nothing that counts already", async (t) => {
  const daemon = await restarted();
  const { book } = daemon.state;
  const stored = { ...book.unread!.find(book.find(template)!, "a")! };
  const id = book.find(template)!.id;
  t.not(askFor(daemon.proxy("p"), 2, "/users/a"), null);
  t.equal(loadWindow(book, `${id}\na`, stored), true);
  t.equal(childrenOf(daemon).copy("a")!.window.currentRequests, 3);
  t.equal(loadWindow(book, `${id}\nc`, stored), true);
  t.equal(childrenOf(daemon).copy("c")!.window.currentRequests, 2, "the other ones are taken");
});

t.test("a window that no rule counts is recognised", async (t) => {
  const daemon = await restarted();
  const { book } = daemon.state;
  const rule = book.find(template)!;
  const stored = book.unread!.find(rule, "a")!;
  t.equal(loadWindow(book, "user_path\n/gone\n60\na", stored), false, "no such rule");
  t.equal(loadWindow(book, `${rule.id}\n`, stored), false, "the own window of a template");
  t.equal(loadWindow(book, `${book.find(plain)!.id}\na`, stored), false, "a child of no template");
  t.equal(loadWindow(book, `${rule.id}\na`, { ...stored, lsn: 0 }), false, "from before the rule");
  t.equal(book.childCount, 0);
});
