/**
 * One request that passes through http-proxy: the substitute that http-proxy gets for the client's
 * request, its deadlines, and the delivery of its answer to the sink.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { Deadlines, WatchedCall } from "../call-deadlines.js";
import { asUpstreamFailure, type UpstreamFailure } from "../errors/upstream-failure.js";
import type { UpstreamCall, UpstreamSink } from "../upstream.js";

/** A body that may be incomplete. */
export interface BodyPieces {
  readonly pieces: AsyncIterable<Buffer>;
  readonly bytes: number | null;
}

/** The object that http-proxy gets in place of the client's request. */
export interface SubstituteRequest extends IncomingMessage {
  readonly call: HttpProxyCall;
}

export class HttpProxyCall implements UpstreamCall, WatchedCall {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  isSent = false;
  keyName = "";
  /** Called with the head of the answer. */
  onStatus: ((status: number, rawHeaders: readonly string[]) => void) | null = null;
  readonly #sink: UpstreamSink;
  readonly #deadlines: Deadlines;
  readonly #provider: ProviderConfig;
  #substitute: Readable | null = null;
  #outgoing: ClientRequest | null = null;
  #answer: IncomingMessage | null = null;
  #isConnecting = false;
  /** Whether the next piece of the body must come from the client. */
  #awaitsClient = false;
  #isPaused = false;
  #isOver = false;

  constructor(sink: UpstreamSink, deadlines: Deadlines, provider: ProviderConfig) {
    this.#sink = sink;
    this.#deadlines = deadlines;
    this.#provider = provider;
  }

  /**
   * The substitute references its call directly: each garbage collection would traverse a WeakMap
   * of all open calls.
   */
  substitute(path: string, body: BodyPieces, headers: Record<string, string>): SubstituteRequest {
    const substitute = Readable.from(this.#watchedPieces(body.pieces), { objectMode: false });
    this.#substitute = substitute;
    return Object.assign(substitute, {
      method: "",
      url: path,
      headers,
      httpVersion: "1.1",
      socket: { destroyed: false },
      call: this,
    }) as unknown as SubstituteRequest;
  }

  async *#watchedPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    this.#awaitsClient = true;
    for await (const piece of pieces) {
      this.#awaitsClient = false;
      this.#restartTimeout();
      yield piece;
      this.#awaitsClient = true;
      this.#restartTimeout();
    }
    this.#awaitsClient = false;
    this.#restartTimeout();
  }

  /**
   * Restarts the idle timeout, whose limit depends on the call's state. There is no limit while the
   * client has to read or to send; the listener bounds that time.
   */
  #restartTimeout(): void {
    const { firstByteTimeoutTicks, idleTimeoutTicks } = this.#deadlines;
    this.idleTicks = 0;
    if (this.#isPaused) this.timeoutTicks = Infinity;
    else if (this.#answer !== null) this.timeoutTicks = idleTimeoutTicks;
    else if (this.#isConnecting)
      this.timeoutTicks = this.#deadlines.timeoutTicksFor(this.#provider.connectTimeoutMs);
    else
      this.timeoutTicks =
        this.#awaitsClient || this.#outgoing === null ? Infinity : firstByteTimeoutTicks;
  }

  onConnection(outgoing: ClientRequest): void {
    if (this.#isOver) return;
    this.#outgoing = outgoing;
    this.#isConnecting = outgoing.socket?.connecting ?? false;
    if (this.#isConnecting) {
      outgoing.socket!.once("connect", () => {
        this.#isConnecting = false;
        this.#restartTimeout();
      });
    }
    outgoing.once("finish", () => {
      // The writes of a failing connection finish too.
      if (!this.#isConnecting && outgoing.socket?.destroyed === false) this.isSent = true;
    });
    // Send the head without waiting for a body that hasn't arrived yet.
    setImmediate(() => {
      if (!this.#isOver && !outgoing.headersSent) outgoing.flushHeaders();
    });
    // In every other case another event precedes the close.
    outgoing.once("close", () => {
      if (this.#answer === null && this.#outgoing === outgoing)
        this.#fail({ kind: "broken", reason: "it switched protocols unasked" });
    });
    this.#deadlines.watch(this);
    this.#restartTimeout();
  }

  onAnswer(answer: IncomingMessage): void {
    answer.on("error", (error) => this.onError(error));
    if (this.#isOver) return;
    this.#answer = answer;
    this.#restartTimeout();
    this.onStatus?.(answer.statusCode!, answer.rawHeaders);
    this.#sink.onHead(answer.statusCode!, answer.rawHeaders);
    answer.on("data", (chunk: Buffer) => {
      this.idleTicks = 0;
      if (!this.#isOver) this.#sink.onData(chunk);
    });
    answer.on("end", () => {
      if (!this.#finish()) return;
      // Stop reading the client's body.
      if (!this.#outgoing!.writableFinished) this.#release();
      this.#sink.onEnd();
    });
    answer.on("close", () => this.#fail({ kind: "broken", reason: "it closed the connection" }));
  }

  onError(error: Error): void {
    if (this.#isOver) return;
    this.#release();
    this.#fail(asUpstreamFailure(error));
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#finish()) this.#sink.onFailure(failure);
  }

  onTimedOut(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    this.#release();
    if (this.#isConnecting)
      this.#fail({
        kind: "unreachable",
        reason: `no connection for ${this.#provider.connectTimeoutMs} ms`,
      });
    else
      this.#fail({
        kind: "timed_out",
        reason:
          this.#answer !== null
            ? `nothing for ${idleTimeoutMs} ms`
            : `no response for ${firstByteTimeoutMs} ms`,
      });
  }

  /** False if the call was over already. */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#deadlines.unwatch(this);
    return true;
  }

  /** http-proxy ends its request when its substitute request is aborted. */
  #release(): void {
    this.#substitute?.emit("aborted");
    this.#substitute?.destroy();
  }

  pause(): void {
    this.#isPaused = true;
    this.#answer?.pause();
    this.#restartTimeout();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#answer?.resume();
    this.#restartTimeout();
  }

  abort(): void {
    if (this.#finish()) this.#release();
  }
}
