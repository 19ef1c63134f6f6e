/**
 * The response cache of one proxy, in memory: entries are found by a digest of the request, bounded
 * by count and bytes, and evicted least recently used first.
 *
 * Not here: what is cacheable, and the cache key (`cacheable.ts`). Times are arguments and never
 * decrease.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { Usage } from "../../usage/usage.js";

/** A complete answer as the first client received it. */
export interface CachedAnswer {
  readonly contentType: string;
  readonly body: Buffer;
  /** The target that gave it. */
  readonly target: Target;
  /** Its usage when it was given. */
  readonly usage: Usage;
  readonly estimated: boolean;
}

export interface CacheHit {
  readonly answer: CachedAnswer;
  readonly ageMs: number;
}

/** The cache and its key function. */
export interface ResponseCaching {
  readonly cache: ResponseCache;
  /** Whether user paths share answers. */
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

/** The size of an entry without its body: key, names, counts, place in the map. */
const entryOverheadBytes = 1024;

export class ResponseCache {
  readonly bounds: CacheBounds;
  /** Ordered by last use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #recordedBytes = 0;

  constructor(bounds: CacheBounds) {
    this.bounds = bounds;
  }

  get entries(): number {
    return this.#entries.size;
  }

  /** The bytes of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The answer, unless it is older than `ageMsMax` or `ttlMs`. */
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

  /** Stores an answer, replacing an older one to the same request, unless it is too large. */
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
   * Reserves room for bytes of an answer that is being recorded; false if there is none. All
   * recordings together get as much room as all entries.
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
