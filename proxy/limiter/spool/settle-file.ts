/**
 * The format of a file of settles left by a stopped proxy: frames of a checksum and msgpack, a
 * head, the settles as on the wire ordered by number, and an end with their count. A file without
 * that end, or with a changed byte, is damaged. The files are managed in `settle-directory.ts`.
 */
import { crc32 } from "node:zlib";
import { frameBytesMaxToDaemon } from "../../../shared/bounds.js";
import { isCount } from "../../../shared/checked.js";
import {
  createFrameReader,
  decodeValue,
  encodeFrame,
  encodeValue,
} from "../../../shared/wire/codec.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { parseToDaemon, writeToDaemon } from "../../../shared/wire/message-to-daemon.js";

const format = "sluice-settles-1";

/** The head of a file; times are wall-clock ms. */
export interface SettleFileHead {
  /** The proxy that numbered them: the daemon keeps counted numbers by proxy. */
  readonly proxyId: string;
  /** The times within the settles are relative to this one. */
  readonly writtenAtMs: number;
  /** When one of them may last have been sent; 0 if none ever was. */
  readonly sentAtMs: number;
}

/** Frame and checksum overhead of a settle. */
const sealBytes = 64;

export function headFrame({ proxyId, writtenAtMs, sentAtMs }: SettleFileHead): Buffer {
  return sealedFrame([format, proxyId, writtenAtMs, sentAtMs]);
}

export function settleFrame(settle: Settle): Buffer {
  return sealedFrame(writeToDaemon(settle));
}

/** `count`: the number of settles before it. */
export function endFrame(count: number): Buffer {
  return sealedFrame(["end", count]);
}

/** Reads a file piece by piece. */
export class SettleFileReader {
  /** Null until it has been read. */
  head: SettleFileHead | null = null;
  /** How many settles have been read. */
  count = 0;
  #lastSeq = 0;
  #hasEnded = false;
  #isSound = true;
  readonly #frames = createFrameReader(frameBytesMaxToDaemon + sealBytes);

  /** Whether the file was read to its end and is intact. */
  get complete(): boolean {
    return this.#hasEnded && this.#isSound;
  }

  /** Passes on every settle that is now complete. False if the file is damaged. */
  feed(piece: Buffer, onSettle: (settle: Settle) => void): boolean {
    const isFramed = this.#frames.feed(piece, (frame) => {
      this.#isSound &&= this.#take(unsealFrame(frame), onSettle);
    });
    this.#isSound &&= isFramed;
    return this.#isSound;
  }

  #take(value: unknown, onSettle: (settle: Settle) => void): boolean {
    if (!Array.isArray(value) || this.#hasEnded) return false;
    if (this.head === null) {
      this.head = headOf(value);
      return this.head !== null;
    }
    if (value[0] === "end") {
      this.#hasEnded = value[1] === this.count;
      return this.#hasEnded;
    }
    const message = parseToDaemon(value);
    if (message?.kind !== "settle" || message.seq <= this.#lastSeq) return false;
    this.#lastSeq = message.seq;
    this.count++;
    onSettle(message);
    return true;
  }
}

function headOf([name, proxyId, writtenAtMs, sentAtMs]: readonly unknown[]): SettleFileHead | null {
  return name === format && typeof proxyId === "string" && isCount(writtenAtMs) && isCount(sentAtMs)
    ? { proxyId, writtenAtMs, sentAtMs }
    : null;
}

function sealedFrame(value: readonly unknown[]): Buffer {
  const body = encodeValue(value);
  return encodeFrame([crc32(body), body]);
}

/** Undefined for a frame that `sealedFrame` didn't write. */
function unsealFrame(frame: unknown): unknown {
  const [sum, body] = Array.isArray(frame) ? (frame as readonly unknown[]) : [];
  if (!(body instanceof Uint8Array) || sum !== crc32(body)) return undefined;
  try {
    return decodeValue(body);
  } catch {
    // A body with a correct checksum that isn't msgpack comes from elsewhere.
    return undefined;
  }
}
