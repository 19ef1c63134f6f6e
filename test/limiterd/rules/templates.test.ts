/**
 * Per-child templates through a daemon's steps, over resets, deletions, switches and crashes.
 */
import t from "tap";
import { CounterPool } from "../../../limiterd/counters/children.js";
import type { Counter } from "../../../limiterd/counters/counter.js";
import type { PlainOp } from "../../../limiterd/handlers/admin/admin-operation.js";
import { explainVerdict } from "../../../limiterd/handlers/admin/explain-verdict.js";
import { handleAdmin } from "../../../limiterd/handlers/admin/handle-admin.js";
import { examinedPerSweep, sweepChildren } from "../../../limiterd/lifecycle/sweep.js";
import { admit } from "../../../limiterd/rules/admit.js";
import { charge } from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { freeSlots, takeSlots } from "../../../limiterd/rules/slots.js";
import { Templates } from "../../../limiterd/rules/templates.js";
import { refusalHeaders } from "../../../proxy/http/limit-headers.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget } from "../budgets/budget-fixture.js";
import {
  askFor,
  counts,
  pathRule,
  settleOf,
  startDaemon,
  submit,
  type TestDaemon,
} from "../in-memory-daemon.js";

const template: RuleDefinition = {
  ...pathRule("/users", 60, { requests: 2, tokens: 100 }),
  perChild: true,
};
const gauges: RuleDefinition = { ...pathRule("/users", 0, { requests: 1 }), perChild: true };
const key = { user_path: "/users", limit_key: { period: "minute" } };

/** Requests, tokens and slots of one child. */
function ofChild(daemon: TestDaemon, rule: RuleDefinition, child: string): readonly number[] {
  const { window, inFlight } = daemon.state.book.childOf(
    daemon.state.book.find(rule)!,
    child,
    daemon.nowMs,
  );
  return [
    window.previousRequests + window.currentRequests,
    window.previousTokens + window.currentTokens,
    inFlight,
  ];
}

/** An admin operation; resolved once it is answered. */
async function admin(daemon: TestDaemon, op: PlainOp, body: unknown): Promise<unknown> {
  const answered = new Promise((resolve) => {
    handleAdmin(daemon.state, { op, body }, daemon.nowMs, {
      answer: resolve,
      fail: resolve,
      targetsReported: () => {},
    });
  });
  await daemon.commit();
  return answered;
}

const windows = (daemon: TestDaemon): string[] =>
  [...daemon.store.entries("windows")].map(({ key: stored }) => String(stored).split("\n").at(-1)!);

t.test("each direct child has windows and gauges of its own", async (t) => {
  const daemon = startDaemon([template, gauges]);
  const peer = daemon.proxy("p1");
  const first = askFor(peer, 2, "/users/ann/app");
  t.ok(first);
  t.equal(askFor(peer, 3, "/users/ann"), null, "ann's one slot is taken, whatever is below her");
  t.ok(askFor(peer, 4, "/users/bob"), "bob has his own");
  t.ok(askFor(peer, 5, "/users"), "the template's own path isn't matched");
  peer.send(settleOf(first!, 1, 99));
  t.same(ofChild(daemon, template, "ann"), [1, 99, 0]);
  t.same(ofChild(daemon, template, "bob"), [1, 0, 1]);
});

