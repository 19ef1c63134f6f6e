/**
 * An exchange of a cache miss: it reports the miss to the client (`x-cache: MISS`) and records the
 * answer on its way, as long as it may be worth caching. Nothing is held back.
 */
import { ByteBuffer } from "../../../shared/byte-buffer.js";
import type { MemoryShare } from "../../capacity/memory-ledger.js";
import { headerOf } from "../../http/copy-headers.js";
import type { BodyResult, ClientSocket, Exchange } from "../../http/exchange.js";
import type { ResponseCache } from "./response-cache.js";

interface Recorded {
  readonly contentType: string;
  /** In memory of its own. */
  readonly body: Buffer;
}

export class RecordingExchange implements Exchange {
  readonly #exchange: Exchange;
  readonly #cache: ResponseCache | null;
  /** Null: the answer isn't worth caching. */
  #store: ByteBuffer | null;
  #contentType = "";
  #reservedBytes = 0;

  /** `cache`: where the answer may be stored; null: nowhere. */
  constructor(exchange: Exchange, cache: ResponseCache | null) {
    this.#exchange = exchange;
    this.#cache = cache;
    this.#store = cache === null ? null : new ByteBuffer();
  }

  /** Ends the recording: the answer, or null when its status wasn't 200, or it was too large. */
  take(): Recorded | null {
    const store = this.#store;
    const recorded =
      store === null ? null : { contentType: this.#contentType, body: copyOf(store) };
    this.#forget();
    return recorded;
  }

  begin(status: number, headers: readonly string[]): void {
    this.#exchange.begin(status, this.#head(status, headers));
  }

  write(chunk: Buffer): boolean {
    this.#record(chunk);
    return this.#exchange.write(chunk);
  }

  reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    const withMiss = this.#head(status, headers);
    if (this.#store !== null) this.#record(Buffer.from(body, encoding));
    this.#exchange.reply(status, withMiss, body, encoding);
  }

  #head(status: number, headers: readonly string[]): readonly string[] {
    this.#contentType = headerOf(headers, "content-type");
    // An encoding that this client accepts may not suit the next one.
    if (status !== 200 || headerOf(headers, "content-encoding") !== "") this.#forget();
    return [...headers, "x-cache", "MISS"];
  }

  #record(chunk: Buffer): void {
    if (this.#store === null || this.#cache === null) return;
    if (
      this.#store.length + chunk.length > this.#cache.bounds.entryBytesMax ||
      !this.#cache.reserve(chunk.length)
    )
      return this.#forget();
    this.#reservedBytes += chunk.length;
    this.#store.append(chunk);
  }

  #forget(): void {
    this.#cache?.release(this.#reservedBytes);
    this.#reservedBytes = 0;
    this.#store = null;
  }

  addHeaders(headers: readonly string[]): void {
    this.#exchange.addHeaders(headers);
  }

  get id(): string {
    return this.#exchange.id;
  }

  get ownId(): string {
    return this.#exchange.ownId;
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress;
  }

  get method(): string {
    return this.#exchange.method;
  }

  get path(): string {
    return this.#exchange.path;
  }

  get query(): string {
    return this.#exchange.query;
  }

  get modelInPath(): string | null {
    return this.#exchange.modelInPath;
  }

  get rawHeaders(): readonly string[] {
    return this.#exchange.rawHeaders;
  }

  get webSocket(): ClientSocket | null {
    return this.#exchange.webSocket;
  }

  get memory(): MemoryShare {
    return this.#exchange.memory;
  }

  awaitBody(ms: number, then: () => void): void {
    this.#exchange.awaitBody(ms, then);
  }

  get gone(): boolean {
    return this.#exchange.gone;
  }
  get cutByStop(): boolean {
    return this.#exchange.cutByStop;
  }

  get begun(): boolean {
    return this.#exchange.begun;
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }

  isRepeated(name: string): boolean {
    return this.#exchange.isRepeated(name);
  }

  readBody(bytesMax: number): Promise<BodyResult> {
    return this.#exchange.readBody(bytesMax);
  }

  readPieces(bytesMax: number): AsyncIterable<Buffer> {
    return this.#exchange.readPieces(bytesMax);
  }

  onGone(run: () => void): void {
    this.#exchange.onGone(run);
  }

  onDrain(run: () => void): void {
    this.#exchange.onDrain(run);
  }

  end(): void {
    this.#exchange.end();
  }

  cut(): void {
    this.#exchange.cut();
  }
}

/** Not a view of a larger buffer, which would stay in memory with it. */
function copyOf(store: ByteBuffer): Buffer {
  const bytes = store.take();
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
