/**
 * An entry of the store as bytes, and back. Not here: what the keys and values of each table mean.
 *
 * A value is a version, a checksum and msgpack. The checksum also covers the entry's table and key,
 * so an entry in a wrong place counts as damaged.
 *
 * Every text can be read back as a key, whatever its characters, and the bytes of numbers sort in
 * numeric order. lmdb's own encoding isn't used for texts: it interprets control characters, so
 * some keys couldn't be read back. A text becomes its UTF-8, where a lone surrogate takes three
 * bytes. If the text is empty or begins with a control character, the byte 27 precedes it; a number
 * begins with a lower byte. A number becomes a four-bit mark and its 64 bits of IEEE 754, without
 * trailing zeros.
 */
import { crc32 } from "node:zlib";
import { decodeValue, encodeValue } from "../../../shared/wire/codec.js";
import { type Change, type Table, tables } from "../store.js";

/**
 * The version of this envelope. The schema's number is the version of the values (`migrations.ts`).
 */
const sealVersion = 1;

/** The version and the checksum. */
const headBytes = 5;

/** A little less than lmdb accepts with pages of 4 KiB. */
const keyBytesMax = 1970;

/** A change in the bytes of the store. */
export interface SealedChange {
  readonly keyBytes: Buffer;
  /** Undefined: the entry is removed. */
  readonly value: Buffer | undefined;
}

export function sealChange({ table, key, value }: Change): SealedChange {
  const keyBytes = keyToBytes(key);
  if (keyBytes.length > keyBytesMax)
    throw new Error(`a key of ${table} is longer than ${keyBytesMax} bytes`);
  return { keyBytes, value: value === undefined ? undefined : sealValue(table, keyBytes, value) };
}

export function sealValue(table: Table, key: Uint8Array, value: readonly unknown[]): Buffer {
  const sealed = encodeValue(value, headBytes);
  sealed[0] = sealVersion;
  sealed.writeUInt32BE(checksum(table, key, sealed), 1);
  return sealed;
}

/** Whether `sealValue` has made these bytes, for this place. */
export function isSealed(table: Table, key: Uint8Array, sealed: Buffer): boolean {
  return (
    sealed.length > headBytes &&
    sealed[0] === sealVersion &&
    sealed.readUInt32BE(1) === checksum(table, key, sealed)
  );
}

/** Null for bytes that `sealValue` never made for this place. */
export function unsealValue(
  table: Table,
  key: Uint8Array,
  sealed: Buffer,
): readonly unknown[] | null {
  if (!isSealed(table, key, sealed)) return null;
  const value = decodeValue(sealed.subarray(headBytes));
  return Array.isArray(value) ? value : null;
}

function checksum(table: Table, key: Uint8Array, sealed: Buffer): number {
  return crc32(sealed.subarray(headBytes), crc32(key, tableSums.get(table)));
}

const tableSums: ReadonlyMap<Table, number> = new Map(tables.map((name) => [name, crc32(name)]));

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
  // The comparison is also false for an empty text.
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
  // Node replaces what it can't decode by this character; then decode lone surrogates too.
  return !key.includes(replacement) || keyToBytes(key).equals(stored)
    ? key
    : looseTextFromBytes(stored);
}

const replacement = "\ufffd";

function textFromBytes(bytes: Buffer): string {
  return bytes.toString("utf8");
}

/** As `textFromBytes`, with lone surrogates; null for invalid bytes. */
function looseTextFromBytes(stored: Buffer): string | null {
  const bytes = stored[0] === textMark ? stored.subarray(1) : stored;
  let key = "";
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    // A surrogate's three bytes, as `characterBytes` makes them.
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

/** How many of the nine bytes are written, in the same steps as lmdb. */
function numberBytes(bits: bigint): number {
  if ((bits & 0xfn) !== 0n) return 9;
  if ((bits & 0xfffffn) !== 0n) return 8;
  return (bits & 0xfffffffffn) !== 0n ? 6 : 4;
}

/** A buffer in which a number is assembled. */
const bits = Buffer.alloc(8);

function numberFromBytes(stored: Buffer): number | null {
  const { length } = stored;
  // The lengths of `numberBytes`. Bytes `from` to `to` mustn't all be zero: otherwise a shorter
  // length would have been written.
  const [from, to] = length === 4 ? [0, 4] : length === 6 ? [4, 6] : length === 8 ? [6, 8] : [8, 9];
  if (length !== to || stored[0]! >> 4 !== 1 || (length === 9 && (stored[8]! & 15) !== 0))
    return null;
  if (stored.subarray(from, to).every((byte) => byte === 0)) return null;
  // Bytes that were left out are zero.
  for (let i = 0; i < 8; i++) bits[i] = ((stored[i]! & 15) << 4) | (stored[i + 1]! >> 4);
  const key = bits.readDoubleBE();
  // `keyToBytes` writes only one of the NaNs, and no number below 0.
  return bits[0]! < 128 && (!Number.isNaN(key) || keyToBytes(key).equals(stored)) ? key : null;
}
