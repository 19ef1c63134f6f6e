/**
 * The answers that a proxy caches: found by a digest of the request, bounded by number and by
 * bytes, the least recently used one is dropped first. In memory alone, and each proxy has its own.
 *
 * Not here: which requests and answers are cached, and what distinguishes a request
 * (`cacheable.ts`). Times are handed in and never go backwards.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { Usage } from "../../usage/read-usage.js";

/** A complete answer, as the first client got it. */
export interface CachedAnswer {
  readonly contentType: string;
  readonly body: Buffer;
  /** The one that gave it. */
  readonly target: Target;
  /** What it used when it was given. */
  readonly usage: Usage;
  readonly estimated: boolean;
}

export interface CacheHit {
  readonly answer: CachedAnswer;
  readonly ageMs: number;
}

/** The cache of a proxy, and how its entries are found. */
export interface ResponseCaching {
  readonly cache: ResponseCache;
  /** Whether an answer to one user path may serve another. */
  readonly shareAcrossPaths: boolean;
  /** A collision-resistant digest of a line of text and the bytes after it. */
  readonly digest: (head: string, body: Buffer) => string;
}

export interface CacheBounds {
  readonly ttlMs: number;
  readonly entriesMax: number;
  readonly bytesMax: number;
  readonly entryBytesMax: number;
}

interface Entry {
  readonly answer: CachedAnswer;
  readonly storedMs: number;
}

/** What an entry takes beside its body: its key, its names and counts, its place in the map. */
const entryOverheadBytes = 1024;

export class ResponseCache {
  readonly bounds: CacheBounds;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #recordedBytes = 0;

  constructor(bounds: CacheBounds) {
    this.bounds = bounds;
  }

  get entries(): number {
    return this.#entries.size;
  }

  /** Of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The answer to a request, unless it is older than `ageMsMax` or than `ttlMs`. */
  find(key: string, nowMs: number, ageMsMax: number): CacheHit | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const ageMs = nowMs - entry.storedMs;
    if (ageMs >= this.bounds.ttlMs) {
      this.#remove(key, entry);
      return null;
    }
    if (ageMs >= ageMsMax) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return { answer: entry.answer, ageMs };
  }

  /** Stores an answer in place of an older one to the same request, unless it is too large. */
  keep(key: string, answer: CachedAnswer, nowMs: number): void {
    const { entriesMax, bytesMax, entryBytesMax } = this.bounds;
    const bytes = bytesOf(answer);
    const older = this.#entries.get(key);
    if (older !== undefined) this.#remove(key, older);
    if (answer.body.length > entryBytesMax || bytes > bytesMax) return;
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size < entriesMax && this.#bytes + bytes <= bytesMax) break;
      this.#remove(oldest, entry);
    }
    this.#entries.set(key, { answer, storedMs: nowMs });
    this.#bytes += bytes;
  }

  /**
   * Reserves room for bytes of an answer on its way; false when there is none. All answers that are
   * being recorded have as much room together as all entries.
   */
  reserve(bytes: number): boolean {
    if (this.#recordedBytes + bytes > this.bounds.bytesMax) return false;
    this.#recordedBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#recordedBytes -= bytes;
  }

  #remove(key: string, { answer }: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= bytesOf(answer);
  }
}

function bytesOf({ body }: CachedAnswer): number {
  return body.length + entryOverheadBytes;
}
