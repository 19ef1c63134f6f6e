import { randomBytes } from "node:crypto";
import type net from "node:net";
import { join } from "node:path";
import t from "tap";
import { dialling, listening, rawClient, startEnd, temporary } from "./socket-ends.js";

t.test("closing ends every connection, and each client is notified", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const clients = [dialling(t, path), dialling(t, path)];
  for (const client of clients) await client.until(() => client.count("connect") === 1);
  await server.until(() => server.count("connect") === 2);
  void server.listener.close();
  for (const client of clients) await client.until(() => client.count("close 0") === 1);
  await server.until(() => server.count("close 0") === 1 && server.count("close 1") === 1);
  t.equal(server.events.filter((event) => event.startsWith("close")).length, 2);
});

t.test("bytes arrive unchanged, both ways, in small pieces and large", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const client = dialling(t, path);
  await client.until(() => client.count("connect") === 1);
  await server.until(() => server.count("connect") === 1);
  const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const large = Buffer.concat([all, randomBytes(300_000), Buffer.from("é日🙂\r\n\f\u0000"), all]);
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    for (const byte of all) from.peers[0]!.send(Buffer.from([byte]));
    await to.until(() => to.bytes.length === 256);
    t.ok(to.bytes.equals(all));
    from.peers[0]!.send(large);
    await to.until(() => to.bytes.length === 256 + large.length);
    t.ok(to.bytes.subarray(256).equals(large));
  }
});

t.test("a client's death is reported once, whichever way it dies", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const deaths: readonly ((socket: net.Socket) => void)[] = [
    (socket) => socket.end(),
    (socket) => socket.destroy(),
    (socket) => {
      socket.write("last words");
      socket.destroy();
    },
  ];
  for (const [index, die] of deaths.entries()) {
    const socket = await rawClient(t, path);
    await server.until(() => server.count("connect") === index + 1);
    die(socket);
    await server.until(() => server.count(`close ${index}`) === 1);
  }
  const child = startEnd(t, path, "dial");
  await server.until(() => server.count("connect") === deaths.length + 1);
  child.kill("SIGKILL");
  await server.until(() => server.count(`close ${deaths.length}`) === 1);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(
    server.events.filter((event) => event.startsWith("close")).length,
    deaths.length + 1,
    "each once",
  );
});

t.test("many clients that end together are each reported once", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const sockets = await Promise.all(Array.from({ length: 50 }, () => rawClient(t, path)));
  await server.until(() => server.count("connect") === 50);
  for (const socket of sockets) socket.destroy();
  await server.until(() => server.events.filter((event) => event.startsWith("close")).length >= 50);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(new Set(server.events.filter((event) => event.startsWith("close"))).size, 50);
  t.equal(server.events.filter((event) => event.startsWith("close")).length, 50);
});

t.test("one attempt: a failure is reported with its reason, and there is no second", async (t) => {
  const client = dialling(t, join(temporary(t), "absent.sock"));
  await client.until(() => client.events.length === 1);
  t.same(client.events, ["error ENOENT"]);
});

t.test(
  "a client that retries connects when the daemon starts, and again after a restart",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const client = dialling(t, path, { mayRetry: true });
    await client.until(() => client.count("error ENOENT") >= 1);
    const first = await listening(t, path);
    await client.until(() => client.count("connect") === 1);
    await first.until(() => first.count("connect") === 1);
    void first.listener.close();
    await client.until(() => client.count("close 0") === 1);
    const second = await listening(t, path);
    await client.until(() => client.count("connect") === 2);
    client.peers[1]!.send(Buffer.from("again"));
    await second.until(() => second.bytes.toString() === "again");
    client.peers[0]!.send(Buffer.from("an old peer's words go nowhere"));
    client.peers[0]!.flush();
    client.peers[1]!.send(Buffer.from("!"));
    await second.until(() => second.bytes.length === 6);
    t.equal(second.bytes.toString(), "again!");
    t.equal(client.count("close 0"), 1);
  },
);

t.test("a closed link doesn't reconnect", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const client = dialling(t, path, { mayRetry: true });
  await client.until(() => client.count("connect") === 1);
  await server.until(() => server.count("connect") === 1);
  client.peers[0]!.send(Buffer.from("bye"));
  client.link.close();
  await server.until(() => server.count("close 0") === 1);
  t.equal(server.bytes.toString(), "bye", "what was queued is sent before");
  const other = dialling(t, path);
  await other.until(() => other.count("connect") === 1);
  await server.until(() => server.count("connect") === 2);
  other.link.close();
  await server.until(() => server.count("close 1") === 1);
  t.equal(server.count("connect"), 2);
});
