import t from "tap";
import { joinCluster, leaveCluster } from "../../../../limiterd/lifecycle/cluster/join-cluster.js";
import type { ClusterStatus } from "../../../../shared/api/gateway-status.js";
import type { ListedKeys } from "../../../../shared/api/key-item.js";
import type { ClusterFailureMode } from "../../../../shared/cluster/cluster-config.js";
import { makeManagedKey } from "../../../../shared/domain/make-managed-key.js";
import type { MetricsAnswer } from "../../../../shared/metrics/metrics-answer.js";
import { addDefinitionTwins } from "../../../support/cluster/definition-twins.js";
import {
  createFakeEngine,
  type FakeConnection,
  type FakeEngine,
} from "../../../support/cluster/fake-engine.js";
import { addHostTwin } from "../../../support/cluster/host-twin.js";
import { addKeyUseTwin } from "../../../support/cluster/key-use-twin.js";
import { createMemoryStore, type MemoryStore } from "../../../support/memory-store.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ask, commitUntil, startDaemon, type TestDaemon } from "../../in-memory-daemon.js";
import { authorize } from "../../keys/key-fixture.js";

interface JoinedDaemon {
  readonly daemon: TestDaemon;
  readonly connection: FakeConnection;
  readonly log: readonly string[];
  /** What happens every second. */
  tick(): Promise<void>;
}

let ids = 0;

async function joined(
  engine: FakeEngine,
  {
    store,
    configuration = "c",
    failureMode = "closed",
  }: { store?: MemoryStore; configuration?: string; failureMode?: ClusterFailureMode } = {},
): Promise<JoinedDaemon> {
  const daemon = startDaemon([], { ...(store === undefined ? {} : { store }) });
  const connection = engine.connect();
  const log: string[] = [];
  const timers: (() => void)[] = [];
  const nothing = (): void => {};
  const done = joinCluster(daemon.state, {
    engine: connection,
    clusterName: "test",
    failureMode,
    facts: {
      name: "web",
      version: "1.0.0",
      configuration,
      startedAtMs: daemon.nowMs,
      failureMode,
    },
    usageRetentionDays: 400,
    nowMs: () => daemon.nowMs,
    monoMs: () => engine.nowMs,
    after: nothing,
    every(_ms, run) {
      timers.push(run);
      return nothing;
    },
    newId: () => `id-${++ids}`,
    accountsLoaded: Promise.resolve(),
    log: {
      onJoin: nothing,
      onReplaced: nothing,
      onRenumbered: nothing,
      onUnreadable: nothing,
      skipped: nothing,
      refused: (reason) => void log.push(reason),
      differing: (hosts) => void log.push(...hosts),
      copiedDisk: (id) => void log.push(`copied ${id}`),
    },
    onBroken: (error) => void log.push(error.message),
  });
  await commitUntil(daemon, done);
  await done;
  return {
    daemon,
    connection,
    log,
    async tick() {
      for (const run of timers) run();
      for (let i = 0; i < 5; i++) await daemon.commit();
    },
  };
}

function newEngine(): FakeEngine {
  const engine = createFakeEngine();
  addDefinitionTwins(engine);
  addHostTwin(engine);
  addKeyUseTwin(engine);
  return engine;
}

async function metricsOf({ daemon }: JoinedDaemon): Promise<MetricsAnswer["series"]> {
  return ((await ask(daemon, "metrics", { rules_max: 10 })) as unknown as MetricsAnswer).series;
}

async function clusterOf({ daemon }: JoinedDaemon): Promise<ClusterStatus> {
  return (await ask(daemon, "status", null))["cluster"] as ClusterStatus;
}

