/**
 * An exchange without a socket: it writes down what the steps do with it, and fails them when that
 * breaks the port's order.
 */

import { MemoryLedger, MemoryShare } from "../../proxy/capacity/memory-ledger.js";
import { UploadGone, UploadTooLarge } from "../../proxy/http/body-spool.js";
import type { BodyResult, ClientSocket, ClientTls, Exchange } from "../../proxy/http/exchange.js";

export class FakeExchange implements Exchange {
  tls: ClientTls | null = null;
  readonly id = "req_test";
  readonly ownId = "req_own";
  remoteAddress = "127.0.0.1";
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly rawHeaders: readonly string[];
  modelInPath: string | null = null;
  webSocket: ClientSocket | null = null;
  /** What was asked of a body on its way. */
  awaited: { readonly ms: number; readonly then: () => void } | null = null;
  ledger = new MemoryLedger(1e9);
  memory = new MemoryShare(this.ledger);
  gone = false;
  isCutByStop = false;
  hasBegun = false;
  status = 0;
  headers: readonly string[] = [];
  /** How the response ended, or null while it hasn't. */
  ended: "end" | "reply" | "cut" | null = null;
  /** For whatever response. */
  readonly added: string[] = [];
  readonly pieces: Buffer[] = [];
  /** The request's body. */
  sentPieces: Buffer[] = [];
  /** What was done, in order. */
  readonly calls: string[] = [];
  /** What `write` answers from now on. */
  reads = true;
  #onGone: (() => void)[] = [];
  #onDrain: (() => void) | null = null;

  constructor({
    method = "POST",
    path = "/v1/chat/completions",
    query = "",
    headers = [],
  }: { method?: string; path?: string; query?: string; headers?: readonly string[] } = {}) {
    this.method = method;
    this.path = path;
    this.query = query;
    this.rawHeaders = headers;
  }

  /** The body as it was sent. */
  get body(): Buffer {
    return Buffer.concat(this.pieces);
  }

  header(name: string): string | undefined {
    for (let i = 0; i < this.rawHeaders.length; i += 2)
      if (this.rawHeaders[i]!.toLowerCase() === name) return this.rawHeaders[i + 1];
    return undefined;
  }

  isRepeated(name: string): boolean {
    return this.rawHeaders.filter((raw, i) => i % 2 === 0 && raw.toLowerCase() === name).length > 1;
  }

  sent(name: string): string | undefined {
    for (let i = 0; i < this.headers.length; i += 2)
      if (this.headers[i]!.toLowerCase() === name) return this.headers[i + 1];
    return undefined;
  }

  /** Others hold all but so many bytes. Returns what they hold. */
  fillMemory(left: number): number {
    this.ledger.take(this.ledger.max - left);
    return this.ledger.held;
  }

  awaitBody(ms: number, then: () => void): void {
    this.awaited = { ms, then };
  }

  readBody(bytesMax: number): Promise<BodyResult> {
    if (this.gone) return Promise.resolve({ ok: false, reason: "gone" });
    const bytes = Buffer.concat(this.sentPieces);
    if (bytes.length > bytesMax) return Promise.resolve({ ok: false, reason: "too_large" });
    return Promise.resolve(
      this.memory.take(bytes.length) ? { ok: true, bytes } : { ok: false, reason: "no_memory" },
    );
  }

  async *readPieces(bytesMax: number): AsyncGenerator<Buffer> {
    let bytes = 0;
    for (const piece of this.sentPieces) {
      bytes += piece.length;
      if (bytes > bytesMax) throw new UploadTooLarge(`the body is larger than ${bytesMax} bytes`);
      yield piece;
    }
    if (this.gone) throw new UploadGone();
  }

  onGone(run: () => void): void {
    if (!this.gone) this.#onGone.push(run);
    else if (this.ended === null) queueMicrotask(run);
  }

  addHeaders(headers: readonly string[]): void {
    this.added.push(...headers);
  }

  onDrain(run: () => void): void {
    this.#onDrain ??= run;
  }

  begin(status: number, headers: readonly string[]): void {
    this.#call("begin", !this.hasBegun && this.ended === null);
    this.hasBegun = true;
    this.status = status;
    this.headers = headers;
  }

  write(chunk: Buffer): boolean {
    this.#call("write", this.hasBegun && this.ended === null);
    this.pieces.push(chunk);
    return this.reads;
  }

  end(): void {
    this.#call("end", this.hasBegun && this.ended === null);
    this.ended = "end";
  }

  reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    this.#call("reply", !this.hasBegun && this.ended === null);
    this.hasBegun = true;
    this.ended = "reply";
    this.status = status;
    this.headers = headers;
    this.pieces.push(Buffer.from(body, encoding));
  }

  cut(): void {
    this.#call("cut", this.ended === null);
    this.ended = "cut";
  }

  /** The client leaves. */
  leave(): void {
    if (this.ended !== null || this.gone) return;
    this.gone = true;
    for (const run of this.#onGone.splice(0)) run();
  }

  /** The proxy stops, and cuts the client off. */
  cutAtStop(): void {
    this.isCutByStop = true;
    this.leave();
  }

  /** The client reads again. */
  drain(): void {
    this.reads = true;
    const run = this.#onDrain;
    this.#onDrain = null;
    run?.();
  }

  #call(name: string, legal: boolean): void {
    this.calls.push(name);
    if (!legal) throw new Error(`${name} out of order, after ${this.calls.join(" ")}`);
  }
}
