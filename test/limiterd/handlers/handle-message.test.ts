import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/reconnect-grace.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import { unlimitedLsn } from "../../../shared/wire/message.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  target,
} from "../daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const gauge = pathRule("/team", 0, { requests: 2 });

t.test("a lease holds its slot until it is settled, and tokens are charged then", async (t) => {
  const daemon = startDaemon([minute, gauge]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team/app")!;
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 1 });
  t.ok(peer.say(settleOf(lease, 1, 30)));
  t.same(counts(daemon, minute), { requests: 1, tokens: 30, inFlight: 0 });
  t.equal(peer.heard.at(-1)?.kind, "admitted", "not acknowledged before the commit");
  await daemon.commit();
  t.same(peer.heard.at(-1), { kind: "settled", seq: 1 });
});

t.test("a settle that comes again is acknowledged and not counted again", async (t) => {
  const daemon = startDaemon([minute]);
  const peer = daemon.proxy("p1");
  const settle = settleOf(askFor(peer, 2, "/team")!, 1, 30);
  peer.say(settle);
  peer.say(settle);
  await daemon.commit();
  peer.close();
  const again = daemon.proxy("p1");
  t.match(again.heard[0], { kind: "welcome", settledSeq: 1 });
  again.say(settle);
  await daemon.commit();
  t.same(again.heard.at(-1), { kind: "settled", seq: 1 });
  t.same(counts(daemon, minute), { requests: 1, tokens: 30, inFlight: 0 });
  t.equal(daemon.state.counts.repeatedSettles, 2);
});

t.test(
  "an acknowledgement goes to the connection that the proxy has when the commit ends",
  async (t) => {
    const daemon = startDaemon([minute]);
    const first = daemon.proxy("p1");
    const settle = settleOf(askFor(first, 2, "/team")!, 1, 5);
    first.say(settle);
    first.close();
    const second = daemon.proxy("p1");
    second.say(settle);
    await daemon.commit();
    t.same(second.heard.at(-1), { kind: "settled", seq: 1 });
  },
);

t.test("the end of a connection frees its slots at once, and only its own", (t) => {
  const daemon = startDaemon([gauge]);
  const dying = daemon.proxy("p1");
  const living = daemon.proxy("p2");
  askFor(dying, 2, "/team");
  askFor(living, 2, "/team");
  t.equal(askFor(living, 3, "/team"), null, "both slots are taken");
  dying.close();
  t.equal(counts(daemon, gauge).inFlight, 1);
  t.ok(askFor(living, 4, "/team"));
  t.end();
});

t.test("a reconnected proxy holds its slots again, without counting the requests again", (t) => {
  const daemon = startDaemon([minute, gauge]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team")!;
  peer.close();
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 0 });
  daemon.proxy("p1", [lease]);
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 1 });
  t.end();
});

t.test(
  "a crash loses no settle that was acknowledged, and no request that its proxy still knows of",
  async (t) => {
    const daemon = startDaemon([minute, gauge]);
    const peer = daemon.proxy("p1");
    askFor(peer, 2, "/team");
    await daemon.snapshot();
    const settled = askFor(peer, 3, "/team")!;
    peer.say(settleOf(settled, 1, 40));
    await daemon.commit();
    const held = askFor(peer, 4, "/team")!;
    const unsettled = settleOf(held, 2, 7);

    const next = startDaemon([minute, gauge], {
      store: daemon.store.crash(),
      nowMs: daemon.nowMs + 300,
    });
    t.same(
      counts(next, minute),
      { requests: 2, tokens: 40, inFlight: 0 },
      "one from the snapshot, one from the journal",
    );
    const back = next.proxy("p1", [held]);
    t.match(back.heard[0], { kind: "welcome", settledSeq: 1 });
    t.same(
      counts(next, minute),
      { requests: 3, tokens: 40, inFlight: 1 },
      "the held one is held and counted again",
    );
    back.say(unsettled);
    t.same(counts(next, minute), { requests: 3, tokens: 47, inFlight: 0 });

    await next.snapshot();
    const last = startDaemon([minute, gauge], { store: next.store.crash(), nowMs: next.nowMs });
    t.same(
      counts(last, minute),
      { requests: 3, tokens: 47, inFlight: 0 },
      "and a second crash changes nothing",
    );
  },
);

t.test(
  "a request that was settled before its proxy had the answer is still counted after a crash",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    const lease = askFor(peer, 2, "/team")!;
    peer.say(settleOf({ ...lease, admittedAtMs: 0, lsn: 0 }, 1, 40));
    t.same(counts(daemon, minute), { requests: 1, tokens: 40, inFlight: 0 });
    await daemon.commit();
    const next = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.same(counts(next, minute), { requests: 1, tokens: 40, inFlight: 0 });
  },
);

