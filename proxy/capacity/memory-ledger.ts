/**
 * Bounds the bytes of request bodies and answers in memory (docs/reference/bounds.md, "Memory"). A
 * request takes bytes before it allocates them, and is refused when they don't fit; its end returns
 * them, however it ends.
 *
 * Not here: the buffers, and the answer when no memory is left.
 */
import { assert } from "../../shared/assert.js";
import { heldPieceBytes, keptMemoryShare, memoryForAnswersShare } from "../../shared/bounds.js";

/** The bytes in use, and their bound. */
export class MemoryLedger {
  readonly max: number;
  #held = 0;
  /**
   * Bytes that stay between requests. They have room of their own, so that no request waits for it.
   */
  #kept = 0;
  readonly #onFull: (() => void) | null;

  /** `onFull` runs each time that bytes don't fit. */
  constructor(max: number, onFull: (() => void) | null = null) {
    this.max = max;
    this.#onFull = onFull;
  }

  get held(): number {
    return this.#held;
  }

  /** False if the bytes don't fit below `max`; then none are taken. */
  take(bytes: number, max = this.max): boolean {
    assert(bytes >= 0, "a request takes at least 0 bytes");
    if (this.#held + bytes > max) {
      this.#onFull?.();
      return false;
    }
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    assert(bytes >= 0 && bytes <= this.#held, "at most the taken bytes are given back");
    this.#held -= bytes;
  }

  /** Takes memory for what stays between requests. False if the bytes don't fit. */
  keep(bytes: number): boolean {
    if (this.#kept + bytes > this.max * keptMemoryShare) return false;
    this.#kept += bytes;
    return true;
  }

  forget(bytes: number): void {
    assert(bytes >= 0 && bytes <= this.#kept, "at most the kept bytes are forgotten");
    this.#kept -= bytes;
  }
}

/** The memory of an answer. */
export type AnswerMemory = Pick<MemoryShare, "takeForAnswer" | "give">;

/** Memory that grows in pieces. */
export interface HeldPieces {
  /** Takes a piece; false without memory for it. */
  hold(bytes: number): boolean;
  /** Returns a piece. */
  release(bytes: number): void;
}

/** The memory of one request: of its body until it is sent, of its answer until it is read. */
export class MemoryShare {
  readonly #ledger: MemoryLedger;
  #held = 0;
  #kept = 0;
  #isHandled = false;
  #isAnswered = false;

  constructor(ledger: MemoryLedger) {
    this.#ledger = ledger;
  }

  /** The memory of another request, from the same ledger. */
  newShare(): MemoryShare {
    return new MemoryShare(this.#ledger);
  }

  /**
   * Takes memory for the request itself, and leaves some for answers of running requests. A lone
   * request always gets it, since its size has its own bound.
   */
  take(bytes: number): boolean {
    return this.#take(bytes, this.#ledger.max * (1 - memoryForAnswersShare));
  }

  /** Takes memory for the answer. */
  takeForAnswer(bytes: number): boolean {
    return this.#take(bytes, this.#ledger.max);
  }

  #take(bytes: number, max: number): boolean {
    if (this.#isOver) return false;
    const isAlone = this.#ledger.held === this.#held;
    if (!this.#ledger.take(bytes, isAlone ? Infinity : max)) return false;
    this.#held += bytes;
    return true;
  }

  /** Does nothing after the end of the request, which returned everything. */
  give(bytes: number): void {
    if (this.#isOver) return;
    assert(bytes <= this.#held, "a request gives back at most what it has taken");
    this.#ledger.give(bytes);
    this.#held -= bytes;
  }

  /** As `keep` of the ledger. The end of the request returns this, too. */
  keep(bytes: number): boolean {
    if (this.#isOver || !this.#ledger.keep(bytes)) return false;
    this.#kept += bytes;
    return true;
  }

  forget(bytes: number): void {
    if (this.#isOver) return;
    this.#ledger.forget(bytes);
    this.#kept -= bytes;
  }

  /** The handler has ended. */
  onHandlerEnd(): void {
    this.#isHandled = true;
    this.#giveAll();
  }

  /** The response is sent, or the client disconnected. */
  onResponseEnd(): void {
    this.#isAnswered = true;
    this.#giveAll();
  }

  get #isOver(): boolean {
    return this.#isHandled && this.#isAnswered;
  }

  #giveAll(): void {
    if (!this.#isOver) return;
    this.#ledger.give(this.#held);
    this.#ledger.forget(this.#kept);
    this.#held = 0;
    this.#kept = 0;
  }
}

/** The pieces of a request's body; each has some overhead. */
export function requestPieces(share: MemoryShare): HeldPieces {
  return {
    hold: (bytes) => share.take(bytes + heldPieceBytes),
    release: (bytes) => share.give(bytes + heldPieceBytes),
  };
}

/** A body that was read as a whole. */
export function wholeBodies(share: MemoryShare): HeldPieces {
  return { hold: (bytes) => share.take(bytes), release: (bytes) => share.give(bytes) };
}
