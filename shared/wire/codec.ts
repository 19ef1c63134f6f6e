/**
 * Encodes and decodes frames: `u32be length` + msgpack. The length is capped before decoding; the
 * form is checked afterwards (`message-to-daemon.ts`, `message-from-daemon.ts`), because msgpack
 * can hold any structure.
 */

import { addExtension, Packr, RESERVE_START_SPACE, RESET_BUFFER_MODE } from "msgpackr";
import { ByteBuffer } from "../byte-buffer.js";

const packr = new Packr({
  useRecords: false,
  // A field `toJSON` in a body is the caller's, not a method.
  useToJSON: false,
  encodeUndefinedAsNil: true,
  mapsAsObjects: true,
  int64AsType: "number",
} as ConstructorParameters<typeof Packr>[0]);

/**
 * msgpackr's references let one value appear in many places, or within itself: a small frame could
 * be endless for code that walks it. Its bundled texts (0x62) can point into neighbouring frames of
 * a chunk.
 */
for (const type of [0x62, 0x69, 0x70]) {
  addExtension({
    type,
    unpack() {
      throw new Error("references are not part of the wire");
    },
  } as unknown as Parameters<typeof addExtension>[0]);
}

/** msgpackr's usual buffer size, and the largest that it reuses. */
const bufferBytes = 8192;
const bufferBytesMax = 1024 * 1024;

/**
 * The bytes of a value, in a buffer that later values share. msgpackr's buffer grows to four times
 * the largest value; a small queued frame would keep all of it in memory.
 */
function packValue(value: unknown, mode: number): Buffer {
  const bytes = packr.pack(value, mode);
  if (bytes.buffer.byteLength > bufferBytesMax)
    packr.useBuffer(Buffer.allocUnsafeSlow(bufferBytes));
  return bytes;
}

const lengthBytes = 4;

/** One message as a frame, length word included. */
export function encodeFrame(wire: readonly unknown[]): Buffer {
  const frame = packValue(wire, RESERVE_START_SPACE + lengthBytes);
  frame.writeUInt32BE(frame.length - lengthBytes, 0);
  return frame;
}

/**
 * A value in the store's form: plain msgpack without a length word, after `headBytes` for the
 * caller to fill.
 */
export function encodeValue(value: unknown, headBytes = 0): Buffer {
  // The next value is written into the same buffer.
  const bytes = packValue(value, RESET_BUFFER_MODE);
  const frame = Buffer.allocUnsafe(headBytes + bytes.length);
  bytes.copy(frame, headBytes);
  return frame;
}

/** Decodes a value of `encodeValue`; throws on anything else. */
export function decodeValue(bytes: Uint8Array): unknown {
  return packr.unpack(bytes as Buffer);
}

/**
 * Splits a stream into frames: `feed` accepts chunks and returns complete frames. It stops at the
 * first broken frame.
 */
export interface FrameReader {
  /**
   * Decodes every frame that is now complete and passes each to `onFrame`. False if the peer broke
   * the framing and must be closed.
   */
  feed(chunk: Buffer, onFrame: (frame: unknown) => void): boolean;
}

/** A reader that buffers only the last, incomplete frame, at most `frameBytesMax`. */
export function createFrameReader(frameBytesMax: number): FrameReader {
  const incomplete = new ByteBuffer();
  let neededBytes = lengthBytes;
  let ok = true;
  const broken = (): false => {
    ok = false;
    return false;
  };
  return {
    feed(chunk, onFrame) {
      if (!ok) return false;
      if (incomplete.length > 0) {
        incomplete.append(chunk);
        if (incomplete.length < neededBytes) return true;
        chunk = incomplete.take();
      }
      let position = 0;
      neededBytes = lengthBytes;
      while (chunk.length - position >= lengthBytes) {
        const length = chunk.readUInt32BE(position);
        if (length === 0 || length > frameBytesMax) return broken();
        if (chunk.length - position - lengthBytes < length) {
          neededBytes = lengthBytes + length;
          break;
        }
        const start = position + lengthBytes;
        const frame = decodeFrame(chunk, start, start + length);
        if (frame === undefined) return broken();
        position = start + length;
        onFrame(frame);
      }
      if (position < chunk.length) incomplete.append(chunk, position);
      return true;
    },
  };
}

/**
 * Undefined if these bytes of a chunk aren't exactly one msgpack value. It doesn't use a view of
 * them: that, and msgpackr's own view of it, cost half as much as decoding.
 */
function decodeFrame(chunk: Buffer, start: number, end: number): unknown {
  try {
    return packr.unpack(chunk, { start, end });
  } catch {
    // Whatever error msgpackr reports for hostile bytes, the peer is closed.
    return undefined;
  }
}
