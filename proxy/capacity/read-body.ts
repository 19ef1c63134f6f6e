/**
 * Reads the body of a request completely, and then decodes one that is compressed. A few bytes may
 * decode to gigabytes, so the decoded body has the bound of the encoded one and a ratio to it, and
 * counts in the same account of memory while it grows.
 */

import type { IncomingMessage } from "node:http";
import * as zlib from "node:zlib";
import {
  brotliWindowBytes,
  decodedFreelyBytes,
  decodedRatioMax,
  deflateWindowBytes,
  zstdWindowLogMax,
} from "../bounds.js";
import { contentCoding } from "../http/copy-headers.js";
import type { BodyResult } from "../http/exchange.js";

type Decoder =
  | ReturnType<typeof zlib.createGunzip>
  | ReturnType<typeof zlib.createBrotliDecompress>;

interface Coding {
  /** What its decoder holds besides what comes out. */
  readonly windowBytes: number;
  /** `bytes`: what it is to decode. */
  open(bytes: Buffer): Decoder;
}

/** Each piece that is decoded takes a turn of the event loop. */
const options = { chunkSize: 64 * 1024 };

const gzip: Coding = { windowBytes: deflateWindowBytes, open: () => zlib.createGunzip(options) };

const codings: ReadonlyMap<string, Coding> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  [
    "deflate",
    {
      windowBytes: deflateWindowBytes,
      // Two formats have this name: RFC 1950, as the standard says, and RFC 1951.
      open: (bytes) =>
        (bytes[0]! & 0x0f) === 8 ? zlib.createInflate(options) : zlib.createInflateRaw(options),
    },
  ],
  ["br", { windowBytes: brotliWindowBytes, open: () => zlib.createBrotliDecompress(options) }],
  ...zstd(),
]);

interface NodeWithZstd {
  readonly createZstdDecompress?: (options: {
    readonly chunkSize: number;
    readonly params: Readonly<Record<number, number>>;
  }) => Decoder;
  readonly constants: { readonly ZSTD_d_windowLogMax?: number };
}

/** It is there from Node 22.15 on. */
function zstd(): readonly (readonly [string, Coding])[] {
  const { createZstdDecompress, constants } = zlib as unknown as NodeWithZstd;
  const windowLogMax = constants.ZSTD_d_windowLogMax;
  if (createZstdDecompress === undefined || windowLogMax === undefined) return [];
  const params = { [windowLogMax]: zstdWindowLogMax };
  const windowBytes = 2 ** zstdWindowLogMax;
  return [["zstd", { windowBytes, open: () => createZstdDecompress({ ...options, params }) }]];
}

/** `bytesMax`: of the bytes that come, and of those that they decode to. */
export function readWholeBody(
  request: IncomingMessage,
  bytesMax: number,
  memory: BodyMemory,
): Promise<BodyResult> {
  // No event would tell of a client that has left already.
  if (request.destroyed) return Promise.resolve({ ok: false, reason: "gone" });
  const announced = Number(request.headers["content-length"] ?? Infinity);
  if (announced !== Infinity && announced > bytesMax)
    return Promise.resolve({ ok: false, reason: "too_large" });
  const plain = { body: new HeldBody(announced, memory), bytesMax };
  const named = contentCoding(request.headers["content-encoding"]);
  if (named === "") return readPlain(request, plain);
  const coding = codings.get(named);
  if (coding === undefined) return Promise.resolve({ ok: false, reason: "unknown_coding" });
  return readPlain(request, plain).then((read) =>
    read.ok && read.bytes.length > 0 ? decode(read.bytes, coding, { bytesMax, memory }) : read,
  );
}

interface Reading {
  readonly body: HeldBody;
  readonly bytesMax: number;
}

/** Why a piece can't be held, or null. */
function heldOrWhy({ body, bytesMax }: Reading, piece: Buffer): "too_large" | "no_memory" | null {
  if (body.length + piece.length > bytesMax) return "too_large";
  return body.append(piece) ? null : "no_memory";
}

/**
 * The listeners stay, as three that are taken off cost more than all that they do; but nothing is
 * kept by them: the promise, and with it the body, would be as long as the request.
 */
