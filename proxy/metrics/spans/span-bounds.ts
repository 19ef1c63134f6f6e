/** The bounds of spans. */

/** Spans that wait to be sent, at some 2 KB each: a second of 2,000 requests. */
export const spansWaitingMax = 4096;
/** Spans in one request to the collector: they are written in a millisecond or two. */
export const spansPerBatch = 128;
/** How long the first of a batch waits for others. */
export const gatherMs = 1_000;
/** How long the collector has to take a batch, repeats included. */
export const exportMsMax = 5_000;
/** How long the end of a proxy waits for its last spans. */
export const closeMsMax = 2_000;
/** Of an attribute: a path may be as long as a request's head. */
export const spanTextCharsMax = 1024;
