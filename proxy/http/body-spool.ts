/** Errors while a request body is read, and its spool on disk. */
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import { decodedFreelyBytes, decodedRatioMax } from "../bounds.js";
import type { BodyResult } from "./exchange.js";

/** Why a body couldn't be read; null if the client disconnected. */
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

/** For an unsupported or repeated coding. */
function unknownCoding(): Failure {
  return plainFailure(
    415,
    "invalid_request_error",
    "the content-encoding of the body is not supported: send it uncompressed, or as gzip, deflate or br (zstd where Sluice runs on Node 22.15 or newer)",
  );
}

export function noMemory(): Failure {
  return failure("overloaded", "Sluice has no memory left for requests and answers: try again");
}

/** The body is larger than allowed; thrown while it is read. */
export class UploadTooLarge extends Error {
  override name = "UploadTooLarge";
  readonly code = "UPLOAD_TOO_LARGE";
}

/** The body turned out invalid while it was streamed; thrown while it is read. */
export class UploadRefused extends Error {
  override name = "UploadRefused";
  readonly code = "UPLOAD_REFUSED";
}

/** The client left before its body was complete; thrown while it is read. */
export class UploadGone extends Error {
  override name = "UploadGone";
}

/** No memory for the buffered part of the body; thrown while it is read. */
export class NoMemory extends Error {
  override name = "NoMemory";
}

/** Writing to the disk, or reading from it, has failed. */
export class SpoolFailed extends Error {
  override name = "SpoolFailed";
}

/**
 * Bytes of a body on disk. They can be read repeatedly once all are written. Throws `SpoolFailed`.
 */
export interface Spool {
  write(chunk: Buffer): Promise<void>;
  read(): AsyncIterable<Buffer>;
  close(): void;
}
