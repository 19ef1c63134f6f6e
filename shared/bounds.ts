/**
 * Every bound in one place, each with its reason. `docs/reference/bounds.md` lists the bounds that
 * callers and operators can meet. Bounds that only one program needs are in `limiterd/bounds.ts`
 * and `proxy/bounds.ts`. Not here: settings, which an operator may change
 * (`config/settings/settings.ts`).
 */

// The socket between proxy and daemon.

/**
 * Bytes of a frame sent to the daemon. An admission takes about 200 bytes; a frame of 64 KiB means
 * a broken peer.
 */
export const frameBytesMaxToDaemon = 64 * 1024;
/**
 * Bytes of a frame sent by the daemon. The largest is a page of rules; the bound only stops broken
 * frames.
 */
export const frameBytesMaxFromDaemon = 4 * 1024 * 1024;
/** Bytes of frames queued for one peer. A peer this slow is stuck, and the daemon closes it. */
export const peerBacklogBytesMax = 8 * 1024 * 1024;
/**
 * Lists and sums queued for one peer: the daemon makes one at a time per peer. A thousand bodies of
 * 64 KiB take 64 MiB.
 */
export const readsWaitingMax = 1000;
/** Connections to the daemon: the proxies and command lines of one host. */
export const peersMax = 1024;
/** Leases of one connection: four times the requests that a proxy serves concurrently. */
export const leasesPerPeerMax = 65_536;
/** Leases in one hello, so that it fits into a frame; more follow in further hellos. */
export const leasesPerHello = 200;
/** Bytes of a Unix socket address without the terminating zero byte. */
export const socketPathBytesMax = 107;
/** A connection is closed if it sends no hello within this time: it isn't a peer. */
export const helloDeadlineMs = 5_000;
/**
 * How long a command-line connection may be idle, or not read its export, before the daemon closes
 * it.
 */
export const commandIdleMs = 10 * 60_000;
/**
 * How long a daemon that starts after a crash waits for the proxies that it expects: it must
 * restore their slots before it admits new requests.
 */
export const reconnectGraceMs = 500;
/** How long a stopping daemon waits for peers to read its last messages. */
export const lingerMs = 500;
/**
 * The interval at which a proxy tries to connect. It is well below the grace period above, and
 * connecting to a Unix socket costs microseconds.
 */
export const reconnectMs = 100;
/** Connections whose read verdicts a hello reports: more than break between two commits. */
export const connectionsNamedMax = 32;
/** Settles that a proxy keeps while the daemon is away; each takes about 340 bytes of memory. */
export const settleOutboxMax = 200_000;
/**
 * Settles that a proxy keeps as objects; it keeps later ones as bytes. While the daemon answers,
 * the number never gets this high.
 */
export const settlesKeptAsTheyAre = 2_000;
/**
 * Frames that a proxy sends before the kernel has accepted all of them: its hello, and the
 * admissions and calls that waited for the welcome. Two windows of 64 KiB frames and one of settles
 * are smaller than the backlog that the daemon allows a peer.
 */
export const framesPerWindow = 50;
/** Settles that a proxy sends before the kernel has accepted all of them: twice `endsPerTurn`. */
export const settlesPerWindow = 200;
/**
 * Settles that a proxy has sent without an acknowledgement. This is also the maximum that its other
 * messages wait behind, about 30 ms of the daemon's time.
 */
export const settlesUnacknowledgedMax = 1000;
/**
 * How long a proxy waits for an acknowledgement before it sends another `settlesUnacknowledgedMax`
 * settles. A daemon whose store is slow or fails acknowledges nothing but frees the slots; this
 * pace still sends it 40,000 settles a second.
 */
export const acknowledgementWaitMs = 25;
/** Bytes of settles that stopped proxies leave in the spool: restarts must not fill the disk. */
export const spoolBytesMax = 512 * 1024 * 1024;
/** Admissions queued in one proxy for the daemon: they must not fill its memory. */
export const admissionsWaitingMax = 20_000;

/**
 * The longest that a draw under a hard cap may wait for tokens that other requests hold. The proxy
 * adds it to the daemon's deadline.
 */
export const drawWaitMsMax = 250;

// Names and rules.

/** Matching costs one look-up per segment of a path (`docs/reference/http-api.md`). */
export const userPathBytesMax = 1024;
export const userPathSegmentsMax = 32;
/**
 * Bytes of a provider's or model's name. It is part of a key of the store, which holds 1,978 bytes.
 */
