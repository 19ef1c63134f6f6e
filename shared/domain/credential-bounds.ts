/** The bounds of keys and tokens, each with its reason; the others are in `bounds.ts`. */

/** Bytes of a bearer token that is checked as a JWT. A Kubernetes token has about 1 KiB. */
export const jwtBytesMax = 8 * 1024;
/** Verified tokens that a proxy caches instead of verifying them with each request. */
export const verifiedTokensMax = 10_000;
/** How long a verified token is cached; after that, a key withdrawn by its issuer takes effect. */
export const verifiedTokenMs = 60_000;
/** Denied JWTs: every proxy keeps all in memory and receives all when it connects. */
export const deniedJwtsMax = 10_000;
/** Denied JWTs in one page of a list, and in one message to a proxy. */
export const deniedJwtsPerPage = 500;
/** Bytes of a claim that denies JWTs, and of its issuer. */
export const deniedClaimBytesMax = 256;
/** Bytes of an issuer's key set, which comes from the network. */
export const keySetBytesMax = 1024 * 1024;
/** How long a key set may take to load: requests with its tokens wait for it. */
export const keySetLoadMs = 5_000;
/**
 * Managed keys of a daemon, including tombstones of deleted ones, at about 500 bytes of memory each
 * without labels.
 */
export const keysMax = 200_000;
/**
 * How far the last use of a key on disk may lag behind: a key in constant use costs one small write
 * per this interval, not one per request.
 */
export const keyUseWrittenMs = 5 * 60_000;
/** Keys whose last use is written per second, at most; the others wait for the next second. */
export const keyUsesPerFlush = 500;
/** How long the old secret of a rotated key keeps working by default. */
export const rotationOverlapSeconds = 86_400;
/** Old secrets of one key that still work; all are in memory. */
export const oldSecretsMax = 2;
/** Bytes of a key's name, which is for people; all keys are in memory. */
export const keyNameBytesMax = 128;
/** Labels of one key: a request's usage is added to one sum per label. */
export const labelsPerKeyMax = 8;
/** Bytes of one label; all keys are in memory. */
export const labelBytesMax = 64;
/**
 * A body up to this size is read before its key is checked, which then takes no extra round trip.
 * For a larger body, or one of unknown size, the key is checked first, so that unauthenticated
 * clients can't fill the memory.
 */
export const unauthorizedBodyBytesMax = 256 * 1024;
/** How long such a body may take to arrive. */
export const strangerBodyMs = 15_000;
/** The share that all such bodies may take of the memory for requests and answers. */
export const memoryForStrangersShare = 1 / 16;