t.test(
  "requests while rate limits are off move no window: at once, after kill −9, and when limits are on again",
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
    peer.say(settleOf(old, 1, 10));
    peer.say(settleOf(settled, 2, 20));
    peer.say(settleOf(unasked, 3, 40));
    peer.say({ ...settleOf(attempt, 4, 0), part: "attempt" });
    peer.say({
      kind: "reroute",
      id: 7,
      lease: attempt.lease,
      targets: [{ provider: "groq", model: "llama-3" }],
    });
    peer.say(
      settleOf({ ...attempt, target: { provider: "groq", model: "llama-3" }, targetLsn: 0 }, 5, 80),
    );
    peer.say({ ...settleOf(withdrawn, 6, 0), part: "withdrawn" });
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
      back.heard.at(-1),
      { kind: "welcome", settledSeq: 6 },
      "and yet no settle is taken twice",
    );
    t.same(
      counts(on, minute),
      { requests: 1, tokens: 0, inFlight: 1 },
      "what was admitted then and still runs holds its slot and isn't counted",
    );
    back.say(settleOf(held, 7, 160));
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
  "a crash between journal and snapshot counts everything once, whatever was written",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    for (let seq = 1; seq <= 5; seq++) {
      peer.say(settleOf(askFor(peer, seq + 1, "/team")!, seq, 10));
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

t.test(
  "a daemon that starts after a crash welcomes nobody before the proxies it knew are back, or their time is up",
  async (t) => {
    const daemon = startDaemon([gauge]);
    daemon.proxy("p1");
    const busy = daemon.proxy("p2");
    const lease = askFor(busy, 2, "/team")!;
    await daemon.snapshot();
    const next = startDaemon([gauge], { store: daemon.store.crash() });
    const first = next.proxy("p1");
    t.same(first.heard, [], "p2 may hold slots: p1 waits");
    const second = next.proxy("p2", [lease]);
    t.equal(first.heard[0]?.kind, "welcome");
    t.equal(second.heard[0]?.kind, "welcome");
    t.equal(counts(next, gauge).inFlight, 1);
    const third = startDaemon([gauge], { store: daemon.store.crash() });
    const alone = third.proxy("p1");
    endReconnectGrace(third.state);
    t.equal(alone.heard[0]?.kind, "welcome");
  },
);

t.test(
  "a request that was let through unasked is counted when it is told, in the window of its time",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    daemon.nowMs += 90_000;
    peer.say(
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
    t.same(peer.heard.at(-1), { kind: "settled", seq: 1 });
  },
);

t.test(
  "what was let through before there was a rule is no request of the rules that came while it ran: its tokens alone are charged, after a crash too",
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
    peer.say(settleOf(unasked, 1, 9, { started: 10_001, ended: 0 }));
    peer.say({ ...settleOf(unasked, 2, 0, { started: 10_001, ended: 0 }), part: "attempt" });
    t.same(counts(daemon, day), { requests: 0, tokens: 9, inFlight: 0 });
    peer.say(settleOf(unasked, 3, 20, { started: 10_000, ended: 0 }));
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
      "one that began when there was a rule, and hadn't been heard of at its proxy",
    );
    await daemon.commit();
    const next = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.same([counts(next, day), counts(next, provider)], both.of);
    const again = next.proxy("p1");
    again.say(settleOf(unasked, 4, 0, { started: 10_001, ended: 0 }));
    t.same(counts(next, day), both.of[0], "and one that was told to the next daemon");
    const configured = startDaemon([day]);
    configured.nowMs += 500;
    configured.proxy("p1").say(settleOf(unasked, 1, 0, { started: 501, ended: 0 }));
    t.equal(counts(configured, day).requests, 0, "the rule came with the daemon's start");
    daemon.nowMs -= 70_000;
    peer.say(settleOf(unasked, 4, 0, { started: 5, ended: 0 }));
    t.equal(
      counts(daemon, day).requests,
      2,
      "a clock that has stepped back can't tell: no count is lost",
    );
  },
);

t.test("tokens aren't charged while usage is off", (t) => {
  const daemon = startDaemon([minute], { usageEnabled: false });
  const peer = daemon.proxy("p1");
  peer.say(settleOf(askFor(peer, 2, "/team")!, 1, 5000));
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 0 });
  t.ok(askFor(peer, 3, "/team"), "and token rules don't refuse");
  t.end();
});

