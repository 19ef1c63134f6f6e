/**
 * Every bound in one place, each with its reason; `docs/reference/bounds.md` lists those that
 * callers and operators can meet. Those of keys and tokens are in `domain/credential-bounds.ts`,
 * those of retries and failing targets in `proxy/bounds.ts`. Settings that an
 * operator may change are not here but in `config/settings/settings.ts`.
 */

// The socket between proxy and daemon.

/** A frame towards the daemon. An admission takes about 200 bytes; 64 KiB are a broken peer. */
export const frameBytesMaxToDaemon = 64 * 1024;
/** A frame from the daemon. A page of rules is the largest; the bound only stops broken frames. */
export const frameBytesMaxFromDaemon = 4 * 1024 * 1024;
/** Frames that wait for one peer to read. A peer this slow is stuck, and is closed. */
export const peerBacklogBytesMax = 8 * 1024 * 1024;
/**
 * Lists and sums that one peer waits for: of each peer the daemon makes one at a time. Bodies of
 * 64 KiB would be 64 MiB.
 */
export const readsWaitingMax = 1000;
/** Connections to the daemon: the proxies and command lines of one host. */
export const peersMax = 1024;
/** Leases of one connection: four times as many requests as a proxy serves concurrently. */
export const leasesPerPeerMax = 65_536;
/** Leases in one hello, so that it fits into a frame; more follow in further hellos. */
export const leasesPerHello = 200;
/** What a Unix socket address holds beside its closing zero byte. */
export const socketPathBytesMax = 107;
/** A new connection that sends no hello for this time isn't a peer. */
export const helloDeadlineMs = 5_000;
/** A command line that asks for nothing in this time is closed, and an export that isn't read. */
export const commandIdleMs = 10 * 60_000;
/**
 * How long a daemon that starts after a crash waits for the proxies that it expects: their slots
 * must be held before anything new is admitted.
 */
export const reconnectGraceMs = 500;
/** How long a stopping daemon waits for peers to read its last messages. */
export const lingerMs = 500;
/**
 * Between two attempts of a proxy to connect: well within the grace period above, and a connect on
 * a Unix socket costs microseconds.
 */
export const reconnectMs = 100;
/** Connections of which a hello says what was read: more than break between two commits. */
export const connectionsNamedMax = 32;
/** Settles that a proxy keeps while the daemon is away, at about 340 bytes of memory each. */
export const settleOutboxMax = 200_000;
/** Beyond so many it keeps them as bytes: more than ever wait for a daemon that answers. */
export const settlesKeptAsTheyAre = 2_000;
/**
 * Frames that a proxy sends before the kernel has taken all of them: of its hello, and of the
 * admissions and the calls that have waited for the welcome. Two windows of 64 KiB each and one of
 * settles are fewer bytes than a peer may leave unread.
 */
export const framesPerWindow = 50;
/** Settles that a proxy sends before the kernel has taken all of them: twice `endsPerTurn`. */
export const settlesPerWindow = 200;
/**
 * Settles on their way to be acknowledged: other messages of a proxy wait behind so many at most,
 * some 30 ms of the daemon's time.
 */
export const settlesUnacknowledgedMax = 1000;
/**
 * How long a proxy waits for an acknowledgement before it sends as many more: 40,000 a second reach
 * a daemon whose store is slow or fails. It acknowledges nothing then, but it frees their slots.
 */
export const acknowledgementWaitMs = 25;
/** Settles that stopped proxies have left in a directory: restarts mustn't fill the disk. */
export const spoolBytesMax = 512 * 1024 * 1024;
/** Admissions that wait in one proxy for the daemon: they must not fill its memory. */
export const admissionsWaitingMax = 20_000;

// Names and rules.

/** Matching costs one look-up per segment of a path (`docs/reference/http-api.md`). */
export const userPathBytesMax = 1024;
export const userPathSegmentsMax = 32;
/** A provider's or model's name. It is part of a key of the store, which holds 1,978 bytes. */
export const subjectBytesMax = 512;
/** One hundred years: the bounds of a window must be dates that can be printed. */
export const periodSecondsMax = 3_153_600_000;
/** Targets of one admission: they share one frame. */
export const candidatesMax = 64;
/** Items in one page of a list: 200 rules take the daemon about 2 ms. */
export const itemsPerPage = 200;
/** Refusals that can be explained by their request id. */
export const refusalsMax = 10_000;
/**
 * Names of targets kept with one refusal: a dozen of usual length. With path, model and id a
 * refusal is 3.7 kB at most, all of them 37 MB.
 */
