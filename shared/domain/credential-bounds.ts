/** The bounds of keys and tokens, each with its reason; the others are in `bounds.ts`. */

/** A bearer token that is checked as a JWT. A token of Kubernetes has about 1 KiB. */
export const jwtBytesMax = 8 * 1024;
/** Verified tokens that a proxy remembers instead of verifying them with each request. */
export const verifiedTokensMax = 10_000;
/** How long it remembers one: after that a key that its issuer has withdrawn is refused. */
export const verifiedTokenMs = 60_000;
/** Denied JWTs: every proxy has them in memory, and gets them all when it connects. */
export const deniedJwtsMax = 10_000;
/** Denied JWTs in one page of a list, and in one message to a proxy. */
export const deniedJwtsPerPage = 500;
/** A claim by which JWTs are denied, and their issuer. */
export const deniedClaimBytesMax = 256;
/** The key set of an issuer, which comes from the network. */
export const keySetBytesMax = 1024 * 1024;
/** How long loading a key set may take: requests with its tokens wait for it. */
export const keySetLoadMs = 5_000;
/**
 * Managed keys of a daemon, at about 500 bytes of memory each without labels. The tombstones of
 * deleted ones count.
 */
export const keysMax = 200_000;
/**
 * How far the last use of a key on disk may lag behind: a key in constant use is one small write in
 * this time, and not one per request.
 */
export const keyUseWrittenMs = 5 * 60_000;
/** Keys whose last use is written in one second at most: the others wait for the next. */
export const keyUsesPerFlush = 500;
/** How long the old secret of a rotated key goes on working, unless its operator says otherwise. */
export const rotationOverlapSeconds = 86_400;
/** Old secrets of one key that still work: all are in memory. */
export const oldSecretsMax = 2;
/** A key's name, which is for people: all keys are in memory. */
export const keyNameBytesMax = 128;
/** Labels of one key: each is one more sum that a request's usage is added to. */
export const labelsPerKeyMax = 8;
/** One label: all keys are in memory. */
export const labelBytesMax = 64;
/**
 * A body up to this size is read before its key is looked up, which then takes no round trip of its
 * own. For a longer one, or one of unknown size, the key is checked first, so that unauthenticated
 * clients can't fill the memory.
 */
export const unauthorizedBodyBytesMax = 256 * 1024;
/** How long such a body may be on its way. */
export const strangerBodyMs = 15_000;
/** What all such bodies may take of the memory for requests and answers. */
export const memoryForStrangersShare = 1 / 16;
