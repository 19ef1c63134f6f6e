/** How many requests that cost no admission one caller may have at once, for each kind of them. */

export class FreePlaces<Kind extends string> {
  readonly #max: Readonly<Record<Kind, number>>;
  /** By kind and caller; those without one aren't there. */
  readonly #taken = new Map<string, number>();

  constructor(max: Readonly<Record<Kind, number>>) {
    this.#max = max;
  }

  /** False: the caller has as many already. */
  take(kind: Kind, caller: string): boolean {
    const key = `${kind} ${caller}`;
    const taken = this.#taken.get(key) ?? 0;
    if (taken >= this.#max[kind]) return false;
    this.#taken.set(key, taken + 1);
    return true;
  }

  give(kind: Kind, caller: string): void {
    const key = `${kind} ${caller}`;
    const left = (this.#taken.get(key) ?? 1) - 1;
    if (left === 0) this.#taken.delete(key);
    else this.#taken.set(key, left);
  }

  /** Of all kinds and callers; for tests. */
  get taken(): number {
    let taken = 0;
    for (const each of this.#taken.values()) taken += each;
    return taken;
  }
}

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
