/**
 * One call to a provider whose response goes to one client: what `forward.ts` and
 * `passthrough/relay-answer.ts` have in common. It sends the request, writes with back-pressure,
 * ends the call when the client leaves, and resolves once, with how it ended.
 *
 * Not here: what of the response goes out, and when.
 */
import type { Exchange } from "../http/exchange.js";
import type { MeteredUsage } from "../usage/count-usage.js";
import type { ResponseMeter } from "../usage/response-meter.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { Forwarded } from "./forwarded.js";
import type { UpstreamCall, UpstreamSink } from "./upstream.js";

/** What the client gets at the end. */
export type Ending = Pick<Forwarded, "status" | "outcome" | "finish">;

export abstract class AnswerRelay implements UpstreamSink {
  protected readonly exchange: Exchange;
  protected readonly meter: ResponseMeter;
  /** The provider's; 0 until its response begins. */
  protected status = 0;
  protected firstByteMonoMs: number | null = null;
  protected ended = false;
  #call: UpstreamCall | null = null;
  readonly #resolve: (forwarded: Forwarded) => void;

  constructor(exchange: Exchange, meter: ResponseMeter, resolve: (forwarded: Forwarded) => void) {
    this.exchange = exchange;
    this.meter = meter;
    this.#resolve = resolve;
  }

  protected abstract send(): UpstreamCall;
  abstract onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void;
  abstract onData(chunk: Buffer): void;
  abstract onEnd(): void;
  abstract onFailure(failure: UpstreamFailure): void;

  start(): void {
    this.exchange.onGone(() => this.onGone());
    this.#call = this.send();
    if (this.ended) this.#call.abort();
  }

  protected abortCall(): void {
    this.#call?.abort();
  }

  protected write(chunk: Buffer): void {
    if (this.exchange.write(chunk)) return;
    this.#call?.pause();
    this.exchange.onDrain(() => this.#call?.resume());
  }

  /** The client has left. */
  protected onGone(): void {
    if (this.ended) return;
    this.abortCall();
    this.end(this.chargedWhenGone(), { status: 499, outcome: "client_gone", finish: () => {} });
  }

  /** What a client is charged that has left: what the meter has seen. */
  protected chargedWhenGone(): MeteredUsage {
    return this.meter.chargedWhenCut(null);
  }

  /** The response broke off after it had begun for the client: the client sees it cut. */
  protected endCut(reason: string): void {
    this.end(this.meter.chargedWhenCut(reason), {
      status: this.status,
      outcome: "upstream_cut",
      finish: () => this.exchange.cut(),
    });
  }

  /**
   * Field by field: with spreads V8 makes a new hidden class for each request, which cost a
   * twentieth of the proxy's CPU.
   */
  protected end(
    { usage, estimated, note }: MeteredUsage,
    { status, outcome, finish }: Ending,
    failed: TargetFailure | null = null,
  ): void {
    this.ended = true;
    const executed = this.status !== 0 || outcome === "client_gone";
    this.#resolve({
      status,
      usage,
      estimated,
      executed,
      outcome,
      firstByteMonoMs: this.firstByteMonoMs,
      note,
      failed,
      finish,
    });
  }
}