export const refusalBytesMax = 2048;
/** Children of one template, of some 100 bytes each: twice the largest number that is measured. */
export const childrenPerTemplateMax = 2_000_000;
/** Children of templates checked per second, at the least: this takes a millisecond or two. */
export const childrenPerSweep = 20_000;
/** However many children exist, all are checked in this time: new ones can't outrun the check. */
export const secondsToSweepAll = 60;

// The store.

/** Windows in one slice of a snapshot: 10,000 in one turn stall the event loop for 12 ms. */
export const windowsPerSlice = 500;
/** A settle waits so long to share its commit; only the proxy's memory waits for that. */
export const commitDelayMs = 10;
/** An admission waits so long for a settle to share its commit; no caller waits. */
export const countedCommitDelayMs = 50;
/** Journal bytes that force a snapshot when the periodic one is off: a restart reads all. */
export const journalBytesMax = 64 * 1024 * 1024;
/** Settles and halves of windows that wait for a store that fails, each of 850 bytes at most. */
export const journalEntriesMax = 500_000;
/** Changes of administrators, and of the daemon itself, that wait for such a store. */
export const changesWaitingMax = 100_000;
/** Settles in one batch of the journal: no entry of the store takes long to write or to read. */
export const journalBatchMax = 1000;
/** Halves of windows in one batch of the journal; for the same reason. */
export const journalCountedMax = 5000;
/** Starts of the daemon of which it is known what reached the disk and what didn't. */
export const epochsMax = 1000;
/** How long a proxy's last settle number is remembered, to recognize repeats. */
export const settledRetentionMs = 7 * 24 * 3600 * 1000;

// Usage and budgets.

/**
 * A record counts for the day in which its response ended; one that arrives later than this counts
 * as if it had ended so long ago. As long as repeats are recognized.
 */
export const recordLatenessMs = 7 * 24 * 3600 * 1000;
/** Roll-ups in each of two generations in memory, at about 700 bytes each; the store has all. */
export const rollupCellsMax = 50_000;
/**
 * How often roll-ups and budget accounts are written, or before that at one of the next two bounds:
 * with each commit they would dominate it.
 */
export const usageFlushMs = 10_000;
/** Roll-ups that have changed since the last write. */
export const rollupsDirtyMax = 50_000;
/** Records since the last write: a start after a crash adds them again, in half a second. */
export const rollupRecordsMax = 100_000;
/** Models of one path and day with a roll-up of their own: callers choose the names. */
export const modelsPerDayMax = 1000;
/** Models of a provider and day that are recorded by name although no list has them. */
export const unlistedModelsMax = 100;
/** Roll-ups read in one go: 100 take about a third of a millisecond. */
export const rollupsPerSlice = 100;
/** Unwritten roll-ups searched in one go: they take a tenth of a millisecond. */
export const unstoredPerSlice = 1000;
/** Days of one query, as the API promises (`docs/reference/http-api.md`). */
export const usageDaysMax = 365;
/** Roll-ups are kept for so many days at the least, so that a query for 365 finds all of them. */
export const rollupDaysMin = 366;
/** Batches removed per second when usage is trimmed: five times as many as can be written. */
export const batchesPerTrim = 500;
/** Roll-ups checked per second when usage is trimmed: a million take less than ten minutes. */
export const sumsPerTrim = 2000;
/** Groups in a summary, the largest: the answer is one frame. */
export const usageGroupsMax = 1000;
/** Groups that are in memory while a summary is made; the rest is one group. */
export const usageGroupsHeldMax = 10_000;
/** Records in one page of an export, at about 600 bytes each: a page fits into a frame. */
export const exportedRecordsMax = 1000;
/** Records read in one go: they take about 2 ms. */
export const recordsPerTurn = 1000;
/**
 * Input tokens of one response, and likewise its output tokens: ten times the largest context, with
 * room. More is invalid.
 */
