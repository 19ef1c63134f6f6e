import net from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { peerBacklogBytesMax } from "../../../shared/bounds.js";
import { dialling, listening, rawClient, temporary } from "./socket-ends.js";

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
  t.teardown(() => {
    prototype.write = write;
  });
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

t.test("flushed frames are written immediately, and frames after a close never", async (t) => {
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

t.test(
  "a peer that never reads is closed once its backlog passes the bound, and others aren't affected",
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

t.test(
  "a closing listener lets peers read its last bytes, though they still write; a peer that doesn't read is cut",
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
    const received: Buffer[] = [];
    slow.on("data", (bytes) => received.push(bytes));
    slow.resume();
    await closed;
    t.equal(Buffer.concat(received).toString(), "the last word");
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

t.test("what a peer has sent before its death is read, though a write to it fails", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const server = await listening(t, path);
  const socket = await rawClient(t, path);
  socket.write("a");
  await server.until(() => server.bytes.length === 1);
  // In the same turn: the write comes before the next read.
  socket.write("last words");
  socket.destroy();
  const peer = server.peers[0]!;
  peer.whenSent(() => t.fail("nothing was sent"));
  peer.sendBulk(Buffer.from("large"), () => t.fail("nor this"));
  peer.send(Buffer.from("b"));
  peer.flush();
  peer.send(Buffer.from("c"));
  await server.until(() => server.count("close 0") === 1);
  t.equal(server.bytes.toString(), "alast words");
});