function readPlain(request: IncomingMessage, reading: Reading): Promise<BodyResult> {
  return new Promise((resolve) => {
    let settle: ((read: BodyResult) => void) | null = resolve;
    const over = (read: BodyResult): void => {
      settle?.(read);
      settle = null;
    };
    const onData = (chunk: Buffer): void => {
      if (settle === null) return;
      const reason = heldOrWhy(reading, chunk);
      if (reason === null) return;
      reading.body.discard();
      over({ ok: false, reason });
    };
    const onEnd = (): void => {
      if (settle !== null) over({ ok: true, bytes: reading.body.take() });
    };
    const onClose = (): void => over({ ok: false, reason: "gone" });
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/**
 * What compressed bytes decode to, in the thread pool. All of them are there, so that their ratio
 * is known, and so that a slow client holds no decoder.
 */
async function decode(
  bytes: Buffer,
  coding: Coding,
  { bytesMax, memory }: { readonly bytesMax: number; readonly memory: BodyMemory },
): Promise<BodyResult> {
  const held = bytes.length + coding.windowBytes;
  if (!memory.take(coding.windowBytes)) {
    memory.give(bytes.length);
    return { ok: false, reason: "no_memory" };
  }
  const denseMax = Math.max(decodedFreelyBytes, bytes.length * decodedRatioMax);
  const reading = { body: new HeldBody(Infinity, memory), bytesMax: Math.min(bytesMax, denseMax) };
  const read = await decodeWithin(bytes, coding.open(bytes), reading);
  memory.give(held);
  const isDense = !read.ok && read.reason === "too_large" && denseMax < bytesMax;
  return isDense ? { ok: false, reason: "too_dense" } : read;
}

function decodeWithin(bytes: Buffer, decoder: Decoder, reading: Reading): Promise<BodyResult> {
  return new Promise((resolve) => {
    const over = (read: BodyResult): void => {
      if (!read.ok) reading.body.discard();
      decoder
        .removeAllListeners("data")
        .on("error", () => {})
        .destroy();
      resolve(read);
    };
    decoder.on("data", (piece: Buffer) => {
      const reason = heldOrWhy(reading, piece);
      if (reason !== null) over({ ok: false, reason });
    });
    decoder.once("end", () => {
      // Zlib leaves what follows the compressed data.
      const isWhole = decoder.bytesWritten === bytes.length;
      over(
        isWhole ? { ok: true, bytes: reading.body.take() } : { ok: false, reason: "undecodable" },
      );
    });
    decoder.once("error", () => over({ ok: false, reason: "undecodable" }));
    decoder.end(bytes);
  });
}

/** Beyond its first piece a body gets so much at the least, or what is announced. */
const grownBytesMin = 64 * 1024;

interface BodyMemory {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

const nothing = Buffer.alloc(0);

export class HeldBody {
  length = 0;
  readonly #announced: number;
  readonly #memory: BodyMemory;
  /** A body that comes in one piece, as most do, isn't copied. */
  #bytes: Buffer = nothing;

  /** `announced`: its Content-Length, or Infinity. */
  constructor(announced: number, memory: BodyMemory) {
    this.#announced = announced;
    this.#memory = memory;
  }

  /** False: there is no memory for this piece. */
  append(piece: Buffer): boolean {
    const length = this.length + piece.length;
    if (this.length === 0) {
      if (!this.#memory.take(piece.length)) return false;
      this.#bytes = piece;
    } else {
      if (length > this.#bytes.length && !this.#grow(length)) return false;
      piece.copy(this.#bytes, this.length);
    }
    this.length = length;
    return true;
  }

  #grow(needed: number): boolean {
    const doubled = Math.max(grownBytesMin, 2 * this.#bytes.length);
    const size = Math.max(needed, Math.min(this.#announced, doubled));
    if (!this.#memory.take(size - this.#bytes.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
    return true;
  }

  /** It is refused: its memory is free. */
  discard(): void {
    this.#memory.give(this.#bytes.length);
    this.#bytes = nothing;
    this.length = 0;
  }

  /** All of it, in no more memory than its length. It is the caller's; nothing is kept here. */
  take(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = nothing;
    const spare = bytes.length - this.length;
    if (spare === 0) return bytes;
    const exact = Buffer.allocUnsafeSlow(this.length);
    bytes.copy(exact, 0, 0, this.length);
    this.#memory.give(spare);
    return exact;
  }
}
