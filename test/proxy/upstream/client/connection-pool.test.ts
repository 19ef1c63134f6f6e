import type { Socket } from "node:net";
import { Writable } from "node:stream";
import fc from "fast-check";
import t from "tap";
import { joinHeadAndBody } from "../../../../proxy/upstream/client/connection-pool.js";

interface Written {
  readonly chunk: string | Buffer;
  readonly encoding: string;
}

/** A socket that keeps what it is asked to send: each item is one write to the system. */
class RecordedSocket extends Writable {
  readonly sent: (readonly Written[])[] = [];

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: () => void): void {
    this.sent.push([{ chunk, encoding }]);
    done();
  }

  override _writev(
    chunks: { chunk: string | Buffer; encoding: BufferEncoding }[],
    done: () => void,
  ): void {
    this.sent.push(chunks.map(({ chunk, encoding }) => ({ chunk, encoding })));
    done();
  }

  get bytes(): Buffer {
    return Buffer.concat(
      this.sent
        .flat()
        .map(({ chunk, encoding }) =>
          typeof chunk === "string" ? Buffer.from(chunk, encoding as BufferEncoding) : chunk,
        ),
    );
  }
}

function joinedSocket(): RecordedSocket {
  const socket = new RecordedSocket();
  joinHeadAndBody(socket as unknown as Socket);
  return socket;
}

const head = "POST /v1/x HTTP/1.1\r\nx-name: \u00e9\r\n\r\n";

t.test("a short body is sent with its head as one text, whatever its bytes are", async (t) => {
  const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const socket = joinedSocket();
  for (let nth = 0; nth < 2; nth++) {
    socket.cork();
    t.equal(socket.write(head, "latin1"), true);
    socket.write(body);
    socket.uncork();
  }
  t.same(
    socket.sent.map((chunks) => chunks.map(({ encoding }) => encoding)),
    [["latin1"], ["latin1"]],
  );
  const request = Buffer.concat([Buffer.from(head, "latin1"), body]);
  t.same(socket.bytes, Buffer.concat([request, request]));
});

t.test("a long body stays apart, behind its head", async (t) => {
  const socket = joinedSocket();
  const body = Buffer.alloc(16 * 1024 + 1, 7);
  socket.cork();
  socket.write(head, "latin1");
  socket.write(body);
  socket.uncork();
  t.equal(socket.sent.length, 1);
  t.equal(socket.sent[0]?.[1]?.chunk, body);
  t.same(socket.bytes, Buffer.concat([Buffer.from(head, "latin1"), body]));
});

t.test("a head without a body doesn't wait for one", async (t) => {
  const uncorked = joinedSocket();
  uncorked.write(head, "latin1");
  t.same(uncorked.bytes, Buffer.from(head, "latin1"));
  const corked = joinedSocket();
  corked.cork();
  corked.write(head, "latin1");
  corked.uncork();
  t.same(corked.bytes, Buffer.from(head, "latin1"));
  const ended = joinedSocket();
  ended.cork();
  ended.write(head, "latin1");
  ended.end();
  t.same(ended.bytes, Buffer.from(head, "latin1"));
});

t.test("whatever is written arrives in its order, and each callback is called once", async () => {
  const step = fc.oneof(
    fc.constantFrom("cork" as const, "uncork" as const),
    fc.record({
      chunk: fc.oneof(
        fc.string({ unit: "binary", maxLength: 5 }),
        fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes)),
      ),
      encoding: fc.constantFrom("latin1" as const, "utf8" as const, undefined),
      isCalled: fc.boolean(),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const socket = joinedSocket();
      const plain = new RecordedSocket();
      let called = 0;
      for (const what of steps) {
        if (typeof what === "string") for (const each of [socket, plain]) each[what]();
        else
          for (const each of [socket, plain]) {
            const { chunk, encoding, isCalled } = what;
            const done = isCalled && each === socket ? [() => void called++] : [];
            if (encoding === undefined) each.write(chunk, ...done);
            else each.write(chunk, encoding, ...done);
          }
      }
      for (const each of [socket, plain])
        await new Promise<void>((resolve) => each.end(() => resolve()));
      const wanted = steps.filter((what) => typeof what !== "string" && what.isCalled).length;
      return socket.bytes.equals(plain.bytes) && called === wanted;
    }),
  );
});
