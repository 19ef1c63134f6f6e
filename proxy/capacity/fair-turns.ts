/**
 * Lets few of many cheap requests begin in each turn of the event loop, the callers one after the
 * other, so that what others wait for has its turn between them: a thousand reports at once would
 * be answered in one go, and everybody else a tenth of a second later.
 */
export class FairTurns {
  readonly #perTurn: number;
  readonly #afterTurn: (run: () => void) => void;
  /** Begun in this turn; the turn ends when it is 0 again. */
  #begun = 0;
  /** First come, first served within a caller; the callers stand in the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** `afterTurn` runs a callback after the present turn. */
  constructor(perTurn: number, afterTurn: (run: () => void) => void) {
    this.#perTurn = perTurn;
    this.#afterTurn = afterTurn;
  }

  /** Callers that wait; for tests. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolved when it is this caller's turn; null: it is, and there is nothing to wait for. */
  take(caller: string): Promise<void> | null {
    if (this.#waiting.size === 0 && this.#begun < this.#perTurn) {
      this.#begin();
      return null;
    }
    return new Promise((resolve) => {
      const others = this.#waiting.get(caller);
      if (others === undefined) this.#waiting.set(caller, [resolve]);
      else others.push(resolve);
    });
  }

  #begin(): void {
    if (this.#begun++ === 0) this.#afterTurn(() => this.#turnEnded());
  }

  #turnEnded(): void {
    this.#begun = 0;
    for (const [caller, waiting] of this.#waiting) {
      if (this.#begun === this.#perTurn) return;
      this.#begin();
      this.#waiting.delete(caller);
      const begin = waiting.shift()!;
      // Behind the others, for its next one.
      if (waiting.length > 0) this.#waiting.set(caller, waiting);
      begin();
    }
  }
}