t.test("the status and the metrics name the hosts, and say what the engine is doing", async (t) => {
  const engine = newEngine();
  const alone = startDaemon([]);
  t.equal((await ask(alone, "status", null))["cluster"], null);
  const a = await joined(engine);
  const b = await joined(engine, { configuration: "other", failureMode: "open" });
  const proxy = a.daemon.proxy("p1");
  await a.tick();
  t.match(
    await clusterOf(a),
    exactly({
      name: "test",
      engine: "connected",
      engine_failing: null,
      failure_mode: "closed",
      hosts: [
        { this_host: true, alive: true, configuration_differs: false, failure_mode_differs: false },
        {
          this_host: false,
          alive: true,
          configuration_differs: true,
          name: "web",
          failure_mode: "open",
          failure_mode_differs: true,
        },
      ],
    }),
  );
  const other =
    /^web \(id-\d+\): its configuration declares other .*, its cluster\.failure_mode is open, not closed$/;
  t.match(a.log, exactly([other]));
  await a.tick();
  t.equal(a.log.length, 1, "it is said once");
  t.match(
    (await metricsOf(a)).filter(([name]) => name.includes("differing")),
    exactly([
      ["sluice_cluster_hosts_differing", ["configuration"], [1]],
      ["sluice_cluster_hosts_differing", ["failure_mode"], [1]],
    ]),
  );
  a.connection.away("connection refused");
  engine.nowMs += 60_000;
  t.match(
    await clusterOf(a),
    exactly({
      engine: "away",
      engine_failing: "connection refused",
      hosts: [{ silent_seconds: 60, alive: false }, { silent_seconds: 60 }],
    }),
  );
  a.connection.back();
  await a.tick();
  t.match(
    await clusterOf(a),
    exactly({ hosts: [{ alive: true }, { alive: false, silent_seconds: 60 }] }),
  );
  t.match(
    proxy.received.filter(({ kind }) => kind === "event"),
    exactly([
      { name: "cluster_failing", value: "connection refused" },
      { name: "cluster_failing", value: null },
    ]),
  );
  t.same(
    (await metricsOf(a)).filter(([name]) => name === "sluice_cluster_hosts"),
    [
      ["sluice_cluster_hosts", ["alive"], [1]],
      ["sluice_cluster_hosts", ["away"], [1]],
    ],
  );
  b.connection.away("gone");
  t.match(b.daemon.proxy("p2").received.at(-1), { name: "cluster_failing", value: "gone" });
});

t.test("a key's last use is that of all hosts, also after the engine lost it", async (t) => {
  const engine = newEngine();
  const [a, b] = [await joined(engine), await joined(engine)];
  const both = async (): Promise<void> => {
    for (const host of [a, b, a]) await host.tick();
  };
  const listedOn = async ({ daemon }: JoinedDaemon) => {
    const { keys } = (await ask(daemon, "keys.list", {})) as unknown as ListedKeys;
    return keys.map(({ last_used_at: at, old_secrets: old }) => [
      at,
      ...old.map(({ last_used_at: oldAt }) => oldAt),
    ]);
  };
  const { hash, redacted: first } = makeManagedKey();
  await ask(a.daemon, "keys.issue", { key_hash: hash, redacted_value: first, key: {} });
  const id = "key_1";
  await both();
  t.same(await listedOn(b), [[null]]);
  const proxy = b.daemon.proxy("p1");
  const used = "2026-01-01T00:00:00Z";
  t.match(authorize(proxy, 1, hash), { kind: "authorized" });
  t.same(await listedOn(a), [[null]], "it isn't told yet");
  await both();
  t.same(await listedOn(a), [[used]]);

  const { hash: newHash, redacted } = makeManagedKey();
  const rotation = { overlap_seconds: 3600 };
  await ask(a.daemon, "keys.rotate", { id, new_hash: newHash, redacted_value: redacted, rotation });
  await both();
  b.daemon.nowMs += 60_000;
  t.match(authorize(proxy, 2, hash), { kind: "authorized" });
  await both();
  const later = "2026-01-01T00:01:00Z";
  t.same(await listedOn(a), [[later, later]], "the old secret is still in use, on the other host");

  engine.wipe();
  const c = await joined(engine);
  await both();
  await c.tick();
  t.same(await listedOn(c), [[later, later]], "hosts tell it again");

  a.connection.away("gone");
  b.daemon.nowMs += 60_000;
  t.match(authorize(proxy, 3, newHash), { kind: "authorized" });
  await b.tick();
  t.same(await listedOn(a), [[later, later]], "what is known here while the engine is away");
  a.connection.back();
  await both();
  t.same(await listedOn(a), [["2026-01-01T00:02:00Z", later]]);

  await ask(b.daemon, "keys.delete", { id });
  await both();
  const left = [...engine.data.hashes.keys()].filter((key) => key.includes("key-use"));
  t.same(left, [], "nothing is left of a deleted key");
});

t.test("a copied disk: the newcomer takes another id, a later one at its next start", async (t) => {
  const engine = newEngine();
  const a = await joined(engine);
  const { host } = await clusterOf(a);
  // As it was copied before the daemon of the first host started.
  const copy = a.daemon.store.crash();
  await copy.commit([{ table: "cluster", key: "host", value: [host, 0 + 1] }]);
  const b = await joined(engine, { store: copy });
  t.not((await clusterOf(b)).host, undefined);
  await b.tick();
  await a.tick();
  // It was started later: the elder one can't tell it from its own next start, until it speaks.
  t.match(a.log, exactly([`copied ${host}`, /starts under another one/]));
  const again = await joined(engine, { store: a.daemon.store.crash() });
  t.not((await clusterOf(again)).host, host);
  t.match(await clusterOf(again), { id_taken_at: /^2/ });
  const [, , [takenAt]] = (await metricsOf(again)).find(([name]) => name.includes("id_taken"))!;
  t.equal(takenAt, a.daemon.nowMs / 1000);
  t.equal((await clusterOf(b)).id_taken_at, null);
  const equal = b.daemon.store.crash();
  await equal.commit([{ table: "cluster", key: "host", value: [host, 1] }]);
  const c = await joined(engine, { store: equal });
  t.match(c.log[0], `copied ${host}`);
  t.not((await clusterOf(c)).host, host, "a newcomer that the engine tells apart");
});

