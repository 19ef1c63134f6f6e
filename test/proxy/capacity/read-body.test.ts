import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import * as zlib from "node:zlib";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  constants as zlibConstants,
} from "node:zlib";
import fc from "fast-check";
import t from "tap";
import { MemoryLedger, MemoryShare } from "../../../proxy/capacity/memory-ledger.js";
import { HeldBody, readWholeBody } from "../../../proxy/capacity/read-body.js";

const bytesMax = 1_000_000;

/** What came of a body, and what it holds of the memory. */
async function read(
  pieces: readonly Buffer[],
  headers: Readonly<Record<string, string>> = {},
  memoryMax = 1e9,
  max = bytesMax,
): Promise<{ readonly result: string; readonly held: number }> {
  const request = Object.assign(Readable.from(pieces, { objectMode: false }), { headers });
  const ledger = new MemoryLedger(memoryMax);
  // Something else is held: a request that is alone gets what it wants.
  ledger.take(1);
  const body = await readWholeBody(
    request as unknown as IncomingMessage,
    max,
    new MemoryShare(ledger),
  );
  return {
    result: body.ok ? body.bytes.toString("latin1") : body.reason,
    held: ledger.held - 1,
  };
}

/** One byte at a time. */
const single = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

const text = '{"model":"m","input":"'.padEnd(5_000, "héllo ");
const plain = Buffer.from(text, "latin1");

t.test(
  "a body is the same however it is compressed, and counts as what it decodes to",
  async (t) => {
    const table: readonly (readonly [coding: string, bytes: Buffer])[] = [
      ["identity", plain],
      [" Identity ", plain],
      ["", plain],
      ["gzip", gzipSync(plain)],
      ["GZIP", gzipSync(plain)],
      ["x-gzip", gzipSync(plain)],
      ["gzip", Buffer.concat([gzipSync(plain.subarray(0, 9)), gzipSync(plain.subarray(9))])],
      ["identity, gzip", gzipSync(plain)],
      ["deflate", deflateSync(plain)],
      ["deflate", deflateRawSync(plain)],
      ["br", brotliCompressSync(plain)],
    ];
    for (const [coding, bytes] of table)
      for (const pieces of [[bytes], single(bytes)]) {
        const { result, held } = await read(pieces, { "content-encoding": coding });
        t.equal(result, text, coding);
        t.equal(held, plain.length, `${coding}: the decoder's window is given back`);
      }
    for (const coding of ["gzip", "br"])
      t.equal((await read([], { "content-encoding": coding })).result, "");
  },
);

t.test("a bomb is refused at the bound, and holds nothing", async (t) => {
  // Twenty times what may be: what is refused late would be held.
  const huge = Buffer.alloc(20 * bytesMax);
  const fast = { params: { [zlibConstants.BROTLI_PARAM_QUALITY]: 1 } };
  for (const [coding, bytes] of [
    ["gzip", gzipSync(huge)],
    ["deflate", deflateSync(huge)],
    ["br", brotliCompressSync(huge, fast)],
  ] as const) {
    t.ok(bytes.length < bytesMax, `${coding}: ${bytes.length} bytes`);
    const bomb = await read([bytes], { "content-encoding": coding });
    t.same(bomb, { result: "too_large", held: 0 }, coding);
    const full = await read([bytes], { "content-encoding": coding }, 400_000);
    t.same(full, { result: "no_memory", held: 0 }, `${coding}, with little memory left`);
  }
});

t.test("an undecodable body is distinguished from a cut one", async (t) => {
  const gzip = { "content-encoding": "gzip" };
  const packed = gzipSync(plain);
  for (const [what, pieces] of [
    ["not compressed", [plain]],
    ["with more behind it", [packed, Buffer.from("rest")]],
    ["half of it", [packed.subarray(0, packed.length - 9)]],
    ["damaged", [Buffer.concat([packed.subarray(0, 20), Buffer.alloc(20), packed.subarray(40)])]],
  ] as const)
    t.same(await read(pieces, gzip), { result: "undecodable", held: 0 }, what);
  for (const coding of ["compress", "gzip, br", "gzip, gzip", "constructor"])
    t.same(await read([packed], { "content-encoding": coding }), {
      result: "unknown_coding",
      held: 0,
    });
  const gone = Object.assign(new Readable({ read() {} }), { headers: gzip });
  const reading = readWholeBody(
    gone as unknown as IncomingMessage,
    bytesMax,
    new MemoryShare(new MemoryLedger(1e9)),
  );
  gone.push(packed.subarray(0, 30));
  gone.destroy();
  t.same(await reading, { ok: false, reason: "gone" });
});

