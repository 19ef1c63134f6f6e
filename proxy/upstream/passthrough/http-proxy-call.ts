/**
 * One request that passes through http-proxy: the substitute for the client's request that
 * http-proxy is handed, its deadlines, and its answer to the sink.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { Deadlines, Watched } from "../call-deadlines.js";
import {
  asUpstreamFailure,
  isConnectionLost,
  type UpstreamFailure,
} from "../errors/upstream-failure.js";
import type { UpstreamCall, UpstreamSink } from "../upstream.js";
import type { PassthroughRequest } from "./passthrough-upstream.js";

const nothing = Buffer.alloc(0);

/** What http-proxy takes for the client's request. */
export interface SubstituteRequest extends IncomingMessage {
  readonly call: HttpProxyCall;
}

export class HttpProxyCall implements UpstreamCall, Watched {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  isSent = false;
  /** Called with the head of the answer. */
  onStatus: ((status: number, rawHeaders: readonly string[]) => void) | null = null;
  readonly #sink: UpstreamSink;
  readonly #deadlines: Deadlines;
  readonly #provider: ProviderConfig;
  #substitute: Readable | null = null;
  #outgoing: ClientRequest | null = null;
  #answer: IncomingMessage | null = null;
  #connecting = false;
  /** The client has to send the next piece of the body. */
  #awaitsClient = false;
  #paused = false;
  #over = false;
  #sendAnew: (() => void) | null = null;

  constructor(sink: UpstreamSink, deadlines: Deadlines, provider: ProviderConfig) {
    this.#sink = sink;
    this.#deadlines = deadlines;
    this.#provider = provider;
  }

  /**
   * `send` sends the request once more, on a new connection, if the one that it got has been closed
   * since its last answer.
   */
  mayBeSentAnew(send: () => void): void {
    this.#sendAnew = send;
  }

  /**
   * It holds its call itself: a WeakMap of all open calls would be traversed by each garbage
   * collection.
   */
  substitute(
    { path, body }: PassthroughRequest,
    headers: Record<string, string>,
  ): SubstituteRequest {
    const substitute = Readable.from(
      body === null ? nothing : Buffer.isBuffer(body) ? body : this.#watchedPieces(body.pieces),
      { objectMode: false },
    );
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
   * From now on the call may be idle for as long as its state allows: without end while the client
   * has to read or to send, which the listener bounds.
   */
  #restartTimeout(): void {
    const { firstByteTimeoutTicks, idleTimeoutTicks } = this.#deadlines;
    this.idleTicks = 0;
    if (this.#paused) this.timeoutTicks = Infinity;
    else if (this.#answer !== null) this.timeoutTicks = idleTimeoutTicks;
    else if (this.#connecting)
      this.timeoutTicks = this.#deadlines.timeoutTicksFor(this.#provider.connectTimeoutMs);
    else
      this.timeoutTicks =
        this.#awaitsClient || this.#outgoing === null ? Infinity : firstByteTimeoutTicks;
  }

  onConnection(outgoing: ClientRequest): void {
    if (this.#over) return;
    this.#outgoing = outgoing;
    this.#connecting = outgoing.socket?.connecting ?? false;
    if (this.#connecting) {
      outgoing.socket!.once("connect", () => {
        this.#connecting = false;
        this.#restartTimeout();
      });
    }
    outgoing.once("finish", () => {
      // A connection that fails finishes its writes, too.
      if (!this.#connecting && outgoing.socket?.destroyed === false) this.isSent = true;
    });
    // The head needn't wait for a body that hasn't come yet.
    setImmediate(() => {
      if (!this.#over && !outgoing.headersSent) outgoing.flushHeaders();
    });
    // Nothing else closes it without an event before.
    outgoing.once("close", () => {
      if (this.#answer === null && this.#outgoing === outgoing)
        this.#fail({ kind: "broken", reason: "it switched protocols unasked" });
    });
    this.#deadlines.watch(this);
    this.#restartTimeout();
  }

  onAnswer(answer: IncomingMessage): void {
    answer.on("error", (error) => this.onError(error));
    if (this.#over) return;
    this.#answer = answer;
    this.#restartTimeout();
    this.onStatus?.(answer.statusCode!, answer.rawHeaders);
    this.#sink.onHead(answer.statusCode!, answer.rawHeaders);
    answer.on("data", (chunk: Buffer) => {
      this.idleTicks = 0;
      if (!this.#over) this.#sink.onData(chunk);
    });
    answer.on("end", () => {
      if (!this.#finish()) return;
      // Nothing reads what the client still sends.
      if (!this.#outgoing!.writableFinished) this.#release();
      this.#sink.onEnd();
    });
    answer.on("close", () => this.#fail({ kind: "broken", reason: "it closed the connection" }));
  }

  onError(error: Error): void {
    if (this.#over) return;
    this.#release();
    const sendAnew = this.#sendAnew;
    if (sendAnew === null || !this.#foundClosed(error)) return this.#fail(asUpstreamFailure(error));
    this.#sendAnew = null;
    this.#outgoing = null;
    this.isSent = false;
    this.#deadlines.unwatch(this);
    sendAnew();
  }

  /** The provider closed the connection while it was idle, and hasn't answered on it. */
  #foundClosed(error: Error): boolean {
    return (
      this.#answer === null && this.#outgoing?.reusedSocket === true && isConnectionLost(error)
    );
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#finish()) this.#sink.onFailure(failure);
  }

  onTimedOut(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    this.#release();
    if (this.#connecting)
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

  /** False: it was over before. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#deadlines.unwatch(this);
    return true;
  }

  /** http-proxy ends its request when the one that it was handed is aborted. */
  #release(): void {
    this.#substitute?.emit("aborted");
    this.#substitute?.destroy();
  }

  pause(): void {
    this.#paused = true;
    this.#answer?.pause();
    this.#restartTimeout();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#answer?.resume();
    this.#restartTimeout();
  }

  abort(): void {
    if (this.#finish()) this.#release();
  }
}
