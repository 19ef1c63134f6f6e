/** Asks what all hosts count of some counters, to show it: nothing is told or granted by it. */
import type { SharedLimits } from "../../cluster/shared-limits.js";
import type { Counter } from "../../counters/counter.js";
import type { ClusterTurn } from "../cluster-turn.js";
import type { Share } from "../share.js";
import { questionsPerBatch } from "../share-bounds.js";

/** The turns of the event loop in which answers come. */
interface Turns {
  readonly turn: ClusterTurn<Share>;
  enter(): void;
}

export class ShareReader {
  readonly #turns: Turns;
  readonly #shared: Pick<SharedLimits, "read">;

  constructor(turns: Turns, shared: Pick<SharedLimits, "read">) {
    this.#turns = turns;
    this.#shared = shared;
  }

  /**
   * Resolved: these counters say what all hosts count just now; as far as they are shared, and the
   * engine answers.
   */
  refresh(counters: Iterable<Counter>): Promise<void> {
    for (const { rule, child, window } of counters) rule.shares?.of(child, window).look();
    return this.refreshLooked();
  }

  /** The same for what an explanation has met. */
  async refreshLooked(): Promise<void> {
    const shares = [...this.#turns.turn.looked];
    for (let i = 0; i < shares.length; i += questionsPerBatch)
      await this.#read(shares.slice(i, i + questionsPerBatch));
  }

  async #read(shares: readonly Share[]): Promise<void> {
    const { turn } = this.#turns;
    this.#turns.enter();
    const sentMonoMs = turn.monoMs;
    const names = shares.map(({ rule, child, generation }) => {
      return { ruleId: rule.id, child, periodMs: rule.periodMs, generation };
    });
    const found = await this.#shared.read(names).catch(() => null);
    if (found === null) return;
    this.#turns.enter();
    for (const [i, share] of shares.entries()) {
      const totals = found[i]!;
      // The engine hasn't said.
      if (totals.nowMs > 0) share.seen(totals, { sentMonoMs, receivedMonoMs: turn.monoMs });
    }
  }
}
