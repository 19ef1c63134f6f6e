/** Ways in which a disk, or whoever copies a file, changes it. Pure. */
import type { Random } from "../sim/random.js";

const pageBytes = 4096;

/** Changed in place, or a shorter one. */
type Damage = (bytes: Buffer, random: Random) => Buffer;

export const damages: Readonly<Record<string, Damage>> = {
  "a flipped bit": (bytes, random) => {
    const at = place(bytes, random);
    bytes[at]! ^= 1 << random.int(0, 7);
    return bytes;
  },
  "a few flipped bits": (bytes, random) => {
    for (let left = random.int(2, 8); left > 0; left--)
      bytes[place(bytes, random)]! ^= 1 << random.int(0, 7);
    return bytes;
  },
  "other bytes": (bytes, random) => {
    const at = place(bytes, random);
    const end = Math.min(bytes.length, at + random.int(1, 64));
    for (let i = at; i < end; i++) bytes[i] = random.int(0, 255);
    return bytes;
  },
  "a zeroed range": (bytes, random) => {
    const at = place(bytes, random);
    return bytes.fill(0, at, Math.min(bytes.length, at + Math.round(random.skewed(1, 8192))));
  },
  "a zeroed half of a page": (bytes, random) => {
    const at = aPage(bytes, random) + random.int(0, 1) * (pageBytes / 2);
    return bytes.fill(0, at, at + pageBytes / 2);
  },
  "two pages that changed places": (bytes, random) => {
    const [a, b] = [aPage(bytes, random), aPage(bytes, random)];
    const kept = Buffer.from(bytes.subarray(a, a + pageBytes));
    bytes.copy(bytes, a, b, b + pageBytes);
    kept.copy(bytes, b);
    return bytes;
  },
  "a page written over another": (bytes, random) => {
    const from = aPage(bytes, random);
    bytes.copy(bytes, aPage(bytes, random), from, from + pageBytes);
    return bytes;
  },
  "cut at a page": (bytes, random) => bytes.subarray(0, aPage(bytes, random)),
  "cut anywhere": (bytes, random) => bytes.subarray(0, random.int(0, bytes.length - 1)),
};

function aPage(bytes: Buffer, random: Random): number {
  return random.int(0, Math.floor(bytes.length / pageBytes) - 1) * pageBytes;
}

/** Anywhere, and often where a bit decides most: in the heads, or where a page begins. */
function place(bytes: Buffer, random: Random): number {
  const kind = random.next();
  if (kind < 0.15) return random.pick([0, pageBytes / 2, pageBytes]) + random.int(0, 170);
  if (kind < 0.4) return aPage(bytes, random) + random.int(0, 100);
  return random.int(0, bytes.length - 1);
}