export const tokensPerResponseMax = 1_000_000_000;
/**
 * The most output of a request that names no maximum, at a model whose maximum isn't known, where
 * its usage never came: more than any model gives in one answer.
 */
export const outputTokensAssumed = 1_000_000;
/**
 * What one response may cost, in pico-dollars: 9,000 USD, the largest round amount that is a safe
 * integer. More is invalid and isn't charged.
 */
export const costPicoUsdMax = 9_000_000_000_000_000;
/** Targets whose price a proxy remembers: callers choose the names. */
export const pricedTargetsMax = 10_000;

// Connections.

/**
 * Idle connections that stay open near the bound of all: a new one is closed after as many newer
 * ones at the earliest, which leaves a probe the time to send its request.
 */
export const connectionsReserveMax = 256;

// Memory.

/**
 * What a proxy holds of requests and answers, of the memory that it may use, unless
 * `server.max_held_bytes` says otherwise. The rest is for the program, and for what parsing and
 * copying leave to the garbage collector.
 */
export const heldMemoryShare = 1 / 4;
/** As far as that goes: V8's heap, where parsed bodies are, doesn't grow with the machine. */
export const heldBytesMaxByDefault = 2 * 1024 * 1024 * 1024;
/** Of it, what answers may fill and requests may not: those that run must be able to end. */
export const memoryForAnswersShare = 1 / 4;
/** What a piece of a body takes beside its bytes: a Buffer, and what it is made of. */
export const heldPieceBytes = 256;
/**
 * What a body takes that is translated, in multiples of its bytes: it is parsed, and written in
 * another dialect.
 */
export const translatedBodyFactor = 3;

// Requests and answers.

/** Responses that a proxy ends in one turn of its event loop, at some 30 microseconds each. */
export const endsPerTurn = 100;
/** An answer up to this size leaves in one write, after its settle; a larger one is streamed. */
export const heldResponseBytesMax = 1024 * 1024;
/** A translation that must keep an answer ends a larger one in an error. */
export const readableResponseBytesMax = 32 * 1024 * 1024;
/**
 * What is kept of a stream's beginning while another target could still take over: comments, and
 * the results of content filters, which are about 1 KiB on Azure.
 */
export const heldHeadBytesMax = 16 * 1024;
/** How long it is kept: after that a client may need a keep-alive. */
export const heldHeadMs = 10_000;
/** An event of a stream that is kept to be read; a larger one is read as it passes. */
export const streamEventBytesMax = 1024 * 1024;
/**
 * An event of a stream that is translated. Some chat providers send pictures in one event, as
 * base64; a larger event ends the stream in an error.
 */
export const translatedEventCharsMax = 16 * 1024 * 1024;
/** What is kept in memory of an upload that can't be sent on yet; the rest waits on disk. */
export const heldUploadBytesMax = 256 * 1024;
/** Levels of JSON that is translated: writing it recurses, and the stack holds some thousand. */
export const jsonDepthMax = 500;
/** A body from this size on is let go once its answer begins; and the size of its pieces. */
export const largeBodyBytes = 64 * 1024;
/** What a caller may send as X-Request-ID: it is written to the log. */
export const requestIdCharsMax = 128;
/** A body that is looked for in the response cache: its digest takes about 2 ms per MiB. */
export const cacheableBodyBytesMax = 2 * 1024 * 1024;
/**
 * What is read of a passthrough request's body before it is admitted, to find the model that it
 * names: some clients write the model after a conversation of half of this size.
 */
export const peekedBodyBytesMax = 1024 * 1024;

// Realtime sessions.

/** A message that is kept to be read; a larger one is read as it passes. */
export const sessionMessageBytesMax = 1024 * 1024;
/** What a client may send before its WebSocket is open; more waits in its own socket. */
export const earlyBytesMax = 64 * 1024;
/** A session without messages for this time ends: its slot may be wanted, its peer be gone. */
export const sessionIdleMs = 10 * 60_000;
/** How often in a second a session is charged; more responses than this are charged together. */
export const sessionChargesPerSecond = 20;
/** How long the second side of a tunnel has to read what is on its way, once one has ended. */
export const tunnelLingerMs = 1_000;