t.test("a host that leaves forgets what was shared, not what it enforces", async (t) => {
  const engine = newEngine();
  const a = await joined(engine);
  await a.tick();
  const rule = { user_path: "/team", limit_key: { period: "minute" }, max_requests: 1 };
  await ask(a.daemon, "rate-limits.put", rule);
  const alone = startDaemon([], { store: a.daemon.store.crash() });
  await Promise.all([leaveCluster(alone.state), alone.commit()]);
  t.equal(alone.state.book.ruleSet.size, 1);
  t.same(
    [...alone.store.entries("cluster")].map(({ key }) => key),
    ["host"],
  );
  await leaveCluster(startDaemon([]).state);
});

t.test("a session of one host is one on the other, and ends on both", async (t) => {
  const engine = newEngine();
  const [a, b] = [await joined(engine), await joined(engine)];
  const hash = "h".repeat(43);
  const opening = { session_hash: hash, mark: "m".repeat(43) };
  const named = { session_hash: hash };
  const check = async ({ daemon }: JoinedDaemon): Promise<unknown> =>
    (await ask(daemon, "sessions.check", named))["kind"];
  await ask(a.daemon, "sessions.open-admin", opening);
  t.same([await check(a), await check(b)], ["admin", "admin"]);
  a.connection.away("cut");
  t.equal(await check(a), "admin", "a host goes on with what it knows");
  a.connection.back();
  await ask(b.daemon, "sessions.close", named);
  t.same([await check(a), await check(b)], ["none", "none"]);
  b.connection.away("cut");
  await ask(b.daemon, "sessions.open-admin", opening);
  b.connection.back();
  t.same([await check(b), await check(a)], ["admin", "none"], "what couldn't be told is its own");
});

t.test("every host knows an object's owner, and no other caller can take it", async (t) => {
  const engine = newEngine();
  const [a, b] = [await joined(engine), await joined(engine)];
  const made = { user_path: "/team", objects: [{ provider: "openai", id: "file-1" }], days: 3 };
  const owners = async ({ daemon }: JoinedDaemon): Promise<unknown> =>
    (await ask(daemon, "objects.owners", { ids: ["file-1"] }))["owners"];
  t.same(await owners(b), [[]]);
  await ask(a.daemon, "objects.own", made);
  t.same(await owners(b), [[{ provider: "openai", userPath: "/team" }]]);
  const c = await joined(engine);
  await ask(c.daemon, "objects.own", { ...made, user_path: "/other" });
  t.same(await owners(b), [[{ provider: "openai", userPath: "/team" }]]);
  b.connection.away("cut");
  t.same(await owners(b), [[]], "while the engine is away, each knows its own");
  t.same(await owners(a), [[{ provider: "openai", userPath: "/team" }]]);
});

t.test("an engine that refuses something is failing for as long as it does", async (t) => {
  const engine = newEngine();
  const a = await joined(engine);
  const proxy = a.daemon.proxy("p1");
  const said = (): unknown =>
    proxy.received.filter((each) => "name" in each && each.name === "cluster_failing").at(-1);
  await a.tick();
  t.equal((await clusterOf(a)).engine_failing, null);
  engine.data.strings.set("sluice:test:usage-hosts", "somebody else's");
  await a.tick();
  t.match(said(), { value: /WRONGTYPE/ });
  t.match(await clusterOf(a), { engine: "connected", engine_failing: /WRONGTYPE/ });
  engine.nowMs += 2000;
  await a.tick();
  t.match(said(), { value: /WRONGTYPE/ });
  engine.data.strings.delete("sluice:test:usage-hosts");
  await a.tick();
  engine.nowMs += 3000;
  await a.tick();
  t.match(said(), { value: null });
  t.equal((await clusterOf(a)).engine_failing, null);
});

t.test("a start on a full disk joins, too", async (t) => {
  const engine = newEngine();
  const store = createMemoryStore();
  store.broken = true;
  const a = await joined(engine, { store });
  await a.tick();
  t.match(
    await clusterOf(a),
    exactly({ engine: "connected", hosts: [{ this_host: true, alive: true }] }),
  );
  t.equal(store.get("cluster", "host"), undefined);
});
