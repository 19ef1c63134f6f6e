/**
 * The connection as it is kept, on clients of the test's own; `npm run heavy -- cluster` has a real
 * one.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import { connectEngine } from "../../../../limiterd/cluster/engine/connect-engine.js";
import type { EngineState } from "../../../../limiterd/cluster/engine/engine.js";
import type { ClientOptions, Send } from "../../../../limiterd/cluster/engine/engine-client.js";
import { EngineFault } from "../../../../limiterd/cluster/engine/engine-faults.js";

const info = "redis_version:7.2.4\r\nrole:master\r\nmaster_replid:r1\r\nmaxmemory:0\r\n";

/** Answers as an engine does, as far as it is asked; `changes` comes first. */
function answers(changes: (name: string) => unknown = () => undefined): Send {
  return async (name, words) => {
    const changed = changes(name);
    if (changed instanceof Error) throw changed;
    if (changed !== undefined) return changed;
    if (name === "INFO") return info;
    if (name === "TIME") return [String(Math.floor(Date.now() / 1000)), "0"];
    if (name === "PUBSUB") return [words[1], 2];
    if (name === "EVALSHA") return withDigest("v", words);
    return name === "GET" ? "e1" : "OK";
  };
}

/** As the script that runs a command digests its answer. */
function withDigest(text: string, words: Parameters<Send>[1]): readonly Buffer[] {
  const digested = `${words.at(-1)}\n$${text.length} ${text}`;
  return [text, createHash("sha1").update(digested).digest("hex")].map((each) => Buffer.from(each));
}

interface Opened {
  readonly options: ClientOptions;
  isDropped: boolean;
  readonly channels: string[];
}

/** Each attempt takes the next of these; the last one for ever. */
function connect(
  t: Test,
  attempts: readonly (Send | Error | "never")[],
  nextProbe = (): Promise<void> => delay(20),
) {
  const opened: Opened[] = [];
  const said: string[] = [];
  const states: EngineState[] = [];
  const connection = connectEngine({
    clusterName: "c",
    async open(options) {
      const send = attempts[Math.min(opened.length, attempts.length - 1)]!;
      const each: Opened = { options, isDropped: false, channels: [] };
      opened.push(each);
      if (send instanceof Error) throw send;
      if (send === "never") return new Promise(() => {});
      const guarded: Send = async (name, words) => {
        if (each.isDropped) throw new Error("Connection is closed.");
        return send(name, words);
      };
      return {
        send: guarded,
        sendForBytes: guarded,
        primaries: () => new Map([["", guarded]]),
        async subscribe(channels) {
          each.channels.push(...channels.filter((channel) => !channel.includes(":echo:")));
        },
        drop() {
          each.isDropped = true;
        },
      };
    },
    log: {
      info: (...words: readonly unknown[]) => void said.push(JSON.stringify(words)),
      warn: (...words: readonly unknown[]) => void said.push(JSON.stringify(words)),
    },
    nowMs: Date.now,
    nextProbe,
  });
  // Its own pauses don't keep a process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(async () => {
    clearInterval(alive);
    await connection.close();
  });
  connection.watch((state) => states.push(state));
  const until = (kind: EngineState["kind"]): Promise<void> =>
    new Promise((resolve) => {
      if (connection.state.kind === kind) return resolve();
      const stop = connection.watch((state) => {
        if (state.kind !== kind) return;
        stop();
        resolve();
      });
    });
  return { connection, opened, said, states, until };
}

t.test("a failed connection is tried again; each state is reported once", async (t) => {
  const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  const { connection, opened, said, states, until } = connect(t, [refused, refused, answers()]);
  t.same(connection.state, { kind: "connecting" });
  await t.rejects(connection.commands.get("k"), {
    name: "EngineAwayError",
    message: "the engine hasn't been reached yet",
  });
  await until("away");
  await t.rejects(connection.commands.get("k"), /nothing listens/);
  await until("connected");
  t.same(
    states.map(({ kind }) => kind),
    ["away", "connected"],
  );
  t.same(connection.state, { kind: "connected", epoch: "e1 r1", serversAway: [] });
  t.same(
    opened.map(({ options }) => options.attempt),
    [0, 1, 2],
  );
  t.equal(await connection.commands.get("k"), "v");
  t.equal(said.length, 2, said.join());
});