export const subjectBytesMax = 512;
/** One hundred years: the bounds of a window must be printable dates. */
export const periodSecondsMax = 3_153_600_000;
/** 31 days: a longer raise is a change of the rule or budget. */
export const raiseSecondsMax = 2_678_400;
/** Raises of one rule or budget, most of them of children: each verdict on it looks at all. */
export const raisesPerLimitMax = 100;
/** Bytes of the reason of a raise, and of who raised it; all raises are in memory. */
export const raiseReasonBytesMax = 256;
/** How often a request may go to another model because a rule or budget is exhausted. */
export const usesMax = 4;
/** Shadow rules that the log line of a request names. */
export const shadowNamesMax = 16;
/** Targets of one admission: they share one frame. */
export const candidatesMax = 64;
/** Items in one page of a list: 200 rules take the daemon about 2 ms. */
export const itemsPerPage = 200;
/** Refusals kept to be explained by request id. */
export const refusalsMax = 10_000;
/**
 * Bytes of target names kept with one refusal: about a dozen names of usual length. With its path,
 * model and id a refusal takes at most 3.7 kB, all refusals 37 MB.
 */
export const refusalBytesMax = 2048;
/** Children of one template, at about 100 bytes each: twice the largest number measured. */
export const childrenPerTemplateMax = 2_000_000;
/**
 * Children of a rule, and of a budget, with metrics: a child that is at its cap matters, not all
 * children.
 */
export const childSeriesMax = 50;
/** Children of templates checked per second, at least: this takes 1 to 2 ms. */
export const childrenPerSweep = 20_000;
/** Seconds to check all children, however many exist: the check keeps up with new ones. */
export const secondsToSweepAll = 60;

// The store.

/** Windows in one slice of a snapshot: 10,000 in one turn block the event loop for 12 ms. */
export const windowsPerSlice = 500;
/**
 * Roll-ups or accounts in one slice when very many have changed: a million new tenants change more
 * than slices of `windowsPerSlice` could write.
 */
export const sumsPerSliceMax = 4000;
/** How long settles and admissions wait to share a commit. Callers don't wait for it. */
export const commitDelayMs = 50;
/**
 * Journal bytes that force a snapshot when periodic snapshots are off: a restart reads the whole
 * journal.
 */
export const journalBytesMax = 64 * 1024 * 1024;
/** Settles and halves of windows queued while the store fails, each at most 850 bytes. */
export const journalEntriesMax = 500_000;
/** Changes by administrators and by the daemon queued while the store fails. */
export const changesWaitingMax = 100_000;
/**
 * Settles in one batch of the journal: half of what a proxy sends unacknowledged, so that it never
 * waits for `commitDelayMs`.
 */
export const journalBatchMax = settlesUnacknowledgedMax / 2;
/** Halves of windows in one batch of the journal, for the same reason. */
export const journalCountedMax = 5000;
/** Starts of the daemon for which the store records what reached the disk. */
export const epochsMax = 1000;
/** How long a proxy's last settle number is remembered, to recognize repeats. */
export const settledRetentionMs = 7 * 24 * 3600 * 1000;

// Usage and budgets.

/**
 * A usage record counts for the day in which its response ended. A record that arrives later than
 * this counts as if it had ended this long ago. Repeats are recognized for the same time.
 */
export const recordLatenessMs = 7 * 24 * 3600 * 1000;
/**
 * Roll-ups in each of two generations in memory, at about 700 bytes each; the store has all of
 * them.
 */
export const rollupCellsMax = 50_000;
/** Roll-ups in memory above which each leaves it as soon as it is written: about 140 MB. */
export const rollupCellsCrowded = 4 * rollupCellsMax;
/**
 * How often roll-ups and budget accounts are written, unless one of the next two bounds is reached
 * earlier. Writing them with each commit would dominate its cost.
 */
export const usageFlushMs = 10_000;
/** Changed roll-ups that force a write. */
export const rollupsDirtyMax = 50_000;
/**
 * Records since the last write that force one: a start after a crash adds them again, in half a
 * second.
 */
export const rollupRecordsMax = 100_000;
/** Models of one path and day with a roll-up of their own: callers choose these names. */
export const modelsPerDayMax = 1000;
/** Models of a provider and day recorded by name although no list contains them. */
export const unlistedModelsMax = 100;
/** Roll-ups read in one go: 100 take about a third of a millisecond. */
export const rollupsPerSlice = 100;
/** Unwritten roll-ups searched in one go: this takes 0.1 ms. */
export const unstoredPerSlice = 1000;
/** Days of one query, as the API promises (`docs/reference/http-api.md`). */
export const usageDaysMax = 365;
/** Days for which roll-ups are kept, at least: a query for 365 days finds all of them. */
export const rollupDaysMin = 366;
/**
 * Batches removed per second when usage is trimmed: five times the rate at which they can be
 * written.
 */
