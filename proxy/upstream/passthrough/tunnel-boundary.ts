/**
 * The error boundary around a WebSocket session: an exception in one of its events, which no
 * promise waits for, ends only this session.
 */

import type { SessionCharge, SessionUsage } from "../../usage/session-usage.js";
import { isFinalStatus, noSuchStatus, type UpstreamFailure } from "../errors/upstream-failure.js";
import type { TunnelEnd, TunnelSink } from "./passthrough-upstream.js";

interface BoundedSink extends TunnelSink {
  /** Ends the session: one of its events has thrown. */
  onBug(error: unknown): void;
}

export class TunnelBoundary implements TunnelSink {
  readonly #sink: BoundedSink;

  constructor(sink: BoundedSink) {
    this.#sink = sink;
  }

  run(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#sink.onBug(error);
    }
  }

  onOpen(rawHeaders: readonly string[]): readonly string[] {
    let headers: readonly string[] = [];
    this.run(() => (headers = this.#sink.onOpen(rawHeaders)));
    return headers;
  }

  onAnswer(status: number, rawHeaders: readonly string[], body: Buffer): void {
    if (isFinalStatus(status)) this.run(() => this.#sink.onAnswer(status, rawHeaders, body));
    else this.onFailure(noSuchStatus(status));
  }

  onFailure(failure: UpstreamFailure): void {
    this.run(() => this.#sink.onFailure(failure));
  }

  onFromClient(chunk: Buffer): void {
    try {
      this.#sink.onFromClient(chunk);
    } catch (error) {
      this.#sink.onBug(error);
    }
  }

  onFromProvider(chunk: Buffer): void {
    try {
      this.#sink.onFromProvider(chunk);
    } catch (error) {
      this.#sink.onBug(error);
    }
  }

  onTimedOut(reason: string): void {
    this.run(() => this.#sink.onTimedOut(reason));
  }

  onEnd(end: TunnelEnd): void {
    this.run(() => this.#sink.onEnd(end));
  }
}

/** The metered charge, unless the meter itself threw. */
export function chargedAnyway(
  session: SessionUsage,
  unreadMessages: number,
  modelOutputMax: number | null,
): SessionCharge {
  try {
    return session.charge(unreadMessages, modelOutputMax);
  } catch (error) {
    const note = `its usage can't be read: ${String(error)}`;
    return { usage: null, estimated: true, atMost: null, note };
  }
}
