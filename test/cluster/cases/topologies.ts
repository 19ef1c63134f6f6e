/** Engines of several servers: a Cluster, and a server with a replica and Sentinels; and TLS. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import { EngineAwayError, type EngineState } from "../../../limiterd/cluster/engine/engine.js";
import { createEngineLimits } from "../../../limiterd/cluster/engine-limits.js";
import type { SharedLimits, SyncReply } from "../../../limiterd/cluster/shared-limits.js";
import { until } from "../../support/client.js";
import { freePort } from "../../support/processes/free-port.js";
import {
  engineProgram,
  noEngine,
  type RunningEngine,
  startEngine,
  startSentinel,
} from "../../support/processes/start-engine.js";
import { connect, epochOf, isAway, isConnected, publish } from "../watched-connection.js";

const skip = engineProgram === null && noEngine;
const slots = 16_384;
const isUp = (info: unknown): boolean => String(info).includes("link_status:up");

async function startCluster(
  t: Test,
  replicas: number,
  others: readonly string[] = [],
): Promise<readonly RunningEngine[]> {
  const settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", ...others];
  const servers: RunningEngine[] = [];
  for (let i = 0; i < 3 + replicas; i++) servers.push(await startEngine(t, settings));
  const [first, ...rest] = servers;
  for (const [i, server] of servers.slice(0, 3).entries()) {
    const from = Math.floor((i * slots) / 3);
    await server.cli("CLUSTER", "ADDSLOTSRANGE", from, Math.floor(((i + 1) * slots) / 3) - 1);
  }
  for (const { port } of rest) await first!.cli("CLUSTER", "MEET", "127.0.0.1", port);
  const knows = async ({ cli }: RunningEngine): Promise<boolean> => {
    const info = String(await cli("CLUSTER", "INFO"));
    return (
      info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${servers.length}`)
    );
  };
  for (const server of servers) await until(() => knows(server), Boolean);
  for (const replica of servers.slice(3)) {
    await replica.cli("CLUSTER", "REPLICATE", String(await first!.cli("CLUSTER", "MYID")));
    await until(() => replica.cli("INFO", "replication"), isUp);
  }
  return servers;
}

function questions(count: number, seq: number) {
  return Array.from({ length: count }, (_, i) => ({
    ruleId: `rule{${i}}`,
    child: "/a}b{",
    generation: 0,
    seq,
    syncedMs: 0,
    periodMs: 3_600_000,
    capRequests: 5,
    capSlots: null,
    units: { window: 0, spent: 0, spentBefore: 0, held: 0, frozen: 0, frozenBefore: 0, wanted: 3 },
    tokens: { window: 0, current: 0, previous: 0 },
    slots: { inUse: 0, wanted: 0 },
  }));
}

/** On a machine that is busy an answer may be late, and the connection is given up. */
async function askedUntilAnswered(
  limits: Pick<SharedLimits, "sync">,
  count: number,
  from = 1,
): Promise<readonly SyncReply[]> {
  for (let seq = from; ; seq++) {
    try {
      return await limits.sync(questions(count, seq));
    } catch (error) {
      if (!(error instanceof EngineAwayError) || seq > from + 50) throw error;
      await delay(100);
    }
  }
}

t.test(
  "a Cluster of three servers, found by one of them, and its failover",
  { skip },
  async (t) => {
    const servers = await startCluster(t, 1);
    const [first, , third, replica] = servers;
    const connection = connect(t, third!.url);
    const before = epochOf(await connection.until(isConnected));
    const limits = createEngineLimits(connection, {
      clusterName: "sluice",
      hostId: "a",
      start: 1,
      onRefused() {},
    });
    const granted = await askedUntilAnswered(limits, 60);
    t.same(new Set(granted.map((each) => each.granted)), new Set([3]));
    const sizes = await Promise.all([first!, third!].map(({ cli }) => cli("DBSIZE")));
    for (const size of sizes) t.ok(Number(size) > 5, `${size} of the counters are on one of them`);
    const heard = new Promise((resolve) => connection.subscribe("c", resolve));
    await until(
      () => Promise.all(servers.map(({ cli }) => cli("PUBSUB", "NUMSUB", "c"))),
      (reply) => reply.some((each) => Number((each as [string, number])[1]) > 0),
    );
    await publish(connection, "c", "word");
    t.equal(await heard, "word");

    await first!.kill();
    const lost = await limits.sync(questions(60, 99)).catch((error: unknown) => {
      if (error instanceof EngineAwayError) return [];
      throw error;
    });
    t.notOk(lost.length > 0 && lost.every(({ status }) => status === "synced"));
    await until(
      () => replica!.cli("INFO", "replication"),
      (info) => String(info).includes("role:master"),
    );
    await connection.until((state) => ![before, ""].includes(epochOf(state)));
    let seq = 100;
    await until(async () => {
      try {
        const replies = await limits.sync(questions(60, seq++));
        return replies.every(({ status }) => status === "synced");
      } catch {
        return false;
      }
    }, Boolean);
    t.pass("all counters can be asked for again");
  },
);

