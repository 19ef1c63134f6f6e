/**
 * Every bound in one place, each with its reason. What happens at a bound is said where it is met:
 * a refusal, a closed peer, or a drop with a counter. Settings that an operator may change are not
 * here but in `config/settings.ts`.
 */

/**
 * A frame towards the daemon, without its length word. An admission takes about 200 bytes; whoever
 * sends more is broken or hostile.
 */
export const frameBytesMaxToDaemon = 64 * 1024;
/**
 * A frame from the daemon: a page of rules is the largest. The daemon is trusted, the cap only
 * stops nonsense.
 */
export const frameBytesMaxFromDaemon = 4 * 1024 * 1024;
/**
 * Frames waiting to leave for one peer of the daemon. A peer that reads slower than this is closed.
 */
export const peerBacklogBytesMax = 8 * 1024 * 1024;
/** Connections to the daemon: proxies and command lines of one host. */
export const peersMax = 1024;
/** Leases that one connection may hold: four times what a proxy serves at once. */
export const leasesPerPeerMax = 65_536;
/** Leases told in one `hello` frame; more follow in further ones. */
export const leasesPerHello = 200;
/** What fits into a Unix socket address with its closing zero byte. */
export const socketPathBytesMax = 107;
/** How long a fresh connection to the daemon may stay silent before its `hello`. */
export const helloDeadlineMs = 5_000;
/**
 * How long a daemon that starts after a crash waits for the proxies it knew, so that their slots
 * are held before anything new is admitted.
 */
export const reconnectGraceMs = 500;
/**
 * How long a stopping daemon lets its peers read what it said last; one that reads slower may have
 * a request counted twice.
 */
export const lingerMs = 500;
/**
 * Between two attempts of a proxy to reach the daemon. A Unix connect costs microseconds, and the
 * reunion above must not be missed.
 */
export const reconnectMs = 100;

/** CONTRACT section 3. */
export const userPathBytesMax = 1024;
export const userPathSegmentsMax = 32;
/** Provider and model subjects; an LMDB key holds 1,978 bytes. */
export const subjectBytesMax = 512;
/** One hundred years: the window's bounds must stay printable dates. */
export const periodSecondsMax = 3_153_600_000;

/** Candidates of one admission. */
export const candidatesMax = 64;
/** Rules in one page of a list: 200 take the daemon about 2 ms. */
export const rulesPerPage = 200;
/**
 * Settles that a proxy keeps while the daemon is away; at about 500 bytes each. The oldest is
 * dropped with a counter and a log line.
 */
export const settleOutboxMax = 200_000;
/** Admissions that wait in a proxy for the daemon. */
export const admissionsWaitingMax = 20_000;

/** Refusals that the daemon can explain by their request id; the oldest goes. */
export const refusalsMax = 10_000;
/**
 * Names of targets kept of one refusal, in bytes: a dozen of usual length. With path, model and id
 * a refusal is 3.7 kB at most, all of them 37 MB.
 */
export const refusalBytesMax = 2048;

/** Windows written per slice of a snapshot: 10,000 at once stall the loop by 12 ms. */
export const windowsPerSlice = 500;
/** Children of templates looked at per second, at the least: a millisecond or two. */
export const childrenPerSweep = 20_000;
/**
 * However many children there are, all are looked at within this time, so that those that come
 * can't outrun those that go.
 */
export const secondsToSweepAll = 60;
/**
 * A settle waits this long for others to share its commit. Nobody waits for the acknowledgement but
 * the proxy's memory.
 */
export const commitDelayMs = 10;
/**
 * Journal bytes that force a snapshot when the periodic one is off
 * (`RATE_LIMITS_FLUSH_INTERVAL=0`).
 */
export const journalBytesMax = 64 * 1024 * 1024;
/**
 * Settles that wait for a store which can't be written, at about 200 bytes each; those beyond are
 * charged in memory alone, with a counter.
 */
export const journalEntriesMax = 500_000;
/**
 * Settles in one batch of the journal; a fuller one is closed while the store is slow, so that no
 * entry of the store takes long to write or to read.
 */
export const journalBatchMax = 1000;
/**
 * A record counts for the day in which its response ended; one that comes later than this counts as
 * of then. As long as the next bound, beyond which a repeat isn't known any more.
 */
export const recordLatenessMs = 7 * 24 * 3600 * 1000;
/**
 * Sums of usage that make a generation in memory, at about 700 bytes each. When there are as many,
 * those that nobody needed since the last time are dropped, and read again when they are needed.
 */
export const rollupCellsMax = 50_000;
/**
 * The sums of usage and the accounts of budgets are written as often, or before that when one of
 * the next two bounds is reached.
 */
export const usageFlushMs = 10_000;
/** Sums that have changed and aren't written. */
export const rollupsDirtyMax = 50_000;
/**
 * Records since the sums were last written: a start after a crash adds them again, in about half a
 * second.
 */
export const rollupRecordsMax = 100_000;
/**
 * Models of one path and day with a sum of their own; callers choose the names, so the rest is one
 * sum.
 */
export const modelsPerDayMax = 1000;
/** Sums of usage read in one go: 100 take about a third of a millisecond. */
export const rollupsPerSlice = 100;
/**
 * Sums that aren't written yet, looked through in one go for those that belong to a question: a
 * tenth of a millisecond.
 */