for (const [op, body] of [
  ["rate-limits.reset-one", { user_path: "/users", period: "minute" }],
  ["rate-limits.reset", { confirmation: "reset" }],
] as const) {
  t.test(
    `${op} clears every child's windows at once; slots are released as requests end`,
    async (t) => {
      const daemon = startDaemon([template]);
      const peer = daemon.proxy("p1");
      const running = askFor(peer, 2, "/users/ann")!;
      for (const child of ["bob", "cid"])
        peer.send(
          settleOf(
            askFor(peer, child === "bob" ? 3 : 4, `/users/${child}`)!,
            child === "bob" ? 1 : 2,
            7,
          ),
        );
      await daemon.snapshot();
      t.same(windows(daemon), ["ann", "bob", "cid"]);
      t.same(await admin(daemon, op, body), {});
      t.same(ofChild(daemon, template, "ann"), [0, 0, 1], "the gauge stays");
      t.same(ofChild(daemon, template, "bob"), [0, 0, 0]);
      peer.send(settleOf(running, 3, 5));
      t.same(ofChild(daemon, template, "ann"), [0, 5, 0], "its tokens count now, its slot is free");
      await daemon.snapshot();
      await sweepChildren(
        daemon.state,
        () => daemon.nowMs,
        () => Promise.resolve(),
      );
      const restarted = startDaemon([template], {
        store: daemon.store.crash(),
        nowMs: daemon.nowMs,
      });
      t.same(
        ["ann", "bob", "cid"].map((child) => ofChild(restarted, template, child)),
        [
          [0, 5, 0],
          [0, 0, 0],
          [0, 0, 0],
        ],
      );
    },
  );

  t.test(
    `after ${op} a crash at any moment brings nothing back, children and other rules alike`,
    async (t) => {
      const shared = pathRule("/", 60, { requests: 100, tokens: 1000 });
      const daemon = startDaemon([template, shared]);
      const peer = daemon.proxy("p1");
      peer.send(settleOf(askFor(peer, 2, "/users/ann")!, 1, 7));
      await daemon.snapshot();
      peer.send(settleOf(askFor(peer, 3, "/users/bob")!, 2, 8));
      await daemon.commit();
      await admin(daemon, op, body);
      const kept =
        op === "rate-limits.reset"
          ? { requests: 0, tokens: 0, inFlight: 0 }
          : { requests: 2, tokens: 15, inFlight: 0 };
      const look = (name: string): void => {
        const next = startDaemon([template, shared], {
          store: daemon.store.crash(),
          nowMs: daemon.nowMs,
        });
        t.same(
          ["ann", "bob"].map((child) => ofChild(next, template, child)),
          [
            [0, 0, 0],
            [0, 0, 0],
          ],
          name,
        );
        t.same(counts(next, shared), kept, name);
      };
      look("answered, its windows still in the store");
      await sweepChildren(
        daemon.state,
        () => daemon.nowMs,
        () => Promise.resolve(),
      );
      look("some of them removed");
      await daemon.snapshot();
      look("after a snapshot");
    },
  );
}

t.test(
  "what is counted after a reset isn't taken away with what was before, though both have one key in the store",
  async (t) => {
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p1");
    peer.send(settleOf(askFor(peer, 2, "/users/ann")!, 1, 7));
    await daemon.snapshot();
    await admin(daemon, "rate-limits.reset-one", { user_path: "/users", period: "minute" });
    peer.send(settleOf(askFor(peer, 3, "/users/ann")!, 2, 9));
    await daemon.snapshot();
    await sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    );
    const next = startDaemon([template], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.same(ofChild(next, template, "ann"), [1, 9, 0]);
  },
);

t.test(
  "stale windows are removed in slices after the start; a child that counts again keeps its entry",
  async (t) => {
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p1");
    for (let i = 0; i < 1200; i++)
      peer.send(settleOf(askFor(peer, i + 2, `/users/u${i}`)!, i + 1, 7));
    await daemon.snapshot();
    await admin(daemon, "rate-limits.reset-one", { user_path: "/users", period: "minute" });
    t.equal(windows(daemon).length, 1200, "answered before they are gone");
    const next = startDaemon([template], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.equal(windows(next).length, 1200);
    const again = next.proxy("p1");
    for (const i of [0, 1199])
      again.send(settleOf(askFor(again, i + 2, `/users/u${i}`)!, 2000 + i, 9));
    await next.snapshot();
    await next.commit();
    t.same(windows(next), ["u0", "u1199"]);
    t.same(
      ["u0", "u600", "u1199"].map((child) =>
        ofChild(
          startDaemon([template], { store: next.store.crash(), nowMs: next.nowMs }),
          template,
          child,
        ),
      ),
      [
        [1, 9, 0],
        [0, 0, 0],
        [1, 9, 0],
      ],
    );
  },
);

t.test(
  "a deleted template leaves nothing behind, and made again it begins at zero; running requests give their slots back",
  async (t) => {
    const daemon = startDaemon([]);
    daemon.state.book.put(template, { source: "manual", nowMs: daemon.nowMs, lsn: 1 });
    const peer = daemon.proxy("p1");
    const running = askFor(peer, 2, "/users/ann")!;
    peer.send(settleOf(askFor(peer, 3, "/users/bob")!, 1, 7));
    await daemon.snapshot();
    t.same(await admin(daemon, "rate-limits.delete", key), {});
    daemon.state.book.put(template, {
      source: "manual",
      nowMs: daemon.nowMs,
      lsn: daemon.state.writer.closeBatch(),
    });
    t.same(ofChild(daemon, template, "ann"), [0, 0, 0]);
    peer.send(settleOf(running, 2, 5));
    t.same(ofChild(daemon, template, "ann"), [0, 5, 0], "the slot was the old rule's");
    await sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    );
    t.same(windows(daemon), ["ann"], "bob is gone, ann's entry is the new rule's");
    await daemon.snapshot();
    t.equal(daemon.state.book.childCount, 1);
  },
);

