/**
 * Frames to bytes and back: `u32be length` + msgpack. The length is capped before anything is decoded,
 * and the shape is checked after it (`message.ts`), because msgpack itself can name any structure.
 */
import { Packr, RESERVE_START_SPACE } from "msgpackr";

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, mapsAsObjects: true, int64AsType: "number" } as ConstructorParameters<typeof Packr>[0]);

const lengthBytes = 4;

/** One message as a frame, length word included. */
export function encodeFrame(wire: readonly unknown[]): Buffer {
  const frame = packr.pack(wire, RESERVE_START_SPACE + lengthBytes);
  frame.writeUInt32BE(frame.length - lengthBytes, 0);
  return frame;
}

/** Our own bytes for the store: plain msgpack, without a length word. */
export function encodeValue(value: unknown): Buffer {
  return Buffer.from(packr.pack(value));
}

/** The value that `encodeValue` wrote; throws on anything else. */
export function decodeValue(bytes: Uint8Array): unknown {
  return packr.unpack(bytes as Buffer);
}

/** Takes a stream apart. A plain object: `feed` what arrives, get whole frames; `ok` turns false for good at the first broken one. */
export interface FrameReader {
  /** Decodes every frame that is now whole and hands each to `onFrame`. False: the peer broke the framing and must be closed. */
  feed(chunk: Buffer, onFrame: (frame: unknown) => void): boolean;
}

/** A reader whose buffer never grows beyond one frame of `frameBytesMax` and a chunk. */
export function createFrameReader(frameBytesMax: number): FrameReader {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let neededBytes = 4;
  let ok = true;
  return {
    feed(chunk, onFrame) {
      if (!ok) return false;
      if (heldBytes > 0) {
        held.push(chunk);
        heldBytes += chunk.length;
        if (heldBytes < neededBytes) return true;
        chunk = Buffer.concat(held, heldBytes);
        held = [];
        heldBytes = 0;
      }
      let at = 0;
      neededBytes = 4;
      while (chunk.length - at >= 4) {
        const length = chunk.readUInt32BE(at);
        if (length === 0 || length > frameBytesMax) return (ok = false);
        if (chunk.length - at - 4 < length) {
          neededBytes = 4 + length;
          break;
        }
        const frame = decodeFrame(chunk.subarray(at + 4, at + 4 + length));
        if (frame === undefined) return (ok = false);
        at += 4 + length;
        onFrame(frame);
      }
      if (at < chunk.length) {
        held.push(at === 0 ? chunk : chunk.subarray(at));
        heldBytes = chunk.length - at;
      }
      return true;
    },
  };
}

/** Undefined for bytes that aren't one whole msgpack value. */
function decodeFrame(bytes: Buffer): unknown {
  try {
    return packr.unpack(bytes);
  } catch {
    // Whatever msgpackr says about hostile bytes, the answer is the same: the peer is closed.
    return undefined;
  }
}
