/**
 * Attempts to sign in that haven't succeeded, by client: after so many within a minute none is
 * judged until the first of them is a minute old. Time is an argument.
 */

/** Nobody mistypes more often; of a key's 256 bits a guesser gets nowhere anyway. */
const attemptsMax = 10;
const attemptsWithinMs = 60_000;
/** Clients that are remembered, at some 300 bytes each. */
const clientsMax = 10_000;

export class SignInAttempts {
  /** When each attempt began; the clients in the order of their last one. */
  readonly #ofClient = new Map<string, number[]>();

  /** For tests. */
  get clients(): number {
    return this.#ofClient.size;
  }

  /**
   * Begins an attempt, which counts until it is taken back; or the seconds after which one may
   * begin.
   */
  begin(client: string, nowMonoMs: number): number | null {
    const recent = this.#recent(client, nowMonoMs);
    if (recent.length >= attemptsMax)
      return Math.ceil((recent[0]! + attemptsWithinMs - nowMonoMs) / 1000);
    recent.push(nowMonoMs);
    this.#ofClient.delete(client);
    this.#ofClient.set(client, recent);
    if (this.#ofClient.size > clientsMax)
      this.#ofClient.delete(this.#ofClient.keys().next().value!);
    return null;
  }

  /** The attempt that began then wasn't wrong. */
  takeBack(client: string, beganMonoMs: number): void {
    const attempts = this.#ofClient.get(client);
    const at = attempts?.indexOf(beganMonoMs) ?? -1;
    if (at >= 0) attempts!.splice(at, 1);
    if (attempts?.length === 0) this.#ofClient.delete(client);
  }

  #recent(client: string, nowMonoMs: number): number[] {
    const attempts = this.#ofClient.get(client) ?? [];
    return attempts.filter((beganMonoMs) => nowMonoMs - beganMonoMs < attemptsWithinMs);
  }
}
