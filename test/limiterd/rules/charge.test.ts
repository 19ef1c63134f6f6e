import t from "tap";
import type { Counter } from "../../../limiterd/counters/counter.js";
import { endReconnectGrace } from "../../../limiterd/handlers/reconnect-grace.js";
import {
  charge,
  hold,
  isAttemptForgotten,
  isRequestForgotten,
  recountLease,
  release,
} from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { bookOf, matchKept, now, rule } from "../book-of.js";
import {
  askFor,
  counts,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

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

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });

t.test(
  "a crash between journal and snapshot counts everything once, whatever was written",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    for (let seq = 1; seq <= 5; seq++) {
      peer.send(settleOf(askFor(peer, seq + 1, "/team")!, seq, 10));
      await daemon.commit();
      if (seq === 3) await daemon.snapshot();
      const copy = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
      t.same(
        counts(copy, minute),
        { requests: seq, tokens: seq * 10, inFlight: 0 },
        `after settle ${seq}`,
      );
    }
  },
);

/** The next daemon, which waits for no proxy. */
function next(daemon: TestDaemon): TestDaemon {
  const started = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
  endReconnectGrace(started.state);
  return started;
}

t.test("a request whose proxy never comes back is counted from its commit on", async (t) => {
  const daemon = startDaemon([minute]);
  const peer = daemon.proxy("p1");
  askFor(peer, 2, "/team");
  t.equal(counts(next(daemon), minute).requests, 0);
  await daemon.commit();
  askFor(peer, 3, "/team");
  t.same(counts(next(daemon), minute), { requests: 1, tokens: 0, inFlight: 0 });
});

t.test(
  "a request that crashes have taken is counted once, however late its proxy comes back and however often all of it crashes",
  async (t) => {
    for (const committed of [false, true]) {
      for (const returns of ["with its lease", "with its settle"]) {
        const first = startDaemon([minute]);
        const lease = askFor(first.proxy("p1"), 2, "/team")!;
        if (committed) await first.commit();
        // Without it: another proxy is at work, and snapshots are taken.
        const second = next(first);
        askFor(second.proxy("p2"), 2, "/team");
        await second.snapshot();
        const third = next(second);
        await third.snapshot();
        const before = committed ? 2 : 1;
        t.equal(counts(third, minute).requests, before);
        const back = third.proxy("p1", returns === "with its lease" ? [lease] : []);
        if (returns === "with its settle") back.send(settleOf(lease, 1, 40));
        t.equal(counts(third, minute).requests, 2, returns);
        // What isn't written yet is counted again, what is written isn't.
        for (const snapshot of [false, true]) {
          if (snapshot) await third.snapshot();
          else t.equal(counts(next(third), minute).requests, before);
          await third.commit();
          const fourth = next(third);
          t.equal(counts(fourth, minute).requests, 2);
          const again = fourth.proxy("p1", returns === "with its lease" ? [lease] : []);
          again.send(settleOf(lease, 1, 40));
          t.same(counts(fourth, minute), { requests: 2, tokens: 40, inFlight: 0 }, returns);
          await fourth.snapshot();
          t.same(counts(next(fourth), minute), { requests: 2, tokens: 40, inFlight: 0 });
        }
      }
    }
  },
);

t.test("a lost admission that is withdrawn takes nothing from a window", async (t) => {
  const first = startDaemon([minute]);
  const peer = first.proxy("p1");
  const [kept, lost] = [askFor(peer, 2, "/team")!, askFor(peer, 3, "/team")!];
  const second = next(first);
  const again = second.proxy("p1", [kept]);
  again.send({ ...settleOf(lost, 1, 0), part: "withdrawn" });
  t.equal(counts(second, minute).requests, 1);
  again.send({ ...settleOf(kept, 2, 0), part: "withdrawn" });
  t.equal(counts(second, minute).requests, 0, "one that was counted again is taken back");
});

t.test("of a lease that is named, what is forgotten is counted, and remembered as counted", (t) => {
  const daemon = startDaemon([minute]);
  const lost = 500;
  const ledger = {
    epochs: { startLsn: 1000, lost: [{ afterLsn: 400, beforeLsn: 1000 }] },
  };
  const target = { provider: "p", model: "m" };
  for (const [lsn, targetLsn, path, attempts, to = targetLsn === 0 ? null : target] of [
    [0, 0, false, 0, target],
    [lost, 0, true, 0, target],
    [0, 0, false, 0],
    [0, 300, false, 0],
    [300, 300, false, 0],
    [1200, 1200, false, 0],
    [lost, 0, true, 0],
    [lost, 300, true, 0],
    [0, lost, false, 1],
    [300, lost, false, 1],
    [lost, lost, true, 1],
  ] as const) {
    const name = `${lsn}, ${targetLsn} at ${to === null ? "no target" : "a target"}`;
    const recounted: Parameters<typeof recountLease>[1]["recounted"] = new Map();
    const lease = {
      lease: 7,
      userPath: "/team",
      admittedAtMs: daemon.nowMs,
      lsn,
      target: to,
      targetAtMs: daemon.nowMs,
      targetLsn,
      submission: false,
    };
    const book = new RuleBook([1, 2]);
    const ofPath = pathRule("/team", 60, { requests: 9 });
    const ofTarget = { ...ofPath, scope: "model", subject: "m" } as const;
    for (const rule of [ofPath, ofTarget])
      book.put(rule, { source: "manual", nowMs: daemon.nowMs, lsn: 0 });
    const counterOf = (rule: RuleDefinition): Counter => book.find(rule)!.own!;
    const named = { lease, ofPath: [counterOf(ofPath)], ofTarget: [counterOf(ofTarget)] };
    const is = path || attempts > 0;
    t.equal(recountLease({ ...ledger, book }, { recounted }, named, daemon.nowMs), is, name);
    t.equal(recounted.size, is ? 1 : 0, name);
    if (is) t.match(recounted.get(7), { path, attempts: { length: attempts } }, name);
    t.notOk(recountLease({ ...ledger, book }, { recounted }, named, daemon.nowMs), `${name}: once`);
    t.same(
      [ofPath, ofTarget].map((rule) => counterOf(rule).window.currentRequests),
      [Number(path), attempts],
      `${name}: each where it was forgotten`,
    );
  }
  t.end();
});

t.test(
  "what is forgotten: what had no number, or a lost one that wasn't counted again",
  async (t) => {
    const epochs = { startLsn: 900, lost: [{ afterLsn: 100, beforeLsn: 200 }] };
    const target = { provider: "p", model: "m" };
    const again = { path: true, attempts: [{ target, lsn: 150 }] };
    const other = { provider: "p", model: "other" };
    for (const [lsn, recounted, request, attempt, otherAttempt] of [
      [0, undefined, true, true, true],
      [0, again, true, true, true],
      [100, undefined, false, false, false],
      [150, undefined, true, true, true],
      [200, undefined, false, false, false],
      [150, again, false, false, true],
      [160, again, false, true, true],
      [150, { ...again, path: false }, true, false, true],
      [150, { path: true, attempts: [] }, false, true, true],
    ] as const)
      t.same(
        [
          isRequestForgotten(epochs, lsn, recounted),
          isAttemptForgotten(epochs, { target, lsn }, recounted),
          isAttemptForgotten(epochs, { target: other, lsn }, recounted),
        ],
        [request, attempt, otherAttempt],
        JSON.stringify([lsn, recounted]),
      );
  },
);
