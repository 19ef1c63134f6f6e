/**
 * Reads the body of a request completely, and decodes one that is compressed. A few bytes may
 * decode to gigabytes, so what comes out has the same bound as what came in, and counts in the same
 * account of memory while it grows.
 */
import type { IncomingMessage } from "node:http";
import * as zlib from "node:zlib";
import { brotliWindowBytes, deflateWindowBytes, zstdWindowLogMax } from "./decoder-bounds.js";
import { type BodyMemory, HeldBody } from "./held-body.js";

type ReadBody =
  | { readonly ok: true; readonly bytes: Buffer }
  | {
      readonly ok: false;
      readonly reason: "too_large" | "no_memory" | "unknown_coding" | "undecodable" | "gone";
    };

type Decoder =
  | ReturnType<typeof zlib.createGunzip>
  | ReturnType<typeof zlib.createBrotliDecompress>;

interface Coding {
  /** What its decoder holds besides what comes out. */
  readonly windowBytes: number;
  /** `first`: the first bytes. */
  open(first: Buffer): Decoder;
}

const gzip: Coding = { windowBytes: deflateWindowBytes, open: () => zlib.createGunzip() };

const codings: ReadonlyMap<string, Coding> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  [
    "deflate",
    {
      windowBytes: deflateWindowBytes,
      // Two formats have this name: RFC 1950, as the standard says, and RFC 1951.
      open: (first) => ((first[0]! & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()),
    },
  ],
  ["br", { windowBytes: brotliWindowBytes, open: () => zlib.createBrotliDecompress() }],
  ...zstd(),
]);

interface NodeWithZstd {
  readonly createZstdDecompress?: (options: {
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
  return [["zstd", { windowBytes, open: () => createZstdDecompress({ params }) }]];
}

/** `bytesMax`: of the bytes that come, and of those that they decode to. */
export function readWholeBody(
  request: IncomingMessage,
  bytesMax: number,
  memory: BodyMemory,
): Promise<ReadBody> {
  // No event would tell of a client that has left already.
  if (request.destroyed) return Promise.resolve({ ok: false, reason: "gone" });
  const announced = Number(request.headers["content-length"] ?? Infinity);
  if (announced !== Infinity && announced > bytesMax)
    return Promise.resolve({ ok: false, reason: "too_large" });
  const named = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (named === "identity")
    return readPlain(request, { body: new HeldBody(announced, memory), bytesMax });
  const coding = codings.get(named);
  if (coding === undefined) return Promise.resolve({ ok: false, reason: "unknown_coding" });
  if (!memory.take(coding.windowBytes)) return Promise.resolve({ ok: false, reason: "no_memory" });
  const read = readCoded(request, { body: new HeldBody(Infinity, memory), bytesMax, coding });
  return read.finally(() => memory.give(coding.windowBytes));
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
function readPlain(request: IncomingMessage, reading: Reading): Promise<ReadBody> {
  return new Promise((resolve) => {
    let settle: ((read: ReadBody) => void) | null = resolve;
    const over = (read: ReadBody): void => {
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

function readCoded(
  request: IncomingMessage,
  { coding, ...reading }: Reading & { readonly coding: Coding },
): Promise<ReadBody> {
  const { body, bytesMax } = reading;
  return new Promise((resolve) => {
    let decoder: Decoder | null = null;
    let came = 0;
    const over = (read: ReadBody): void => {
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (!read.ok) body.discard();
      decoder
        ?.removeAllListeners("data")
        .on("error", () => {})
        .destroy();
      resolve(read);
    };
    const open = (first: Buffer): Decoder => {
      const opened = coding.open(first);
      opened.on("data", (piece: Buffer) => {
        const reason = heldOrWhy(reading, piece);
        if (reason !== null) over({ ok: false, reason });
      });
      opened.on("drain", () => void request.resume());
      opened.once("end", () => over({ ok: true, bytes: body.take() }));
      opened.once("error", () => over({ ok: false, reason: "undecodable" }));
      return opened;
    };
    const onData = (chunk: Buffer): void => {
      came += chunk.length;
      if (came > bytesMax) return over({ ok: false, reason: "too_large" });
      decoder ??= open(chunk);
      if (!decoder.write(chunk)) request.pause();
    };
    const onEnd = (): void => {
      request.off("close", onClose);
      if (decoder === null) over({ ok: true, bytes: body.take() });
      else decoder.end();
    };
    const onClose = (): void => over({ ok: false, reason: "gone" });
    request.on("data", onData).once("end", onEnd).once("close", onClose);
  });
}
