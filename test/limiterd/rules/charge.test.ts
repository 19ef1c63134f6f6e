import t from "tap";
import type { Counter } from "../../../limiterd/counters/counter.js";
import type { CounterShare } from "../../../limiterd/counters/window.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import type { HeldLease, KnownProxy, RecountedLease } from "../../../limiterd/peer.js";
import {
  charge,
  countSettle,
  isAttemptForgotten,
  isRequestForgotten,
  recountLease,
  settleFacts,
} from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { freeSlots, takeSlots } from "../../../limiterd/rules/slots.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { uncountedLsn, unlimitedLsn } from "../../../shared/wire/lsn.js";
import type { SettledPart } from "../../../shared/wire/message-to-daemon.js";
import { bookOf, matchKept, now, rule } from "../book-of.js";
import {
  ask,
  askFor,
  counts,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  target,
} from "../in-memory-daemon.js";

const template = rule("user_path", "/users", 60, { requests: 9, tokens: 99, perChild: true });

t.test(
  "a slot that is held keeps its child, and a child that holds none is put back",
  async (t) => {
    const book = bookOf(template);
    const { children } = book.find(template)!;
    const counters = book.matchPath("/users/a", now);
    takeSlots(counters);
    takeSlots(book.matchPath("/users/a", now));
    const [counter] = counters;
    t.equal(counter!.inFlight, 2, "of one child there is one counter");
    const isOut = (): boolean => {
      book.reclaim();
      return children.isCheckedOut(counter!);
    };
    t.equal(isOut(), true);
    freeSlots(counters);
    t.equal(isOut(), true);
    freeSlots(counters);
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
    const named = {
      lease,
      pathCounters: [counterOf(ofPath)],
      targetCounters: [counterOf(ofTarget)],
    };
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

const gauge = pathRule("/team", 0, { requests: 2 });

t.test(
  "requests while rate limits are off never move a window, also not after kill −9",
  async (t) => {
    const template = { ...pathRule("/", 60, { requests: 10, tokens: 1000 }), perChild: true };
    const before = startDaemon([minute, gauge, template]);
    const old = askFor(before.proxy("p1"), 2, "/team")!;
    await before.snapshot();

    const off = startDaemon([minute, gauge, template], {
      store: before.store.crash(),
      nowMs: before.nowMs,
      rateLimitsEnabled: false,
    });
    const peer = off.proxy("p1", [old]);
    const settled = askFor(peer, 3, "/team")!;
    const unasked = { ...settled, lease: 0, admittedAtMs: 0, lsn: 0, targetAtMs: 0, targetLsn: 0 };
    const held = askFor(peer, 4, "/team")!;
    const attempt = askFor(peer, 5, "/team")!;
    const withdrawn = askFor(peer, 6, "/team")!;
    peer.send(settleOf(old, 1, 10));
    peer.send(settleOf(settled, 2, 20));
    peer.send(settleOf(unasked, 3, 40));
    peer.send({ ...settleOf(attempt, 4, 0), part: "attempt" });
    peer.send({
      read: 0,
      kind: "reroute",
      id: 7,
      lease: attempt.lease,
      targets: [{ provider: "groq", model: "llama-3" }],
    });
    peer.send(
      settleOf({ ...attempt, target: { provider: "groq", model: "llama-3" }, targetLsn: 0 }, 5, 80),
    );
    peer.send({ ...settleOf(withdrawn, 6, 0), part: "withdrawn" });
    await off.commit();
    t.same(counts(off, minute), { requests: 1, tokens: 0, inFlight: 0 });

    const on = startDaemon([minute, gauge, template], {
      store: off.store.crash(),
      nowMs: off.nowMs,
    });
    t.same(
      counts(on, minute),
      { requests: 1, tokens: 0, inFlight: 0 },
      "the journal holds nothing to count",
    );
    const back = on.proxy("p1", [held]);
    t.match(
      back.received.at(-1),
      { kind: "welcome", settledSeq: 6 },
      "and yet no settle is applied twice",
    );
    t.same(
      counts(on, minute),
      { requests: 1, tokens: 0, inFlight: 1 },
      "what was admitted then and is still in flight holds its slot and isn't counted",
    );
    back.send(settleOf(held, 7, 160));
    t.same(
      counts(on, minute),
      { requests: 1, tokens: 160, inFlight: 0 },
      "its tokens are used now",
    );
    t.equal(on.state.book.find(template)!.children.get("team")!.window.currentRequests, 1);
    await on.commit();
    t.same(
      counts(
        startDaemon([minute, gauge, template], { store: on.store.crash(), nowMs: on.nowMs }),
        minute,
      ),
      { requests: 1, tokens: 160, inFlight: 0 },
    );
  },
);

t.test(
  "a request without an admission is counted by its settle, in the window in which it began",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    daemon.nowMs += 90_000;
    peer.send(
      settleOf(
        {
          lease: 0,
          userPath: "/team",
          admittedAtMs: 0,
          lsn: 0,
          target,
          targetAtMs: 0,
          targetLsn: 0,
          submission: false,
        },
        1,
        9,
        { started: 40_000, ended: 1_000 },
      ),
    );
    const { window } = daemon.state.book.find(minute)!.own!;
    t.match(window, {
      previousRequests: 1,
      currentRequests: 0,
      previousTokens: 0,
      currentTokens: 9,
    });
    await daemon.commit();
    t.same(peer.received.at(-1), { kind: "settled", seq: 1 });
  },
);

t.test(
  "a request that began before there was any rule is charged for its tokens alone, after a crash too",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const day = pathRule("/team", 86_400, { requests: 3, tokens: 1000 });
    const unasked = {
      lease: 0,
      userPath: "/team",
      admittedAtMs: 0,
      lsn: unlimitedLsn,
      target,
      targetAtMs: 0,
      targetLsn: unlimitedLsn,
      submission: false,
    };
    daemon.nowMs += 60_000;
    await ask(daemon, "rate-limits.put", {
      user_path: "/team",
      limit_key: { period: "day" },
      max_requests: 3,
      max_tokens: 1000,
    });
    await ask(daemon, "rate-limits.put", {
      scope: "provider",
      subject: target.provider,
      limit_key: { period: "day" },
      max_requests: 3,
    });
    daemon.nowMs += 10_000;
    peer.send(settleOf(unasked, 1, 9, { started: 10_001, ended: 0 }));
    peer.send({ ...settleOf(unasked, 2, 0, { started: 10_001, ended: 0 }), part: "attempt" });
    t.same(counts(daemon, day), { requests: 0, tokens: 9, inFlight: 0 });
    peer.send(settleOf(unasked, 3, 20, { started: 10_000, ended: 0 }));
    const provider = { ...day, scope: "provider", subject: target.provider } as const;
    const both = {
      of: [
        { requests: 1, tokens: 29, inFlight: 0 },
        { requests: 1, tokens: 29, inFlight: 0 },
      ],
    };
    t.same(
      [counts(daemon, day), counts(daemon, provider)],
      both.of,
      "one that began when there was a rule of which its proxy hadn't learned",
    );
    await daemon.commit();
    const next = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.same([counts(next, day), counts(next, provider)], both.of);
    const again = next.proxy("p1");
    again.send(settleOf(unasked, 4, 0, { started: 10_001, ended: 0 }));
    t.same(counts(next, day), both.of[0], "and one that was settled with the next daemon");
    const configured = startDaemon([day]);
    configured.nowMs += 500;
    configured.proxy("p1").send(settleOf(unasked, 1, 0, { started: 501, ended: 0 }));
    t.equal(counts(configured, day).requests, 0, "the rule was made at the daemon's start");
    daemon.nowMs -= 70_000;
    peer.send(settleOf(unasked, 4, 0, { started: 5, ended: 0 }));
    t.equal(
      counts(daemon, day).requests,
      2,
      "after the clock has stepped back it can't be known: no count is lost",
    );
  },
);

