/**
 * An exchange that sends keep-alives while its stream of events is silent
 * (docs/reference/http-api.md, "Keep-alive"), or while its request waits for room under a limit
 * (docs/limit-options.md, "Waiting"): a comment, or the dialect's own event. To handlers the answer
 * hasn't begun after a keep-alive, so a request can still fail over. But the first keep-alive sends
 * the status 200, so a later answer with another status becomes an event of the stream.
 *
 * Not here: the form of these events (`keep-alive-events.ts`).
 */

import type { Waiting } from "../../../shared/config/config.js";
import type { Operation } from "../../../shared/operation.js";
import type { Place } from "../../limiter/admission.js";
import { wantsEvents } from "../../upstream/upstream-path.js";
import { headerOf } from "../copy-headers.js";
import type { Exchange } from "../exchange.js";
import { requestIdHeaders } from "../respond.js";
import { DelegatedExchange } from "./delegated-exchange.js";
import {
  endsEvent,
  errorEvents,
  keepAliveEvent,
  lastBytes,
  type StreamDialect,
  streamDialect,
  waitingEvent,
} from "./keep-alive-events.js";

/** The part of the gateway that it uses. */
interface KeepAliveGateway extends Pick<KeepAlivePorts, "monoMs" | "setTimer"> {
  readonly config: {
    readonly server: { readonly streamKeepAliveMs: number };
    readonly waiting: Pick<Waiting, "keepAliveMs"> | null;
  };
}

/** For a stream; null if its client gets no keep-alives. */
export function keptAliveExchange(
  exchange: Exchange,
  operation: Operation,
  { config, monoMs, setTimer }: KeepAliveGateway,
): KeptAliveExchange | null {
  const { server, waiting } = config;
  const tellsPlace = (waiting?.keepAliveMs ?? 0) > 0;
  if (server.streamKeepAliveMs === 0 && !tellsPlace) return null;
  const dialect = streamDialect(operation);
  const isOfGoogle = dialect === "google";
  const silenceMs = isOfGoogle ? 0 : server.streamKeepAliveMs;
  if (dialect === null || (silenceMs === 0 && !tellsPlace)) return null;
  if (isOfGoogle && !wantsEvents(exchange.query)) return null;
  return new KeptAliveExchange(exchange, { silenceMs, tellsPlace, dialect, monoMs, setTimer });
}

interface KeepAlivePorts {
  /** The silence after which a keep-alive is sent; 0: none is sent. */
  readonly silenceMs: number;
  /** Whether the client gets its place while its request waits. */
  readonly tellsPlace: boolean;
  readonly dialect: StreamDialect;
  readonly monoMs: () => number;
  /** See `Gateway`. */
  readonly setTimer: (ms: number, run: () => void) => () => void;
}

class KeptAliveExchange extends DelegatedExchange {
  readonly #inner: Exchange;
  readonly #ports: KeepAlivePorts;
  #writtenMonoMs = 0;
  #cancel: (() => void) | null = null;
  /** Whether the head went out with a keep-alive. */
  #isHeadSent = false;
  /** Whether a handler has begun the answer. */
  #hasAnswerBegun = false;
  /** The last bytes written, which show whether an event has ended. */
  #last: Buffer = nothing;
  /** Callbacks that wait for the client to read; null if the client keeps up. */
  #waiting: (() => void)[] | null = null;

  constructor(inner: Exchange, ports: KeepAlivePorts) {
    super(inner);
    this.#inner = inner;
    this.#ports = ports;
  }

  /** As `LimitedRequest.onPlace`; undefined if the client doesn't get its place. Never throws. */
  get onPlace(): ((place: Place) => void) | undefined {
    const { tellsPlace, dialect } = this.#ports;
    if (!tellsPlace) return undefined;
    return (place) => {
      if (this.#inner.gone || this.#waiting !== null) return;
      this.#sendKeepAlive(() => waitingEvent(dialect, place), this.#headersOf([]));
    };
  }

  /** Starts the timer. `limits`: headers of the stream, if a keep-alive sends its head. */
  keepAlive(limits: readonly string[]): void {
    const { silenceMs, monoMs } = this.#ports;
    if (silenceMs === 0) return;
    this.#writtenMonoMs = monoMs();
    this.#arm(silenceMs, this.#headersOf(limits));
  }

  #headersOf(limits: readonly string[]): readonly string[] {
    return ["content-type", "text/event-stream", ...requestIdHeaders(this.#inner), ...limits];
  }

  /** Sends a keep-alive, and before the first one the head with the status 200. */
  #sendKeepAlive(event: () => Buffer, headers: readonly string[]): void {
    try {
      if (!this.#inner.hasBegun) {
        this.#isHeadSent = true;
        this.#inner.begin(200, headers);
      }
      this.#send(event());
    } catch {
      // No caller can catch this error: end the request as if the client had disconnected.
      this.#inner.cut();
    }
  }

  #arm(ms: number, headers: readonly string[]): void {
    this.#cancel = this.#ports.setTimer(ms, () => this.#elapsed(headers));
  }

  #elapsed(headers: readonly string[]): void {
    this.#cancel = null;
    if (this.#inner.gone) return;
    const { silenceMs, dialect, monoMs } = this.#ports;
    const silentMs = monoMs() - this.#writtenMonoMs;
    if (silentMs < silenceMs) return this.#arm(silenceMs - silentMs, headers);
    if (this.#waiting === null && endsEvent(this.#last))
      this.#sendKeepAlive(() => keepAliveEvent(dialect), headers);
    if (!this.#inner.gone) this.#arm(silenceMs, headers);
  }

  #stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #send(chunk: Buffer): boolean {
    this.#writtenMonoMs = this.#ports.monoMs();
    if (this.#inner.write(chunk)) return true;
    if (this.#waiting === null) {
      this.#waiting = [];
      this.#inner.onDrain(() => {
        const waiting = this.#waiting ?? [];
        this.#waiting = null;
        for (const run of waiting) run();
      });
    }
    return false;
  }

  override get hasBegun(): boolean {
    return this.#isHeadSent ? this.#hasAnswerBegun : this.#inner.hasBegun;
  }

  override begin(status: number, headers: readonly string[]): void {
    const isStream =
      headerOf(headers, "content-type").toLowerCase().startsWith("text/event-stream") &&
      headerOf(headers, "content-encoding") === "";
    this.#hasAnswerBegun = true;
    if (!isStream) this.#stop();
    if (!this.#isHeadSent) return this.#inner.begin(status, headers);
    // The client reads a stream, in which these bytes would be invalid.
    if (!isStream) this.cut();
  }

  override write(chunk: Buffer): boolean {
    this.#last = lastBytes(this.#last, chunk);
    return this.#send(chunk);
  }

  override onDrain(run: () => void): void {
    if (this.#waiting === null) this.#inner.onDrain(run);
    else this.#waiting.push(run);
  }

  override reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    this.#stop();
    if (!this.#isHeadSent) return this.#inner.reply(status, headers, body, encoding);
    if (this.#inner.gone) return;
    this.#hasAnswerBegun = true;
    const text = Buffer.from(body, encoding).toString("utf8");
    this.#inner.write(errorEvents(this.#ports.dialect, status, text));
    this.#inner.end();
  }

  override end(): void {
    this.#stop();
    this.#inner.end();
  }

  override cut(): void {
    this.#stop();
    this.#inner.cut();
  }
}

const nothing = Buffer.alloc(0);
