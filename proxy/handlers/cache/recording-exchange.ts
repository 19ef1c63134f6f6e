/**
 * The exchange of a cache miss: it sends `x-cache: MISS` and records the answer while it passes, as
 * long as it may be cacheable. It delays nothing.
 */
import { ByteBuffer } from "../../../shared/byte-buffer.js";
import { headerOf } from "../../http/copy-headers.js";
import type { Exchange } from "../../http/exchange.js";
import { DelegatedExchange } from "../../http/exchanges/delegated-exchange.js";
import type { ResponseCache } from "./response-cache.js";

interface RecordedAnswer {
  readonly contentType: string;
  /** A copy, so that no larger buffer stays in memory. */
  readonly body: Buffer;
}

export class RecordingExchange extends DelegatedExchange {
  readonly #cache: ResponseCache | null;
  /** Null once the answer isn't cacheable. */
  #store: ByteBuffer | null;
  #contentType = "";
  #reservedBytes = 0;

  /** `cache`: where the answer is stored; null if it may not be. */
  constructor(exchange: Exchange, cache: ResponseCache | null) {
    super(exchange);
    this.#cache = cache;
    this.#store = cache === null ? null : new ByteBuffer();
  }

  /** Ends the recording. Null if the status wasn't 200 or the answer was too large. */
  take(): RecordedAnswer | null {
    const store = this.#store;
    const recorded =
      store === null ? null : { contentType: this.#contentType, body: copyOf(store) };
    this.#forget();
    return recorded;
  }

  override begin(status: number, headers: readonly string[]): void {
    super.begin(status, this.#head(status, headers));
  }

  override write(chunk: Buffer): boolean {
    this.#record(chunk);
    return super.write(chunk);
  }

  override reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    const withMiss = this.#head(status, headers);
    if (this.#store !== null) this.#record(Buffer.from(body, encoding));
    super.reply(status, withMiss, body, encoding);
  }

  #head(status: number, headers: readonly string[]): readonly string[] {
    this.#contentType = headerOf(headers, "content-type");
    // The next client may not accept the same encoding.
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
}

/** A copy: a view would keep its larger buffer in memory. */
function copyOf(store: ByteBuffer): Buffer {
  const bytes = store.take();
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