t.test("changes of a counter without a verdict are reported to other hosts", async (t) => {
  const { state, nowMs } = startDaemon([minute, gauge]);
  const events: string[] = [];
  const shareOf = (name: string) =>
    ({
      charged: (tokens: number) => events.push(`${name} charged ${tokens}`),
      changed: () => events.push(`${name} changed`),
      counted: () => events.push(`${name} counted`),
      withdrawn: (lsn: number) => events.push(`${name} withdrawn ${lsn}`),
    }) as unknown as CounterShare;
  const counters = [minute, gauge].map((definition) => {
    const rule = state.book.find(definition)!;
    const share = shareOf(definition === gauge ? "gauge" : "window");
    Object.assign(rule, { shares: { of: () => share, find: () => share } });
    return rule.own!;
  });
  const tell = (run: () => void): string[] => {
    events.length = 0;
    run();
    return [...events];
  };
  t.same(
    tell(() => takeSlots(counters)),
    ["gauge changed"],
  );
  t.same(
    tell(() => freeSlots(counters)),
    ["gauge changed"],
  );
  for (const [requests, tokens, lsn, expected] of [
    [0, 0, undefined, []],
    [1, 0, undefined, ["window counted"]],
    [0, 5, undefined, ["window charged 5"]],
    [0, 1, undefined, ["window charged 1"]],
    [0, 5, 7, ["window charged 5"]],
    [1, 5, undefined, ["window charged 5", "window counted"]],
    [1, 5, 7, ["window charged 5"]],
    [-1, 0, 7, ["window withdrawn 7"]],
    [-1, 0, undefined, []],
  ] as const) {
    const charged = { atMs: nowMs, requests, tokens, ...(lsn === undefined ? {} : { lsn }) };
    const what = `${requests} requests, ${tokens} tokens, of ${lsn}`;
    t.same(
      tell(() => charge(state.book, counters, charged, nowMs)),
      expected,
      what,
    );
    const appliesTo = (): boolean => false;
    t.same(
      tell(() => charge(state.book, counters, { ...charged, appliesTo }, nowMs)),
      [],
      what,
    );
  }
});

