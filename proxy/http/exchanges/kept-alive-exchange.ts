/**
 * An exchange whose stream of events never pauses for long (docs/reference/http-api.md,
 * "Keep-alive"): while nothing goes to the client, a comment does, or the dialect's own event for
 * that. To the steps that answer nothing has begun by that, so a request can still fail over; but
 * its status has gone out, and what would have been an answer with another one becomes an event of
 * the stream.
 *
 * Not here: what such an event looks like (`keep-alive-events.ts`).
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

/** What it uses of the gateway. */
interface KeepAliveGateway extends Pick<KeepAlivePorts, "monoMs" | "setTimer"> {
  readonly config: { readonly server: { readonly streamKeepAliveMs: number } };
}

/** Null if its client gets nothing but the answer. */
export function keptAliveExchange(
  exchange: Exchange,
  { stream, operation }: { readonly stream: boolean; readonly operation: Operation },
  { config, monoMs, setTimer }: KeepAliveGateway,
): KeptAliveExchange | null {
  const silenceMs = config.server.streamKeepAliveMs;
  const dialect = stream && silenceMs > 0 ? streamDialect(operation) : null;
  if (dialect === null) return null;
  return new KeptAliveExchange(exchange, { silenceMs, dialect, monoMs, setTimer });
}

interface KeepAlivePorts {
  /** Once nothing has gone out for so long, something does. */
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
  /** Whether the answer has begun, as the steps see it. */
  #answerBegun = false;
  /** The end of what was written: an event has ended there, or not. */
  #last: Buffer = nothing;
  /** What waits until the client has read; null if it keeps up. */
  #waiting: (() => void)[] | null = null;

  constructor(inner: Exchange, ports: KeepAlivePorts) {
    super(inner);
    this.#inner = inner;
    this.#ports = ports;
  }

  /** From now on. `limits`: headers that the stream begins with, unless the answer is faster. */
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
      // Nobody is there to report it to: the request ends as one whose client has gone.
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
    // Its bytes have no place in the stream that the client reads.
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

/** Whether an event can begin behind these bytes. */
function endsEvent(bytes: Buffer): boolean {
  return (
    bytes.length === 0 ||
    /(?:\n\n|\r\n\r\n|\r\r)$/.test(bytes.toString("latin1", Math.max(0, bytes.length - 4)))
  );
}