export const batchesPerTrim = 500;
/** Roll-ups checked per second when usage is trimmed: a million take less than ten minutes. */
export const sumsPerTrim = 2000;
/** Groups in a summary, the largest first: the answer must fit into one frame. */
export const usageGroupsMax = 1000;
/**
 * Groups that a chart over time shows separately; all others are one: more couldn't be told apart.
 */
export const seriesGroupsMax = 7;
/** Days whose hours a summary shows: it reads all their records. */
export const hourlyDaysMax = 7;
/** Groups in memory while a summary is computed; the rest is combined into one group. */
export const usageGroupsHeldMax = 10_000;
/** Records in one page of an export, at about 600 bytes each: a page fits into a frame. */
export const exportedRecordsMax = 1000;
/** Records read in one go: this takes about 2 ms. */
export const recordsPerTurn = 1000;
/**
 * Input tokens of one response, and likewise its output tokens: more than ten times the largest
 * context. A larger number is invalid.
 */
export const tokensPerResponseMax = 1_000_000_000;
/**
 * Output tokens assumed when the usage never arrived, the request sets no maximum and the model's
 * maximum is unknown: more than any model produces in one answer.
 */
export const outputTokensAssumed = 1_000_000;
/**
 * The maximum cost of one response, in pico-dollars: 9,000 USD, the largest round amount that is a
 * safe integer. A larger cost is invalid and isn't charged.
 */
export const costPicoUsdMax = 9_000_000_000_000_000;
/** Targets whose price a proxy caches: callers choose these names. */
export const pricedTargetsMax = 10_000;

// Connections.

/**
 * Idle connections kept open when the total nears its maximum. A new connection is closed after at
 * least this many newer ones, which leaves a probe the time to send its request.
 */
export const connectionsReserveMax = 256;

// Memory.

/**
 * The share of its available memory that a proxy uses for requests and answers, unless
 * `server.max_held_bytes` is set. The rest is for the program and for garbage of parsing and
 * copying.
 */
export const heldMemoryShare = 1 / 4;
/**
 * The maximum of that memory: V8's heap, which holds parsed bodies, doesn't grow with the machine.
 */
export const heldBytesMaxByDefault = 2 * 1024 * 1024 * 1024;
/** The share of that memory reserved for answers, so that running requests can finish. */
export const memoryForAnswersShare = 1 / 4;
/** The share of that memory for conversations that WebSockets keep between requests. */
export const keptMemoryShare = 1 / 4;
/** Memory overhead of one piece of a body: a Buffer and its backing objects. */
export const heldPieceBytes = 256;
/**
 * The memory of a translated body as a multiple of its bytes: it is parsed, and written in another
 * dialect.
 */
export const translatedBodyFactor = 3;

// Requests and answers.

/**
 * Requests that a proxy begins in one turn of its event loop when a burst arrives, at a few hundred
 * microseconds each until they are sent: events of running streams pass in between.
 */
export const beginsPerTurn = 16;
/** Responses that a proxy ends in one turn of its event loop, at about 30 microseconds each. */
export const endsPerTurn = 100;
/** An answer up to this size is sent in one write, after its settle; a larger one is streamed. */
export const heldResponseBytesMax = 1024 * 1024;
/** A translation that must buffer the answer fails if the answer is larger. */
export const readableResponseBytesMax = 32 * 1024 * 1024;
/**
 * Bytes buffered from the beginning of a stream while another target can still take over: comments
 * and the results of content filters, which take about 1 KiB on Azure.
 */
export const heldHeadBytesMax = 16 * 1024;
/** How long the beginning of a stream is buffered: later a client may need a keep-alive. */
export const heldHeadMs = 10_000;
/**
 * How long a stream with a finish reason may last without its end: the usage comes in an event of
 * its own, and some hosts send no last event, and leave the connection open.
 */
export const streamEndGraceMs = 5_000;
/** How long a connection may last after the end of its answer's stream before it is closed. */
export const bodyEndGraceMs = 1_000;
/**
 * Output tokens that a stream under hard caps requests at a time: a request costs the proxy as much
 * as some events. The daemon grants at most a fraction of the cap's rest. A stream that had to wait
 * requests twice as many.
 */