/** The day before and this one. */
const dayStartMs = Date.UTC(2026, 0, 2);
const nowMs = dayStartMs + 3_600_000;
const here = { provider: "openai", model: "gpt-4o" };
const there = { provider: "local", model: "llama" };
/** Numbers: of an earlier epoch, on the disk and lost; the first of this epoch, and a later one. */
const kept = 400;
const lost = 550;
const first = 1000;
const fresh = 1001;
const epochs = { startLsn: first, lost: [{ afterLsn: 500, beforeLsn: first }] };

interface Case {
  readonly part?: SettledPart;
  readonly lsn?: number;
  readonly targetLsn?: number;
  readonly at?: Target | null;
  readonly held?: Partial<HeldLease> & { readonly isStale?: boolean };
  readonly again?: RecountedLease;
}

/**
 * What a settle of 7 tokens moves on the path, on a rule there that was made after what is lost, at
 * both providers: requests of the day before, of this day, tokens. The request began the day
 * before, its attempt this day. Each has counted ten before.
 */
function moved({ part = "request", lsn = fresh, targetLsn = lsn, at = here, held, again }: Case): {
  readonly moved: readonly string[];
  readonly remembered: boolean;
} {
  const book = new RuleBook([1, 2]);
  const path = pathRule("/team", 86_400, { requests: 99 });
  const definitions = [
    path,
    { ...path, subject: "/" },
    { ...path, scope: "provider", subject: "openai" },
    { ...path, scope: "provider", subject: "local" },
  ] as const;
  const counters = definitions.map((definition, i) => {
    const counter = book.put(definition, { source: "manual", nowMs, lsn: i === 1 ? 560 : 0 }).own!;
    for (const atMs of [nowMs, dayStartMs - 1])
      charge(book, [counter], { atMs, requests: 10, tokens: 0 }, nowMs);
    return counter;
  });
  const lease = {
    lease: 5,
    userPath: "/team",
    admittedAtMs: dayStartMs - 1,
    lsn,
    target: at,
    targetAtMs: nowMs - 1,
    targetLsn,
    submission: false,
  };
  const recounted = new Map(again === undefined ? [] : [[5, again]]);
  const { isStale = false, ...changes } = held ?? {};
  countSettle(
    { book, epochs },
    {
      proxy: { recounted } as unknown as KnownProxy,
      message: { ...settleOf(lease, 1, 7), part },
      held:
        held === undefined
          ? undefined
          : {
              ...lease,
              // Those that it met then: the provider's alone, by which it shows whether they count.
              counters: [counters[2]!],
              hold: null,
              bookVersion: isStale ? book.version - 1 : book.version,
              ...changes,
            },
    },
    {
      lsn,
      requestAtMs: dayStartMs - 1,
      targetLsn,
      targetAtMs: nowMs - 1,
      endedAtMs: nowMs,
      tokens: 7,
      recorded: null,
      tokenWeights: null,
    },
    nowMs,
  );
  return {
    moved: counters.map(({ window }) =>
      [window.previousRequests - 10, window.currentRequests - 10, window.currentTokens].join(" "),
    ),
    remembered: recounted.has(5),
  };
}

