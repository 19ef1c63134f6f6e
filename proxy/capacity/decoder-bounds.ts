/** What decoders of compressed bodies may hold (docs/bounds.md, "Memory"). */

/** The window of gzip and deflate, and zlib's state. */
export const deflateWindowBytes = 64 * 1024;
/** The largest window that the format allows. */
export const brotliWindowBytes = 16 * 1024 * 1024;
/** 8 MiB: what RFC 8878 asks every decoder to take. A frame may ask for terabytes. */
export const zstdWindowLogMax = 23;
