import t from "tap";
import { recordsPerCall } from "../../../limiterd/bounds.js";
import { connect, receive } from "../../../limiterd/handlers/connection.js";
import type { Change } from "../../../limiterd/store/store.js";
import { commandIdleMs, keyUseWrittenMs } from "../../../shared/bounds.js";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { wireVersion } from "../../../shared/version.js";
import { budget, client, spend, usd } from "../budgets/budget-fixture.js";
import { wind } from "../clockwork.js";
import {
  ask,
  askFor,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";
import { admit, authorize, call, issue } from "../keys/key-fixture.js";
import { spending } from "../usage/usage-fixture.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });

t.test(
  "a snapshot is written once per interval, and with the interval 0 not until the end",
  async (t) => {
    const daemon = startDaemon([minute]);
    const { ring, lengths } = wind(daemon, 250);
    t.same(lengths, [250, 10_000, 1000]);
    askFor(daemon.proxy("p1"), 2, "/team");
    ring(250);
    await daemon.commit();
    t.equal([...daemon.store.entries("windows")].length, 1);
    daemon.nowMs += 1;
    ring(250);
    await daemon.commit();
    t.equal(daemon.state.lastSnapshotAtMs, daemon.nowMs, "and again");
    t.same(wind(daemon, 0).lengths, [10_000, 1000]);
    t.same(wind(daemon, 1).lengths, [1, 10_000, 1000]);
  },
);

t.test("a stop writes the windows before it closes the peers, and ends every timer", async (t) => {
  const daemon = startDaemon([minute]);
  const clockwork = wind(daemon, 1000);
  const peer = daemon.proxy("p1");
  peer.send(settleOf(askFor(peer, 2, "/team")!, 1, 30));
  t.equal(await clockwork.timers.stop(), true);
  t.same(clockwork.log, ["closed with 1 windows on the disk"]);
  t.same(clockwork.lengths, []);
});

t.test("what a start has left in the store is taken into memory once the timers run", async (t) => {
  const daemon = startDaemon([minute]);
  askFor(daemon.proxy("p1"), 2, "/team");
  await daemon.snapshot();
  const next = startDaemon([minute], { store: daemon.store.crash(), loads: false });
  t.not(next.state.book.unread, null);
  const { log } = wind(next, 1000);
  for (let turn = 0; turn < 20 && next.state.book.unread !== null; turn++) await next.commit();
  t.same([next.state.book.unread, log], [null, []]);
});

t.test("rules that a start has left are read even where the store has no window", async (t) => {
  const daemon = startDaemon([minute]);
  await daemon.commit();
  const next = startDaemon([minute], { store: daemon.store.crash(), loads: false });
  t.equal(next.state.book.ruleSet.isRead, false);
  wind(next, 1000);
  for (let turn = 0; turn < 20 && next.state.book.unread !== null; turn++) await next.commit();
  t.equal(next.state.book.ruleSet.isRead, true);
});

t.test("a stop also writes what came while a snapshot and a flush were under way", async (t) => {
  const daemon = startDaemon([minute], { budgets: [budget("/", 86_400, 9)] });
  const { ring, timers } = wind(daemon, 250);
  const proxy = client(daemon);
  spend(proxy, "/team", usd);
  await daemon.commit();
  ring(250);
  ring(10_000);
  spend(proxy, "/team", usd);
  t.equal(await timers.stop(), true);
  t.same([...daemon.store.entries("journal")], [], "the windows hold all of it");
  const { state } = startDaemon([minute], {
    store: daemon.store.crash(),
    nowMs: daemon.nowMs,
    budgets: null,
  });
  t.equal(state.book.find(minute)!.own!.window.currentRequests, 2);
  t.equal(state.usage.rolledUpKey, state.usage.lastKey, "and the sums");
});

t.test(
  "a tick lets denials of tokens, owners of objects and back-tests go whose time is over",
  async (t) => {
    const daemon = startDaemon([]);
    const { state, store, nowMs } = daemon;
    const { ring } = wind(daemon, 0);
    state.denials.put({
      claim: "sub",
      value: "x",
      issuer: null,
      deniedAtMs: nowMs,
      expiresAtMs: nowMs + 5,
    });
    await store.commit([{ table: "objects", key: "file-1 openai", value: ["/a", nowMs + 5] }]);
    // More records than one call plays, so that the back-test is to be gone on with.
    const peer = daemon.proxy("p1");
    for (let seq = 1; seq <= recordsPerCall + 1; seq++) peer.send(spending(seq, "/a"));
    const rule = { user_path: "/a", limit_key: { period: "minute" }, max_requests: 2, days: 30 };
    t.match(await ask(daemon, "rate-limits.test", rule), { next: String });
    const left = (): unknown => [
      state.denials.size,
      [...store.entries("objects")].length,
      state.backTests.size,
    ];
    t.same(left(), [1, 1, 1]);
    daemon.nowMs += 2 * 86_400_000;
    ring(1000);
    await daemon.commit();
    t.same(left(), [0, 0, 0]);
  },
);

t.test("a stopping daemon reads no more messages", async (t) => {
  const daemon = startDaemon([minute]);
  const { timers } = wind(daemon, 1000);
  const peer = connect(
    daemon.state,
    { mayAdminister: true, send: () => {}, sendBulk: () => {}, close: () => {} },
    daemon.nowMs,
  );
  await timers.stop();
  const reader = { feed: () => t.fail("it reads") };
  receive(daemon.state, { peer, reader }, Buffer.from("x"), daemon.nowMs);
  t.equal(daemon.state.counts.closedPeers, 0);
});

t.test(
  "a stop gives up on a store that can't be written, and still closes the peers",
  async (t) => {
    const daemon = startDaemon([minute]);
    await daemon.commit();
    const clockwork = wind(daemon, 1000);
    askFor(daemon.proxy("p1"), 2, "/team");
    daemon.store.broken = true;
    const stopped = clockwork.timers.stop();
    clockwork.ring(5000);
    t.equal(await stopped, false);
    t.same(clockwork.log, ["closed with 0 windows on the disk"]);
  },
);

t.test(
  "proxies that don't come back are logged once, and the daemon stops waiting for them",
  async (t) => {
    const daemon = startDaemon([minute]);
    daemon.proxy("p1");
    await daemon.commit();
    const next = startDaemon([minute], { store: daemon.store.crash() });
    const clockwork = wind(next, 1000);
    t.ok(clockwork.lengths.includes(500));
    clockwork.ring(500);
    t.same(clockwork.log, ["1 missing"]);
    t.equal(next.state.expectedProxies, null);
    const complete = startDaemon([minute], { store: daemon.store.crash() });
    const other = wind(complete, 1000);
    complete.proxy("p1");
    other.ring(500);
    t.same(other.log, [], "none is missing when all are back");
  },
);

t.test(
  "a connection that never says hello is closed after five seconds, another isn't",
  async (t) => {
    const daemon = startDaemon([minute]);
    const closed: string[] = [];
    const { ring } = wind(daemon, 0);
    connect(
      daemon.state,
      {
        mayAdminister: true,
        send: () => {},
        sendBulk: () => {},
        close: () => closed.push("silent"),
      },
      daemon.nowMs,
    );
    daemon.proxy("p1");
    daemon.nowMs += 4_999;
    ring(1000);
    t.same(closed, []);
    daemon.nowMs += 1;
    ring(1000);
    t.same(closed, ["silent"]);
    t.equal(daemon.state.counts.closedPeers, 1);
  },
);

t.test(
  "a command line that asks for nothing for ten minutes is closed, a proxy isn't",
  async (t) => {
    const daemon = startDaemon([minute]);
    const { ring } = wind(daemon, 0);
    const closed: string[] = [];
    const greeted = (role: "cli" | "proxy", name: string) => {
      const peer = daemon.connect();
      Object.assign(peer.state, { close: () => closed.push(name) });
      peer.send({
        kind: "hello",
        id: 1,
        wireVersion,
        role,
        proxyId: name,
        leases: [],
        more: false,
      });
      return peer;
    };
    greeted("proxy", "proxy");
    greeted("cli", "forgotten");
    const busy = greeted("cli", "busy");
    daemon.nowMs += commandIdleMs - 1;
    busy.send({ kind: "admin", id: 2, op: "status", body: null });
    ring(1000);
    t.same(closed, []);
    daemon.nowMs += 1;
    ring(1000);
    t.same(closed, ["forgotten"]);
  },
);

const tickMs = 1000;

/** A daemon that ticks, and the keys that it has written since the last look. */
function ticking(): { daemon: TestDaemon; tick: () => Promise<readonly unknown[]> } {
  const daemon = startDaemon([]);
  let written: unknown[] = [];
  const commit = daemon.store.commit.bind(daemon.store);
  daemon.store.commit = (changes: readonly Change[]) => {
    written.push(...changes.filter(({ table }) => table === "keys").map(({ key }) => key));
    return commit(changes);
  };
  const { ring } = wind(daemon, 0);
  return {
    daemon,
    async tick() {
      written = [];
      ring(tickMs);
      await daemon.commit();
      return written;
    },
  };
}

/** The seconds since the start of 2026 at which each key was last used. */
function lastUses({ state }: TestDaemon): Readonly<Record<string, number | null>> {
  const began = Date.UTC(2026, 0, 1);
  return Object.fromEntries(
    state.keys
      .newest(10, 10)
      .map(({ id, lastUsedAtMs: at }) => [id, at === null ? null : (at - began) / 1000]),
  );
}

t.test(
  "a key's last use is shown immediately, and written at most every five minutes, not with requests",
  async (t) => {
    const { daemon, tick } = ticking();
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer);
    await issue(daemon, peer);
    t.same(await tick(), [], "nothing was used");
    for (let i = 0; i < 100; i++) admit(peer, 10 + i, key.hash);
    t.same(lastUses(daemon), { key_1: 0, key_2: null });
    t.same(await tick(), [1]);
    for (let second = 1; second < keyUseWrittenMs / 1000; second += 60) {
      daemon.nowMs += 60_000;
      if (second < 240) authorize(peer, 500 + second, key.hash);
      t.same(await tick(), [], `after ${second + 59} s`);
    }
    t.same(lastUses(daemon), { key_1: 240, key_2: null });
    authorize(peer, 900, key.hash);
    t.same(await tick(), [1], "five minutes later");
    const reborn = startDaemon([], { store: daemon.store.crash() });
    t.same(lastUses(reborn), { key_1: 300, key_2: null });
    daemon.nowMs -= 3_600_000;
    authorize(peer, 901, key.hash);
    t.same(await tick(), [1], "a clock that was set back is followed");
  },
);