t.test("what a settle moves, by its part, its numbers and what was counted again", async (t) => {
  const no = "0 0 0";
  const used = "0 0 7";
  const was = { path: true, attempts: [] };
  const wasThere = { path: false, attempts: [{ target: here, lsn: lost }] };
  const table: readonly (readonly [string, Case, readonly [string, string, string, string]])[] = [
    ["an admission of this epoch is counted", {}, [used, used, used, no]],
    ["one of an earlier epoch too", { lsn: kept }, [used, used, used, no]],
    ["a lost one isn't, but by rules of then", { lsn: lost }, ["1 0 7", used, "0 1 7", no]],
    ["its path was counted again", { lsn: lost, again: was }, [used, used, "0 1 7", no]],
    ["its attempt was", { lsn: lost, again: wasThere }, ["1 0 7", used, used, no]],
    ["its attempt alone is lost", { lsn: kept, targetLsn: lost }, [used, used, "0 1 7", no]],
    ["without an admission all rules count it", { lsn: 0 }, ["1 0 7", "1 0 7", "0 1 7", no]],
    ["the same without a target", { lsn: 0, at: null }, ["1 0 7", "1 0 7", no, no]],
    ["an attempt of this epoch", { part: "attempt" }, [no, no, no, no]],
    ["an attempt that is lost", { part: "attempt", lsn: lost }, [no, no, "0 1 0", no]],
    ["one without an admission", { part: "attempt", lsn: 0 }, [no, no, "0 1 0", no]],
    ["an attempt at nothing", { part: "attempt", lsn: 0, at: null }, [no, no, no, no]],
    ["one that was never made", { part: "untried" }, [no, no, "0 -1 0", no]],
    ["that of an earlier epoch", { part: "untried", lsn: kept }, [no, no, "0 -1 0", no]],
    ["one that a crash took back", { part: "untried", lsn: lost }, [no, no, no, no]],
    ["a request that was withdrawn", { part: "withdrawn" }, ["-1 0 0", "-1 0 0", "-1 0 0", no]],
    ["one that a crash took back", { part: "withdrawn", lsn: lost }, [no, no, no, no]],
    [
      "one that was counted again",
      { part: "withdrawn", lsn: lost, again: was },
      ["-1 0 0", no, "-1 0 0", no],
    ],
    ["one without an admission", { part: "withdrawn", lsn: 0 }, [no, no, no, no]],
    ["tokens of a session", { part: "progress", lsn: lost }, [used, used, used, no]],
    ["an answer from a cache", { part: "cached", lsn: lost }, [no, no, no, no]],
    ["held, those that it met", { held: {} }, [no, no, used, no]],
    ["also of a session", { part: "progress", held: {} }, [no, no, used, no]],
    ["also withdrawn", { part: "withdrawn", held: {} }, [no, no, "-1 0 0", no]],
    ["rules have changed since", { held: { isStale: true } }, [used, used, used, no]],
    ["of a submission", { held: { submission: true } }, [used, used, used, no]],
    ["held elsewhere", { held: { target: here }, at: there }, [used, used, no, used]],
  ];
  for (const [name, which, expected] of table)
    t.same(moved(which).moved, expected, `${name}: ${JSON.stringify(which)}`);
});

