import { Duplex } from "node:stream";
import fc from "fast-check";
import t from "tap";
import { MemoryLedger, MemoryShare } from "../../../proxy/capacity/memory-ledger.js";
import {
  handshakeProblem,
  switchingHead,
  WebSocketServer,
} from "../../../proxy/http/web-socket-server.js";
import { exactly } from "../../support/patterns/exactly.js";

interface Frame {
  readonly opcode: number;
  readonly final?: boolean;
  readonly payload: Uint8Array;
  /** Extra bytes of length than are needed, as a client may write. */
  readonly wide?: boolean;
}

function encode({ opcode, final = true, payload, wide = false }: Frame): Buffer {
  const { length } = payload;
  const size = wide ? 127 : length < 126 ? length : length < 65_536 ? 126 : 127;
  const head = Buffer.alloc(6 + (size === 126 ? 2 : size === 127 ? 8 : 0));
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = 0x80 | size;
  if (size === 126) head.writeUInt16BE(length, 2);
  if (size === 127) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = [7, 200, 13, 255];
  head.set(mask, head.length - 4);
  return Buffer.concat([head, payload.map((byte, i) => byte ^ mask[i % 4]!)]);
}

const text = (payload: string): Buffer => encode({ opcode: 1, payload: Buffer.from(payload) });

/** A socket whose client reads only when the test says so. */
class FakeSocket extends Duplex {
  readonly written: Buffer[] = [];
  reads = true;
  #next: (() => void) | null = null;

  constructor() {
    super({ writableHighWaterMark: 1024 });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: unknown, next: () => void): void {
    this.written.push(chunk);
    if (this.reads) next();
    else this.#next = next;
  }

  read1(): void {
    this.reads = true;
    this.#next?.();
  }
}

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

function serve({ memoryMax = 1e6, messageBytesMax = 100_000 } = {}) {
  const ledger = new MemoryLedger(memoryMax);
  const memory = new MemoryShare(ledger);
  const other = new MemoryShare(ledger);
  // With another request beside it, the bound applies.
  other.take(1);
  const socket = new FakeSocket();
  const timers = new Set<Timer>();
  const clock = { ms: 0 };
  const seen = {
    messages: [] as string[],
    unread: [] as string[],
    closed: 0,
    bugs: [] as unknown[],
  };
  const server = new WebSocketServer(socket, {
    memory,
    messageBytesMax,
    stalledMs: 1000,
    setTimer(ms, run) {
      const timer = { atMs: clock.ms + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    isUtf8: (bytes) => bytes.equals(Buffer.from(bytes.toString())),
    onMessage(bytes) {
      seen.messages.push(bytes.toString());
      memory.give(bytes.length);
    },
    onUnread: (why) => seen.unread.push(why),
    onClosed: () => seen.closed++,
    onBug: (error) => seen.bugs.push(error),
  });
  const pass = async (ms = 0): Promise<void> => {
    clock.ms += ms;
    for (const timer of [...timers])
      if (timer.atMs <= clock.ms && timers.delete(timer)) timer.run();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...{ server, socket, seen, timers, pass },
    held: () => ledger.held - 1,
    async receive(...pieces: readonly Buffer[]) {
      for (const piece of pieces) socket.push(piece);
      await pass();
    },
    /** The code of the close frame that was sent; null without one. */
    closeCode() {
      const bytes = Buffer.concat(socket.written);
      const at = bytes.indexOf(0x88);
      return at === -1 ? null : bytes[at + 1]! < 2 ? 0 : bytes.readUInt16BE(at + 2);
    },
  };
}

const control = fc.record({
  opcode: fc.constantFrom(9, 10),
  payload: fc.uint8Array({ maxLength: 125 }),
  wide: fc.constant(false),
});
const message = fc.record({
  pieces: fc.array(fc.string({ unit: "grapheme", maxLength: 200 }), { minLength: 1, maxLength: 4 }),
  wide: fc.boolean(),
  between: fc.array(control, { maxLength: 2 }),
});

t.test("messages arrive whole and in order, however they are framed and cut", (t) =>
  fc
    .assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 5 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
        async (messages, cuts) => {
          const frames = messages.flatMap(({ pieces, wide, between }) =>
            pieces.flatMap((piece, i): Frame[] => [
              {
                opcode: i === 0 ? 1 : 0,
                final: i === pieces.length - 1,
                payload: Buffer.from(piece),
                wide,
              },
              ...between,
            ]),
          );
          const bytes = Buffer.concat(frames.map(encode));
          const places = cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b);
          const { receive, seen, held, server, socket } = serve();
          const ends = [...places, bytes.length];
          // Copies, because payloads are unmasked in place.
          await receive(
            ...ends
              .map((end, i) => Buffer.from(bytes.subarray(ends[i - 1] ?? 0, end)))
              .filter(({ length }) => length > 0),
          );
          const pings = frames.filter(({ opcode }) => opcode === 9);
          const pongs = Buffer.concat(
            pings.map(({ payload }) =>
              Buffer.concat([Buffer.from([0x8a, payload.length]), payload]),
            ),
          );
          return (
            JSON.stringify(seen.messages) ===
              JSON.stringify(messages.map(({ pieces }) => pieces.join(""))) &&
            Buffer.concat(socket.written).equals(pongs) &&
            held() === 0 &&
            seen.bugs.length === 0 &&
            !server.over
          );
        },
      ),
      { numRuns: 60 },
    )
    .then(() => t.pass()),
);

