/** What can go wrong with a request body that is read in pieces, and its place on disk. */

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
