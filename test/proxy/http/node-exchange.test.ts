/**
 * Bodies that are read in pieces, and the ids of requests. What else an exchange does on sockets is
 * in `http-listener.test.ts`.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { ConnectionRoom } from "../../../proxy/capacity/connection-room.js";
import { MemoryLedger } from "../../../proxy/capacity/memory-ledger.js";
import { UploadGone, UploadTooLarge } from "../../../proxy/http/body-spool.js";
import type { Exchange } from "../../../proxy/http/exchange.js";
import { listenHttp } from "../../../proxy/http/http-listener.js";
import { createRequestIds } from "../../../proxy/http/node-exchange.js";
import { isCollected } from "../../support/memory/is-collected.js";

const bytesMax = 100_000;

interface Upload {
  readonly exchange: Exchange;
  readonly socket: Socket;
  /** The other end of its connection. */
  served(): Socket;
  /** All that has come back, once it holds `text` or the connection has ended. */
  received(text: string): Promise<string>;
}

class ServedConnections extends ConnectionRoom<Socket> {
  last: Socket | null = null;

  override onOpen(socket: Socket): void {
    this.last = socket;
    super.onOpen(socket);
  }
}

/** A request whose head has come; `length` null: in chunks. */
async function begin(t: Test, length: number | null): Promise<Upload> {
  const arrived = new Promise<Exchange>((resolve) => (take = resolve));
  const connections = new ServedConnections(10_000);
  const listener = await listenHttp({
    listen: { host: "127.0.0.1", port: 0 },
    connections,
    memory: new MemoryLedger(1e9),
    stalledClientMs: 60_000,
    handle: (exchange) => take(exchange),
  });
  t.teardown(() => listener.close({ idleMs: 0, runningMs: 0 }));
  const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
  socket.on("error", () => {});
  let text = "";
  let changed = (): void => {};
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
    changed();
  });
  const closed = once(socket, "close");
  const framing = length === null ? "transfer-encoding: chunked" : `content-length: ${length}`;
  socket.write(`POST /x HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`);
  return {
    exchange: await arrived,
    socket,
    served: () => connections.last!,
    async received(wanted) {
      while (!text.includes(wanted) && !socket.destroyed)
        await Promise.race([closed, new Promise<void>((resolve) => (changed = resolve))]);
      return text;
    },
  };
}

let take: (exchange: Exchange) => void = () => {};

async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

const chunked = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

t.test(
  "pieces are handed on while the rest is still to come, and the connection stays usable",
  async (t) => {
    const { exchange, socket, received } = await begin(t, 6);
    const pieces = exchange.readPieces(bytesMax)[Symbol.asyncIterator]();
    for (const piece of ["ab", "cd", "ef"]) {
      socket.write(piece);
      t.equal((await pieces.next()).value?.toString(), piece);
    }
    t.equal((await pieces.next()).done, true);
    exchange.reply(200, [], "ok", "latin1");
    t.notMatch(await received("ok"), /connection: close/i);
    take = (next) => next.reply(200, [], "again", "latin1");
    socket.write("GET /y HTTP/1.1\r\nhost: x\r\n\r\n");
    t.match(await received("again"), /again/);
  },
);

t.test("a body without a declared length is read to its end", async (t) => {
  const { exchange, socket } = await begin(t, null);
  const bytes = Buffer.alloc(bytesMax, 7);
  socket.write(
    Buffer.concat([
      chunked(bytes.subarray(0, 10)),
      chunked(bytes.subarray(10)),
      Buffer.from("0\r\n\r\n"),
    ]),
  );
  t.ok((await bytesOf(exchange.readPieces(bytesMax))).equals(bytes));
});

t.test(
  "a body beyond the bound is refused: at once by its declared length, otherwise when it exceeds it; the client gets a 413, and the connection ends",
  async (t) => {
    for (const length of [bytesMax + 1, null]) {
      const { exchange, socket, received } = await begin(t, length);
      const bytes = Buffer.alloc(bytesMax + 1);
      socket.write(length === null ? chunked(bytes) : bytes.subarray(0, 10));
      await t.rejects(
        bytesOf(exchange.readPieces(bytesMax)),
        new UploadTooLarge(`the body is larger than ${bytesMax} bytes`),
      );
      exchange.reply(413, [], "too large", "latin1");
      socket.write(length === null ? Buffer.from("0\r\n\r\n") : bytes.subarray(10));
      t.match(await received("too large"), /^HTTP\/1\.1 413 [^]*connection: close/i);
      if (!socket.destroyed) await once(socket, "close");
    }
  },
);

