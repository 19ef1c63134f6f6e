/** A request body that is read while it comes, and the place on disk where it waits when it must. */

/** The body is larger than is taken; thrown while it is read. */
export class UploadTooLarge extends Error {
  override name = "UploadTooLarge";
  readonly code = "UPLOAD_TOO_LARGE";
}

/** The client left before its body was whole; thrown while it is read. */
export class UploadGone extends Error {
  override name = "UploadGone";
}

/** Bytes that don't fit into memory. What was written can be read as often as needed, once writing is over. */
export interface Spool {
  write(chunk: Buffer): Promise<void>;
  read(): AsyncIterable<Buffer>;
  close(): void;
}
