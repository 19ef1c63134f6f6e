/** The version of this build and of the wire protocol. A test holds the first to package.json. */
export const version = "0.1.0";
/** Proxy and daemon must agree on it; a peer that speaks another one is refused by name. */
export const wireVersion = 9;
