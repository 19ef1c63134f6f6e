/**
 * The open WebSocket sessions, so that a stopping proxy can close them in order and wait for their
 * settles.
 */

export interface OpenSession {
  /** Closes the session as soon as that cuts no response. */
  drain(): void;
}

export class OpenSessions {
  readonly #open = new Set<OpenSession>();
  #isDraining = false;
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  add(session: OpenSession): void {
    this.#open.add(session);
    if (this.#isDraining) session.drain();
  }

  remove(session: OpenSession): void {
    this.#open.delete(session);
    if (this.#open.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Closes all open sessions, and those that open later. */
  drain(): void {
    this.#isDraining = true;
    for (const session of [...this.#open]) session.drain();
  }

  /** Resolves when no session is open. */
  ended(): Promise<void> {
    return this.#open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#waiting.push(resolve));
  }
}
