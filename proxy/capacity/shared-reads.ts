/**
 * Reads without an admission, such as GET /v1/usage: a few run at a time, the others wait. Equal
 * reads in the queue run once; one whose clients all left is dropped. A read that already runs
 * isn't shared, since its answer may be older than the caller's last request.
 */

interface SharedReadBounds {
  /** The most reads that run at a time. */
  readonly runningMax: number;
  /** The most reads that wait. */
  readonly waitingMax: number;
  /** The most reads of one caller that wait. */
  readonly waitingPerCallerMax: number;
}

interface SharedRead<T> {
  readonly caller: string;
  readonly ask: () => Promise<T>;
  readonly askers: Set<(answer: T | null) => void>;
}

/** One read. Equal keys mean equal answers. */
interface Question<T> {
  readonly caller: string;
  readonly key: string;
  readonly ask: () => Promise<T>;
  /** Runs `run` if the client disconnects. */
  readonly onGone: (run: () => void) => void;
}

export class SharedReads<T> {
  readonly #bounds: SharedReadBounds;
  readonly #waiting = new Map<string, SharedRead<T>>();
  readonly #waitingPerCaller = new Map<string, number>();
  #running = 0;

  constructor(bounds: SharedReadBounds) {
    this.#bounds = bounds;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** The answer; null if too many wait or the client disconnected. `ask` never rejects. */
  read({ caller, key, ask, onGone }: Question<T>): Promise<T | null> {
    return new Promise((resolve) => {
      const sharedRead =
        this.#waiting.get(key) ?? this.#wait(key, { caller, ask, askers: new Set() });
      if (sharedRead === null) return resolve(null);
      sharedRead.askers.add(resolve);
      onGone(() => {
        resolve(null);
        sharedRead.askers.delete(resolve);
        if (sharedRead.askers.size === 0 && this.#waiting.get(key) === sharedRead)
          this.#remove(key, sharedRead);
      });
      this.#next();
    });
  }

  #wait(key: string, sharedRead: SharedRead<T>): SharedRead<T> | null {
    const { waitingMax, waitingPerCallerMax } = this.#bounds;
    const waitingOfCaller = this.#waitingPerCaller.get(sharedRead.caller) ?? 0;
    if (this.#waiting.size >= waitingMax || waitingOfCaller >= waitingPerCallerMax) return null;
    this.#waiting.set(key, sharedRead);
    this.#waitingPerCaller.set(sharedRead.caller, waitingOfCaller + 1);
    return sharedRead;
  }

  #remove(key: string, { caller }: SharedRead<T>): void {
    this.#waiting.delete(key);
    const remaining = this.#waitingPerCaller.get(caller)! - 1;
    if (remaining === 0) this.#waitingPerCaller.delete(caller);
    else this.#waitingPerCaller.set(caller, remaining);
  }

  #next(): void {
    for (const [key, sharedRead] of this.#waiting) {
      if (this.#running >= this.#bounds.runningMax) return;
      this.#remove(key, sharedRead);
      this.#running++;
      void sharedRead.ask().then((answer) => {
        this.#running--;
        for (const answerTo of sharedRead.askers) answerTo(answer);
        this.#next();
      });
    }
  }
}
