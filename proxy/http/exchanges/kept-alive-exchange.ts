/**
 * An exchange that sends keep-alives while its stream of events is silent
 * (docs/reference/http-api.md, "Keep-alive"): a comment, or the dialect's own event. The handlers
 * don't see keep-alives as the begin of the answer, so a request can still fail over. But the
 * status 200 is sent with the first one, so a later answer with another status becomes an event of
 * the stream.
 *
 * Not here: the form of these events (`keep-alive-events.ts`).
 */
import type { Operation } from "../../../shared/operation.js";
import { headerOf } from "../copy-headers.js";
import type { Exchange } from "../exchange.js";
import { requestIdHeaders } from "../respond.js";
import { DelegatedExchange } from "./delegated-exchange.js";
import {
  errorEvents,
  keepAliveEvent,
  type StreamDialect,
  streamDialect,
} from "./keep-alive-events.js";

/** The part of the gateway that it uses. */
interface KeepAliveGateway extends Pick<KeepAlivePorts, "monoMs" | "setTimer"> {
  readonly config: { readonly server: { readonly streamKeepAliveMs: number } };
}

/** For a stream; null if its client gets no keep-alives. */
export function keptAliveExchange(
  exchange: Exchange,
  operation: Operation,
  { config, monoMs, setTimer }: KeepAliveGateway,
): KeptAliveExchange | null {
  const silenceMs = config.server.streamKeepAliveMs;
  const dialect = silenceMs > 0 ? streamDialect(operation) : null;
  if (dialect === null) return null;
  return new KeptAliveExchange(exchange, { silenceMs, dialect, monoMs, setTimer });
}

interface KeepAlivePorts {
  /** The silence after which a keep-alive is sent. */
  readonly silenceMs: number;
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
  #headSent = false;
  /** Whether a handler has begun the answer. */
  #answerBegun = false;
  /** The last bytes written, which show whether an event has ended. */
  #last: Buffer = nothing;
  /** Callbacks that wait for the client to read; null if the client keeps up. */
  #waiting: (() => void)[] | null = null;

  constructor(inner: Exchange, ports: KeepAlivePorts) {
    super(inner);
    this.#inner = inner;
    this.#ports = ports;
  }

  /** Starts the timer. `limits`: headers of the stream, unless the answer comes first. */
  keepAlive(limits: readonly string[]): void {
    this.#writtenMonoMs = this.#ports.monoMs();
    const type = ["content-type", "text/event-stream"];
    this.#arm(this.#ports.silenceMs, [...type, ...requestIdHeaders(this.#inner), ...limits]);
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
    try {
      if (this.#waiting === null && endsEvent(this.#last)) {
        if (!this.#inner.begun) {
          this.#headSent = true;
          this.#inner.begin(200, headers);
        }
        this.#send(keepAliveEvent(dialect));
      }
      this.#arm(silenceMs, headers);
    } catch {
      // No caller gets this error: the request ends as if its client had disconnected.
      this.#inner.cut();
    }
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

  override get begun(): boolean {
    return this.#headSent ? this.#answerBegun : this.#inner.begun;
  }

  override begin(status: number, headers: readonly string[]): void {
    const isStream =
      headerOf(headers, "content-type").toLowerCase().startsWith("text/event-stream") &&
      headerOf(headers, "content-encoding") === "";
    this.#answerBegun = true;
    if (!isStream) this.#stop();
    if (!this.#headSent) return this.#inner.begin(status, headers);
    // The client reads a stream, in which these bytes would be invalid.
    if (!isStream) this.cut();
  }

  override write(chunk: Buffer): boolean {
    this.#last = chunk.length < 4 ? Buffer.concat([this.#last.subarray(-4), chunk]) : chunk;
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
    if (!this.#headSent) return this.#inner.reply(status, headers, body, encoding);
    if (this.#inner.gone) return;
    this.#answerBegun = true;
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

/** Whether an event may begin after these bytes. */
function endsEvent(bytes: Buffer): boolean {
  return (
    bytes.length === 0 ||
    /(?:\n\n|\r\n\r\n|\r\r)$/.test(bytes.toString("latin1", Math.max(0, bytes.length - 4)))
  );
}