t.test("a switch between shared and per child starts clean, over a crash too", async (t) => {
  for (const [from, to] of [
    [{ ...template, perChild: false }, template],
    [template, { ...template, perChild: false }],
  ] as const) {
    const daemon = startDaemon([from]);
    const peer = daemon.proxy("p1");
    peer.send(settleOf(askFor(peer, 2, "/users/ann")!, 1, 7));
    await daemon.snapshot();
    const live = startDaemon([to], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    const again = startDaemon([to], { store: live.store.crash(), nowMs: daemon.nowMs });
    for (const next of [live, again])
      t.same(to.perChild ? ofChild(next, to, "ann") : Object.values(counts(next, to)), [0, 0, 0]);
    await live.commit();
    const back = startDaemon([from], { store: live.store.crash(), nowMs: daemon.nowMs });
    t.same(
      from.perChild ? ofChild(back, from, "ann") : Object.values(counts(back, from)),
      [0, 0, 0],
      "and what was before the switch doesn't come back with it",
    );
  }
});

t.test(
  "a child whose counter is checked in is restored, read and charged like any other",
  async (t) => {
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p1");
    for (let i = 0; i < 10_000; i++)
      peer.send(settleOf(askFor(peer, i + 2, `/users/u${i}`)!, i + 1, i % 90));
    await daemon.snapshot();
    const store = daemon.store.crash();
    const check = (of: TestDaemon, tokens: (i: number) => number): void => {
      const wrong = Array.from({ length: 10_000 }, (_, i) => i).filter(
        (i) => JSON.stringify(ofChild(of, template, `u${i}`)) !== JSON.stringify([1, tokens(i), 0]),
      );
      t.same(wrong, []);
    };
    for (let i = 0; i < 10_000; i += 2)
      peer.send({
        ...settleOf(
          {
            lease: 0,
            userPath: `/users/u${i}`,
            target: null,
            admittedAtMs: 0,
            lsn: 0,
            targetAtMs: 0,
            targetLsn: 0,
            submission: false,
          },
          10_001 + i,
          1,
        ),
      });
    const next = startDaemon([template], { store, nowMs: daemon.nowMs });
    check(next, (i) => i % 90);
    t.equal(next.state.book.childCount, 10_000);
    const halfCharged = Array.from({ length: 10_000 }, (_, i) => i).filter(
      (i) => ofChild(daemon, template, `u${i}`)[1] !== (i % 90) + (i % 2 === 0 ? 1 : 0),
    );
    t.same(halfCharged, []);
  },
);

t.test(
  "a sweep looks at so many that all are seen within a minute, however many there are",
  async (t) => {
    for (const children of [0, 1000, 1_200_000, 6_000_000])
      t.ok(examinedPerSweep(children) * 60 >= children);
    t.equal(examinedPerSweep(0), 20_000);
    t.equal(examinedPerSweep(6_000_000), 100_000);
  },
);

t.test("refused requests leave no child, of a rule or of a budget", async (t) => {
  const perDay = { ...budget("/users", 86_400, 1), perChild: true };
  const daemon = startDaemon([template, gauges, pathRule("/", 3600, { requests: 1 })], {
    budgets: [perDay],
  });
  // A day later nothing is looked up for the budget any more.
  daemon.nowMs += 2 * 86_400_000;
  const peer = daemon.proxy("p1");
  const [limit] = daemon.state.budgets.sorted();
  t.ok(askFor(peer, 2, "/users/ann"), "the root's one request of the hour");
  t.equal(daemon.state.book.childCount, 2);
  const admitted: string[] = [];
  for (let i = 0; i < 1000; i++)
    if (askFor(peer, 3 + i, `/users/u${i}`) !== null) admitted.push(`u${i}`);
  t.same(admitted, []);
  t.equal(daemon.state.book.childCount, 2);
  t.equal(limit!.children.size, 0, "nothing was spent yet");
  peer.send({
    read: 0,
    kind: "admit",
    id: 2000,
    userPath: "/users/x",
    credential: "wrong".padEnd(43, "x"),
    targets: [{ provider: "openai", model: "gpt-4o" }],
    submission: false,
  });
  t.equal(daemon.state.book.childCount, 2);
});

t.test("a submission leaves no gauge, and what is taken back makes no child", async (t) => {
  const daemon = startDaemon([template, gauges]);
  const peer = daemon.proxy("p1");
  t.ok(submit(peer, 2, "/users/ann"));
  t.equal(daemon.state.book.find(gauges)!.children.size, 0);
  t.equal(daemon.state.book.find(template)!.children.size, 1);
  const lease = askFor(peer, 3, "/users/bob")!;
  await admin(daemon, "rate-limits.reset", { confirmation: "reset" });
  peer.send({ ...settleOf(lease, 1, 0), part: "withdrawn" });
  t.same(ofChild(daemon, template, "bob"), [0, 0, 0]);
});

t.test(
  "a full template refuses further children with a message of its own, and goes on with those it has",
  async (t) => {
    const book = new RuleBook([1, 2], new Map(), 2);
    book.put(template, { source: "manual", nowMs: 0, lsn: 1 });
    const ask = (path: string) =>
      admit(
        book,
        { userPath: path, targets: [{ provider: "openai", model: "m" }], submission: false },
        { nowMs: 0, tokensEnforced: true },
      );
    const first = ask("/users/ann");
    t.equal(ask("/users/bob").kind, "admitted");
    const refused = ask("/users/cid");
    t.match(refused, {
      kind: "refused",
      breach: { subject: "/users/cid", dimension: "children", cap: 2, waitSeconds: 60 },
    });
    if (refused.kind === "refused") {
      t.equal(
        refusalMessage(refused.breach),
        "rate limit exceeded for /users/cid: the minute template has 2 children already",
      );
      t.same(refusalHeaders(refused.breach), ["retry-after", "60", "retry-after-ms", "60000"]);
    }
    t.equal(book.childCount, 2);
    t.equal(ask("/users/bob").kind, "admitted", "a child that it has");
    t.equal(ask("/other").kind, "admitted");
    const explained = explainVerdict(
      book,
      { userPath: "/users/cid", targets: [], submission: true },
      { nowMs: 0, tokensEnforced: true },
    );
    t.match(explained.rules, exactly([{ breached: ["children"], retry_after: 60 }]));
    if (first.kind === "admitted") freeSlots(first.counters);
    t.equal([...(book.takeDirty() ?? [])].length, 2);
    book.reclaim();
    t.same(
      book.forgetIdle(120_000, 100).map(({ child }) => child),
      ["ann"],
    );
    t.equal(ask("/users/cid").kind, "admitted", "once another is forgotten");
  },
);

t.test("children that a reset has dropped are let go of once they were gone through", (t) => {
  const book = new RuleBook([1, 2]);
  const rule = book.put(template, { source: "manual", nowMs: 0, lsn: 1 });
  const targets = [{ provider: "openai", model: "" }];
  const request = { userPath: "/users/ann", targets, submission: true };
  for (let round = 0; round < 3; round++) {
    admit(book, request, { nowMs: 0, tokensEnforced: true });
    book.reclaim();
    book.reset(rule, 2 + round);
  }
  t.equal(rule.retired.length, 3);
  book.forgetIdle(0, 100);
  t.equal(rule.retired.length, 0);
  t.equal(book.childCount, 0);
  t.end();
});

t.test("a template that was deleted isn't looked at any more", async (t) => {
  const seen: string[] = [];
  const templates = new Templates(new CounterPool([1, 2], 10), {
    current: () => undefined,
    fresh(rule) {
      seen.push(rule.definition.subject);
      return rule;
    },
    read: () => false,
  });
  const book = new RuleBook();
  const [one, two] = ["/one", "/two"].map((subject) =>
    book.put({ ...template, subject }, { source: "manual", nowMs: 0, lsn: 0 }),
  );
  templates.add(one!);
  templates.add(two!);
  t.same(templates.forgetIdle(0, 9), []);
  templates.remove(one!);
  templates.forgetIdle(0, 9);
  t.same(seen, ["/one", "/two", "/two"]);
});

t.test("a copy of an unused child has no request in flight", async (t) => {
  const book = new RuleBook();
  const rule = book.put(template, { source: "manual", nowMs: 0, lsn: 0 });
  const ports = { current: () => rule, fresh: () => rule, read: () => false };
  const templates = new Templates(new CounterPool([1, 2], 10), ports);
  t.match(templates.copyOf(rule, "ann", 0), { child: "ann", inFlight: 0 });
  t.equal(rule.children.size, 0, "nothing is made");
});

/** A book with one template, of which these children have counted a request that is written. */
function bookWith(children: readonly string[]): { readonly book: RuleBook; nowMs: number } {
  const book = new RuleBook([1, 2]);
  const nowMs = 1_767_225_600_000;
  book.put(template, { source: "manual", nowMs, lsn: 1 });
  for (const child of children) count(book, child, nowMs);
  write(book);
  book.reclaim();
  return { book, nowMs };
}

function count(book: RuleBook, child: string, nowMs: number): readonly Counter[] {
  const met = book.matchPath(`/users/${child}`, nowMs);
  charge(book, met, { atMs: nowMs, requests: 1, tokens: 0 }, nowMs);
  return met;
}

/** The children that a snapshot would write. */
const write = (book: RuleBook): string[] => [...(book.takeDirty() ?? [])].map(({ child }) => child);
const forget = (book: RuleBook, nowMs: number, examined: number): string[] =>
  book.forgetIdle(nowMs, examined).map(({ child }) => child);

t.test("a reset in the middle of a sweep is the end of that sweep", async (t) => {
  const { book, nowMs } = bookWith(["a", "b", "c"]);
  const later = nowMs + 10 * 60_000;
  t.equal(forget(book, later, 2).length, 1);
  const rule = book.find(template)!;
  book.reset(rule, 5);
  count(book, "d", later);
  write(book);
  book.reclaim();
  t.equal(forget(book, later, 100).length, 2, "what the reset dropped, and no more");
  t.same(rule.retired, [], "and nothing is left of it");
  t.equal(book.childCount, 1);
  t.same(forget(book, later + 2 * 60_000, 100), ["d"]);
});

t.test("a reset of a template without children leaves nothing to be processed", async (t) => {
  const { book } = bookWith([]);
  const rule = book.find(template)!;
  for (let lsn = 5; lsn < 8; lsn++) book.reset(rule, lsn);
  t.same(rule.retired, []);
});

t.test("a child in flight that a reset dropped is written again once it counts", async (t) => {
  const { book, nowMs } = bookWith([]);
  const held = count(book, "a", nowMs);
  takeSlots(held);
  const rule = book.find(template)!;
  book.reset(rule, 5);
  t.same(write(book), []);
  count(book, "a", nowMs);
  t.same(write(book), ["a"]);
  t.match(rule.children.copy("a"), { inFlight: 1, window: { currentRequests: 1 } });
});

t.test("a sweep moves the children that stay out of memory that is mostly free", async (t) => {
  const { book, nowMs } = bookWith(["a", "b"]);
  const { children } = book.find(template)!;
  const tidied: number[] = [];
  Object.assign(children, { tidy: (place: number) => void tidied.push(place) });
  t.same(forget(book, nowMs, 100), []);
  t.equal(tidied.length, 2);
});