t.test("a connection that breaks is given up, and channels come with the next", async (t) => {
  const { connection, opened, states, until } = connect(t, [answers()]);
  const heard: string[] = [];
  const stop = connection.subscribe("c", (message) => heard.push(message));
  connection.subscribe("d", () => {});
  await until("connected");
  t.same(opened[0]!.channels, ["c", "d"]);
  opened[0]!.options.onBroken(new Error("read ECONNRESET"));
  await until("away");
  t.ok(opened[0]!.isDropped);
  stop();
  await until("connected");
  t.same(opened[1]!.channels, ["d"]);
  opened[1]!.options.onMessage("c", "nobody listens");
  t.same(heard, []);
  t.match(states[1], { kind: "away", reason: "the engine has closed the connection" });
});

t.test(
  "what waits for an answer ends with its connection, though its client never answers",
  async (t) => {
    const send = answers();
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const silent: Send = (name, words) => {
      if (name !== "EVALSHA") return send(name, words);
      asked();
      return new Promise(() => {});
    };
    const { connection, opened, until } = connect(t, [silent, answers()]);
    await until("connected");
    const waiting = connection.commands.get("k");
    await isAsked;
    opened[0]!.options.onBroken(new EngineFault("it has broken"));
    await t.rejects(waiting, { name: "EngineAwayError" });
  },
);

t.test("an engine that refuses writes is away while it does", async (t) => {
  let isFull = false;
  const full = Object.assign(new Error("OOM command not allowed"), { name: "ReplyError" });
  const { connection, opened, until } = connect(t, [
    answers((name) => (isFull && ["SET", "EVALSHA"].includes(name) ? full : undefined)),
  ]);
  await until("connected");
  isFull = true;
  await t.rejects(connection.call({ name: "s", source: "return 1" }, [], []), {
    name: "EngineAwayError",
    message: "the engine is full (maxmemory), and takes no writes",
  });
  t.match(connection.state, { kind: "away" });
  await t.rejects(connection.commands.get("k"), /is full/, "all are, at once");
  isFull = false;
  await until("connected");
  t.equal(opened.length, 1, "on the same connection");
});

t.test("an engine that answers otherwise is another epoch, or none", async (t) => {
  let epoch: string | null = "e1";
  let role = "master";
  const { connection, opened, states, until } = connect(t, [
    answers((name) => {
      if (name === "GET") return epoch;
      if (name === "SET") epoch ??= "e2";
      return name === "INFO" ? info.replace("master", role) : undefined;
    }),
  ]);
  await until("connected");
  epoch = null;
  const changed = new Promise<void>((resolve) => connection.watch(() => resolve()));
  await changed;
  t.same(connection.state, { kind: "connected", epoch: "e2 r1", serversAway: [] });
  role = "slave";
  await until("away");
  t.match(states.at(-1), { reason: /replica that takes no writes/ });
  t.ok(opened[0]!.isDropped, "its name may lead to another server by now");
});

t.test("what can't be used is said, and what is odd is warned of once", async (t) => {
  const wrong = async (text: string): Promise<EngineState> => {
    const { connection, until } = connect(t, [
      answers((name) => (name === "INFO" ? text : undefined)),
    ]);
    await until("away");
    await connection.close();
    return connection.state;
  };
  await wrong(info.replace("7.2.4", "6.2.0"));
  const odd = info.replace("maxmemory:0", "maxmemory:1\r\nmaxmemory_policy:volatile-lru");
  const { opened, said, until } = connect(t, [
    answers((name) => {
      if (name === "INFO") return odd;
      return name === "TIME" ? [String(Math.floor(Date.now() / 1000) + 60), "0"] : undefined;
    }),
  ]);
  await until("connected");
  opened[0]!.options.onBroken(new EngineFault("gone"));
  await until("away");
  await until("connected");
  const warned = said.filter((line) => !/reached|is away/.test(line));
  t.equal(warned.length, 2, warned.join());
  t.match(warned.join(), /maxmemory-policy is volatile-lru.*clock is more than 10 s ahead/s);
});

t.test("closing waits for nothing", async (t) => {
  const { connection, opened } = connect(t, ["never"]);
  const started = performance.now();
  await connection.close();
  t.ok(performance.now() - started < 5000, "not for an attempt, which may take 10 s");
  t.equal(opened.length, 1);
  // Nor for the next look at the engine, which never comes.
  const second = connect(t, [answers()], () => new Promise(() => {}));
  await second.until("connected");
  await second.connection.close();
  t.ok(second.opened[0]!.isDropped);
});
