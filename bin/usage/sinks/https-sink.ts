/**
 * Sends followed records by POST. The batch is noted before it is sent: if its answer is lost, it
 * is sent again unchanged with the same key, by which the receiver can detect the duplicate.
 */
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { shortName } from "../../../shared/checked.js";
import { systemReason } from "../../../shared/text/system-reason.js";
import { version } from "../../../shared/version.js";
import type { CursorFile } from "../follow/cursor-file.js";
import { type Batch, recordLines, type Sink, SinkError } from "../follow/sink.js";

interface HttpsOptions {
  readonly url: string;
  /** The URL without its query, for messages. */
  readonly displayUrl: string;
  /** Null to send none. */
  readonly token: string | null;
  readonly cursor: CursorFile;
  /** The timeout until the complete answer; tests use a shorter one. */
  readonly deadlineMs?: number;
}

const deadlineMsDefault = 30_000;
/** The bytes read from an error's answer. */
const answerBytesMax = 2048;

export function httpsSink(options: HttpsOptions): Sink {
  const { url, cursor } = options;
  const client = url.startsWith("https:") ? https : http;
  const agent = new client.Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async open() {
      const note = await cursor.open();
      return { cursor: note?.cursor ?? null, repeat: note?.sending ?? null };
    },
    async take(batch) {
      const { after, next, records } = batch;
      if (records.length > 0) {
        await cursor.keep({ cursor: after, sending: records.length, output: null });
        await post(batch, options, { client, agent });
      }
      await cursor.keep({ cursor: next, sending: null, output: null });
      return "taken";
    },
    async close() {
      agent.destroy();
      cursor.close();
    },
  };
}

async function post(
  batch: Batch,
  { url, displayUrl, token, deadlineMs = deadlineMsDefault }: HttpsOptions,
  { client, agent }: { readonly client: typeof http | typeof https; readonly agent: http.Agent },
): Promise<void> {
  const body = Buffer.from(recordLines(batch));
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const request = client.request(url, {
      method: "POST",
      headers: {
        "content-type": "application/x-ndjson",
        "content-length": body.length,
        "idempotency-key": idempotencyKey(batch),
        "user-agent": `sluice/${version}`,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      agent,
      signal,
    });
    request.end(body);
    const [response] = (await once(request, "response", { signal })) as [http.IncomingMessage];
    const text = await firstOf(response);
    const { statusCode = 0, headers } = response;
    if (statusCode >= 200 && statusCode < 300) return;
    throw answerFailure({
      displayUrl,
      status: statusCode,
      retryAfter: headers["retry-after"],
      text,
    });
  } catch (error) {
    if (error instanceof SinkError) throw error;
    const reason = signal.aborted ? `no answer within ${deadlineMs / 1000} s` : systemReason(error);
    throw new SinkError(`${displayUrl} can't be reached: ${reason}`, {
      isPassing: true,
      cause: error,
    });
  }
}

/**
 * The beginning of an answer; the rest is read and dropped, so that the connection can be reused.
 */
async function firstOf(response: http.IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const piece of response as AsyncIterable<string>)
    if (text.length < answerBytesMax) text += piece;
  return text.slice(0, answerBytesMax);
}

/** The same key for the same records, and a different one for any others. */
function idempotencyKey({ storeId, records }: Batch): string {
  return `${storeId}-${String(records[0]?.id)}-${String(records.at(-1)?.id)}`;
}

interface FailedAnswer {
  /** The address, without a query. */
  readonly displayUrl: string;
  readonly status: number;
  /** The header of that name. */
  readonly retryAfter: string | undefined;
  /** The beginning of the body. */
  readonly text: string;
}

/** Statuses below 500 after which a retry may succeed. */
const passing = [408, 409, 423, 425, 429];

/** Why an answer isn't a success, and whether a retry may succeed. */
export function answerFailure({ displayUrl, status, retryAfter, text }: FailedAnswer): SinkError {
  const reason = shortName(text.replaceAll(/\s+/g, " ").trim());
  return new SinkError(
    `${displayUrl} answers ${status}${reason === "" ? "" : `: ${reason}`}${adviceFor(status)}`,
    {
      isPassing: status >= 500 || passing.includes(status),
      retryAfterMs: secondsOf(retryAfter),
    },
  );
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return ": give a valid token with --secret-file";
  if (status === 413) return ": send fewer records at once with --batch";
  return status >= 300 && status < 400 ? ": name the address that it leads to" : "";
}

/** A number of seconds; a date is ignored, since it depends on two clocks. */
function secondsOf(header: string | undefined): number | null {
  return /^\d{1,6}$/.test(header ?? "") ? Number(header) * 1000 : null;
}
