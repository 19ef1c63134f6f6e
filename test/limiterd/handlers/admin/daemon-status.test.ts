import t from "tap";
import { type HostBoard, hostAliveMs } from "../../../../limiterd/cluster/hosts/host-board.js";
import { clusterStatus, daemonStatus } from "../../../../limiterd/handlers/admin/daemon-status.js";
import { wireVersions } from "../../../../shared/wire/wire-versions.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { budget } from "../../budgets/budget-fixture.js";
import { ask, askFor, pathRule, settleOf, startDaemon, submit } from "../../in-memory-daemon.js";

t.test(
  "proxies and what they have in flight are counted, command lines and submissions aren't",
  async (t) => {
    const daemon = startDaemon([pathRule("/", 60, { requests: 10 })], {
      versions: { ...wireVersions, newest: wireVersions.newest + 1 },
    });
    await ask(daemon, "rate-limits.list", { after: null });
    const status = () => daemonStatus(daemon.state, daemon.nowMs + 90_400);
    t.match(status(), { proxies: 0, older_proxies: 0, in_flight: 0, uptime_seconds: 90 });
    const one = daemon.proxy("p1");
    const other = daemon.proxy("p2");
    askFor(one, 2, "/a");
    submit(one, 3, "/a");
    askFor(other, 2, "/a");
    t.match(
      status(),
      exactly({
        proxies: 2,
        proxy_ids: [String, String],
        older_proxies: 2,
        in_flight: 2,
        admitted: 3,
        rules: 1,
      }),
    );
    other.close();
    t.match(status(), { proxies: 1, in_flight: 1 });
    t.equal(other.state.leases.size, 0);
    t.equal(daemonStatus(daemon.state, daemon.nowMs - 5000)["uptime_seconds"], 0);
  },
);

t.test("a rule that does nothing is counted and named until it is gone", async (t) => {
  const daemon = startDaemon([], { usageEnabled: false });
  const team = { subject: "/team", limit_key: { period: "day" } };
  const status = () => ask(daemon, "status", null);
  t.match(await status(), { inert_rules: 0, inert: { length: 0 }, budgets_enabled: false });
  t.match(await ask(daemon, "rate-limits.put", { ...team, max_tokens: 5 }), { inert: String });
  t.same(await ask(daemon, "rate-limits.put", { ...team, subject: "/b", max_requests: 5 }), {});
  t.match(await status(), exactly({ inert_rules: 1, inert: [/\/team/] }));
  await ask(daemon, "rate-limits.delete", team);
  t.match(await status(), { inert_rules: 0, inert: { length: 0 } });
  await ask(daemon, "rate-limits.put", { ...team, max_tokens: 5 });
  const moved = { ...team, subject: "/moved", replaces: team };
  await ask(daemon, "rate-limits.put", { ...moved, max_requests: 5 });
  t.match(await status(), { inert_rules: 0, inert: { length: 0 } });
});

t.test("targets that proxies leave alone are named as long as they are connected", async (t) => {
  const daemon = startDaemon([]);
  const status = () => daemonStatus(daemon.state, daemon.nowMs).open_targets;
  t.same(status(), []);
  const one = daemon.proxy("p1");
  const other = daemon.proxy("p2");
  const report = (peer: typeof one, targets: unknown): void =>
    void peer.send({ kind: "admin", id: 9, op: "targets.report", body: { targets } });
  report(one, ["one/a: 503 (7 failures in a row)", "one/b: 401 (5 failures in a row)"]);
  report(other, ["one/a: 503 (7 failures in a row)"]);
  t.same(status(), ["one/a: 503 (7 failures in a row)", "one/b: 401 (5 failures in a row)"]);
  for (const wrong of [7, [7], [[]], ["x".repeat(501)], Array.from({ length: 101 }, String)]) {
    report(one, wrong);
    t.match(
      one.received.at(-1),
      { kind: "failed", failure: { status: 400, param: "targets" } },
      JSON.stringify(wrong).slice(0, 20),
    );
  }
  t.equal(status().length, 2, "what it said before still counts");
  report(one, []);
  t.same(status(), ["one/a: 503 (7 failures in a row)"]);
  other.close();
  t.same(status(), []);
});

t.test("of many proxies and of many limits that do nothing, a hundred are named", async (t) => {
  for (const count of [100, 101]) {
    const paths = Array.from({ length: count }, (_, i) => `/p${i}`);
    const daemon = startDaemon(
      paths.map((path) => pathRule(path, 60, { tokens: 5 })),
      { usageEnabled: false, budgets: paths.map((path) => budget(path, 3600, 1)) },
    );
    for (const path of paths) daemon.proxy(path.slice(1));
    const status = daemonStatus(daemon.state, daemon.nowMs + 5_000_000);
    t.match(status, { proxies: count, inert_rules: count, inert_budgets: count });
    t.equal(status.uptime_seconds, 5000);
    t.equal(status.proxy_ids.length, 100);
    t.same(
      status.inert.map((name) => name.startsWith("budget ")),
      [...Array(100).fill(false), ...Array(100).fill(true)],
    );
  }
});

