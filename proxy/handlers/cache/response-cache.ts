/**
 * The answers that a proxy keeps to give them again: found by a digest of the request, bounded by
 * number and by bytes, the one that was used longest ago goes first. In memory alone, and each
 * proxy has its own.
 *
 * Not here: which requests and answers are kept, and what a request is found by (`cacheable.ts`).
 * Times are handed in and only ever go forward.
 */
import type { Target } from "../../../shared/wire/message.js";
import type { Usage } from "../../usage/read-usage.js";

/** A whole answer, as it went to the client who asked first. */
export interface CachedAnswer {
  readonly contentType: string;
  readonly body: Buffer;
  /** Who gave it. */
  readonly target: Target;
  /** What it had used. */
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
  readonly keptMs: number;
}

/** What an entry takes beside its body: its key, its names and counts, its places in the table. */
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

  /** Of all that is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The answer to a request, unless it is older than `ageMsMax` or than any may be. */
  find(key: string, nowMs: number, ageMsMax: number): CacheHit | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const ageMs = nowMs - entry.keptMs;
    if (ageMs >= this.bounds.ttlMs) {
      this.#remove(key, entry);
      return null;
    }
    if (ageMs >= ageMsMax) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return { answer: entry.answer, ageMs };
  }

  /**
   * Keeps an answer, in place of an older one to the same request. One that is too large is not
   * kept.
   */
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
    this.#entries.set(key, { answer, keptMs: nowMs });
    this.#bytes += bytes;
  }

  /**
   * Asks for room for bytes of an answer on its way, which may be kept when it is whole; false when
   * there is none. All answers on their way have as much room together as those that are kept.
   */
  takeRoom(bytes: number): boolean {
    if (this.#recordedBytes + bytes > this.bounds.bytesMax) return false;
    this.#recordedBytes += bytes;
    return true;
  }

  giveRoomBack(bytes: number): void {
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
