/**
 * The daemon's bounds, each with its reason. Not here: bounds that the proxy or the wire also needs
 * (`shared/bounds.ts`).
 */

/* Backups and a full store. */

/** Bytes of a backup in one frame to the command line: they take a millisecond to read. */
export const backupPieceBytes = 1024 * 1024;
/** How long an answer waits for a copy before it returns the progress, in ms. */
export const backupWaitMs = 500;
/** Bytes that a copy of the store leaves free on the disk, for settles while the copy exists. */
export const backupSpareBytes = 64 * 1024 * 1024;
/** Batches of records that are removed from a full store per second: more than can be written. */
export const batchesPerTrimWhenFull = 200;

/* Back-tests. */

/** Concurrent back-tests, of about 10 MB each; a new one replaces the least recently used. */
export const backTestsMax = 2;
/** A back-test that is not polled for this long is dropped, in ms. */
export const forgottenAfterMs = 60_000;
/** Days of a back-test's range; a back-test reads all records of its range. */
export const backTestDaysMax = 31;
/** Records that one call reads or replays: they take about a tenth of a second. */
export const recordsPerCall = 20_000;
/** Records that are read and replayed in one slice: they take about 3 ms. */
export const recordsPerStep = 500;
/**
 * Requests that are buffered to be replayed in order, of about 200 bytes each: a request is still
 * sorted in if at most this many others ended while it ran.
 */
export const heldMax = 50_000;
/** Paths whose refusals are counted; further ones aren't listed. */
export const pathsMax = 10_000;

/* Limits that several hosts share. */

/**
 * How long the engine keeps a host's slots without a report, in ms. Hosts report each second, so a
 * pause or a reconnect doesn't lose them; slots of a dead host are free after this time.
 */
export const slotsValidMs = 10_000;

/**
 * As `slotsValidMs`, for a host whose daemon was killed and asks again, in ms: twice the reconnect
 * grace period, in which its proxies take their slots again.
 */
export const leftSlotsMs = 1000;

/**
 * How long a host's claim to a hard budget counts after its period, in ms. Hosts report twice a
 * second what their requests still hold, so a pause or a reconnect doesn't lose it.
 */
export const claimKeptMs = 10_000;

/**
 * How long the engine grants nothing of a counter whose data it has lost, in ms: until all hosts
 * have reported again. They report each second, and a reconnect may take another second.
 */
export const settleMs = 3000;
/** The longest pause between two attempts to reach the engine, in ms; see `settleMs`. */
export const engineRetryMsMax = 1000;

/** Accounts whose spend on other hosts is kept in memory: about 60 MB. */
export const knownAccountsMax = 200_000;

/** Accounts that are reported or read twice a second: about 10 ms of the event loop, in slices. */
export const accountsPerTick = 2000;

/** Changed sums of usage that are kept while the engine is away: about 40 MB. */
export const changedSumsMax = 200_000;

/** Keys of sums that are examined per second while a host publishes all of them again. */
export const publishedPerTick = 20_000;

/** Managed keys whose last use is reported per second; others are reported in the next one. */
export const keyUsesPerTick = 1000;

/**
 * How long a report waits for the usage of other hosts, in ms: a proxy waits five seconds for it.
 */
export const otherUsageMs = 3000;

/* A host's shares of counters. */

/**
 * How long a request waits for the engine's answer about its counters, in ms: longer than stalls of
 * a busy processor, and far shorter than a model's answer. Requests don't wait for an engine that
 * is known to be away.
 */
export const parkedMs = 500;
/** Requests that wait for the engine concurrently: beyond them this host refuses requests. */
export const parkedMax = 10_000;
/** How often a request is judged before it is refused because other hosts took the units. */
export const roundsMax = 4;
/** Counters of which a host has a share: at about 600 bytes each. */
export const sharesMax = 200_000;
/** Questions in one batch: at about 200 bytes each, one write of the client. */
export const questionsPerBatch = 500;
/** Interval at which shares in use are checked, in ms: as long as an answer is fresh. */
export const lookMs = 100;
/**
 * At one in this many checks, the host asks about all shares with changes or used units: a batch of
 * ten costs little more than one question. Other checks ask only about urgent shares.
 */
