import t from "tap";
import type { CounterShare } from "../../../limiterd/counters/window.js";
import { charge, hold, release } from "../../../limiterd/rules/charge.js";
import { unlimitedLsn } from "../../../shared/wire/message-to-daemon.js";
import {
  ask,
  askFor,
  counts,
  pathRule,
  settleOf,
  startDaemon,
  target,
} from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const gauge = pathRule("/team", 0, { requests: 2 });

t.test(
  "requests while rate limits are off move no window: not at once, nor after kill −9, nor later",
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

t.test("other hosts are told of what changes a counter without a verdict", async (t) => {
  const { state, nowMs } = startDaemon([minute, gauge]);
  const told: string[] = [];
  const shareOf = (name: string) =>
    ({
      charged: (tokens: number) => told.push(`${name} charged ${tokens}`),
      changed: () => told.push(`${name} changed`),
      counted: () => told.push(`${name} counted`),
      withdrawn: (lsn: number) => told.push(`${name} withdrawn ${lsn}`),
    }) as unknown as CounterShare;
  const counters = [minute, gauge].map((definition) => {
    const rule = state.book.find(definition)!;
    const share = shareOf(definition === gauge ? "gauge" : "window");
    Object.assign(rule, { shares: { of: () => share, find: () => share } });
    return rule.own!;
  });
  const tell = (run: () => void): string[] => {
    told.length = 0;
    run();
    return [...told];
  };
  t.same(
    tell(() => hold(counters)),
    ["gauge changed"],
  );
  t.same(
    tell(() => release(counters)),
    ["gauge changed"],
  );
  for (const [requests, tokens, lsn, expected] of [
    [0, 0, undefined, []],
    [1, 0, undefined, ["window counted"]],
    [0, 5, undefined, ["window charged 5"]],
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
