/** The version of this build and of the wire protocol. A test holds the first to package.json. */
export const version = "0.1.0";
/** What a peer of this release offers first; `wire/wire-versions.ts` has all that it speaks. */
export const wireVersion = 1;