t.test("whatever bytes a client sends, the server ends without a bug or held memory", (t) =>
  fc
    .assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 })), async (pieces) => {
        const { receive, seen, held, socket } = serve();
        await receive(...pieces.map((piece) => Buffer.from(piece)));
        socket.destroy();
        await new Promise((resolve) => setImmediate(resolve));
        return seen.bugs.length === 0 && seen.closed === 1 && held() === 0;
      }),
      { numRuns: 200 },
    )
    .then(() => t.pass()),
);

const nothing = Buffer.alloc(0);
const huge = Buffer.from([0x81, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]);
const refused: readonly (readonly [string, Buffer, number])[] = [
  ["an unmasked frame", Buffer.from([0x81, 1, 65]), 1002],
  ["a reserved bit", Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), 1002],
  ["an unknown opcode", encode({ opcode: 3, payload: nothing }), 1002],
  ["an unknown control frame", encode({ opcode: 11, payload: nothing }), 1002],
  ["a fragmented ping", encode({ opcode: 9, final: false, payload: nothing }), 1002],
  ["a long ping", encode({ opcode: 9, payload: Buffer.alloc(126) }), 1002],
  ["a continuation of nothing", encode({ opcode: 0, payload: nothing }), 1002],
  [
    "a message within a message",
    Buffer.concat([encode({ opcode: 1, final: false, payload: Buffer.from("a") }), text("b")]),
    1002,
  ],
  ["binary data", encode({ opcode: 2, payload: nothing }), 1003],
  ["invalid UTF-8", encode({ opcode: 1, payload: Buffer.from([0xff]) }), 1007],
  ["the largest length", huge, 1009],
  ["a close with half a code", encode({ opcode: 8, payload: Buffer.from([3]) }), 1002],
  ["a close", encode({ opcode: 8, payload: Buffer.from([3, 0xe8, 65]) }), 1000],
  ["a close without a code", encode({ opcode: 8, payload: nothing }), 0],
];
for (const [name, bytes, code] of refused)
  t.test(`${name} ends the connection, and nothing after it is read`, async (t) => {
    const { receive, seen, socket, closeCode, held, timers } = serve();
    await receive(bytes, text("later"));
    t.equal(closeCode(), code);
    t.ok(socket.writableEnded, "no frame follows the close");
    t.same(seen.messages, []);
    t.equal(held(), 0);
    socket.push(null);
    await receive();
    t.same([seen.closed, seen.bugs, timers.size], [1, [], 0], "the client has closed it, too");
  });