t.test("a body decodes to a mebibyte, and beyond that to a hundred times its size", async (t) => {
  const gzip = { "content-encoding": "gzip" };
  const of = async (bytes: Buffer): Promise<string | number> => {
    const { result, held } = await read([bytes], gzip, 1e9, 40_000_000);
    if (held === 0) return result;
    t.equal(held, result.length);
    return held;
  };
  const mebibyte = 1024 * 1024;
  t.equal(await of(gzipSync(Buffer.alloc(mebibyte))), mebibyte);
  t.equal(await of(gzipSync(Buffer.alloc(mebibyte + 1))), "too_dense");
  const dense = gzipSync(Buffer.alloc(30_000_000), { level: 1 });
  t.ok(dense.length * 100 < 30_000_000, `${dense.length} bytes`);
  t.equal(await of(dense), "too_dense");
  const loose = gzipSync(Buffer.concat([Buffer.alloc(30_000_000), randomBytes(400_000)]));
  t.equal(await of(loose), 30_400_000);
  t.equal(await of(gzipSync(Buffer.alloc(41_000_000), { level: 0 })), "too_large");
});

t.test(
  "Zstandard is read where Node can, and its frames can't ask for endless windows",
  async (t) => {
    const { zstdCompressSync } = zlib as unknown as {
      readonly zstdCompressSync?: (bytes: Buffer) => Buffer;
    };
    const zstd = { "content-encoding": "zstd" };
    if (zstdCompressSync === undefined)
      return void t.same(await read([plain], zstd), { result: "unknown_coding", held: 0 });
    const packed = zstdCompressSync(plain);
    for (const pieces of [[packed], single(packed)])
      t.same(await read(pieces, zstd), { result: text, held: plain.length });
    const bomb = zstdCompressSync(Buffer.alloc(20 * bytesMax));
    t.same(await read([bomb], zstd), { result: "too_large", held: 0 });
    // A frame header alone: a window of 128 MiB (RFC 8878, section 3.1.1.1.2), and a raw block.
    const wide = Buffer.from("28b52ffd00880d0000ff", "hex");
    t.same(await read([wide], zstd), { result: "undecodable", held: 0 });
  },
);

t.test("a body that is too large is refused by its length or when it exceeds it", async (t) => {
  const long = Buffer.alloc(bytesMax + 1);
  t.same(await read([long], { "content-length": String(long.length) }), {
    result: "too_large",
    held: 0,
  });
  t.same(await read([long.subarray(9), long]), { result: "too_large", held: 0 });
  t.equal((await read([long.subarray(1)])).result.length, bytesMax);
});

function memoryOf(max = Infinity) {
  const memory = {
    held: 0,
    most: 0,
    take(bytes: number): boolean {
      if (memory.held + bytes > max) return false;
      memory.held += bytes;
      memory.most = Math.max(memory.most, memory.held);
      return true;
    },
    give(bytes: number): void {
      memory.held -= bytes;
    },
  };
  return memory;
}

t.test("a body is what came, in as much memory as it is long", async () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { minLength: 1 });
  fc.assert(
    fc.property(pieces, fc.constantFrom("announced", "less", "unknown"), (arrays, kind) => {
      const sent = Buffer.concat(arrays);
      const announced = kind === "announced" ? sent.length : kind === "less" ? 1 : Infinity;
      const memory = memoryOf();
      const body = new HeldBody(announced, memory);
      for (const piece of arrays) if (!body.append(Buffer.from(piece))) return false;
      const isTight = kind !== "announced" || memory.most === sent.length;
      return body.take().equals(sent) && memory.held === sent.length && isTight;
    }),
  );
});

t.test("a body in one piece isn't copied, and one in single bytes is one Buffer", async (t) => {
  const piece = Buffer.from("all of it");
  const one = new HeldBody(9, memoryOf());
  one.append(piece);
  t.equal(one.take(), piece);
  const memory = memoryOf();
  const many = new HeldBody(Infinity, memory);
  for (let i = 0; i < 70_000; i++) many.append(Buffer.from("x"));
  t.ok(memory.most <= 2 * 70_000);
  t.equal(many.take().length, 70_000);
});

t.test(
  "what is announced takes nothing before it comes; what doesn't fit isn't read",
  async (t) => {
    const memory = memoryOf(100_000);
    const body = new HeldBody(90_000, memory);
    t.equal(memory.held, 0);
    t.ok(body.append(Buffer.alloc(10)));
    t.equal(memory.held, 10);
    t.ok(body.append(Buffer.alloc(10)));
    t.ok(memory.held <= 64 * 1024);
    t.notOk(body.append(Buffer.alloc(100_000)));
    body.discard();
    t.equal(memory.held, 0);
  },
);

t.test("without a piece it is empty", async (t) => {
  t.equal(new HeldBody(Infinity, memoryOf()).take().length, 0);
});
