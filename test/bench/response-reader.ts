/**
 * Just enough of HTTP/1.1 to see where a response ends: content-length and chunked bodies, one
 * response at a time. The load generator shares two cores with what it measures, so it must be cheap.
 */

export interface ResponseReader {
  /** What came of this chunk: `pending` until the response is whole, then its status; `broken` for what isn't a response. */
  feed(chunk: Buffer): number;
}

export const pending = 0;
export const broken = -1;

const headEnd = Buffer.from("\r\n\r\n");
const bodyUnknown = -1;

export function createResponseReader(): ResponseReader {
  let held: Buffer | null = null;
  return {
    feed(chunk) {
      const bytes = held === null ? chunk : Buffer.concat([held, chunk]);
      const status = readResponse(bytes);
      held = status === pending ? bytes : null;
      return status;
    },
  };
}

function readResponse(bytes: Buffer): number {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return pending;
  const head = bytes.toString("latin1", 0, end).toLowerCase();
  const status = /^http\/1\.1 (\d{3})/.exec(head);
  if (status === null) return broken;
  const length = /\r\ncontent-length: *(\d+)/.exec(head);
  const bodyAt = end + headEnd.length;
  const wholeAt = length !== null ? bodyAt + Number(length[1]) : /\r\ntransfer-encoding: *chunked/.test(head) ? chunkedEnd(bytes, bodyAt) : bodyUnknown;
  if (wholeAt === bodyUnknown || wholeAt < bytes.length) return broken;
  return wholeAt === bytes.length ? Number(status[1]) : pending;
}

/** Where a chunked body ends; beyond the buffer when it isn't whole yet. */
function chunkedEnd(bytes: Buffer, bodyAt: number): number {
  let at = bodyAt;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    if (lineEnd < 0) return bytes.length + 1;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (!(size >= 0)) return bodyUnknown;
    at = lineEnd + 2 + size + 2;
    if (size === 0 || at > bytes.length) return at;
  }
}
