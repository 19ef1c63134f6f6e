/**
 * A value as bytes of the store: a version, a checksum, msgpack. What the values of each
 * table mean is declared with their subjects.
 */
import { crc32 } from "node:zlib";
import { decodeValue, encodeValue } from "../../../shared/wire/codec.js";
import type { Change } from "../store.js";
import { keyToBytes } from "./key-bytes.js";

/** Of this envelope. What the values are, the schema's number says (`migrations.ts`). */
const sealVersion = 1;

const headBytes = 5;

/** What lmdb takes with pages of 4 KiB, less a little. */
const keyBytesMax = 1970;

/** A change in the bytes of the store. */
export interface SealedChange {
  readonly keyBytes: Buffer;
  /** Undefined: it is removed. */
  readonly value: Buffer | undefined;
}

export function sealChange({ table, key, value }: Change): SealedChange {
  const keyBytes = keyToBytes(key);
  if (keyBytes.length > keyBytesMax)
    throw new Error(`a key of ${table} is longer than ${keyBytesMax} bytes`);
  return { keyBytes, value: value === undefined ? undefined : sealValue(value) };
}

export function sealValue(value: readonly unknown[]): Buffer {
  const sealed = encodeValue(value, headBytes);
  sealed[0] = sealVersion;
  sealed.writeUInt32BE(crc32(sealed.subarray(headBytes)), 1);
  return sealed;
}

/** Null for bytes that `sealValue` never made. */
export function unsealValue(sealed: Buffer): readonly unknown[] | null {
  const body = sealed.subarray(headBytes);
  if (
    sealed.length <= headBytes ||
    sealed[0] !== sealVersion ||
    sealed.readUInt32BE(1) !== crc32(body)
  )
    return null;
  const value = decodeValue(body);
  return Array.isArray(value) ? value : null;
}
