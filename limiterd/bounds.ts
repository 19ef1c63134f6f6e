/**
 * The daemon's bounds, each with its reason. Bounds that the
 * proxy or the wire needs too are in `shared/bounds.ts`.
 */

/* Backups and a full store. */

/** Bytes of a backup in one frame to the command line: they take a millisecond to read. */
export const backupPieceBytes = 1024 * 1024;
/** How long an answer waits for a copy to be made, before it says how far that is. */
export const backupWaitMs = 500;
/** What a copy of the store leaves free on the disk, for what is settled while it is there. */
export const backupSpareBytes = 64 * 1024 * 1024;
/** Batches of records that a full store gives up per second: more than can be written. */
export const batchesPerTrimWhenFull = 200;

/* Back-tests. */

/** Under way at once, of some 10 MB each; the one that was asked for longest ago makes room. */
export const backTestsMax = 2;
/** One that nobody asks for is forgotten. */
export const forgottenAfterMs = 60_000;
/** Of the range; each reads as many records as there are. */
export const backTestDaysMax = 31;
/** Records that one call reads or plays: they take about a tenth of a second. */
export const recordsPerCall = 20_000;
/** Records that are read and played in one go: they take about 3 ms. */
export const recordsPerStep = 500;
/**
 * Requests that are held until their turn, of some 200 bytes each: what ended while this many
 * others did is put in its place.
 */
export const heldMax = 50_000;
/** Paths of which it is known how many were refused; further ones aren't listed. */
export const pathsMax = 10_000;

/* Limits that several hosts share. */

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

/* A host's shares of counters. */

/**
 * How long a request waits for what the engine says of its counters, in ms: longer than a processor
 * that is busy stands still, and far less than a model takes. An engine that is known to be away
 * isn't waited for.
 */
export const parkedMs = 500;
/** Requests that wait for the engine at once: beyond them a host that is slow to hear refuses. */
export const parkedMax = 10_000;
/** A request is judged so often before it is refused for want of units that others have taken. */
export const roundsMax = 4;
/** Counters of which a host holds a share at once: at about 600 bytes each. */
export const sharesMax = 200_000;
/** Questions in one batch: at about 200 bytes each, one write of the client. */
export const questionsPerBatch = 500;
/** Between two looks at the shares that are in use, in ms: as long as an answer is fresh. */
export const lookMs = 100;
/**
 * At each such look all shares are asked about that have news or have used some of their units: a
 * batch of ten costs little more than one question. At the others those are that can't wait.
 */
export const looksPerRound = 5;
/** A counter that says it is full is believed for so long, in ms: others give back. */
export const freshMs = 100;
/**
 * Tokens of other hosts may be so old when a request is judged, in ms: each host tells of them
 * twice as often while it charges any, and ten times when they are much of what is left.
 */
export const tokensFreshMs = 1000;
/**
 * What a counter is expected to use in this time is asked for ahead, in ms: far longer than the
 * engine takes to answer, so that requests don't wait for it.
 */
export const aheadMs = 1000;
/** Units and slots that nothing uses for so long are given back, in ms: others may need them. */
export const idleMs = 200;
/** What is held is told again so often, in ms: the engine keeps slots ten times as long. */
export const renewMs = 1000;
/**
 * Far from a cap nothing needs to be told twice a second. There, what so long a time is expected to
 * use is asked for ahead, in ms: in the middle of it there is time for the next question.
 */
export const farAheadMs = 5000;
/** There a host tells and asks so often at least, in ms, while it uses a counter. */
export const farRenewMs = 4000;
/** And tokens of other hosts may be so old: a little more, for the answer is on its way. */
export const farTokensFreshMs = 5000;
/** How far a cap of tokens must be: so long all hosts could go on as they do, in ms. */
export const farReserveMs = 100_000;
/** Windows that are shorter pass while nobody is told: their caps are always near. */
export const farPeriodMs = 60_000;
/** A counter that nothing has used for so long makes room for another one's share, in ms. */
export const forgottenMs = 5000;
/**
 * The same while requests of this host run, in ms: they are charged when they end, which models may
 * take minutes for.
 */
export const keptMs = 60_000;
/**
 * Between two attempts to ask an engine that is away, in ms: one batch finds out, and requests are
 * decided without it meanwhile.
 */
export const retryMs = 250;
