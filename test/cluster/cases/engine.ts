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
import { hostScript } from "../../../limiterd/cluster/hosts/host-board.js";
import type { SyncQuestion } from "../../../limiterd/cluster/shared-limits.js";
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
  await t.rejects(commands.set("k", "1", { expiresMs: -1 }), EngineRefusedError);

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

t.test(
  "what can't be a counter's is lost, and it grants nothing for a while",
  { skip },
  async (t) => {
    const engine = await startEngine(t, [
      "--maxmemory",
      "100mb",
      "--maxmemory-policy",
      "allkeys-lru",
    ]);
    const connection = connect(t, engine.url);
    await connection.until(isConnected);
    t.match(connection.lines.join(), /maxmemory-policy is allkeys-lru/);
    const asker = { clusterName: "sluice", hostId: "a", start: 1, onRefused: t.fail };
    const limits = createEngineLimits(connection, asker);
    let seq = 1;
    const ask = async (child: string, changes: Partial<SyncQuestion> = {}) =>
      (await limits.sync([{ ...question, child, seq: ++seq, ...changes }]))[0]!;
    const now = Date.now();
    const row = (changes: Readonly<Record<number, string | number>>): string =>
      [1, 1, 1, now, Math.floor(now / 60_000), 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        .map((word, i) => changes[i] ?? word)
        .join(" ");
    const garbage = [
      "x",
      "",
      "2 a row of later days",
      "1 ".repeat(100_000),
      row({ 5: -3 }),
      row({ 9: -1, 10: -1 }),
      row({ 5: "nan" }),
      row({ 6: "1e308" }),
      row({ 6: 2 ** 60 }),
      row({ 5: "0.5" }),
      row({ 3: now * 1000 }),
      row({ 12: now * 2 }),
    ];
    for (const [i, text] of garbage.entries()) {
      const child = `/${i}`;
      const key = counterKey("sluice", { ...question, child });
      await engine.cli("HSET", key, "g", "0", "b", `${now}`, "s", "0", "h:b", text);
      const name = { ...question, child, periodMs: 60_000 };
      t.match(await limits.read([name]), exactly([{ totals: { requests: 0, tokens: 0 } }]), text);
      t.match(await ask(child), { status: "synced", granted: 0, settlingMs: 3000 }, text);
      t.equal(await engine.cli("HEXISTS", key, "h:b"), 0, "it isn't met again");
      await engine.cli("HSET", key, "s", "0");
      t.match(await ask(child), { status: "synced", granted: 3 });
      // The same as this host's own row: all of it is in the question.
      await engine.cli("HSET", key, "h:a", text);
      t.match(await ask(child, { units: { ...question.units, spent: 3, wanted: 1 } }), {
        status: "synced",
        granted: 1,
      });
    }
    const key = counterKey("sluice", question);
    for (const put of [
      ["SET", key, "text"],
      ["RPUSH", key, "a"],
      ["HSET", key, "g", "nan", "rows", "1"],
      ["HSET", key, "g", `${2 ** 53}`],
      ["HSET", key, "g", "0", "b", "-1", "s", "x"],
      ["HSET", key, "g", "0", "h:a", row({ 1: 2 ** 40, 3: now - 10_000 })],
      ["HSET", key, "g", "0", "h:a", row({ 2: 2 ** 40, 3: now - 10_000 })],
    ] as const) {
      await engine.cli("DEL", key);
      await engine.cli(...put);
      t.match(await ask("/a", { syncedMs: now - 1 }), { status: "synced" }, put.join(" "));
      await engine.cli("HSET", key, "s", "0");
      t.match(await ask("/a"), { status: "synced", granted: 3 }, put.join(" "));
    }
  },
);

t.test("what can't be a definition's is lost, and hosts tell all again", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  await connection.until(isConnected);
  const definitions = createDefinitionEngine(connection, "c");
  const one = { kind: "denials", key: "a", value: [1] } as const;
  const two = { kind: "denials", key: "b", value: [2] } as const;
  const key = (name: string): string => `sluice:{c}:${name}`;
  const empty = { order: 0, live: 0, changed: { length: 0 } };
  for (const put of [
    ["SET", key("definitions"), "x"],
    ["HSET", key("order"), "x", "1"],
    ["SET", key("deleted"), "x"],
    ["LPUSH", key("state"), "x"],
    ["HSET", key("state"), "sum", "x"],
    ["HSET", key("state"), "live", "-5"],
    ["HSET", key("state"), "order", "1e99"],
    ["HSET", key("state"), "trimmed", `${2 ** 52}`],
    ["HSET", key("state"), "id", "x".repeat(1000)],
    ["HSET", key("definitions"), "denials:a", "no stamp"],
    ["HSET", key("definitions"), "denials:a", "nan:[3]"],
    ["HSET", key("definitions"), "denials:a", `${"9".repeat(30)}:[3]`],
    ["HSET", key("definitions"), "denials:a", "5:[3"],
    ["HDEL", key("definitions"), "denials:a"],
    ["ZADD", key("order"), "+inf", "denials:a"],
    ["ZADD", key("order"), "9e15", "else"],
  ] as const) {
    await engine.cli("FLUSHALL");
    t.match(await definitions.write(0, [one]), { kind: "written" });
    if (["SET", "LPUSH"].includes(put[0]) || put[1] === key("order"))
      await engine.cli("DEL", put[1]);
    await engine.cli(...put);
    t.match(await definitions.read(0), exactly(empty), put.join(" ").slice(0, 100));
    t.match(await definitions.write(5, [two]), { kind: "behind" });
    const known = { clusterId: "c", trimmed: 0, order: 5 };
    t.equal(await definitions.restate(known, [{ ...one, stamp: 3 }]), 0);
    t.match(await definitions.read(0), exactly({ live: 1, changed: [one], unreadable: [] }));
  }
  // What says the right things in the wrong place is mended when it is compared.
  await engine.cli("HSET", key("state"), "sum", "7", "live", "9");
  const known = { clusterId: "c", trimmed: 0, order: 5 };
  await definitions.restate(known, []);
  t.match(await definitions.read(0), { live: 1, sum: 3 });
  // A stamp of the future isn't in force for ever.
  await engine.cli("HSET", key("definitions"), "denials:a", "8000000000000000:[9]");
  const { order } = await definitions.read(0);
  const answer = await definitions.write(order, [one]);
  t.match(answer, { kind: "written", stamp: 8_000_000_000_000_001 });
  // A live definition isn't trimmed since something says that it was deleted.
  await engine.cli("ZADD", key("deleted"), "1", "denials:a");
  await definitions.trim(1000);
  t.match(await definitions.read(0), exactly({ changed: [one], trimmed: 0 }));

  const nested = { kind: "denials", key: "n" } as const;
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  await engine.cli("FLUSHALL");
  await definitions.write(0, [{ ...nested, value: [1] }, one]);
  await engine.cli(
    "HSET",
    key("definitions"),
    "denials:n",
    `5:[${"[".repeat(50)}${"]".repeat(50)}]`,
  );
  t.match(await definitions.read(0), exactly({ changed: [one], unreadable: ["denials:n"] }));
  await engine.cli("HSET", key("definitions"), "denials:n", `5:${deep}`);
  t.match(await definitions.read(0), exactly(empty), "nested too deep for the engine");
});