t.test("settles of every part are counted, repeated ones apart", async (t) => {
  const daemon = startDaemon([pathRule("/", 60, { requests: 10 })]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/a")!;
  const parts = ["progress", "attempt", "request"] as const;
  for (const [i, part] of parts.entries()) peer.send({ ...settleOf(lease, i + 1, 5), part });
  peer.send(settleOf(lease, 3, 5));
  t.match(daemonStatus(daemon.state, daemon.nowMs), {
    settled: 3,
    tokens: 15,
    repeated_settles: 1,
    inert_rules: 0,
  });
});

t.test("what hasn't happened yet is null in the status, and has its time afterwards", async (t) => {
  const { state, nowMs } = startDaemon([]);
  const lastBackup = { atMs: null, sinceMs: nowMs };
  Object.assign(state, { lastBackup });
  t.match(daemonStatus(state, nowMs), {
    cluster: null,
    store: { last_flush_at: null, last_backup_at: null, has_usage: false },
  });
  Object.assign(state, { lastSnapshotAtMs: nowMs, lastBackup: { ...lastBackup, atMs: nowMs } });
  const moment = "2026-01-01T00:00:00Z";
  t.match(daemonStatus(state, nowMs).store, {
    last_flush_at: moment,
    last_backup_at: moment,
    backups_noted_since: moment,
  });
});

const nowMs = Date.UTC(2026, 0, 1);

const own = {
  id: "h1",
  name: "one",
  version: "1.0",
  startedAtMs: nowMs - 60_000,
  silentMs: 0,
  configuration: "a",
  failureMode: "open",
};

/** What the status says of a cluster with these differences to two hosts that agree. */
function statusOf({
  other = {},
  takenAtMs = null as number | null,
  order = null as number | null,
} = {}) {
  const board = {
    identity: { id: "h1", start: 1, takenAtMs },
    facts: own,
    hosts: [own, { ...own, id: "h2", name: "two", silentMs: 400, ...other }],
  } as unknown as HostBoard;
  const sharedDefinitions = order === null ? null : { state: { order } };
  const state = { sharedDefinitions, clusterFailing: "gone" } as never;
  const member = {
    ...{ name: "eu", failureMode: "open", board },
    engineState: () => ({ kind: "connected" }),
    reception: () => ({ isConfirmed: true, subscribers: 2 }),
  } as never;
  return clusterStatus(state, member, nowMs);
}

t.test("the status says which hosts there are, which lives, and how each differs", async (t) => {
  const host = {
    id: "h1",
    name: "one",
    this_host: true,
    alive: true,
    version: "1.0",
    uptime_seconds: 60,
    silent_seconds: 0,
    configuration_differs: false,
    failure_mode: "open",
    failure_mode_differs: false,
  };
  const two = { ...host, id: "h2", name: "two", this_host: false };
  t.strictSame(statusOf(), {
    name: "eu",
    host: "h1",
    engine: "connected",
    engine_failing: "gone",
    changes_heard: true,
    changes_subscribers: 2,
    failure_mode: "open",
    id_taken_at: null,
    definitions_version: 0,
    hosts: [host, two],
  });
  for (const [other, differing] of [
    [{ silentMs: hostAliveMs - 1 }, { alive: true, silent_seconds: 10 }],
    [{ silentMs: hostAliveMs }, { alive: false, silent_seconds: 10 }],
    [{ silentMs: 1500 }, { silent_seconds: 2 }],
    [{ silentMs: -5000 }, { silent_seconds: 0 }],
    [{ startedAtMs: nowMs - 90_499 }, { uptime_seconds: 90 }],
    [{ startedAtMs: nowMs - 9_000_499 }, { uptime_seconds: 9000 }],
    [{ silentMs: 9_000_499 }, { alive: false, silent_seconds: 9000 }],
    [{ startedAtMs: nowMs + 5000 }, { uptime_seconds: 0 }],
    [{ configuration: "b" }, { configuration_differs: true }],
    [{ failureMode: "closed" }, { failure_mode: "closed", failure_mode_differs: true }],
    [{ failureMode: null }, { failure_mode: null, failure_mode_differs: false }],
  ] as const)
    t.strictSame(
      statusOf({ other }).hosts,
      [host, { ...two, ...differing }],
      JSON.stringify(other),
    );
  t.equal(statusOf({ takenAtMs: nowMs + 999 }).id_taken_at, "2026-01-01T00:00:00Z");
  t.equal(statusOf({ order: 7 }).definitions_version, 7);
});