export const unstoredPerSlice = 1000;
/** CONTRACT section 7: the days of one question. */
export const usageDaysMax = 365;
/**
 * Sums are kept as long as records, but at least so many days that a question for 365 finds all of
 * them.
 */
export const rollupDaysMin = 366;
/**
 * Removed or looked at per second when usage is trimmed: five times the batches that can be written
 * in one, and a million sums in under ten minutes.
 */
export const batchesPerTrim = 500;
export const sumsPerTrim = 2000;
/**
 * Groups in a summary of usage, the largest; and how many are told apart before the rest is one.
 */
export const usageGroupsMax = 1000;
export const usageGroupsHeldMax = 10_000;
/**
 * Records in one page of an export, at about 600 bytes each; and how many are read in one go, which
 * takes about 2 ms.
 */
export const exportedRecordsMax = 1000;
export const recordsPerTurn = 1000;
/** How long a proxy's last settle number is remembered after it was last heard of. */
export const settledRetentionMs = 7 * 24 * 3600 * 1000;

/**
 * Responses that a proxy ends in one turn of its event loop: the end of a stream closes sockets, at
 * some 30 microseconds each.
 */
export const endsPerTurn = 100;
/**
 * Tokens that one response may claim. Ten times the largest context there is, with room; more is
 * nonsense and isn't charged.
 */
export const tokensPerResponseMax = 1_000_000_000;
/**
 * A plain answer up to this size is held until it is whole, then sent in one write after its
 * settle.
 */
export const heldResponseBytesMax = 1024 * 1024;
/**
 * A plain answer is kept up to this size to read its usage; a larger one is charged by an estimate,
 * with a note in its log line. A translation that must keep an answer keeps no more, and ends it in
 * an error.
 */
export const readableResponseBytesMax = 32 * 1024 * 1024;
/**
 * What is kept of a stream's beginning as long as another target could take over, and for how long,
 * if no answer begins: comments, and what filters saw, which takes Azure about 1 KiB. Beyond that a
 * client may need to hear that somebody is at work.
 */
export const heldHeadBytesMax = 16 * 1024;
export const heldHeadMs = 10_000;
/**
 * One event of a stream that is kept until it is whole, to be read; a larger one is read without
 * its long strings, or from its end.
 */
export const streamEventBytesMax = 1024 * 1024;
/**
 * One event of a stream that is translated. Pictures stand whole in the events of some chat
 * providers, as base64; a larger one ends the stream in an error.
 */
export const translatedEventCharsMax = 16 * 1024 * 1024;
/** What is kept in memory of an upload that can't be sent on yet; the rest waits on disk. */
export const heldUploadBytesMax = 256 * 1024;
/**
 * Levels of objects and arrays in a body that is translated, and so written as JSON again: that
 * goes by the stack, which has room for several thousand.
 */
export const jsonDepthMax = 500;
/** What a caller may send as X-Request-ID. */
export const requestIdCharsMax = 128;
/**
 * What one response may cost, in pico-dollars: 9,000 USD, the largest round amount that is a safe
 * integer. More is nonsense and isn't charged.
 */
export const costPicoUsdMax = 9_000_000_000_000_000;
/**
 * Targets whose price a proxy remembers; callers choose the names, so the memory must end
 * somewhere.
 */
export const pricedTargetsMax = 10_000;
/** A bearer token that is looked at as a JWT. A Kubernetes token has about 1 KiB. */
export const jwtBytesMax = 8 * 1024;
/**
 * Verified tokens that a proxy remembers, and for how long at most: a key that is withdrawn is
 * refused after that.
 */
export const verifiedTokensMax = 10_000;
export const verifiedTokenMs = 60_000;
/** A key set of an issuer. */
export const keySetBytesMax = 1024 * 1024;
/** How long loading a key set may take; requests that need it wait as long. */
export const keySetLoadMs = 5_000;
/**
 * Managed keys that a daemon keeps in memory, at about 500 bytes each without labels. Beyond it
 * none is issued: keys are deactivated, not deleted.
 */
export const keysMax = 200_000;
/** Keys in one page of a list: at their longest they fill a third of a frame. */
export const keysPerPage = 500;
export const keyNameBytesMax = 128;
/** Each label is one more sum that a request's usage is added to. */
export const labelsPerKeyMax = 8;
export const labelBytesMax = 64;
/**
 * A body up to this size is read before its key is looked up together with the limits; for a longer
 * one, or one of unknown size, the key is asked about first, so that a stranger's upload isn't
 * kept.
 */
export const unauthorizedBodyBytesMax = 256 * 1024;
/**
 * A request body up to this size is looked for in the response cache; its digest takes about 2 ms
 * per MiB.
 */
export const cacheableBodyBytesMax = 2 * 1024 * 1024;
/**
 * What is read of a passthrough request's body before it is admitted, to find the model that it
 * names. Half of that may be a conversation: some clients name the model behind it.
 */
export const peekedBodyBytesMax = 1024 * 1024;
/**
 * A message of a realtime session that is kept until it is whole, to be read; a larger one is read
 * without its long strings.
 */
export const sessionMessageBytesMax = 1024 * 1024;
/** What a client may send before its WebSocket is open; more waits in its own socket. */
export const earlyBytesMax = 64 * 1024;
/**
 * A realtime session in which nobody says anything for this long is ended: its slot may be wanted,
 * and its peer may be gone without a word.
 */
export const sessionIdleMs = 10 * 60_000;
/** How long the other side of a tunnel has to end it too, once one has. */
export const tunnelLingerMs = 1_000;
