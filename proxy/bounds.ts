/**
 * The bounds of the proxy, each with its reason (docs/reference/bounds.md). Bounds that the daemon
 * and the proxy share are in `shared/bounds.ts`.
 */
import { readsWaitingMax } from "../shared/bounds.js";

// Retries and failing targets.

/**
 * A retry waits for a random part of this; each further retry doubles it, up to the provider's
 * `retry_wait_max_ms`.
 */
export const firstRetryWaitMs = 250;
/** The longest time until a failing target is tried again. */
export const breakerOpenMsMax = 5 * 60_000;
/** Targets whose failures are remembered: callers choose the names. */
export const breakersMax = 10_000;

// Fields that a target has refused.

/** How long requests are sent without such a field; then the target is asked with it again. */
export const refusedFieldMs = 60 * 60_000;
/** Targets whose refused fields are remembered: callers choose the names. */
export const refusingTargetsMax = 1_000;
/** Remembered fields of one target. */
export const refusedFieldsMax = 16;
/** How often one request is sent again, each time without another refused part. */
export const refusedPartsMax = 3;

// Requests of agents that clients send again.

/** How long a request is remembered after its answer, in ms; a loop repeats it sooner. */
export const repeatedRequestMs = 10 * 60_000;
/** Remembered requests; each takes some 200 bytes. */
export const repeatedRequestsMax = 10_000;

// Provider keys.

/** How long a key rests after a 429 without Retry-After. */
export const rateLimitedKeyRestMs = 10_000;
/** How long a key rests after the provider refused it. */
export const refusedKeyRestMs = 60_000;
/** The longest rest of a key, whatever Retry-After says. */
export const keyRestMsMax = 5 * 60_000;
/** Between two checks of a key file: Kubernetes replaces one within a minute. */
export const keyFileMs = 5_000;
/** Between two tries to read a key that can't be read, or was refused. */
export const keyRetryMs = 5_000;
/** How long a command that prints a key may take. */
export const keyCommandMs = 10_000;
/** A key without an expiry is renewed after this time; others after an hour at most. */
export const keyRenewalMs = 5 * 60_000;
/** The output of a key command, or the size of a key file. */
export const keyTextBytesMax = 64 * 1024;

// Compressed request bodies.

/** JSON with much white space shrinks to a twentieth; anything denser is a decompression bomb. */
export const decodedRatioMax = 100;
/** The ratio isn't checked up to this size, which is read in a few milliseconds. */
export const decodedFreelyBytes = 1024 * 1024;
/** The window of gzip and deflate, and zlib's state. */
export const deflateWindowBytes = 64 * 1024;
/** The largest window that the format allows. */
export const brotliWindowBytes = 16 * 1024 * 1024;
/** 8 MiB: RFC 8878 asks every decoder to support it. A frame may ask for terabytes. */
export const zstdWindowLogMax = 23;

// The live stream of the dashboard, GET /admin/live.

/** Watchers of one proxy: people, not programs. */
export const watchersMax = 32;
/** The time between two updates. */
export const tickMs = 1_000;
/** Different list pages that one tick requests from the daemon: each takes it about 2 ms. */
export const pagesPerTick = 4;
/** Refusals that a tick lists one by one; the rest is a count. */
export const refusalsPerTick = 20;
/** Some HTTP proxies cut a stream that is silent for half a minute. */
export const keepAliveMs = 15_000;
/** How long a browser waits before it reconnects. */
export const retryMs = 2_000;

// Spans.

/** Spans waiting for export, at some 2 KB each: one second of 2,000 requests. */
export const spansWaitingMax = 4096;
/** Spans in one request to the collector: serialized in a millisecond or two. */
export const spansPerBatch = 128;
/** How long the first span of a batch waits for others. */
export const gatherMs = 1_000;
/** How long the export of a batch may take, retries included. */
export const exportMsMax = 5_000;
/** How long a stopping proxy waits for its last spans. */
export const closeMsMax = 2_000;
/** The length of an attribute: a path may be as long as a request's head. */
export const spanTextCharsMax = 1024;

// Requests without an admission.

/**
 * How many begin in one turn of the event loop: each takes about 0.1 ms, and a chat needs some
 * eight turns, so other requests run in between.
 */
export const unlimitedPerTurn = 4;

/** Usage reads run a few at a time, since the daemon runs one; its queue has the same length. */
export const usageReadBounds = {
  runningMax: 4,
  waitingMax: readsWaitingMax,
  waitingPerCallerMax: 16,
} as const;

// Providers' own limits.

/** How often the headers of a target are read if its limits are only shown, in ms. */
export const observeMs = 1000;
/** Models of a provider whose last reading is remembered. */
export const observedTargetsMax = 1024;

// Sign-in by OpenID Connect.

/**
 * After the provider couldn't be reached, sign-ins fail for this time without asking it: anyone may
 * begin one.
 */
export const discoveryPauseMs = 5_000;

// Answers of providers.

/** Node's own bound on heads. */
export const answerHeadBytesMax = 16 * 1024;
/** The extension of a chunk of an answer; hardly any server sends one. */
export const chunkExtensionBytesMax = 256;
