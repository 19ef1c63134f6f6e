/**
 * A key of a table as bytes of the store and back. Every text comes back as it went in, whatever
 * characters it holds, and numbers are in their order. lmdb's own encoding isn't used for texts:
 * it takes control characters for marks of its own, so that some keys can't be read again.
 *
 * A text is its UTF-8, where a surrogate without its other half takes three bytes of its own. One
 * that begins with a control character, or is empty, has the byte 27 before it; a number begins
 * with a byte below that. A number is its 64 bits of IEEE 754, four bits to the right of a mark,
 * without what is zero at its end.
 */

const loneSurrogate = /\p{Cs}/u;
const textMark = 27;
const firstUnmarked = 28;
const numberMark = 0x10n << 56n;

/** `key`: a text, or a number from 0. */
export function keyToBytes(key: string | number): Buffer {
  if (typeof key === "number") return numberToBytes(key);
  const text = loneSurrogate.test(key)
    ? Buffer.concat([...key].map(characterBytes))
    : Buffer.from(key);
  // False for an empty text, too.
  return text[0]! >= firstUnmarked ? text : Buffer.concat([Buffer.of(textMark), text]);
}

/** Null for bytes that `keyToBytes` never made. */
export function keyFromBytes(bytes: Uint8Array): string | number | null {
  const first = bytes[0];
  if (first === undefined) return null;
  const stored = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (first < textMark) return numberFromBytes(stored);
  if (first === textMark && stored[1]! >= firstUnmarked) return null;
  const key = textFromBytes(first === textMark ? stored.subarray(1) : stored);
  // What Node couldn't decode has become this character, and is decoded with more care.
  return !key.includes(replacement) || keyToBytes(key).equals(stored)
    ? key
    : looseTextFromBytes(stored);
}

const replacement = "\ufffd";

function textFromBytes(bytes: Buffer): string {
  return bytes.toString("utf8");
}

/** As `textFromBytes`, with surrogates that lack their other half. */
function looseTextFromBytes(stored: Buffer): string | null {
  const bytes = stored[0] === textMark ? stored.subarray(1) : stored;
  let key = "";
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== 0xed || !(bytes[at + 1]! >= 0xa0)) continue;
    key += textFromBytes(bytes.subarray(from, at));
    key += String.fromCharCode(0xd000 | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f));
    at += 2;
    from = at + 1;
  }
  key += textFromBytes(bytes.subarray(from));
  return keyToBytes(key).equals(stored) ? key : null;
}

function characterBytes(character: string): Buffer {
  if (!loneSurrogate.test(character)) return Buffer.from(character);
  const unit = character.charCodeAt(0);
  return Buffer.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
}

function numberToBytes(key: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.writeDoubleBE(key);
  const bits = bytes.readBigUInt64BE();
  bytes.writeBigUInt64BE((bits >> 4n) | numberMark);
  bytes[8] = Number(bits & 0xfn) << 4;
  return bytes.subarray(0, numberBytes(bits));
}

/** How many of the nine bytes are written: lmdb's own steps. */
function numberBytes(bits: bigint): number {
  if ((bits & 0xfn) !== 0n) return 9;
  if ((bits & 0xfffffn) !== 0n) return 8;
  return (bits & 0xfffffffffn) !== 0n ? 6 : 4;
}

/** Where a number is put together from its bytes. */
const bits = Buffer.alloc(8);

function numberFromBytes(stored: Buffer): number | null {
  const { length } = stored;
  // The steps of `numberBytes`, each of which was needed: the bytes that the one before lacks.
  const [from, to] = length === 4 ? [0, 4] : length === 6 ? [4, 6] : length === 8 ? [6, 8] : [8, 9];
  if (length !== to || stored[0]! >> 4 !== 1 || (length === 9 && (stored[8]! & 15) !== 0))
    return null;
  if (stored.subarray(from, to).every((byte) => byte === 0)) return null;
  // What was left out at the end is zero.
  for (let i = 0; i < 8; i++) bits[i] = ((stored[i]! & 15) << 4) | (stored[i + 1]! >> 4);
  const key = bits.readDoubleBE();
  // There is one NaN among those that we have written, and nothing below 0.
  return bits[0]! < 128 && (!Number.isNaN(key) || keyToBytes(key).equals(stored)) ? key : null;
}
