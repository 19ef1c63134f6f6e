/**
 * The WebSocket sessions that are open, so that a proxy that stops can close them in order and wait
 * for their settles.
 */

export interface OpenSession {
  /** Closes it as soon as no response is cut by that. */
  drain(): void;
}

export class OpenSessions {
  readonly #open = new Set<OpenSession>();
  #draining = false;
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  add(session: OpenSession): void {
    this.#open.add(session);
    if (this.#draining) session.drain();
  }

  remove(session: OpenSession): void {
    this.#open.delete(session);
    if (this.#open.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Closes all that are open, and those that are opened later. */
  drain(): void {
    this.#draining = true;
    for (const session of [...this.#open]) session.drain();
  }

  /** Resolves when none is open. */
  ended(): Promise<void> {
    return this.#open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#waiting.push(resolve));
  }
}
