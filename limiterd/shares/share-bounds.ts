/**
 * The bounds of a host's shares of counters, each with its reason; docs/reference/bounds.md lists
 * them.
 */

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
