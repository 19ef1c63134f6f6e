/**
 * The WebSocket sessions that are open, so that a proxy on its way out can end them in order and
 * wait for their settles.
 */

export interface OpenSession {
  /** Ends as soon as nothing is cut by it. */
  drain(): void;
}

export class OpenSessions {
  readonly #open = new Set<OpenSession>();
  #draining = false;
  #waiting: (() => void)[] = [];

  add(session: OpenSession): void {
    this.#open.add(session);
    if (this.#draining) session.drain();
  }

  remove(session: OpenSession): void {
    this.#open.delete(session);
    if (this.#open.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** All that are open, and all that still come. */
  drain(): void {
    this.#draining = true;
    for (const session of [...this.#open]) session.drain();
  }

  /** Resolved when none is open any more. */
  ended(): Promise<void> {
    return this.#open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#waiting.push(resolve));
  }
}
