/**
 * A request body that is read while it comes, and the place on disk where it waits when it must.
 */

/** The body is larger than is taken; thrown while it is read. */
export class UploadTooLarge extends Error {
  override name = "UploadTooLarge";
  readonly code = "UPLOAD_TOO_LARGE";
}

/** The body holds what isn't taken, as it turned out on its way; thrown while it is read. */
export class UploadRefused extends Error {
  override name = "UploadRefused";
  readonly code = "UPLOAD_REFUSED";
}

/** The client left before its body was whole; thrown while it is read. */
export class UploadGone extends Error {
  override name = "UploadGone";
}

/** The disk doesn't take what has to wait, or doesn't give it back. */
export class SpoolFailed extends Error {
  override name = "SpoolFailed";
}

/**
 * Bytes that don't fit into memory. What was written can be read as often as needed, once writing
 * is over. Throws `SpoolFailed`.
 */
export interface Spool {
  write(chunk: Buffer): Promise<void>;
  read(): AsyncIterable<Buffer>;
  close(): void;
}