t.test("what can't be a host's, a text or another hash is lost", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  await connection.until(isConnected);
  const beat = (): Promise<unknown> =>
    connection.call(hostScript, ["hosts"], ["a", 1, "m", "[]", 10_000, 86_400_000]);
  for (const put of [
    ["SET", "hosts", "x"],
    ["HSET", "hosts", "a", "x", "b", `${"9".repeat(15)} 1 m []`, "c", "-1 1 m []"],
    ["HSET", "hosts", "a", `${Date.now() + 60_000} 9 other []`],
  ] as const) {
    await engine.cli("DEL", "hosts");
    await engine.cli(...put);
    t.match(await beat(), exactly(["heard", /^\d+$/, "a", /^\d+$/, "[]"]), put.join(" "));
  }
  const { commands } = connection;
  await engine.cli("SET", "k", "x");
  t.equal(await commands.hset("k", { a: "1" }), 1);
  t.equal(await commands.get("k"), null);
  await engine.cli("HSET", "k", "a", "1");
  await commands.set("k", "2");
  t.equal(await commands.get("k"), "2");
  const before = epochOf(connection.state);
  await engine.cli("DEL", "sluice:{sluice}:epoch");
  await engine.cli("HSET", "sluice:{sluice}:epoch", "x", "y");
  const after = epochOf(await connection.until((state) => ![before, ""].includes(epochOf(state))));
  t.not(after, before, "an engine whose id is lost may have lost more");
});

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
