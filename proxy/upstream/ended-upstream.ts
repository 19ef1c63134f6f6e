/**
 * Wraps an upstream so that an answer ends with the last event of its dialect. Some hosts leave the
 * connection open after that event (caidaoli/ccLoad#81, MiniMax-AI/MiniMax-M2#109), and a client
 * would wait until the idle deadline. If the body ends soon after, the connection is kept;
 * otherwise it is closed.
 *
 * Not here: which event is the last (`proxy/usage/stream-end.ts`).
 */
import { bodyEndGraceMs, streamEndGraceMs } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import { headerOf } from "../http/copy-headers.js";
import { type StreamState, streamEndOf } from "../usage/stream-end.js";
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { UpstreamCall, UpstreamSink } from "./upstream.js";

/** The part of an upstream that is wrapped; the other parts stay unchanged. */
interface Sender<Request> {
  send(request: Request, sink: UpstreamSink): UpstreamCall;
}

/** As `Gateway.setTimer`: runs once after `ms`; the returned function cancels it. */
type SetTimer = (ms: number, run: () => void) => () => void;

/** `operation`: the provider's. */
export function endedUpstream<Request, To extends Sender<Request>>(
  upstream: To & Sender<Request>,
  operation: Operation | null,
  setTimer: SetTimer,
): To {
  if (streamEndOf(operation) === null) return upstream;
  return {
    ...upstream,
    send(request: Request, sink: UpstreamSink): UpstreamCall {
      const ending = new EndingCall(sink, operation, setTimer);
      ending.call = upstream.send(request, ending);
      return ending;
    },
  };
}

class EndingCall implements UpstreamSink, UpstreamCall {
  call: UpstreamCall | null = null;
  readonly #sink: UpstreamSink;
  /** Null for JSON, for an error, and for an answer with a length. */
  #streamEnd: ReturnType<typeof streamEndOf>;
  #state: StreamState = "open";
  #finishesSeen = 0;
  /** Whether the sink's answer has ended. */
  #hasEnded = false;
  #isPaused = false;
  #cancelTimer: (() => void) | null = null;
  readonly #setTimer: SetTimer;

  constructor(sink: UpstreamSink, operation: Operation | null, setTimer: SetTimer) {
    this.#sink = sink;
    this.#setTimer = setTimer;
    this.#streamEnd = streamEndOf(operation);
  }

  get isSent(): boolean {
    return this.call?.isSent === true;
  }

  get isResent(): boolean {
    return this.call?.isResent === true;
  }

  get keyName(): string {
    return this.call?.keyName ?? "";
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#guard(() => {
      const hasOwnEnd =
        headerOf(rawHeaders, "content-length") !== "" ||
        headerOf(rawHeaders, "content-type").startsWith("application/json");
      if (status >= 300 || hasOwnEnd) this.#streamEnd = null;
      this.#sink.onHead(status, rawHeaders);
    });
  }

  /**
   * Reports an exception in `run` to the relay, since the wrappers in between have no error
   * boundary.
   */
  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.onBug(error);
    }
  }

  onData(chunk: Buffer): void {
    if (!this.#hasEnded) this.#guard(() => this.#read(chunk));
  }

  #read(chunk: Buffer): void {
    const streamEnd = this.#streamEnd;
    if (streamEnd === null) return this.#sink.onData(chunk);
    this.#state = streamEnd.push(chunk);
    this.#sink.onData(chunk);
    if (this.#state === "ended") this.#endNow();
    else if (this.#state === "open") this.#stopTimer();
    else if (streamEnd.finishes > this.#finishesSeen) {
      this.#finishesSeen = streamEnd.finishes;
      this.#waitForEnd();
    }
  }

  #endNow(): void {
    this.#hasEnded = true;
    this.#startTimer(bodyEndGraceMs, () => this.call?.abort());
    // The rest of the body needn't wait for the client.
    this.call?.resume();
    this.#sink.onEnd();
  }

  /** While the client makes the provider wait, its last events may still be on their way. */
  #waitForEnd(): void {
    if (this.#isPaused) return;
    this.#startTimer(streamEndGraceMs, () => {
      this.call?.abort();
      this.#hasEnded = true;
      this.#sink.onEnd();
    });
  }

  #startTimer(ms: number, then: () => void): void {
    this.#stopTimer();
    this.#cancelTimer = this.#setTimer(ms, then);
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  onEnd(): void {
    this.#stopTimer();
    if (!this.#hasEnded) this.#guard(() => this.#sink.onEnd());
  }

  onFailure(failure: UpstreamFailure): void {
    this.#stopTimer();
    if (!this.#hasEnded) this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.abort();
    this.#hasEnded = true;
    this.#sink.onBug(error);
  }

  pause(): void {
    if (this.#hasEnded) return;
    this.#isPaused = true;
    this.#stopTimer();
    this.call?.pause();
  }

  resume(): void {
    if (this.#hasEnded) return;
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#state === "finishing") this.#waitForEnd();
    this.call?.resume();
  }

  abort(): void {
    this.#stopTimer();
    this.call?.abort();
  }
}
