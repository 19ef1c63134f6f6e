/** One request on its way to a provider, both ends in the test's hand. */
import type { UpstreamFailure } from "../../../proxy/upstream/errors/upstream-failure.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import type { UpstreamCall, UpstreamSink } from "../../../proxy/upstream/upstream.js";
import type { FakeExchange } from "../fake-exchange.js";

export const limits = ["x-ratelimit-limit-requests", "10"];
export const json = ["content-type", "application/json"];

/** What a connection suffers after it has taken the request. */
const mayBeSent: ReadonlySet<UpstreamFailure["kind"]> = new Set(["timed_out", "broken"]);

export class RequestUnderWay<Request> {
  readonly exchange: FakeExchange;
  request: Request | null = null;
  sink!: UpstreamSink;
  aborted = false;
  /** Whether it has left for the provider. */
  isSent = true;
  /** Whether it was lost and left again. */
  isResent = false;
  paused = false;
  forwarded: ForwardResult | null = null;
  readonly #promise: Promise<ForwardResult>;

  /** `start` sends it, by what it is given. */
  constructor(
    exchange: FakeExchange,
    start: (send: (request: Request, sink: UpstreamSink) => UpstreamCall) => Promise<ForwardResult>,
  ) {
    this.exchange = exchange;
    this.#promise = start((request, sink) => {
      this.request = request;
      this.sink = sink;
      const it = this;
      return {
        get isSent() {
          return it.isSent;
        },
        get isResent() {
          return it.isResent;
        },
        pause: () => {
          this.paused = true;
        },
        resume: () => {
          this.paused = false;
        },
        abort: () => {
          this.aborted = true;
        },
      };
    });
    void this.#promise.then((forwarded) => {
      this.forwarded = forwarded;
    });
  }

  head(status: number, headers: readonly string[] = json): this {
    this.sink.onHead(status, headers);
    return this;
  }

  data(...chunks: readonly (string | Buffer)[]): this {
    for (const one of chunks) this.sink.onData(Buffer.from(one));
    return this;
  }

  end(): this {
    this.sink.onEnd();
    return this;
  }

  fail(kind: UpstreamFailure["kind"], reason = "ECONNRESET"): this {
    if (!mayBeSent.has(kind)) this.isSent = false;
    this.sink.onFailure({ kind, reason });
    return this;
  }

  /** How it ended; the client has its last byte. */
  async finished(): Promise<ForwardResult> {
    const forwarded = await this.#promise;
    forwarded.finish();
    return forwarded;
  }

  /** Whether it has ended by now. */
  async isOver(): Promise<boolean> {
    await Promise.resolve();
    return this.forwarded !== null;
  }
}