t.test("a server of a Cluster is away: the counters of the others go on", { skip }, async (t) => {
  const servers = await startCluster(t, 0, ["--cluster-require-full-coverage", "no"]);
  // What hosts share besides counters is on another one.
  const slot = Number(await servers[0]!.cli("CLUSTER", "KEYSLOT", "sluice:{sluice}:epoch"));
  const [lost, other] = slot < slots / 3 ? [servers[1]!, servers[0]!] : [servers[0]!, servers[1]!];
  const connection = connect(t, other.url);
  const before = epochOf(await connection.until(isConnected));
  const options = { clusterName: "sluice", hostId: "a", start: 1, onRefused() {} };
  const limits = createEngineLimits(connection, options);
  await askedUntilAnswered(limits, 60);
  await lost.kill();
  const away = (state: EngineState): boolean =>
    state.kind === "connected" && state.serversAway.includes(`127.0.0.1:${lost.port}`);
  t.equal(epochOf(await connection.until(away)), before, "the others have lost nothing");
  const statuses = (await askedUntilAnswered(limits, 60, 100)).map(({ status }) => status);
  t.same([...new Set(statuses)].sort(), ["away", "synced"]);
  await lost.restart();
  await connection.until((state) => state.kind === "connected" && state.serversAway.length === 0);
});

t.test("several addresses that are no Cluster", { skip }, async (t) => {
  const engine = await startEngine(t);
  const away = `valkey://127.0.0.1:${await freePort()}`;
  const connection = connect(t, `${away},${engine.url}`);
  await connection.until(isConnected);
  t.match(connection.lines.join(), /nothing listens/, "they are tried in turn");
});

t.test("Sentinels: the server is found, and the one that takes over", { skip }, async (t) => {
  const primary = await startEngine(t);
  const replica = await startEngine(t, ["--replicaof", `127.0.0.1 ${primary.port}`]);
  await until(() => replica.cli("INFO", "replication"), isUp);
  const sentinel = await startSentinel(t, primary.port);
  await until(
    () => sentinel.cli("SENTINEL", "REPLICAS", "engine"),
    (reply) => String(reply).includes(`${replica.port}`),
  );
  const away = `valkey://127.0.0.1:${await freePort()}`;
  const none = { username: null, password: null };
  const connection = connect(t, `${away},${sentinel.url}`, {
    sentinel: { master: "engine", credentials: none },
  });
  const before = epochOf(await connection.until(isConnected));
  await connection.commands.set("k", "v");
  await until(
    () => replica.cli("EXISTS", "k"),
    (found) => found === 1,
  );
  await primary.kill();
  await connection.until(isAway);
  t.not(epochOf(await connection.until(isConnected)), before);
  t.equal(await connection.commands.get("k"), "v", "of the replica that has taken over");

  const unknown = connect(t, sentinel.url, { sentinel: { master: "other", credentials: none } });
  t.match(await unknown.until(isAway), { reason: /no Sentinel answers, or none knows/ });
});

t.test("TLS, with a certificate that is trusted by its file alone", { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-tls-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(directory, name)) as [
    string,
    string,
  ];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`;
  if (spawnSync("openssl", words.split(" "), { stdio: "ignore" }).status !== 0) {
    t.comment("needs openssl");
    return;
  }
  const port = await freePort();
  const tls = ["--tls-port", `${port}`, "--tls-cert-file", cert, "--tls-key-file", key];
  try {
    await startEngine(t, [...tls, "--tls-auth-clients", "no"]);
  } catch (error) {
    if (!/TLS support/.test(String(error))) throw error;
    t.comment("this engine is built without TLS");
    return;
  }
  const untrusted = connect(t, `valkeys://localhost:${port}`);
  t.match(await untrusted.until(isAway), {
    reason: /certificate isn't trusted .*cluster\.ca_file/,
  });
  const otherName = connect(t, `valkeys://127.0.0.1:${port}`, { caFile: cert });
  t.match(await otherName.until(isAway), {
    reason: /certificate isn't trusted \(ERR_TLS_CERT_ALT/,
  });
  const plain = connect(t, `valkey://localhost:${port}`);
  t.match(await plain.until(isAway), { reason: /closed the connection|hasn't answered/ });
  const connection = connect(t, `rediss://localhost:${port}`, { caFile: cert });
  await connection.until(isConnected);
  await connection.commands.set("k", "v");
  t.equal(await connection.commands.get("k"), "v");
});
