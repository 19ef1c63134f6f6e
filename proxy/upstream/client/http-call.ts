/**
 * One HTTP call, driven by events of its connection: deadlines, cancellation, and a second try on a
 * new connection if the provider had closed the kept-alive one.
 */
import { headerOf } from "../../http/copy-headers.js";
import type { Deadlines, WatchedCall } from "../call-deadlines.js";
import { asUpstreamFailure, isConnectionLost } from "../errors/upstream-failure.js";
import type { RequestTimeouts, UpstreamCall, UpstreamSink } from "../upstream.js";
import type { CallConnection, CallHandler } from "./connection.js";
import { DecodedAnswer, type EncodedSource } from "./decoded-answer.js";

/**
 * The most informational responses before an answer. Providers send few, unless they send them as
 * keep-alives.
 */
const informationalMax = 100;

class AbortedError extends Error {
  override name = "AbortedError";
}

/**
 * Created once: its stack trace, which is never read, would cost more than the rest of an abort.
 */
const abortError = new AbortedError();

export class HttpCall implements CallHandler, UpstreamCall, EncodedSource, WatchedCall {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  isSent = false;
  isResent = false;
  keyName = "";
  connection: CallConnection | null = null;
  /** Whether to decode a compressed answer, rather than pass it on unchanged. */
  decodes = true;
  /** Called with the head of the answer. */
  onStatus: ((status: number, rawHeaders: readonly string[]) => void) | null = null;
  #sink: UpstreamSink;
  /** Decodes a compressed answer on its way to the sink; null for any other answer. */
  #decoded: DecodedAnswer | null = null;
  /** Whether the decoder accepts no more bytes for now. */
  #isFull = false;
  readonly #deadlines: Deadlines;
  /** Whether the call has a connection and hasn't ended. */
  #isRunning = false;
  #resume: (() => void) | null = null;
  #hasBegun = false;
  /** Responses with a status of 1xx so far. */
  #informationalCount = 0;
  #isPaused = false;
  #isAborted = false;
  /** Whether the connection was kept alive, so that the provider may have closed it meanwhile. */
  #isReused = false;
  #resend: (() => void) | null = null;
  /** Leaves the queue of calls without a connection; null if the call isn't in it. */
  #leaveQueue: (() => void) | null = null;

  readonly #timeouts: RequestTimeouts | null;
  /** The total timeout of the attempt; null without one. */
  #totalTimeout: WatchedCall | null = null;

  constructor(
    sink: UpstreamSink,
    deadlines: Deadlines,
    timeouts: RequestTimeouts | null | undefined = null,
  ) {
    this.#sink = sink;
    this.#deadlines = deadlines;
    this.#timeouts = timeouts ?? null;
  }

  /**
   * `send` sends the request again on a new connection, if its first connection has been closed
   * since that connection's last answer.
   */
  mayBeResent(send: () => void): void {
    this.#resend = send;
  }

  onQueued(leave: () => void): void {
    this.#leaveQueue = leave;
  }

