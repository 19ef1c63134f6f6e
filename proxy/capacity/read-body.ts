/**
 * Reads a request body completely, and decompresses it if needed. A few bytes may decode to
 * gigabytes, so the decoded body has the same bound as the encoded one and a maximum ratio to it,
 * and takes memory from the same ledger while it grows.
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
import { IncomingRequest } from "../http/incoming-request.js";

type Decoder =
  | ReturnType<typeof zlib.createGunzip>
  | ReturnType<typeof zlib.createBrotliDecompress>;

interface Coding {
  /** The memory of its decoder, without the output. */
  readonly windowBytes: number;
  /** `bytes`: its input. */
  open(bytes: Buffer): Decoder;
}

/** Each decoded chunk takes a turn of the event loop. */
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

/** Available since Node 22.15. */
function zstd(): readonly (readonly [string, Coding])[] {
  const { createZstdDecompress, constants } = zlib as unknown as NodeWithZstd;
  const windowLogMax = constants.ZSTD_d_windowLogMax;
  if (createZstdDecompress === undefined || windowLogMax === undefined) return [];
  const params = { [windowLogMax]: zstdWindowLogMax };
  const windowBytes = 2 ** zstdWindowLogMax;
  return [["zstd", { windowBytes, open: () => createZstdDecompress({ ...options, params }) }]];
}

/** `bytesMax` applies to the encoded and to the decoded body. */
export function readWholeBody(
  request: IncomingMessage,
  bytesMax: number,
  memory: BodyMemory,
): Promise<BodyResult> {
  // A client that disconnected before emits no further event.
  if (request.destroyed) return Promise.resolve({ ok: false, reason: "gone" });
  const announced = Number(request.headers["content-length"] ?? Infinity);
  if (announced !== Infinity && announced > bytesMax)
    return Promise.resolve({ ok: false, reason: "too_large" });
  const plain = { body: new HeldBody(announced, memory), bytesMax };
  const codingName = contentCoding(request.headers["content-encoding"]);
  if (codingName === "") return readPlain(request, plain);
  const coding = codings.get(codingName);
  if (coding === undefined) return Promise.resolve({ ok: false, reason: "unknown_coding" });
  return readPlain(request, plain).then((result) =>
    result.ok && result.bytes.length > 0
      ? decode(result.bytes, coding, { bytesMax, memory })
      : result,
  );
}

interface Reading {
  readonly body: HeldBody;
  readonly bytesMax: number;
}

/** Appends a chunk. Returns why it can't be; null if it was appended. */
function appendProblem(
  { body, bytesMax }: Reading,
  piece: Buffer,
): "too_large" | "no_memory" | null {
  if (body.length + piece.length > bytesMax) return "too_large";
  return body.append(piece) ? null : "no_memory";
}

/**
 * The listeners stay, since removing three of them costs more than running them. But they hold no
 * references: otherwise the promise and the body would live as long as the request.
 */
function readPlain(request: IncomingMessage, reading: Reading): Promise<BodyResult> {
  return new Promise((resolve) => {
    let settle: ((result: BodyResult) => void) | null = resolve;
    const finish = (result: BodyResult): void => {
      settle?.(result);
      settle = null;
    };
    const onPiece = (piece: Buffer): void => {
      if (settle === null) return;
      const reason = appendProblem(reading, piece);
      if (reason === null) return;
      reading.body.discard();
      finish({ ok: false, reason });
    };
    const onEnd = (): void => {
      if (settle !== null) finish({ ok: true, bytes: reading.body.take() });
    };
    const onClose = (): void => finish({ ok: false, reason: "gone" });
    if (!(request instanceof IncomingRequest && request.giveBody({ onPiece, onEnd })))
      request.on("data", onPiece).on("end", onEnd);
    request.on("close", onClose);
  });
}

/**
 * Decodes in the thread pool. The input is complete, so that the ratio is known and slow clients
 * hold no decoder.
 */
async function decode(
  bytes: Buffer,
  coding: Coding,
  { bytesMax, memory }: { readonly bytesMax: number; readonly memory: BodyMemory },
): Promise<BodyResult> {
  const takenBytes = bytes.length + coding.windowBytes;
  if (!memory.take(coding.windowBytes)) {
    memory.give(bytes.length);
    return { ok: false, reason: "no_memory" };
  }
  const denseMax = Math.max(decodedFreelyBytes, bytes.length * decodedRatioMax);
  const reading = { body: new HeldBody(Infinity, memory), bytesMax: Math.min(bytesMax, denseMax) };
  const decoded = await decodeWithin(bytes, coding.open(bytes), reading);
  memory.give(takenBytes);
  const isDense = !decoded.ok && decoded.reason === "too_large" && denseMax < bytesMax;
  return isDense ? { ok: false, reason: "too_dense" } : decoded;
}

function decodeWithin(bytes: Buffer, decoder: Decoder, reading: Reading): Promise<BodyResult> {
  return new Promise((resolve) => {
    const finish = (result: BodyResult): void => {
      if (!result.ok) reading.body.discard();
      decoder
        .removeAllListeners("data")
        .on("error", () => {})
        .destroy();
      resolve(result);
    };
    decoder.on("data", (piece: Buffer) => {
      const reason = appendProblem(reading, piece);
      if (reason !== null) finish({ ok: false, reason });
    });
    decoder.once("end", () => {
      // Zlib ignores bytes after the compressed data.
      const isWhole = decoder.bytesWritten === bytes.length;
      finish(
        isWhole ? { ok: true, bytes: reading.body.take() } : { ok: false, reason: "undecodable" },
      );
    });
    decoder.once("error", () => finish({ ok: false, reason: "undecodable" }));
    decoder.end(bytes);
  });
}

/** The smallest allocation after the first chunk, unless Content-Length is smaller. */
const grownBytesMin = 64 * 1024;

interface BodyMemory {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

const noBytes = Buffer.alloc(0);

export class HeldBody {
  length = 0;
  readonly #announced: number;
  readonly #memory: BodyMemory;
  /** A body of a single chunk, the usual case, isn't copied. */
  #bytes: Buffer = noBytes;

  /** `announced`: its Content-Length, or Infinity. */
  constructor(announced: number, memory: BodyMemory) {
    this.#announced = announced;
    this.#memory = memory;
  }

  /** False without memory for this chunk. */
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
    // If the length is announced, larger steps save copies and waste nothing at the end.
    const factor = this.#announced === Infinity ? 2 : 16;
    const grown = Math.max(grownBytesMin, factor * this.#bytes.length);
    const size = Math.max(needed, Math.min(this.#announced, grown));
    if (!this.#memory.take(size - this.#bytes.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
    return true;
  }

  /** Releases the memory of a refused body. */
  discard(): void {
    this.#memory.give(this.#bytes.length);
    this.#bytes = noBytes;
    this.length = 0;
  }

  /** The whole body, in exactly its length. The caller owns it; nothing is kept here. */
  take(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = noBytes;
    const spare = bytes.length - this.length;
    if (spare === 0) return bytes;
    const exact = Buffer.allocUnsafeSlow(this.length);
    bytes.copy(exact, 0, 0, this.length);
    this.#memory.give(spare);
    return exact;
  }
}
