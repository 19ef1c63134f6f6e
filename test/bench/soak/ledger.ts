/** What became of each request, as its client saw it: a few bytes for each number. */

/** How a request ended for its client. `broken`: its connection did, without an answer. */
export const outcomes = [
  "not sent",
  "under way",
  "whole",
  "from the cache",
  "refused",
  "provider failed",
  "cut",
  "left",
  "broken",
  "wrong",
] as const;
export type Outcome = (typeof outcomes)[number];

export class Ledger {
  readonly #outcomes: Uint8Array;
  readonly #statuses: Uint16Array;
  /** Seconds since the start of the load. */
  readonly #endedAtS: Float32Array;
  /** Of answers that weren't as they should be, the first few. */
  readonly wrong: string[] = [];
  sent = 0;
  ended = 0;

  constructor(requestsMax: number) {
    this.#outcomes = new Uint8Array(requestsMax);
    this.#statuses = new Uint16Array(requestsMax);
    this.#endedAtS = new Float32Array(requestsMax);
  }

  get inFlight(): number {
    return this.sent - this.ended;
  }

  /** The number of the next request; null: the ledger is full. */
  begin(): number | null {
    if (this.sent === this.#outcomes.length) return null;
    this.#outcomes[this.sent] = outcomes.indexOf("under way");
    return this.sent++;
  }

  /** `note`: what was wrong about it. */
  end(n: number, outcome: Outcome, at: { status: number; atS: number; note?: string }): void {
    if (this.outcomeOf(n) !== "under way") return;
    this.ended++;
    this.#outcomes[n] = outcomes.indexOf(outcome);
    this.#statuses[n] = at.status;
    this.#endedAtS[n] = at.atS;
    if (outcome === "wrong" && this.wrong.length < 100)
      this.wrong.push(`request ${n} at ${at.atS.toFixed(1)} s: ${at.note ?? ""}`);
  }

  outcomeOf(n: number): Outcome {
    return outcomes[this.#outcomes[n]!]!;
  }

  statusOf(n: number): number {
    return this.#statuses[n]!;
  }

  endedAtS(n: number): number {
    return this.#endedAtS[n]!;
  }

  counts(): ReadonlyMap<Outcome, number> {
    const counts = new Map<Outcome, number>();
    for (let n = 0; n < this.sent; n++)
      counts.set(this.outcomeOf(n), (counts.get(this.outcomeOf(n)) ?? 0) + 1);
    return counts;
  }
}
