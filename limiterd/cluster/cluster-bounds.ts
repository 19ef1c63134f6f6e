/** The bounds of what hosts share, each with its reason; docs/bounds.md lists them. */

/**
 * How long the engine keeps a host's slots that are not restated, in ms. A host does each second,
 * so that a pause or a new connection doesn't cost them; those of a dead host are free after it.
 */
export const slotsValidMs = 10_000;

/**
 * How long nothing is granted of a counter that the engine has lost, in ms. Hosts restate what they
 * hold each second, and a new connection may take another one.
 */
export const settleMs = 3000;