  /**
   * The call has got a connection. Before that it waited in the pool's queue, where no deadline of
   * the provider applies.
   */
  onConnect(): boolean {
    this.#leaveQueue = null;
    if (this.#isAborted) return false;
    this.#isRunning = true;
    const connection = this.connection!;
    this.#isReused = connection.isUsed;
    connection.isUsed = true;
    connection.isSilent = true;
    const { firstByteTimeoutMs = null, totalTimeoutMs = null } = this.#timeouts ?? {};
    this.timeoutTicks =
      firstByteTimeoutMs === null
        ? this.#deadlines.firstByteTimeoutTicks
        : this.#deadlines.timeoutTicksFor(firstByteTimeoutMs);
    this.#deadlines.watch(this);
    if (totalTimeoutMs !== null) this.#watchTotal(totalTimeoutMs);
    return true;
  }

  #watchTotal(ms: number): void {
    this.#totalTimeout = {
      idleTicks: 0,
      timeoutTicks: this.#deadlines.timeoutTicksFor(ms),
      watchIndex: -1,
      onTimedOut: () => this.#endAfter(`no end of the response after ${ms} ms`),
    };
    this.#deadlines.watch(this.#totalTimeout);
  }

  #unwatch(): void {
    this.#deadlines.unwatch(this);
    if (this.#totalTimeout !== null) this.#deadlines.unwatch(this.#totalTimeout);
  }

  /** A part of the body was sent: a provider that still reads a long upload isn't idle. */
  onBodySent(): void {
    this.idleTicks = 0;
  }

  /** The whole request has been written, but the socket may still hold some of it. */
  onRequestSent(): void {
    const { socket } = this.connection!;
    if (socket?.writableNeedDrain !== true) this.isSent = true;
    else
      socket.once("drain", () => {
        this.isSent = true;
      });
  }

  onHeaders(status: number, rawHeaders: string[], resume: () => void): boolean {
    // Each one restarts the idle timeout, so an endless number would hold the request forever. An
    // exception thrown here goes to `onError`.
    if (status < 200 && ++this.#informationalCount > informationalMax)
      throw new Error(`more than ${informationalMax} informational responses`);
    this.#resume = resume;
    this.idleTicks = 0;
    // A lower status is informational: the real response follows.
    if (status >= 200) {
      this.#hasBegun = true;
      // The closure references the request.
      this.#resend = null;
      this.timeoutTicks = this.#deadlines.idleTimeoutTicks;
      if (!this.#isAborted) this.#begin(status, rawHeaders);
    }
    return !this.#isPaused;
  }

  #begin(status: number, rawHeaders: readonly string[]): void {
    this.onStatus?.(status, rawHeaders);
    const coding = this.decodes ? codingOf(rawHeaders) : "";
    if (coding !== "") {
      this.#decoded = new DecodedAnswer(this.#sink, coding, this);
      this.#sink = this.#decoded;
    }
    this.#sink.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): boolean {
    this.idleTicks = 0;
    if (!this.#isAborted) this.#sink.onData(chunk);
    return !this.#isPaused && !this.#isFull;
  }

  onComplete(): void {
    this.#isRunning = false;
    this.#unwatch();
    if (!this.#isAborted) this.#sink.onEnd();
  }

  onError(error: Error): void {
    this.#isRunning = false;
    this.#unwatch();
    if (this.#isAborted) return;
    const resend = this.#resend;
    if (resend === null || !this.#foundClosed(error))
      return this.#sink.onFailure(asUpstreamFailure(error));
    this.#resend = null;
    this.isResent = this.isSent;
    this.isSent = false;
    resend();
  }

  /** The provider closed the connection while it was idle, before it answered this call. */
  #foundClosed(error: Error): boolean {
    return this.#isReused && this.connection!.isSilent && isConnectionLost(error);
  }

  onTimedOut(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    const firstByteMs = this.#timeouts?.firstByteTimeoutMs ?? firstByteTimeoutMs;
    this.#endAfter(
      this.#hasBegun ? `nothing for ${idleTimeoutMs} ms` : `no response for ${firstByteMs} ms`,
    );
  }

  #endAfter(reason: string): void {
    this.abort();
    this.#sink.onFailure({ kind: "timed_out", reason });
  }

  /** The client isn't reading, so the provider can't time out. */
  pause(): void {
    this.#isPaused = true;
    this.timeoutTicks = Infinity;
    this.#decoded?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#decoded?.resume();
    this.#continue();
  }

  setFull(isFull: boolean): void {
    this.#isFull = isFull;
    if (isFull) this.timeoutTicks = Infinity;
    else this.#continue();
  }

  #continue(): void {
    if (this.#isPaused || this.#isFull) return;
    this.idleTicks = 0;
    this.timeoutTicks = this.#deadlines.idleTimeoutTicks;
    if (this.#isRunning) this.#resume?.();
  }

  abort(): void {
    this.#isAborted = true;
    this.#decoded?.stop();
    this.#unwatch();
    this.#leaveQueue?.();
    this.#leaveQueue = null;
    if (this.#isRunning) this.connection?.socket?.destroy(abortError);
  }
}

/** The content coding in an answer's headers, in lower case; empty if there is none. */
export function codingOf(rawHeaders: readonly string[]): string {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    // Few headers have a name of this length; only those are converted to strings.
    if (
      rawHeaders[i]!.length === "content-encoding".length &&
      headerOf([rawHeaders[i]!, rawHeaders[i + 1]!], "content-encoding") !== ""
    ) {
      const coding = rawHeaders[i + 1]!.trim().toLowerCase();
      if (coding !== "identity") return coding;
    }
  }
  return "";
}
