/**
 * A value as bytes of the store: the schema's version, a checksum, msgpack. What the values of each
 * table mean is declared with their subjects.
 */
import { crc32 } from "node:zlib";
import { decodeValue, encodeValue } from "../../../shared/wire/codec.js";

/** The version of every record format; a store of another one is refused, not converted. */
export const schemaVersion = 1;

const headBytes = 5;

export function sealValue(value: readonly unknown[]): Buffer {
  const body = encodeValue(value);
  const sealed = Buffer.allocUnsafe(headBytes + body.length);
  sealed[0] = schemaVersion;
  sealed.writeUInt32BE(crc32(body), 1);
  body.copy(sealed, headBytes);
  return sealed;
}

/** Null for bytes that `sealValue` never made. */
export function unsealValue(sealed: Buffer): readonly unknown[] | null {
  const body = sealed.subarray(headBytes);
  if (
    sealed.length <= headBytes ||
    sealed[0] !== schemaVersion ||
    sealed.readUInt32BE(1) !== crc32(body)
  )
    return null;
  const value = decodeValue(body);
  return Array.isArray(value) ? value : null;
}