export const outputChunkTokens = 512;
export const outputChunkTokensMax = 4096;
/** The least that a grant adds. Small, because streams don't use up the last grant. */
export const outputChunkTokensMin = 8;
/** Targets whose bytes per token a proxy has learned; for others the ratio of English applies. */
export const learnedRatiosMax = 4096;
/** A stream event that is buffered to be read; a larger one is read as it passes. */
export const streamEventBytesMax = 1024 * 1024;
/**
 * A stream event that is buffered to be translated. Some chat providers send an image in one event,
 * as base64. A larger event ends the stream with an error.
 */
export const translatedEventCharsMax = 16 * 1024 * 1024;
/** Bytes kept in memory of an upload that can't be sent yet; the rest goes to disk. */
export const heldUploadBytesMax = 256 * 1024;
/**
 * Nesting levels of translated JSON: the writer recurses, and the stack has room for some thousand
 * levels.
 */
export const jsonDepthMax = 500;
/** A body at least this large is sent in pieces. */
export const largeBodyBytes = 64 * 1024;
/** Entries of the audit log that one change of many subjects makes; the last counts the others. */
export const auditedPerChangeMax = 1_000;
/** The audit log in the store: beyond it, the oldest entries are removed. */
export const auditBytesMax = 256 * 1024 * 1024;
/** A kept result of `sluice reconcile`: an admin body has at most 16 KiB, spaces included. */
export const reconciliationBytesMax = 15 * 1024;
/** Kept results; the oldest are removed. A year of nights with two providers. */
export const reconciliationsMax = 750;
/** Characters of a name or an address in the audit log. */
export const auditTextCharsMax = 256;
/** Characters of X-Request-ID from a caller: the log contains it. */
export const requestIdCharsMax = 128;
/** A larger body isn't looked up in the response cache: its digest takes about 2 ms per MiB. */
export const cacheableBodyBytesMax = 2 * 1024 * 1024;
/**
 * Bytes of a passthrough request's body that are read before admission to find its model: some
 * clients write the model after a conversation of half this size.
 */
export const peekedBodyBytesMax = 1024 * 1024;

// Realtime sessions.

/** A message that is buffered to be read; a larger one is read as it passes. */
export const sessionMessageBytesMax = 1024 * 1024;
/**
 * Bytes that a client may send before its WebSocket is open; the rest waits in the client's socket.
 */
export const earlyBytesMax = 64 * 1024;
/**
 * A session without messages for this time ends: others may need its slot, or its peer may be gone.
 */
export const sessionIdleMs = 10 * 60_000;
/** How often per second a session is charged; further responses are charged together. */
export const sessionChargesPerSecond = 20;
/** How long the other side of a tunnel may read pending data after one side has ended. */
export const tunnelLingerMs = 1_000;

// Keys and tokens.

/**
 * Bytes of a bearer token that is checked as a JWT. A Kubernetes token has about 1 KiB, one with a
 * user's many groups and roles more than 8.
 */
export const jwtBytesMax = 16 * 1024;
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

/** Secrets of a key whose hashes are known after rotations have ended them: some 100 bytes each. */
export const rememberedSecretsMax = 8;
/** Bytes of a key's name, which is for people; all keys are in memory. */
export const keyNameBytesMax = 128;
/** Characters of an imported key: those of other gateways have 20 to 60. */
export const importedKeyCharsMax = 512;
/** The fewest characters of a key that is imported by its value: a shorter one can be guessed. */
export const importedKeyCharsMin = 16;
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
/** How long the body of a request may take to arrive whose caller isn't authenticated yet. */
export const unauthenticatedBodyMs = 15_000;
/** The share of the memory for requests and answers that the bodies of such requests may take. */
export const memoryForUnauthenticatedShare = 1 / 16;

// Files of limits.

/**
 * Rules and budgets in one file. They change together, in one turn of the event loop without
 * verdicts, which takes 20 to 90 ms of CPU for the maximum.
 */
export const limitsPerFileMax = 10_000;

/**
 * Rules and budgets that one file may change if hosts share them: the engine decides in one step of
 * about 50 ms, in which it answers no other host.
 */
export const sharedChangesMax = 2_000;

/** Characters of one entry as JSON: the longest path, escaped, with room. A frame fits four. */
export const limitEntryCharsMax = 16 * 1024;

/**
 * Files that the daemon keeps while they arrive, about 3 MB each; a further file replaces the one
 * that was used longest ago.
 */
export const limitFilesHeldMax = 4;

/** Entries of a file that are processed in one turn: about 2 ms. */
export const limitsPerTurn = 500;

/** How often a plan is restarted because limits have changed; after that it is made in one turn. */
export const plansInSlicesMax = 3;

/** Changes in one page of a plan: with the longest paths they fill half a frame. */
export const changesPerPage = 200;
