/**
 * Frames to bytes and back: `u32be length` + msgpack. The length is capped before anything is
 * decoded, and the shape is checked after it (`message-to-daemon.ts`,
 * `message-from-daemon.ts`), because msgpack itself can hold any structure.
 */

import { addExtension, Packr, RESERVE_START_SPACE, RESET_BUFFER_MODE } from "msgpackr";
import { ByteBuffer } from "../byte-buffer.js";

const packr = new Packr({
  useRecords: false,
  // A field of that name in a body is the caller's, and no method.
  useToJSON: false,
  encodeUndefinedAsNil: true,
  mapsAsObjects: true,
  int64AsType: "number",
} as ConstructorParameters<typeof Packr>[0]);

/**
 * msgpackr's references let one value appear in many places, or within itself: a small frame that
 * is endless to whatever walks it. Its bundles of texts (0x62) point anywhere, so into the frames
 * before and behind it in a chunk.
 */
for (const type of [0x62, 0x69, 0x70]) {
  addExtension({
    type,
    unpack() {
      throw new Error("references are not part of the wire");
    },
  } as unknown as Parameters<typeof addExtension>[0]);
}

/** msgpackr's usual buffer, and the largest that it goes on with. */
const bufferBytes = 8192;
const bufferBytesMax = 1024 * 1024;

/**
 * The bytes of a value, in a buffer from which later ones are cut too. It has grown to four times
 * the largest; a small frame that waits for its reader would hold all of it.
 */
function packed(value: unknown, mode: number): Buffer {
  const bytes = packr.pack(value, mode);
  if (bytes.buffer.byteLength > bufferBytesMax)
    packr.useBuffer(Buffer.allocUnsafeSlow(bufferBytes));
  return bytes;
}

const lengthBytes = 4;

/** One message as a frame, length word included. */
export function encodeFrame(wire: readonly unknown[]): Buffer {
  const frame = packed(wire, RESERVE_START_SPACE + lengthBytes);
  frame.writeUInt32BE(frame.length - lengthBytes, 0);
  return frame;
}

/**
 * A value as the store keeps it: plain msgpack, without a length word, behind `headBytes` that are
 * the caller's to write.
 */
export function encodeValue(value: unknown, headBytes = 0): Buffer {
  // The next value is put into the same bytes.
  const bytes = packed(value, RESET_BUFFER_MODE);
  const kept = Buffer.allocUnsafe(headBytes + bytes.length);
  bytes.copy(kept, headBytes);
  return kept;
}

/** The value that `encodeValue` wrote; throws on anything else. */
export function decodeValue(bytes: Uint8Array): unknown {
  return packr.unpack(bytes as Buffer);
}

/**
 * Takes a stream apart: `feed` what arrives, get complete frames. After the first broken one it
 * reads no more.
 */
export interface FrameReader {
  /**
   * Decodes every frame that is now complete and hands each to `onFrame`. False: the peer broke the
   * framing and must be closed.
   */
  feed(chunk: Buffer, onFrame: (frame: unknown) => void): boolean;
}

/** A reader that keeps no more than the incomplete last frame, at most `frameBytesMax`. */
export function createFrameReader(frameBytesMax: number): FrameReader {
  const held = new ByteBuffer();
  let neededBytes = lengthBytes;
  let ok = true;
  const broken = (): false => {
    ok = false;
    return false;
  };
  return {
    feed(chunk, onFrame) {
      if (!ok) return false;
      if (held.length > 0) {
        held.append(chunk);
        if (held.length < neededBytes) return true;
        chunk = held.take();
      }
      let at = 0;
      neededBytes = lengthBytes;
      while (chunk.length - at >= lengthBytes) {
        const length = chunk.readUInt32BE(at);
        if (length === 0 || length > frameBytesMax) return broken();
        if (chunk.length - at - lengthBytes < length) {
          neededBytes = lengthBytes + length;
          break;
        }
        const start = at + lengthBytes;
        const frame = decodeFrame(chunk, start, start + length);
        if (frame === undefined) return broken();
        at = start + length;
        onFrame(frame);
      }
      if (at < chunk.length) held.append(chunk, at);
      return true;
    },
  };
}

/**
 * Undefined where these bytes of a chunk aren't exactly one msgpack value. Not of a view of them:
 * that, and msgpackr's own view of it, cost as much as half of the decoding.
 */
function decodeFrame(chunk: Buffer, start: number, end: number): unknown {
  try {
    return packr.unpack(chunk, { start, end });
  } catch {
    // Whatever msgpackr reports of hostile bytes, the peer is closed.
    return undefined;
  }
}