t.test("a client that never answers the close is cut", async (t) => {
  const { server, socket, seen, pass } = serve();
  server.close(1001, "bye");
  server.close(1002, "once only");
  t.notOk(server.ping(), "after the close no frame is sent");
  await pass(1999);
  t.equal(seen.closed, 0);
  await pass(1);
  t.equal(seen.closed, 1);
  t.equal(Buffer.concat(socket.written).toString("latin1"), "\x88\x05\x03\xe9bye");
});

t.test("memory is taken as a message arrives, and returned when it is refused", async (t) => {
  const large = serve();
  await large.receive(
    encode({ opcode: 1, final: false, payload: Buffer.alloc(60_000, 65) }),
    encode({ opcode: 0, payload: Buffer.alloc(40_001, 65) }),
  );
  t.same([large.seen.unread, large.closeCode(), large.held()], [["too_large"], 1009, 0]);
  const full = serve({ memoryMax: 50_000 });
  await full.receive(encode({ opcode: 1, final: false, payload: Buffer.alloc(30_000, 65) }));
  t.equal(full.held(), 30_000);
  await full.receive(encode({ opcode: 0, payload: Buffer.alloc(30_000, 65) }));
  t.same([full.seen.unread, full.closeCode(), full.held()], [["no_memory"], 1013, 0]);
  const gone = serve();
  await gone.receive(encode({ opcode: 1, final: false, payload: Buffer.alloc(30_000, 65) }));
  gone.socket.destroy();
  await gone.receive();
  t.equal(gone.held(), 0);
});

t.test("a client that doesn't read isn't read either, and is cut in the end", async (t) => {
  const { server, socket, seen, receive, pass } = serve();
  socket.reads = false;
  t.notOk(server.send("x".repeat(2000)));
  let drained = 0;
  server.onDrain(() => drained++);
  t.ok(socket.isPaused());
  socket.read1();
  await pass();
  t.same([drained, socket.isPaused()], [1, false]);
  server.onDrain(() => drained++);
  await pass();
  t.equal(drained, 2, "nothing is left to wait for");
  socket.reads = false;
  const ping = encode({ opcode: 9, payload: Buffer.alloc(125) });
  for (let i = 0; i < 100; i++) await receive(ping);
  t.ok(socket.writableLength < 2000, "answers to pings don't pile up");
  server.onDrain(() => drained++);
  await pass(1000);
  t.same([drained, seen.closed], [3, 1]);
  server.onDrain(() => drained++);
  await pass();
  t.equal(drained, 4, "no one waits for a closed socket");
  t.same(seen.bugs, []);
});

t.test("quiet says whether anything has arrived since the last time", async (t) => {
  const { server, receive } = serve();
  t.same([server.quiet(), server.quiet()], [false, true]);
  await receive(encode({ opcode: 10, payload: nothing }));
  t.same([server.quiet(), server.quiet()], [false, true]);
});

t.test("an exception of the handler ends only this socket", async (t) => {
  const bugs: unknown[] = [];
  const socket = new FakeSocket();
  new WebSocketServer(socket, {
    memory: new MemoryShare(new MemoryLedger(1e6)),
    messageBytesMax: 100,
    stalledMs: 1,
    setTimer: () => () => {},
    isUtf8: () => true,
    onMessage() {
      throw new Error("bug");
    },
    onUnread() {},
    onClosed() {},
    onBug: (error) => bugs.push(error),
  });
  socket.push(text("hi"));
  await new Promise((resolve) => setImmediate(resolve));
  t.match(bugs, exactly([{ message: "bug" }]));
  t.ok(socket.destroyed);
});

t.test("handshakes are checked, and answered", async (t) => {
  const problem = (version: string, key: string) =>
    handshakeProblem({
      header: (name) => (name.endsWith("version") ? version : key),
      isRepeated: () => false,
    });
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  t.equal(problem("13", key), null);
  t.match(problem("8", key), { status: 426 });
  for (const wrong of ["", "eA==", `${key}, ${key}`, key.replace("==", "A=")])
    t.match(problem("13", wrong), { status: 400 }, wrong);
  t.equal(
    switchingHead("abc", ["x", "y"]),
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: abc\r\nx: y\r\n\r\n",
  );
});
