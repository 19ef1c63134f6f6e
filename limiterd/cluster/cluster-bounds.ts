/** The bounds of what hosts share, each with its reason; docs/reference/bounds.md lists them. */

/**
 * How long the engine keeps a host's slots that are not restated, in ms. A host does each second,
 * so that a pause or a new connection doesn't cost them; those of a dead host are free after it.
 */
export const slotsValidMs = 10_000;

/**
 * The same for those of a host whose daemon was killed and asks again, in ms: twice as long as it
 * waits for the proxies that hold them to come back, and to take them again.
 */
export const leftSlotsMs = 1000;

/**
 * How long nothing is granted of a counter that the engine has lost, in ms. Hosts restate what they
 * hold each second, and a new connection may take another one.
 */
export const settleMs = 3000;

/** Accounts of budgets of which the others' spend is remembered: some 60 MB. */
export const knownAccountsMax = 200_000;

/** Accounts whose spend is told or read twice a second: some 10 ms of the event loop, in slices. */
export const accountsPerTick = 2000;

/** Sums of usage that have changed and are remembered while the engine is away: some 40 MB. */
export const changedSumsMax = 200_000;

/** Keys of sums that are looked at per second while a host publishes all of them anew. */
export const publishedPerTick = 20_000;

/** Managed keys of whose last use the engine is told in a second: the others wait for the next. */
export const keyUsesPerTick = 1000;

/** How long a report waits for the other hosts' usage, in ms: a proxy waits five seconds for it. */
export const otherUsageMs = 3000;