t.test("a refused key isn't used, and a deleted one isn't written back", async (t) => {
  const { daemon, tick } = ticking();
  const peer = daemon.proxy("p1");
  const gone = await issue(daemon, peer);
  const expired = await issue(daemon, peer, { expires_at: "2026-01-01T00:00:01Z" });
  admit(peer, 2, makeManagedKey().hash);
  daemon.nowMs += 1000;
  admit(peer, 3, expired.hash);
  admit(peer, 4, gone.hash);
  await call(daemon, peer, "keys.delete", { id: gone.id });
  t.same(await tick(), []);
  t.same(lastUses(daemon), { key_2: null });
  t.equal(startDaemon([], { store: daemon.store.crash() }).state.keys.find(gone.hash), undefined);
});

t.test("a store that fails is handed nothing, and a stop writes what waits", async (t) => {
  const daemon = startDaemon([]);
  const clockwork = wind(daemon, 1000);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer);
  daemon.store.broken = true;
  void daemon.state.writer.tryWrite([]);
  await daemon.commit();
  admit(peer, 2, key.hash);
  clockwork.ring(tickMs);
  daemon.store.broken = false;
  await daemon.commit();
  t.same(lastUses(startDaemon([], { store: daemon.store.crash() })), { key_1: null });
  t.equal(await clockwork.timers.stop(), true);
  t.same(lastUses(startDaemon([], { store: daemon.store.crash() })), {
    key_1: 0,
  });
});