t.test("a client that leaves before the end is gone", async (t) => {
  const { exchange, socket } = await begin(t, 1000);
  const pieces = exchange.readPieces(bytesMax)[Symbol.asyncIterator]();
  socket.write("abc");
  await pieces.next();
  const rest = pieces.next();
  socket.destroy();
  await t.rejects(rest, UploadGone);
  t.equal(exchange.gone, true);
});

t.test(
  "a handler that stops reading may still answer, at once or as a stream, and the connection ends after it",
  async (t) => {
    for (const streamed of [false, true]) {
      const { exchange, socket, received } = await begin(t, 1_000_000);
      const pieces = exchange.readPieces(2_000_000)[Symbol.asyncIterator]();
      socket.write(Buffer.alloc(1000));
      await pieces.next();
      await pieces.return?.();
      if (streamed) {
        exchange.begin(200, []);
        exchange.write(Buffer.from("enough"));
        exchange.end();
      } else exchange.reply(401, [], "enough", "latin1");
      t.match(await received("enough"), /connection: close/i, streamed ? "a stream" : "a reply");
      if (!socket.destroyed) await once(socket, "close");
    }
  },
);

t.test("a body that isn't read leaves the connection as it is", async (t) => {
  const { exchange, socket, received } = await begin(t, 3);
  exchange.readPieces(bytesMax);
  exchange.reply(404, [], "none", "latin1");
  t.notMatch(await received("none"), /connection: close/i);
  take = (next) => next.reply(200, [], "again", "latin1");
  socket.write("abcGET /y HTTP/1.1\r\nhost: x\r\n\r\n");
  t.match(await received("again"), /again/);
});

t.test("a body that was read belongs to its reader alone", async (t) => {
  const { exchange, socket } = await begin(t, bytesMax);
  const read = async (): Promise<WeakRef<object>> => {
    socket.write(Buffer.alloc(bytesMax / 2));
    setImmediate(() => socket.write(Buffer.alloc(bytesMax / 2)));
    const body = await exchange.readBody(bytesMax);
    if (!body.ok) throw new Error(body.reason);
    return new WeakRef(body.bytes);
  };
  t.ok(await isCollected(await read()));
  exchange.reply(200, [], "ok", "latin1");
});

t.test("a reply is one write to the system, head and body together", async (t) => {
  const { exchange, socket, received, served } = await begin(t, 2);
  socket.write("{}");
  await exchange.readBody(bytesMax);
  let pieces = 0;
  const server = served();
  const writev = server._writev!.bind(server);
  server._writev = (chunks, done) => {
    pieces += chunks.length;
    writev(chunks, done);
  };
  exchange.reply(200, ["content-type", "text/plain"], "caf\u00e9", "utf8");
  t.match(await received("\r\n\r\ncaf"), /content-length: 5\r\n[^]*\r\n\r\ncaf\u00c3\u00a9$/);
  t.equal(pieces, 0);
});

t.test("a valid id is kept; anything else gets a new one", async (t) => {
  const ids = createRequestIds();
  const idOf = (given: unknown): string => ids(given).id;
  for (const given of ["a", "job-7:3/x+y=z@_.", "x".repeat(128)]) t.equal(idOf(given), given);
  for (const given of [undefined, "", "x".repeat(129), "a b", "a\nb", 'a"b', "ü", ["a"]])
    t.match(idOf(given), /^req_[\w-]{22}$/, JSON.stringify(given));
});

t.test("new ids never repeat, within a process or between two", async (t) => {
  const [one, other] = [createRequestIds(), createRequestIds()];
  const ids = Array.from({ length: 5000 }, () => [one(undefined).id, other(undefined).id]).flat();
  t.equal(new Set(ids).size, 10_000);
  t.same(
    ids.filter((id) => !/^req_[\w-]{22}$/.test(id)),
    [],
  );
});

t.test("our own id is new, whatever a caller names its requests", async (t) => {
  const ids = createRequestIds();
  const [first, second] = [ids("same"), ids("same")];
  t.same([first.id, second.id], ["same", "same"]);
  t.not(first.ownId, second.ownId);
  const unnamed = ids(undefined);
  t.equal(unnamed.id, unnamed.ownId);
});