t.test("what was counted again is remembered until its request has ended", async (t) => {
  const again = { path: true, attempts: [] };
  for (const [part, remembered] of [
    ["request", false],
    ["withdrawn", false],
    ["attempt", true],
    ["untried", true],
    ["progress", true],
    ["cached", true],
  ] as const)
    t.equal(moved({ part, lsn: lost, again }).remembered, remembered, part);
});

const lease = {
  lease: 7,
  userPath: "/team",
  admittedAtMs: 50,
  lsn: 9,
  target: { provider: "p", model: "m" },
  targetAtMs: 60,
  targetLsn: 10,
  submission: false,
};

type Sent = Partial<ReturnType<typeof settleOf>>;

/** What is known of a settle that arrives at the moment 100. */
const factsOf = (
  sent: Sent,
  { rateLimitsEnabled = true, usageEnabled = true, sinceMs = 0, nowMs = 100 } = {},
) => {
  const message = { ...settleOf(lease, 1, 40), ...sent };
  const arrived = { proxy: {} as never, message, held: undefined };
  const settings = { rateLimitsEnabled, usageEnabled, tokenWeights: null };
  const {
    recorded,
    tokenWeights: _,
    ...facts
  } = settleFacts({ settings, book: { sinceMs } }, arrived, nowMs);
  t.equal(recorded, null, "the settle has no record");
  return facts;
};

t.test("what was admitted has the numbers and moments of its admission", (t) => {
  t.same(factsOf({ startedAgoMs: 80, endedAgoMs: 20 }), {
    lsn: 9,
    requestAtMs: 50,
    targetLsn: 10,
    targetAtMs: 60,
    endedAtMs: 80,
    tokens: 40,
  });
  t.end();
});

t.test("what wasn't is known by when it began, and no moment is before the first", (t) => {
  const unasked = { lsn: 0, targetLsn: 0 };
  t.match(factsOf({ ...unasked, startedAgoMs: 80 }), { requestAtMs: 20, targetAtMs: 20 });
  t.match(factsOf({ ...unasked, startedAgoMs: 80, targetStartedAgoMs: 30 }), {
    requestAtMs: 20,
    targetAtMs: 70,
  });
  t.match(factsOf({ ...unasked, startedAgoMs: 200, targetStartedAgoMs: 200, endedAgoMs: 200 }), {
    requestAtMs: 0,
    targetAtMs: 0,
    endedAtMs: 0,
  });
  t.end();
});

t.test("what began before all rules is counted by none, unless the clock is behind them", (t) => {
  const unlimited = { lsn: unlimitedLsn, targetLsn: unlimitedLsn, startedAgoMs: 50 };
  for (const [sinceMs, lsn] of [
    [49, 0],
    [50, 0],
    [51, uncountedLsn],
    [100, uncountedLsn],
    [101, 0],
  ] as const)
    t.match(factsOf(unlimited, { sinceMs }), { lsn, targetLsn: lsn }, String(sinceMs));
  t.end();
});

t.test("tokens are cut at a bound, and count while rules and usage are on", (t) => {
  const most = 2 * tokensPerResponseMax;
  t.equal(factsOf({ tokens: most }).tokens, most);
  t.equal(factsOf({ tokens: most + 1 }).tokens, most);
  t.equal(factsOf({}, { usageEnabled: false }).tokens, 0);
  t.match(factsOf({}, { rateLimitsEnabled: false }), {
    tokens: 0,
    lsn: uncountedLsn,
    targetLsn: uncountedLsn,
  });
  t.end();
});
