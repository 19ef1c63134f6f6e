/**
 * Throttles failed sign-ins per client: after too many within a minute, further ones wait until the
 * first is a minute old. Time is an argument.
 */

/** Enough for typing errors; 256-bit keys can't be guessed anyway. */
const attemptsMax = 10;
const attemptsWithinMs = 60_000;
/** Clients in memory, at some 300 bytes each. */
const clientsMax = 10_000;

export class SignInAttempts {
  /** The times of attempts; clients are ordered by their last one. */
  readonly #byClient = new Map<string, number[]>();

  /** For tests. */
  get clients(): number {
    return this.#byClient.size;
  }

  /** Counts an attempt unless `takeBack` removes it; or returns the seconds to wait. */
  begin(client: string, nowMonoMs: number): number | null {
    const recent = this.#recent(client, nowMonoMs);
    if (recent.length >= attemptsMax)
      return Math.ceil((recent[0]! + attemptsWithinMs - nowMonoMs) / 1000);
    recent.push(nowMonoMs);
    this.#byClient.delete(client);
    this.#byClient.set(client, recent);
    if (this.#byClient.size > clientsMax)
      this.#byClient.delete(this.#byClient.keys().next().value!);
    return null;
  }

  /** Removes the attempt of that time. */
  takeBack(client: string, beganMonoMs: number): void {
    const attempts = this.#byClient.get(client);
    const position = attempts?.indexOf(beganMonoMs) ?? -1;
    if (position >= 0) attempts!.splice(position, 1);
    if (attempts?.length === 0) this.#byClient.delete(client);
  }

  #recent(client: string, nowMonoMs: number): number[] {
    const attempts = this.#byClient.get(client) ?? [];
    return attempts.filter((beganMonoMs) => nowMonoMs - beganMonoMs < attemptsWithinMs);
  }
}