export const looksPerRound = 5;
/**
 * How long an answer is fresh, in ms, also one that a counter is full, because other hosts give
 * units back.
 */
export const freshMs = 100;
/**
 * How old the tokens of other hosts may be when a request is judged, in ms: each host reports twice
 * as often while it charges tokens, and ten times as often if they are a large part of what is
 * left.
 */
export const tokensFreshMs = 1000;
/**
 * The time for whose expected use a host asks in advance, in ms: far longer than the engine takes
 * to answer, so that requests don't wait for it.
 */
export const aheadMs = 1000;
/**
 * Units and slots that are unused for this long are given back, in ms: other hosts may need them.
 */
export const idleMs = 200;
/** Interval of reports while units are held, in ms: the engine keeps slots ten times as long. */
export const renewMs = 1000;
/**
 * As `aheadMs`, far from a cap, where reports are less frequent, in ms: the next question is sent
 * in the middle of this time.
 */
export const farAheadMs = 5000;
/** Longest interval of reports far from a cap while a host uses a counter, in ms. */
export const farRenewMs = 4000;
/**
 * How old the tokens of other hosts may be far from a cap, in ms: a little more than `farRenewMs`,
 * because the answer takes time.
 */
export const farTokensFreshMs = 5000;
/** A cap of tokens is far if all hosts could continue for this long, in ms. */
export const farReserveMs = 100_000;
/**
 * Periods shorter than this, in ms, may pass between two reports, so their caps are always near.
 */
export const farPeriodMs = 60_000;
/** A share that is unused for this long is dropped, in ms. */
export const forgottenMs = 5000;
/**
 * As `forgottenMs`, while requests of this host are in flight, in ms: they are charged when they
 * end, which may take minutes.
 */
export const keptMs = 60_000;
/**
 * Interval of attempts to reach an engine that is away, in ms. Each sends one batch; meanwhile
 * requests are decided without the engine.
 */
export const retryMs = 250;

/* Requests that wait, and caps that children share. */

/** Children that a shared cap remembers; others have the default weight and no floor. */
export const sharersMax = 1000;
/**
 * Shared caps of a template's children that are remembered; the rest are first come, first served.
 */
export const sharedCapsMax = 10_000;

/** Draws that wait for what other requests hold: a loop over them takes much less than a tick. */
export const drawsWaitingMax = 1000;

/** Requests that wait for room, in all and of one class: they take memory in both processes. */
export const waitersMax = 10_000;
export const waitersPerClassMax = 1000;
/** Waiting requests that are judged in one turn of the event loop: about 0.2 ms. */
export const judgementsPerTurn = 64;
/** A judgement looks at all classes of its queue: so many more count as one more judgement. */
export const classesPerJudgement = 100;
/** Up to so many classes of a queue, a position is counted by their shares, else in turns. */
export const orderedClassesMax = 32;
/** Interval at which waiting requests are judged, in ms: how late one is admitted or refused. */
export const waitTickMs = 50;
/** Waiting requests whose positions are sent to their proxies in one tick: at most some 2 ms. */
export const positionsPerTick = 100;
/** After this time a queue's first request is judged although nothing has woken it, in ms. */
export const judgeAgainMs = 1000;
/** As `judgeAgainMs`, for a counter that other hosts share, in ms: they wake no queue here. */
export const judgeAgainSharedMs = 200;

/* Providers' own limits. */

/** Targets whose reports are kept, at some 2 KB each; beyond, an idle one is forgotten. */
export const upstreamTargetsMax = 2048;
/** The longest time for which a target gets no request, whatever its provider reports, in ms. */
export const saturatedMsMax = 3_600_000;
/** For how long the first request after a reset holds the others back at most, in ms. */
export const probeMsMax = 10_000;
