import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { peerBacklogBytesMax } from "../../../shared/bounds.js";
import { SocketTakenError } from "../../../shared/wire/claim-socket.js";
import {
  type DialOptions,
  dial,
  type Listener,
  type ListenOptions,
  listen,
} from "../../../shared/wire/ipc.js";
import type { Peer } from "../../../shared/wire/socket-peer.js";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

function temporary(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-ipc-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What happened, in order, and a way to wait for it. */
class Heard {
  readonly events: string[] = [];
  readonly peers: Peer[] = [];
  bytes = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  told(event: string): void {
    this.events.push(event);
    for (const run of this.#waiting.splice(0)) run();
  }

  /** Resolved once it holds; the test's own timeout is the bound. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  readonly handlers = {
    onConnect: (peer: Peer): void => {
      this.peers.push(peer);
      this.told("connect");
    },
    onBytes: (_peer: Peer, bytes: Buffer): void => {
      this.bytes = Buffer.concat([this.bytes, bytes]);
      this.told(`bytes ${bytes.length}`);
    },
    onClose: (peer: Peer): void => this.told(`close ${this.peers.indexOf(peer)}`),
  };

  count(event: string): number {
    return this.events.filter((told) => told === event).length;
  }
}

async function listening(
  t: Test,
  path: string,
  options: Partial<ListenOptions> = {},
): Promise<Heard & { readonly listener: Listener }> {
  const heard = new Heard();
  const listener = await listen({ path, groupAccess: false, ...heard.handlers, ...options });
  t.teardown(() => listener.close());
  return Object.assign(heard, { listener });
}

/** A client; with `retry` it comes back until the test ends. */
function dialling(
  t: Test,
  path: string,
  options: Partial<DialOptions> = {},
): Heard & { readonly link: { close(): void } } {
  const heard = new Heard();
  const link = dial({
    path,
    retry: false,
    ...heard.handlers,
    onError: (error) => heard.told(`error ${error.code}`),
    ...options,
  });
  t.teardown(() => link.close());
  return Object.assign(heard, { link });
}

/** A plain socket, for peers that don't behave. */
async function rawClient(t: Test, path: string): Promise<net.Socket> {
  const socket = net.connect({ path });
  socket.on("error", () => {});
  t.teardown(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Binds a socket and moves it away, so that closing it can't remove it. */
async function leaveStaleSocket(path: string): Promise<void> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.live`, resolve));
  linkSync(`${path}.live`, path);
  await new Promise((resolve) => server.close(resolve));
}

/** One end of a connection in a process of its own, to be killed. */
function startEnd(t: Test, path: string, end: "listen" | "dial"): ChildProcess {
  const child = fork(
    new URL("../../support/processes/socket-end.js", import.meta.url),
    [path, end],
    { silent: true, execArgv: [] },
  );
  t.teardown(() => void child.kill("SIGKILL"));
  return child;
}

t.test(
  "socket and directory are the owner's alone, or the group's too where that is set, whatever the umask",
  async (t) => {
    const before = process.umask();
    t.teardown(() => void process.umask(before));
    for (const umask of [0o022, 0o000, 0o077]) {
      for (const { groupAccess, socket, directory } of [
        { groupAccess: false, socket: "600", directory: "700" },
        { groupAccess: true, socket: "660", directory: "750" },
      ]) {
        const path = join(temporary(t), "run", "limiterd.sock");
        process.umask(umask);
        const { listener } = await listening(t, path, { groupAccess });
        t.equal(process.umask(), umask, "the mask is as it was");
        t.equal(modeOf(path), socket, `socket, umask ${umask.toString(8)}, group ${groupAccess}`);
        t.equal(
          modeOf(join(path, "..")),
          directory,
          `directory, umask ${umask.toString(8)}, group ${groupAccess}`,
        );
        listener.close();
      }
    }
  },
);

t.test("a directory that is there keeps its mode", async (t) => {
  const directory = join(temporary(t), "run");
  mkdirSync(directory, { mode: 0o711 });
  await listening(t, join(directory, "limiterd.sock"));
  t.equal(modeOf(directory), "711");
});

t.test("a socket on which somebody listens isn't taken, and that one goes on", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const first = await listening(t, path);
  const refused = await listen({ path, groupAccess: false, ...new Heard().handlers }).then(
    () => null,
    (error: unknown) => error,
  );
  t.ok(refused instanceof SocketTakenError);
  t.match(refused, { name: "SocketTakenError", message: `another daemon listens on ${path}` });
  const client = dialling(t, path);
  await client.until(() => client.count("connect") === 1);
  await first.until(
    () => first.count("connect") === 2 && first.events.some((event) => event.startsWith("close")),
  );
  t.equal(
    first.events.filter((event) => event.startsWith("close")).length,
    1,
    "the probe left, the client stays",
  );
});

t.test("a socket that nobody listens on is taken over", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  await leaveStaleSocket(path);
  t.ok(statSync(path).isSocket());
  const server = await listening(t, path);
  const client = dialling(t, path);
  await client.until(() => client.count("connect") === 1);
  await server.until(() => server.count("connect") === 1);
  t.equal(modeOf(path), "600");
});

t.test("a socket whose process was killed is taken over", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const child = startEnd(t, path, "listen");
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  t.ok(existsSync(path), "it left its socket behind");
  await listening(t, path);
});

t.test("a file, and a directory, in the socket's place are refused and left alone", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "file");
  writeFileSync(file, "precious");
  const refused = await listen({ path: file, groupAccess: false, ...new Heard().handlers }).then(
    () => null,
    (error: unknown) => error,
  );
  t.match(refused, { name: "SocketTakenError", message: `${file} exists and is not a socket` });
  t.equal(readFileSync(file, "utf8"), "precious");
  const inner = join(directory, "inner");
  mkdirSync(inner);
  await t.rejects(listen({ path: inner, groupAccess: false, ...new Heard().handlers }));
  t.ok(statSync(inner).isDirectory());
});

t.test("a directory that can't be made rejects with the operating system's reason", async (t) => {
  const file = join(temporary(t), "file");
  writeFileSync(file, "");
  await t.rejects(
    listen({ path: join(file, "limiterd.sock"), groupAccess: false, ...new Heard().handlers }),
    { code: /ENOTDIR|EEXIST/ },
  );
});

t.test(
  "a path too long for a socket is refused, and no socket is made under a part of its name",
  async (t) => {
    const directory = temporary(t);
    const child = startEnd(t, join(directory, "x".repeat(120)), "listen");
    const [code] = (await once(child, "exit")) as [number];
    t.not(code, 0);
    t.same(readdirSync(directory), []);
  },
);

t.test(
  "closing removes the socket, but not one that another daemon has put there since",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const first = await listening(t, path);
    first.listener.close();
    t.notOk(existsSync(path));
    const second = await listening(t, path);
    unlinkSync(path);
    await listening(t, path);
    second.listener.close();
    await new Promise((resolve) => setImmediate(resolve));
    t.ok(existsSync(path), "the third daemon's socket is still there");
  },
);

t.test("closing ends every connection, and each client is told", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const clients = [dialling(t, path), dialling(t, path)];
  for (const client of clients) await client.until(() => client.count("connect") === 1);
  await server.until(() => server.count("connect") === 2);
  server.listener.close();
  for (const client of clients) await client.until(() => client.count("close 0") === 1);
  await server.until(() => server.count("close 0") === 1 && server.count("close 1") === 1);
  t.equal(server.events.filter((event) => event.startsWith("close")).length, 2);
});

/** Counts the writes that reach a socket of this process while `run` runs, by their length. */
async function writesDuring(t: Test, run: () => Promise<void>): Promise<number[]> {
  const lengths: number[] = [];
  const prototype = net.Socket.prototype as unknown as {
    write: (this: unknown, ...args: unknown[]) => unknown;
  };
  const { write } = prototype;
  prototype.write = function (...args) {
    if (Buffer.isBuffer(args[0])) lengths.push(args[0].length);
    return write.apply(this, args);
  };
  t.teardown(() => void (prototype.write = write));
  await run();
  prototype.write = write;
  return lengths;
}

t.test(
  "frames of one turn leave in one write, in order; those of the next in another",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const server = await listening(t, path);
    const client = dialling(t, path);
    await client.until(() => client.count("connect") === 1);
    const lengths = await writesDuring(t, async () => {
      for (let i = 0; i < 100; i++) client.peers[0]!.send(Buffer.from([i, i]));
      await server.until(() => server.bytes.length === 200);
      client.peers[0]!.send(Buffer.from([100]));
      await server.until(() => server.bytes.length === 201);
    });
    t.same(lengths, [200, 1]);
    t.same(
      [...server.bytes.subarray(0, 200)],
      Array.from({ length: 200 }, (_, i) => i >> 1),
    );
  },
);

t.test("what is flushed leaves at once, and what is sent after a close never", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const client = dialling(t, path);
  await client.until(() => client.count("connect") === 1);
  const peer = client.peers[0]!;
  const lengths = await writesDuring(t, async () => {
    peer.send(Buffer.from("abc"));
    peer.flush();
    peer.send(Buffer.from("de"));
    peer.close();
    peer.send(Buffer.from("never"));
    peer.flush();
    await client.until(() => client.count("close 0") === 1);
    await server.until(() => server.count("close 0") === 1);
  });
  t.same(lengths, [3, 2], "closing sends what was queued");
  peer.send(Buffer.from("never"));
  peer.close();
  t.equal(client.count("close 0"), 1);
});

t.test("every byte passes as it is, both ways, in small pieces and large", async (t) => {
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

t.test(
  "a peer that never reads is closed once its backlog passes the bound, and the others don't notice",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const server = await listening(t, path);
    const deaf = await rawClient(t, path);
    deaf.pause();
    await server.until(() => server.count("connect") === 1);
    const client = dialling(t, path);
    await client.until(() => client.count("connect") === 1);
    await server.until(() => server.count("connect") === 2);
    const frame = Buffer.alloc(256 * 1024);
    let sent = 0;
    while (server.count("close 0") === 0 && sent < 4 * peerBacklogBytesMax) {
      server.peers[0]!.send(frame);
      sent += frame.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.equal(server.count("close 0"), 1);
    t.ok(sent > peerBacklogBytesMax, `not before the bound: ${sent}`);
    t.ok(sent < peerBacklogBytesMax + 2 * 1024 * 1024, `and soon after it: ${sent}`);
    server.peers[1]!.send(Buffer.from("still here"));
    await client.until(() => client.bytes.toString() === "still here");
    t.equal(server.count("close 1"), 0);
  },
);

t.test("a client's death is told once, whichever way it dies", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const deaths: readonly ((socket: net.Socket) => void)[] = [
    (socket) => socket.end(),
    (socket) => socket.destroy(),
    (socket) => void (socket.write("last words"), socket.destroy()),
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

t.test("many clients that end at once are each told of once", async (t) => {
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

t.test("one attempt: a failure is told with its reason, and there is no second", async (t) => {
  const client = dialling(t, join(temporary(t), "absent.sock"));
  await client.until(() => client.events.length === 1);
  t.same(client.events, ["error ENOENT"]);
});

t.test("a client that retries comes when the daemon comes, and comes back after it", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const client = dialling(t, path, { retry: true });
  await client.until(() => client.count("error ENOENT") >= 1);
  const first = await listening(t, path);
  await client.until(() => client.count("connect") === 1);
  await first.until(() => first.count("connect") === 1);
  first.listener.close();
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
});

t.test(
  "a listener that closes lets its peers read what it said, though they still speak; one that doesn't is cut",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const server = await listening(t, path);
    const slow = await rawClient(t, path);
    slow.pause();
    await server.until(() => server.count("connect") === 1);
    server.peers[0]!.send(Buffer.from("the last word"));
    const closed = server.listener.close();
    server.peers[0]!.send(Buffer.from("never"));
    await new Promise<void>((resolve, reject) =>
      slow.write("a question", (error) => (error ? reject(error) : resolve())),
    );
    const heard: Buffer[] = [];
    slow.on("data", (bytes) => heard.push(bytes));
    slow.resume();
    await closed;
    t.equal(Buffer.concat(heard).toString(), "the last word");
    t.equal(server.count("close 0"), 1);
    t.equal(server.bytes.length, 0, "what comes then is thrown away");
    const second = await listening(t, path);
    const deaf = await rawClient(t, path);
    deaf.pause();
    await second.until(() => second.count("connect") === 1);
    await second.listener.close();
    t.equal(second.count("close 0"), 1);
  },
);

t.test("a link that was closed doesn't come back", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const client = dialling(t, path, { retry: true });
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
