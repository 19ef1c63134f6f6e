/** Mutates bytes without a look at what they mean, and cuts them into pieces. */
import type { Random } from "../../sim/random.js";

const interesting: readonly Buffer[] = [
  [0],
  [0xff],
  [0x80],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xef, 0xbb, 0xbf],
  [0x0d],
  [0x0a],
  [0x0d, 0x0a],
  [0x0d, 0x0a, 0x0d, 0x0a],
  [0x7f, 0xff, 0xff, 0xff],
  [0xff, 0xff, 0xff, 0xff],
  [0, 0, 0, 0],
  [0xc1],
  [0xdd, 0xff, 0xff, 0xff, 0xff],
  [0xdf, 0x7f, 0xff, 0xff, 0xff],
].map((bytes) => Buffer.from(bytes));
const marks = [
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "--",
  " ",
  "\t",
  "%",
  ";",
  "=",
  "\u0000",
].map((text) => Buffer.from(text));

/** A copy, changed in a few places. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  let changed: Buffer = Buffer.from(bytes);
  for (let left = Math.round(random.skewed(1, 5)); left > 0; left--)
    changed = mutatedOnce(changed, random);
  return changed;
}

function mutatedOnce(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0) return random.pick(interesting);
  const at = random.int(0, bytes.length - 1);
  const to = Math.min(bytes.length, at + Math.round(random.skewed(1, 64)));
  const put = (piece: Buffer, end = at): Buffer =>
    Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(end)]);
  switch (random.int(0, 7)) {
    case 0:
      bytes[at]! ^= 1 << random.int(0, 7);
      return bytes;
    case 1:
      bytes[at] = random.int(0, 255);
      return bytes;
    case 2:
      return put(random.pick(interesting));
    case 3:
      return put(random.pick(marks), random.chance(0.5) ? at : to);
    case 4:
      return put(Buffer.alloc(0), to);
    case 5:
      return put(bytes.subarray(at, to));
    case 6:
      return random.chance(0.5) ? bytes.subarray(0, at) : bytes.subarray(at);
    default: {
      const from = random.int(0, bytes.length - 1);
      return put(bytes.subarray(from, Math.min(bytes.length, from + (to - at))), to);
    }
  }
}

/** The same bytes in pieces: one, a few, or many of a few bytes. */
export function cutBytes(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = [];
  const mean =
    bytes.length > 20_000 || random.chance(0.4)
      ? bytes.length / random.int(1, 4)
      : random.skewed(1, Math.max(2, bytes.length));
  for (let at = 0; at < bytes.length; ) {
    const to = Math.min(bytes.length, at + Math.max(1, Math.round(random.next() * 2 * mean)));
    pieces.push(bytes.subarray(at, to));
    at = to;
  }
  return pieces;
}