t.test("whoever breaks the grammar is to be closed", (t) => {
  const hello = {
    kind: "hello",
    id: 1,
    wireVersion,
    role: "proxy",
    proxyId: "p",
    leases: [],
    more: false,
  } as const;
  const lease = {
    lease: 5,
    userPath: "/team",
    admittedAtMs: 0,
    lsn: 0,
    target,
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  t.notOk(
    startDaemon([])
      .connect()
      .say({
        kind: "admit",
        id: 1,
        userPath: "/",
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    "an admission before the hello",
  );
  t.notOk(startDaemon([]).proxy("p").say(hello), "a second hello");
  t.notOk(
    startDaemon([])
      .proxy("p")
      .say({
        kind: "admit",
        id: 0,
        userPath: "/",
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    "the lease 0",
  );
  t.notOk(
    startDaemon([])
      .proxy("p")
      .say({
        kind: "admit",
        id: 9,
        userPath: "/a//b",
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    "a path that isn't normal",
  );
  t.notOk(
    startDaemon([]).proxy("p").say({
      kind: "admit",
      id: 9,
      userPath: "/",
      credential: "authenticated",
      targets: [],
      submission: false,
    }),
    "no target",
  );
  t.notOk(
    startDaemon([])
      .proxy("p")
      .say(settleOf(lease, 0, 1)),
    "a settle without a number",
  );
  t.notOk(
    startDaemon([])
      .connect()
      .say({ ...hello, leases: [lease, lease] }),
    "a lease told twice",
  );
  const taken = startDaemon([]).proxy("p");
  askFor(taken, 7, "/");
  t.notOk(
    taken.say({
      kind: "admit",
      id: 7,
      userPath: "/",
      credential: "authenticated",
      targets: [target],
      submission: false,
    }),
    "a lease asked for twice",
  );
  const old = startDaemon([]).connect();
  t.notOk(old.say({ ...hello, wireVersion: 999 }), "another version");
  t.match(old.heard[0], { kind: "failed", failure: { message: /wire version/ } });
  t.end();
});

t.test(
  "nonsense of a proxy is cut or dropped, and its settle counts: closed for it, it would send it again for ever",
  async (t) => {
    const daemon = startDaemon([pathRule("/team", 60, { tokens: 5 })]);
    const peer = daemon.proxy("p1");
    t.ok(
      peer.say({
        ...settleOf(askFor(peer, 2, "/team")!, 1, 1e12),
        record: executed({ cachedInputTokens: 21, requestId: "req_7" }),
      }),
    );
    t.same(counts(daemon, pathRule("/team", 60, {})), {
      requests: 1,
      tokens: tokensPerResponseMax,
      inFlight: 0,
    });
    await daemon.commit();
    t.same(peer.heard.at(-1), { kind: "settled", seq: 1 });
    t.same(daemon.droppedTold, ["p1 req_7 cachedInputTokens"]);
    t.match(await ask(daemon, "status", null), { dropped_records: 1, closed_peers: 0 });
    t.match(await ask(daemon, "usage.export", {}), { records: [] });
  },
);

t.test("proxies are told when the first rule comes and the last one goes", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  t.match(peer.heard[0], { kind: "welcome", limited: false });
  peer.say({
    kind: "admin",
    id: 5,
    op: "rate-limits.put",
    body: { user_path: "/a", limit_key: { period: "minute" }, max_requests: 1 },
  });
  await daemon.commit();
  t.match(peer.heard.slice(1), [
    { kind: "event", name: "limited", value: true },
    { kind: "answer", id: 5 },
  ]);
  peer.say({
    kind: "admin",
    id: 6,
    op: "rate-limits.delete",
    body: { user_path: "/a", limit_key: { period: "minute" } },
  });
  await daemon.commit();
  t.match(peer.heard.slice(3), [
    { kind: "event", name: "limited", value: false },
    { kind: "answer", id: 6 },
  ]);
});

t.test(
  "proxies are told when the store can't be written, whoever comes meanwhile behind the welcome, and when it can again",
  async (t) => {
    const daemon = startDaemon([minute]);
    await daemon.commit();
    const first = daemon.proxy("p1");
    await daemon.commit();
    const events = (peer: typeof first): unknown[] =>
      peer.heard.flatMap((message) => (message.kind === "event" ? [message.value] : []));
    daemon.store.broken = true;
    first.say(settleOf(askFor(first, 2, "/team")!, 1, 30));
    for (let round = 0; round < 3; round++) await daemon.commit();
    t.same(events(first), ["the disk is broken"], "once");
    t.match(await ask(daemon, "status", null), {
      store: { failing: "the disk is broken", failed_commits: 3 },
    });
    const second = daemon.proxy("p2");
    t.match(second.heard, [
      { kind: "welcome" },
      { kind: "event", name: "store_failing", value: "the disk is broken" },
    ]);
    t.not(askFor(second, 3, "/team"), null, "service goes on");
    daemon.store.broken = false;
    await daemon.commit();
    t.same(
      [events(first), events(second)],
      [
        ["the disk is broken", null],
        ["the disk is broken", null],
      ],
    );
  },
);

t.test(
  "a life that wrote nothing is told apart from the next one: its leases are counted again",
  async (t) => {
    const first = startDaemon([minute]);
    await first.snapshot();
    const second = startDaemon([minute], { store: first.store.crash() });
    const lease = askFor(second.proxy("p1"), 2, "/team")!;
    const third = startDaemon([minute], { store: second.store.crash() });
    t.ok(third.state.epochStartLsn > second.state.epochStartLsn);
    third.proxy("p1", [lease]);
    endReconnectGrace(third.state);
    t.same(counts(third, minute), { requests: 1, tokens: 0, inFlight: 1 });
  },
);

t.test(
  "a daemon that starts after a crash waits for a proxy that came after the last snapshot",
  async (t) => {
    const daemon = startDaemon([gauge]);
    await daemon.snapshot();
    daemon.proxy("p1");
    await daemon.commit();
    t.same(
      [...(startDaemon([gauge], { store: daemon.store.crash() }).state.expectedProxies ?? [])],
      ["p1"],
    );
  },
);
