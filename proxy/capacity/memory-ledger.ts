/**
 * How many bytes the proxy holds of its requests' bodies and answers (docs/reference/bounds.md,
 * "Memory"). A request takes before it holds and is refused what doesn't fit any more; what it
 * holds is given back when it ends, in whichever way.
 *
 * Not here: the buffers, and what is answered when nothing is left.
 */
import { assert } from "../../shared/assert.js";
import { heldPieceBytes, memoryForAnswersShare } from "../../shared/bounds.js";

/** All that is held, against a bound. */
export class MemoryLedger {
  readonly max: number;
  #held = 0;
  readonly #onFull: (() => void) | null;

  /** `onFull`: for each time that something doesn't fit. */
  constructor(max: number, onFull: (() => void) | null = null) {
    this.max = max;
    this.#onFull = onFull;
  }

  get held(): number {
    return this.#held;
  }

  /** False: so many bytes don't fit below `max`, and nothing is taken. */
  take(bytes: number, max = this.max): boolean {
    assert(bytes >= 0, "what is held is no less than nothing");
    if (this.#held + bytes > max) {
      this.#onFull?.();
      return false;
    }
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    assert(bytes >= 0 && bytes <= this.#held, "no more is given back than was taken");
    this.#held -= bytes;
  }
}

/** Where an answer takes memory. */
export type AnswerMemory = Pick<MemoryShare, "takeForAnswer" | "give">;

/** What is held in pieces, and may be full. */
export interface HeldPieces {
  /** One more piece. False: there is no memory for it. */
  hold(bytes: number): boolean;
  /** One piece less. */
  release(bytes: number): void;
}

/** What one request holds: of its body until it has been sent, of its answer until it is read. */
export class MemoryShare {
  readonly #ledger: MemoryLedger;
  #held = 0;
  #isHandled = false;
  #isAnswered = false;

  constructor(ledger: MemoryLedger) {
    this.#ledger = ledger;
  }

  /**
   * For the request itself. A part of the memory is left to the answers of those that are already
   * being executed. A request that is alone gets what it needs: it has bounds of its own.
   */
  take(bytes: number): boolean {
    return this.#take(bytes, this.#ledger.max * (1 - memoryForAnswersShare));
  }

  /** For its answer. */
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

  /** Nothing happens once the request is over: it has given all back. */
  give(bytes: number): void {
    if (this.#isOver) return;
    assert(bytes <= this.#held, "a request gives back no more than it has taken");
    this.#ledger.give(bytes);
    this.#held -= bytes;
  }

  /** Its handler has ended. */
  handled(): void {
    this.#isHandled = true;
    this.#giveAll();
  }

  /** Its response has left the process, or its client is gone. */
  answered(): void {
    this.#isAnswered = true;
    this.#giveAll();
  }

  get #isOver(): boolean {
    return this.#isHandled && this.#isAnswered;
  }

  #giveAll(): void {
    if (!this.#isOver) return;
    this.#ledger.give(this.#held);
    this.#held = 0;
  }
}

/** Pieces of a request's body: each takes some memory of its own beside its bytes. */
export function requestPieces(share: MemoryShare): HeldPieces {
  return {
    hold: (bytes) => share.take(bytes + heldPieceBytes),
    release: (bytes) => share.give(bytes + heldPieceBytes),
  };
}
