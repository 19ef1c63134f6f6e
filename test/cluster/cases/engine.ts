/** The connection to a real engine: what it does, what breaks it, and what is said of faults. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import type { Test } from "tap";
import t from "tap";
import { createDefinitionEngine } from "../../../limiterd/cluster/definitions/definition-engine.js";
import { EngineAwayError, EngineRefusedError } from "../../../limiterd/cluster/engine/engine.js";
import { counterKey, createEngineLimits } from "../../../limiterd/cluster/engine-limits.js";
import { hostScript } from "../../../limiterd/cluster/hosts/host-script.js";
import { exactly } from "../../support/patterns/exactly.js";
import { freePort } from "../../support/processes/free-port.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { root } from "../../tidy/source-tree.js";
import { connect, epochOf, isAway, isConnected, publish } from "../watched-connection.js";

const skip = engineProgram === null && noEngine;

t.test("commands, scripts and channels", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  await t.rejects(connection.commands.get("a"), EngineAwayError, "before it is reached");
  const heard: string[] = [];
  const hearing = new Promise<void>((resolve) => {
    connection.subscribe("c", (message) => {
      heard.push(message);
      resolve();
    });
  });
  await connection.until(isConnected);
  const { commands } = connection;
  t.equal(await commands.hset("h", { x: "1", y: "2" }), 2);
  t.same([...(await commands.hgetall("h"))], Object.entries({ x: "1", y: "2" }));
  t.same([await commands.hget("h", "y"), await commands.hget("h", "z")], ["2", null]);
  t.equal(await commands.hdel("h", ["x", "y", "z"]), 2);
  await commands.set("k", "1", { expiresMs: 60_000 });
  await commands.set("n", "1");
  t.same([await commands.get("k"), await commands.pexpire("none", 1)], ["1", false]);
  t.same([await commands.del("n"), await commands.del("n")], [1, 0]);
  t.ok(Math.abs((await commands.time()) - Date.now()) < 5000);
  await t.rejects(commands.hget("k", "x"), EngineRefusedError);

  const script = { name: "twice", source: "return {KEYS[1], ARGV[1] * 2, false}" };
  t.same(await connection.call(script, ["k"], [21]), ["k", 42, null]);
  await engine.cli("SCRIPT", "FLUSH");
  const many = Array.from({ length: 20 }, (_, i) => connection.call(script, ["k"], [i]));
  t.same(
    await Promise.all(many),
    many.map((_, i) => ["k", i * 2, null]),
    "an engine that has forgotten a script is told it again",
  );
  const broken = { name: "broken", source: "return redis.error_reply('CONFLICT late')" };
  await t.rejects(connection.call(broken, [], []), {
    name: "EngineRefusedError",
    message: "CONFLICT late",
  });
  await publish(connection, "c", "word");
  await hearing;
  t.same(heard, ["word"]);
});

t.test("an engine that is emptied, killed or frozen is noticed", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  const first = epochOf(await connection.until(isConnected));
  await engine.cli("FLUSHALL");
  const second = epochOf(await connection.until((state) => epochOf(state) !== first));
  t.ok(second !== "" && second !== first, "emptied");

  engine.freeze();
  const asked = performance.now();
  await t.rejects(connection.commands.get("a"), EngineAwayError);
  t.comment(`given up after ${(performance.now() - asked).toFixed(0)} ms`);
  await connection.until(isAway);
  const refused = connection.commands.get("a").catch((error: unknown) => error);
  const nextTurn = new Promise((resolve) => setImmediate(resolve, "it waits"));
  t.ok((await Promise.race([refused, nextTurn])) instanceof EngineAwayError, "then on at once");
  engine.thaw();
  t.equal(epochOf(await connection.until(isConnected)), second, "it has lost nothing");

  await engine.cli("CLIENT", "PAUSE", 3000);
  await t.rejects(connection.commands.get("a"), EngineAwayError, "paused");
  t.equal(epochOf(await connection.until(isConnected)), second);

  const heard = new Promise((resolve) => connection.subscribe("c", resolve));
  await engine.kill();
  t.match(await connection.until(isAway), { reason: /the engine has closed|nothing listens/ });
  await engine.restart();
  t.not(epochOf(await connection.until(isConnected)), second);
  await publish(connection, "c", "again");
  t.equal(await heard, "again", "channels are listened on again");
});

t.test("each fault is one sentence", { skip }, async (t) => {
  const users = [
    "default on >secret ~* &* +@all",
    "few on >pw ~* &* +@all -eval -evalsha",
    "fewer on >pw ~* &* +@all -zadd",
    "elsewhere on >pw ~other:* &* +@all",
    "quiet on >pw ~* resetchannels +@all",
  ].flatMap((user) => ["--user", ...user.split(" ")]);
  const guarded = await startEngine(t, users);
  const open = await startEngine(t);
  const replica = await startEngine(t, ["--replicaof", `127.0.0.1 ${open.port}`]);
  const noScripts = await startEngine(t, ["--rename-command", "eval", ""]);
  const closedPort = await freePort();
  const at = (user: string): string => guarded.url.replace("//", `//${user}@`);
  const web = await answering(t, "HTTP/1.1 400 Bad Request\r\n\r\n");
  const old = await answering(t, bulk("redis_version:6.0.16\r\nrole:master\r\n"));
  for (const [url, reason] of [
    [`valkey://127.0.0.1:${closedPort}`, /nothing listens at the engine's address/],
    ["valkey://no-such-host.invalid", /name of the engine's host can't be resolved/],
    [guarded.url, /wants a password: set cluster\.password/],
    [at(":geheim"), /refuses cluster\.username or its password/],
    [at("few:pw"), /ACL doesn't allow all commands that are needed: eval is refused/],
    [at("fewer:pw"), /ACL doesn't allow all commands that are needed/],
    [at("elsewhere:pw"), /ACL doesn't allow/],
    [at("quiet:pw"), /ACL doesn't allow/],
    [replica.url, /replica that takes no writes/],
    [noScripts.url, /has no Lua scripts/],
    [open.url.replace("valkey:", "valkeys:"), /hasn't answered in TLS in time/],
    [web, /no Valkey or Redis/],
    [old, /too old: Redis 6\.0\.16, and 7\.0 is needed/],
  ] as const) {
    const connection = connect(t, url);
    t.match(await connection.until(isAway), { reason }, url);
    t.notMatch(connection.lines.join(), /geheim|:pw/, "no password is logged");
    await connection.close();
  }
  const missing = connect(t, open.url, { passwordFile: "/nowhere/password" });
  t.match(await missing.until(isAway), { reason: "cluster.password_file can't be read (ENOENT)" });
});

t.test(
  "the user of the page on several hosts may do what is needed, and no more",
  { skip },
  async (t) => {
    const page = readFileSync(join(root, "docs/several-hosts.md"), "utf8");
    const rule = /ACL SETUSER (sluice .*)/.exec(page)![1]!.replace("PASSWORD", "pw").split(" ");
    const engine = await startEngine(t);
    await engine.cli("ACL", "SETUSER", ...rule);
    const connection = connect(t, engine.url.replace("//", "//sluice:pw@"));
    connection.subscribe("sluice:{sluice}:changes", () => {});
    await connection.until(isConnected);
    const limits = createEngineLimits(connection, {
      clusterName: "sluice",
      hostId: "a",
      start: 1,
      onRefused() {},
    });
    t.match(await limits.sync([question]), exactly([{ status: "synced" }]));
    const definitions = createDefinitionEngine(connection, "sluice");
    const denied = { kind: "denials", key: "jwt", value: null } as const;
    t.match(await definitions.write(0, [denied]), { kind: "written" });
    t.match(await definitions.read(0), exactly({ changed: [denied] }));
    const known = { clusterId: "c", trimmed: 0, order: 0 };
    t.equal(await definitions.restate(known, [{ ...denied, key: "other", stamp: 1 }]), 0);
    t.equal(await definitions.trim(Number.MAX_SAFE_INTEGER), 2);
    await t.rejects(connection.commands.get("else"), /ACL doesn't allow/);
    t.match(connection.state, { kind: "connected" }, "one command that is refused is no end");
  },
);

t.test("a full engine changes nothing, and is asked until it isn't", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  await connection.until(isConnected);
  const limits = createEngineLimits(connection, {
    clusterName: "sluice",
    hostId: "a",
    start: 1,
    onRefused() {},
  });
  await engine.cli("CONFIG", "SET", "maxmemory", "1");
  await t.rejects(limits.sync([question]), { name: "EngineAwayError", message: /is full/ });
  t.equal(await engine.cli("EXISTS", counterKey("sluice", question)), 0, "nothing half-applied");
  t.match(connection.state, { kind: "away", reason: /is full/ });
  await engine.cli("CONFIG", "SET", "maxmemory", "0");
  await connection.until(isConnected);
  t.match(await limits.sync([question]), exactly([{ status: "synced", granted: 3 }]));
});

t.test("what else lies under a counter's name is left alone", { skip }, async (t) => {
  const engine = await startEngine(t, [
    "--maxmemory",
    "100mb",
    "--maxmemory-policy",
    "allkeys-lru",
  ]);
  const connection = connect(t, engine.url);
  await connection.until(isConnected);
  t.match(connection.lines.join(), /maxmemory-policy is allkeys-lru/);
  const refused: string[] = [];
  const onRefused = (reason: string): void => void refused.push(reason);
  const asker = { clusterName: "sluice", hostId: "a", start: 1, onRefused };
  const limits = createEngineLimits(connection, asker);
  const other = { ...question, child: "/other" };
  const third = { ...question, child: "/third" };
  await engine.cli("SET", counterKey("sluice", question), "text");
  await engine.cli("HSET", counterKey("sluice", third), "h:b", "2 a row of later days");
  t.match(
    await limits.sync([question, other, third]),
    exactly([
      { status: "unusable", granted: 0 },
      { status: "synced", granted: 3 },
      { status: "unusable", granted: 0 },
    ]),
  );
  t.equal(await engine.cli("GET", counterKey("sluice", question)), "text");
  const named =
    /^something else than hosts share is in the engine: .*"sluice:sluice:counter:.* must be a/;
  t.equal(refused.length, 2);
  for (const each of refused) t.match(each, named);
  const names = [question, other].map((each) => ({ ...each, periodMs: 60_000 }));
  t.match(await limits.read(names), exactly([{ nowMs: 0 }, { totals: { requests: 3 } }]));
  const elsewhere = createEngineLimits(connection, { ...asker, clusterName: "west" });
  t.match(
    await elsewhere.read(names),
    exactly([{ totals: { requests: 0 } }, { totals: { requests: 0 } }]),
  );
});

t.test(
  "what else lies where definitions are is named, and nothing is changed",
  { skip },
  async (t) => {
    const engine = await startEngine(t);
    const connection = connect(t, engine.url);
    await connection.until(isConnected);
    const definitions = createDefinitionEngine(connection, "c");
    const one = { kind: "denials", key: "a", value: [1] } as const;
    const two = { kind: "denials", key: "b", value: [2] } as const;
    const key = (name: string): string => `sluice:{c}:${name}`;
    // The connection writes its epoch anew each second, under another name.
    const held = async (): Promise<unknown> => await engine.cli("KEYS", key("*"));
    for (const [name, put, expected] of [
      ["definitions", ["SET", key("definitions"), "x"], "hash"],
      ["order", ["HSET", key("order"), "x", "1"], "sorted set"],
      ["deleted", ["SET", key("deleted"), "x"], "sorted set"],
      ["state", ["LPUSH", key("state"), "x"], "hash"],
      ["state", ["HSET", key("state"), "sum", "x"], "count"],
      ["state", ["HSET", key("state"), "order", "1e99"], "count"],
    ] as const) {
      await engine.cli("FLUSHALL");
      await engine.cli(...put);
      const message = new RegExp(`something else .*"sluice:{c}:${name}" must be a ${expected}$`);
      const known = { clusterId: "c", trimmed: 0, order: 0 };
      const all: readonly Promise<unknown>[] = [
        definitions.write(0, [one, two]),
        definitions.read(0),
        definitions.restate(known, [{ ...one, stamp: 1 }]),
        definitions.trim(5),
      ];
      for (const asked of all) await t.rejects(asked, { name: "EngineRefusedError", message });
      t.same(await held(), [key(name)], "nothing half-applied");
    }
    await engine.cli("FLUSHALL");
    await engine.cli(
      "HSET",
      key("definitions"),
      "denials:a",
      "no stamp",
      "denials:b",
      ":",
      "x",
      "y",
    );
    t.match(await definitions.write(0, [one, two]), { kind: "written" });
    t.match(
      await definitions.read(0),
      exactly({ live: 2, changed: [one, two], unreadable: { length: 0 } }),
    );
    await engine.cli("HSET", key("definitions"), "denials:a", "nan:[3]");
    t.match(await definitions.read(0), exactly({ changed: [two], unreadable: ["denials:a"] }));

    for (const [name, run] of [
      ["hosts", () => connection.call(hostScript, [key("hosts")], ["a", 1, "m", "[]", 10_000, 1])],
      ["usage", () => connection.commands.hset(key("usage"), { a: "1" })],
    ] as const) {
      await engine.cli("SET", key(name), "x");
      const message = `something else than hosts share is in the engine: the key "${key(name)}" must be a hash`;
      await t.rejects(run(), { name: "EngineRefusedError", message });
    }
    await engine.cli("DEL", "sluice:{sluice}:epoch");
    await engine.cli("HSET", "sluice:{sluice}:epoch", "x", "y");
    t.match(await connection.until(isAway), { reason: /"sluice:{sluice}:epoch" must be a text$/ });
  },
);

t.test("a connection that is closed leaves nothing behind", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  connection.subscribe("c", () => {});
  await connection.until(isConnected);
  await connection.close();
  await t.rejects(connection.commands.get("a"), EngineAwayError);
  const clients = String(await engine.cli("CLIENT", "LIST"))
    .trim()
    .split("\n");
  t.equal(clients.length, 1, "but the one that asks");
});

const question = {
  ruleId: "user_path\n/\n60",
  child: "/a",
  generation: 0,
  seq: 1,
  syncedMs: 0,
  periodMs: 60_000,
  capRequests: 5,
  capSlots: null,
  units: { window: 0, spent: 0, spentBefore: 0, held: 0, frozen: 0, frozenBefore: 0, wanted: 3 },
  tokens: { window: 0, current: 0, previous: 0 },
  slots: { inUse: 0, wanted: 0 },
};

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}

/** A server that answers whatever it reads with the same. */
async function answering(t: Test, text: string): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on("error", () => {}).on("data", () => socket.write(text));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return `valkey://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}
