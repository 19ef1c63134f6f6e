/** What can go wrong with a request's body while it is read, and its place on disk. */
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import { decodedFreelyBytes, decodedRatioMax } from "../bounds.js";
import type { BodyResult } from "./exchange.js";

/** Why a body couldn't be read. Null: the client is gone. */
export function unreadBody(
  { reason }: Extract<BodyResult, { readonly ok: false }>,
  bytesMax: number,
): Failure | null {
  switch (reason) {
    case "gone":
      return null;
    case "too_large":
      return failure("request_too_large", `the body is larger than ${bytesMax} bytes`);
    case "too_dense":
      return failure("request_too_large", tooDense);
    case "no_memory":
      return noMemory();
    case "unknown_coding":
      return unknownCoding();
    case "undecodable":
      return invalid("the body is not what its content-encoding says", "body");
  }
}

const tooDense = `the body decodes to more than ${decodedRatioMax} times its size, and more than ${decodedFreelyBytes} bytes`;

/** For a body that is compressed in another way than these, or more than once. */
function unknownCoding(): Failure {
  return plainFailure(
    415,
    "invalid_request_error",
    "the content-encoding of the body is not taken: send it uncompressed, or as gzip, deflate or br (zstd where Sluice runs on Node 22.15 or newer)",
  );
}

export function noMemory(): Failure {
  return failure(
    "overloaded",
    "Sluice holds as many requests and answers as its memory allows: try again",
  );
}

/** The body is larger than allowed; thrown while it is read. */
export class UploadTooLarge extends Error {
  override name = "UploadTooLarge";
  readonly code = "UPLOAD_TOO_LARGE";
}

/** The body turned out to be invalid while it was passed on; thrown while it is read. */
export class UploadRefused extends Error {
  override name = "UploadRefused";
  readonly code = "UPLOAD_REFUSED";
}

/** The client left before its body was complete; thrown while it is read. */
export class UploadGone extends Error {
  override name = "UploadGone";
}

/** There is no memory for what must be held of the body; thrown while it is read. */
export class NoMemory extends Error {
  override name = "NoMemory";
}

/** Writing to the disk, or reading from it, has failed. */
export class SpoolFailed extends Error {
  override name = "SpoolFailed";
}

/**
 * Bytes that don't fit into memory. They can be read as often as needed, once all are written.
 * Throws `SpoolFailed`.
 */
export interface Spool {
  write(chunk: Buffer): Promise<void>;
  read(): AsyncIterable<Buffer>;
  close(): void;
}
