/**
 * An engine that lies: damaged answers to hosts in this process and to a daemon, and damaged data
 * in the engine itself. No daemon ends, no limit is passed that `closed` keeps, and all is well
 * again afterwards. `SLUICE_SEED` repeats a run; `SLUICE_DAMAGED`: how many answers are damaged.
 */
import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { createDefinitionEngine } from "../../../limiterd/cluster/definitions/definition-engine.js";
import { connectEngine } from "../../../limiterd/cluster/engine/connect-engine.js";
import {
  EngineAwayError,
  type EngineConnection,
  EngineRefusedError,
} from "../../../limiterd/cluster/engine/engine.js";
import { openClients } from "../../../limiterd/cluster/engine/open-client.js";
import { createEngineLimits } from "../../../limiterd/cluster/engine-limits.js";
import type { CounterTotals } from "../../../limiterd/cluster/shared-limits.js";
import { joinCluster } from "../../../limiterd/lifecycle/cluster/join-cluster.js";
import { budget } from "../../limiterd/budgets/budget-fixture.js";
import {
  ask,
  askFor,
  commitUntil,
  executed,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../../limiterd/in-memory-daemon.js";
import { agesSeconds } from "../../support/ages.js";
import { createPlainConfig } from "../../support/cluster/cluster-config.js";
import { freePort } from "../../support/processes/free-port.js";
import {
  engineProgram,
  noEngine,
  type RunningEngine,
  startEngine,
} from "../../support/processes/start-engine.js";
import { startHost, untilSo } from "../cluster-host.js";
import { createDamage, randomFrom } from "../damage.js";
import { type EngineWire, startWire } from "../engine-wire.js";

const skip = engineProgram === null && noEngine;
const seed = Number(process.env["SLUICE_SEED"] ?? randomInt(2 ** 31));
const damagedMin = Number(process.env["SLUICE_DAMAGED"] ?? 10_000);
t.comment(`seed ${seed}: SLUICE_SEED=${seed} repeats it`);

const cap = 2000;

interface FuzzedHost {
  readonly daemon: TestDaemon;
  readonly connection: EngineConnection;
  readonly wire: EngineWire;
  readonly proxy: ReturnType<TestDaemon["proxy"]>;
  admitted: number;
  stop(): Promise<void>;
}

let ids = 0;

async function startFuzzed(
  wire: EngineWire,
  onBroken: (error: Error) => void,
): Promise<FuzzedHost> {
  const daemon = startDaemon(
    [
      pathRule("/team", agesSeconds, { requests: cap }),
      pathRule("/team", 60, { tokens: 1_000_000 }),
      pathRule("/team", 0, { requests: 100 }),
    ],
    {
      nowMs: Date.now(),
      budgets: [budget("/team", 86_400, 1000)],
    },
  );
  const connection = connectEngine({
    clusterName: "fuzz",
    open: openClients(createPlainConfig(wire.url)),
    log: { info() {}, warn() {} },
    nowMs: Date.now,
    nextProbe: () => delay(50, undefined, { ref: false }),
  });
  const name = `host-${++ids}`;
  const nothing = (): void => {};
  const work = setInterval(() => {
    daemon.nowMs = Date.now();
    void daemon.commit();
  }, 20);
  const joining = joinCluster(daemon.state, {
    engine: connection,
    clusterName: "fuzz",
    failureMode: "closed",
    facts: {
      name,
      version: "1.0.0",
      configuration: "c",
      startedAtMs: Date.now(),
      failureMode: "closed",
    },
    usageRetentionDays: 400,
    nowMs: Date.now,
    monoMs: () => performance.now(),
    after: (ms, run) => void (ms === 0 ? setImmediate(run) : setTimeout(run, ms)),
    every(ms, run) {
      const timer = setInterval(run, ms / 4);
      return () => clearInterval(timer);
    },
    newId: () => `id-${++ids}`,
    accountsLoaded: Promise.resolve(),
    log: {
      onJoin: nothing,
      onReplaced: nothing,
      onRenumbered: nothing,
      onUnreadable: nothing,
      skipped: nothing,
      refused: nothing,
      differing: nothing,
      copiedDisk: (id) => onBroken(new Error(`${id} is said to be another host's`)),
    },
    onBroken,
  });
  await commitUntil(daemon, joining);
  const leave = await joining;
  return {
    daemon,
    connection,
    wire,
    proxy: daemon.proxy(name),
    admitted: 0,
    async stop() {
      await commitUntil(daemon, leave());
      clearInterval(work);
    },
  };
}

t.test(`${damagedMin} damaged answers to hosts`, { skip, timeout: 900_000 }, async (t) => {
  const engine = await startEngine(t);
  const port = await freePort();
  const cluster = await startEngine(t, [
    "--cluster-enabled",
    "yes",
    "--cluster-announce-port",
    `${port}`,
    "--cluster-announce-ip",
    "127.0.0.1",
  ]);
  await cluster.cli("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
  await untilSo(
    async () => String(await cluster.cli("CLUSTER", "INFO")).includes("cluster_state:ok"),
    "the Cluster is there",
  );
  const broken: Error[] = [];
  const onBroken = (error: Error): void => void broken.push(error);
  const random = randomFrom(seed);
  const damages = { count: 0, on: true };
  const hosts: FuzzedHost[] = [];
  const clusterWire = await startWire(t, cluster.port, port);
  for (let i = 0; i < 8; i++) {
    const wire = i < 3 ? clusterWire : await startWire(t, engine.port);
    hosts.push(await startFuzzed(wire, onBroken));
  }
  const states = (): string => JSON.stringify(hosts.map(({ connection }) => connection.state));
  await untilSo(
    async () => hosts.every(({ connection }) => connection.state.kind === "connected"),
    "all hosts are connected",
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${states()}`);
  });
  const wires = new Set(hosts.map(({ wire }) => wire));
  const callers: Promise<void>[] = [];
  for (let i = 0; i < 30; i++) {
    const wire = i < 5 ? clusterWire : await startWire(t, engine.port);
    wires.add(wire);
    callers.push(callOn(t, wire, damages));
  }
  for (const wire of wires) {
    const damage = createDamage(random);
    wire.damage = (bytes) => {
      if (!damages.on || random.next() > 0.06) return bytes;
      damages.count++;
      return damage(bytes);
    };
  }
  let id = 0;
  const began = performance.now();
  let said = began;
  while (damages.count < damagedMin && broken.length === 0) {
    for (const host of hosts) {
      askFor(host.proxy, ++id, "/team");
      // What has waited for the engine is answered later.
      for (const answer of host.proxy.received.splice(0)) {
        if (answer.kind !== "admitted") continue;
        host.admitted++;
        const settled = settleOf(leaseOf(answer, "/team"), ++id, 30);
        host.proxy.send({ ...settled, record: executed() });
      }
    }
    await delay(20);
    if (performance.now() - said > 10_000) {
      said = performance.now();
      t.comment(`${damages.count} damaged answers: ${states()}`.slice(0, 1000));
    }
  }
  const seconds = (performance.now() - began) / 1000;
  damages.on = false;
  await Promise.all(callers);
  t.comment(`${damages.count} damaged answers in ${seconds.toFixed(0)} s`);
  t.same(broken, [], "nothing is the daemon's end");
  const sum = (of: readonly FuzzedHost[]): number =>
    of.reduce((all, { admitted }) => all + admitted, 0);
  const [onCluster, onOne] = [sum(hosts.slice(0, 3)), sum(hosts.slice(3))];
  t.comment(`admitted: ${onOne} and ${onCluster} of ${cap} each`);
  t.ok(onOne <= cap && onCluster <= cap, "no cap is passed");
  await untilSo(
    async () =>
      hosts.every(
        ({ connection, daemon }) =>
          connection.state.kind === "connected" &&
          connection.reception("x").isConfirmed &&
          daemon.state.clusterFailing === null,
      ),
    "all hosts are well again",
  );
  const limit = {
    user_path: "/fresh",
    limit_key: { period_seconds: agesSeconds },
    max_requests: 3,
  };
  await ask(hosts[3]!.daemon, "rate-limits.put", limit);
  await untilSo(
    async () => hosts.slice(3).every(({ daemon }) => daemon.state.book.ruleSet.size === 4),
    "a new limit holds on all hosts",
  );
  let admitted = 0;
  const askAll = async (): Promise<boolean> => {
    for (const { proxy } of hosts.slice(3)) {
      proxy.received.length = 0;
      askFor(proxy, ++id, "/fresh");
      const answered = (): boolean => proxy.received.some(({ kind }) => kind !== "event");
      await untilSo(async () => answered(), "an answer");
      if (proxy.received.some(({ kind }) => kind === "admitted")) admitted++;
    }
    return admitted >= 3;
  };
  // On a busy machine the engine's answer may come too late, or another host holds the unit.
  await untilSo(askAll, "three are admitted");
  await askAll();
  t.equal(admitted, 3, "and no fourth");
  for (const host of hosts) await host.stop();
});

/** Asks all that is asked of an engine, over and over: an answer that is taken is the true one. */
async function callOn(t: Test, wire: EngineWire, until: { readonly on: boolean }): Promise<void> {
  const connection = connectEngine({
    clusterName: "calls",
    open: openClients(createPlainConfig(wire.url)),
    log: { info() {}, warn() {} },
    nowMs: Date.now,
    nextProbe: () => delay(20, undefined, { ref: false }),
  });
  const hostId = `caller-${++ids}`;
  const key = `sluice:calls:${hostId}`;
  const fields = { a: "1", b: "\u00e9\n", c: "x".repeat(5000) };
  const limits = createEngineLimits(connection, {
    clusterName: "calls",
    hostId,
    start: 1,
    onRefused() {},
  });
  const { commands } = connection;
  let seq = 0;
  let granted = 0;
  const ways: readonly (() => Promise<unknown>)[] = [
    async () => {
      await commands.hset(key, fields);
      const stored = Object.fromEntries(await commands.hgetall(key));
      if (!isDeepStrictEqual({ ...stored }, fields))
        t.fail(`another hash: ${JSON.stringify(stored)}`);
    },
    async () => {
      await commands.set(`${key}:text`, "v");
      if ((await commands.get(`${key}:text`)) !== "v") t.fail("another text");
    },
    async () => {
      if (Math.abs((await commands.time()) - Date.now()) > 60_000) t.fail("another time");
    },
    async () => {
      const question = {
        ruleId: hostId,
        child: "",
        generation: 0,
        seq: ++seq,
        syncedMs: 0,
        periodMs: 0,
        capRequests: null,
        capSlots: 5,
        units: {
          window: 0,
          spent: 0,
          spentBefore: 0,
          held: 0,
          frozen: 0,
          frozenBefore: 0,
          wanted: 0,
        },
        tokens: { window: 0, current: 0, previous: 0 },
        slots: { inUse: 0, wanted: 3 },
      };
      const [reply] = await limits.sync([question]);
      if (reply!.status === "synced") granted = reply!.slotsGranted;
      if (reply!.status === "synced" && granted !== 3) t.fail(`granted ${granted}, not 3`);
      const [{ nowMs, totals }] = (await limits.read([{ ...question }])) as [CounterTotals];
      if (nowMs > 0 && totals.slots !== 0) t.fail(`${totals.slots} slots of other hosts`);
    },
    async () => {
      const page = await createDefinitionEngine(connection, hostId).read(0);
      if (page.order !== 0 || page.changed.length > 0) t.fail("definitions from nowhere");
    },
  ];
  for (let i = 0; until.on; i++) {
    try {
      await ways[i % ways.length]!();
    } catch (error) {
      if (!(error instanceof EngineAwayError) && !(error instanceof EngineRefusedError))
        throw error;
      await delay(20);
    }
  }
  await connection.close();
}

/** What somebody writes over data of Sluice's. */
async function writeGarbage(
  engine: RunningEngine,
  random: ReturnType<typeof randomFrom>,
): Promise<void> {
  const keys = (await engine.cli("KEYS", "sluice:*")) as string[];
  if (keys.length === 0) return;
  const key = random.pick(keys);
  const text = random.pick([
    "",
    "x",
    "null",
    "-1",
    "nan",
    "inf",
    "1e308",
    "9007199254740993",
    "99999999999999999999",
    "[]",
    "[[[[[[",
    `${Date.now() * 1000}`,
    `${Date.now() * 2}`,
    `${Date.now() * 1000}:[1,2,3]`,
    "5:[-1]",
    `${"9".repeat(16)}:null`,
    "1 1 1 1 1 -1 -1 1 1 1 1 1 1 1 1",
    `1 1 1 ${Date.now() * 3} 1 1 1 1 1 1 1 1 1 1 1`,
    "1 nan inf 1 1 1 1 1 1 1 1 1 1 1 1",
    "0;1,2.3,4",
    '{"name":1,"asOfMs":-1e308,"complete":true}',
    '["x","1",{},1e308,null]',
    "\u0000\ufffd",
    "y".repeat(100_000),
  ]);
  const type = String(await engine.cli("TYPE", key));
  const act = random.int(6);
  if (act === 0) {
    await engine.cli("DEL", key);
    await engine.cli(
      ...random.pick([
        ["SET", key, text],
        ["RPUSH", key, text],
        ["SADD", key, text],
      ] as const),
    );
  } else if (act === 1) await engine.cli("DEL", key);
  else if (type === "hash") {
    const fields = (await engine.cli("HKEYS", key)) as string[];
    const field = random.int(5) === 0 ? text.slice(0, 100) : random.pick(fields);
    await (act === 2 ? engine.cli("HDEL", key, field) : engine.cli("HSET", key, field, text));
  } else if (type === "zset") {
    const members = (await engine.cli("ZRANGE", key, 0, -1)) as string[];
    const member = random.int(3) === 0 ? text.slice(0, 100) : random.pick(members);
    const score = random.pick(["-inf", "inf", "-1", "0.5", "1e300", `${Date.now() * 2000}`]);
    await (act === 2 ? engine.cli("ZREM", key, member) : engine.cli("ZADD", key, score, member));
  } else if (type === "string") await engine.cli("SET", key, text);
}

t.test("damaged data in the engine, and a daemon", { skip, timeout: 600_000 }, async (t) => {
  const engine = await startEngine(t);
  const wire = await startWire(t, engine.port);
  const random = randomFrom(seed + 1);
  const host = await startHost(t, { ...engine, url: wire.url });
  const other = await startHost(t, engine);
  const rule = (path: string, max: number) =>
    host.admin("PUT", "rate-limits", {
      user_path: path,
      limit_key: { period: "hour" },
      max_requests: max,
    });
  t.equal((await rule("/a", 1000)).status, 200);
  await host.admin("PUT", "budgets", {
    user_path: "/a",
    budget_key: { period: "daily" },
    amount: 100,
  });
  const { value } = (await host.admin("POST", "auth-keys", {})).body as { value: string };
  const isWell = async (): Promise<boolean> => {
    const { limiter } = (await host.get("/health")).body as {
      limiter: { state: string; cluster_failing: string | null };
    };
    return limiter.cluster_failing === null;
  };
  const damage = createDamage(random);
  for (let i = 0; i < 150; i++) {
    await writeGarbage(engine, random).catch((error: unknown) => {
      // A host has written there in between.
      if (!/WRONGTYPE/.test(String(error))) throw error;
    });
    await Promise.all([
      host.chat("/a"),
      other.chat("/a"),
      host.admin("GET", "rate-limits"),
      host.get("/v1/usage"),
    ]);
    if (i % 10 === 0) {
      wire.damage = (bytes) => (random.next() < 0.3 ? damage(bytes) : bytes);
      await delay(200);
      wire.damage = null;
    }
  }
  for (const { daemon } of [host, other])
    t.same(
      [daemon.child.exitCode, daemon.child.signalCode],
      [null, null],
      daemon.output().slice(-2000),
    );
  await untilSo(isWell, "it is well again", 90_000);
  await untilSo(
    async () => (await rule("/fresh", 5)).status === 200,
    "limits can be changed",
    90_000,
  );
  const listed = async (): Promise<boolean> =>
    JSON.stringify((await other.admin("GET", "rate-limits")).body).includes('"/fresh"');
  await untilSo(listed, "the other host knows it", 90_000);
  // While hosts tell the engine again what it has lost, it grants nothing: 503, or 429.
  let asked = 0;
  let admitted = 0;
  const ask5 = async (): Promise<boolean> => {
    const { status } = await (++asked % 2 === 0 ? host : other).chat("/fresh");
    if (status === 200) admitted++;
    return admitted === 5;
  };
  await untilSo(ask5, "five are admitted", 90_000);
  for (let i = 0; i < 6; i++) t.notOk(!(await ask5()), "and no sixth");
  t.equal(await host.statusWith(value), 200, "keys are known");
  await untilSo(
    async () => (await host.chat("/a")).status === 200,
    "a limit whose data were damaged",
    90_000,
  );
  await host.restartDaemon();
  // Until the proxy has the new daemon, a managed key gets 503.
  await untilSo(async () => (await host.statusWith(value)) !== 503, "the proxy is linked again");
  t.equal(await host.statusWith(value), 200, "after a start too");
});
