/**
 * A value as bytes of the store: a version, a checksum, msgpack. The checksum also covers the
 * entry's table and key, so an entry in a wrong place counts as damaged. Not here: what the values
 * of each table mean.
 */
import { crc32 } from "node:zlib";
import { decodeValue, encodeValue } from "../../../shared/wire/codec.js";
import { type Change, type Table, tables } from "../store.js";
import { keyToBytes } from "./key-bytes.js";

/**
 * The version of this envelope. The schema's number is the version of the values (`migrations.ts`).
 */
const sealVersion = 1;

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
