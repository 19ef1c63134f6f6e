/** What compressed bodies may decode to, and decoders hold (docs/reference/bounds.md, "Memory"). */

/** JSON with much white space shrinks to a twentieth; what shrinks further is a bomb. */
export const decodedRatioMax = 100;
/** Of which the ratio doesn't matter: the largest that is read in a few milliseconds. */
export const decodedFreelyBytes = 1024 * 1024;

/** The window of gzip and deflate, and zlib's state. */
export const deflateWindowBytes = 64 * 1024;
/** The largest window that the format allows. */
export const brotliWindowBytes = 16 * 1024 * 1024;
/** 8 MiB: what RFC 8878 asks every decoder to take. A frame may ask for terabytes. */
export const zstdWindowLogMax = 23;
