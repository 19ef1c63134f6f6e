/**
 * The engine that simulated hosts share: the twin behind a network that loses questions and
 * answers, doubles them, and brings them late. A host hears of a question within a second or not at
 * all; the engine may execute it long after that.
 */
import type { SharedLimits } from "../../../limiterd/cluster/shared-limits.js";
import {
  type Asker,
  type CounterTwin,
  createCounterTwin,
} from "../../support/cluster/counter-twin.js";
import type { Process, World } from "../world.js";

export interface NetworkFaults {
  readonly lost: number;
  readonly answerLost: number;
  readonly doubled: number;
  readonly late: number;
  readonly slow: number;
}

/** After it the connection is given up, and no answer counts. */
export const answerMaxMs = 1000;

export class SharedEngine {
  readonly #world: World;
  readonly #faults: NetworkFaults;
  readonly #aheadMs: number;
  twin: CounterTwin = createCounterTwin();
  /** Another text whenever it may have lost something. */
  epoch = 1;
  /** No network fails any more. */
  healed = false;

  constructor(world: World, faults: NetworkFaults, aheadMs: number) {
    this.#world = world;
    this.#faults = faults;
    this.#aheadMs = aheadMs;
  }

  get nowMs(): number {
    return Math.floor(this.#world.nowMs + this.#aheadMs);
  }

  /** The port of one host; `cut`: whether nothing passes now. */
  portOf(asker: Asker, process: Process, cut: () => boolean): SharedLimits {
    const travel = <T>(run: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const { random } = this.#world;
        const faults = this.#faults;
        let over = false;
        this.#world.after(answerMaxMs, process, () => {
          if (over) return;
          over = true;
          reject(new Error("it doesn't answer"));
        });
        const happens = (chance: number): boolean => !this.healed && random.chance(chance);
        if (cut() || happens(faults.lost)) return this.#world.count("question lost");
        const late = happens(faults.late);
        if (late) this.#world.count("question executed late");
        const isLost = happens(faults.answerLost);
        if (isLost) this.#world.count("answer lost");
        const slow = happens(faults.slow) ? random.between(40, 900) : 0;
        const thereMs = late ? random.between(900, 3000) : random.skewed(0.05, 5) + slow / 2;
        const backMs = random.skewed(0.05, 5) + slow / 2;
        this.#world.after(thereMs, null, () => {
          const answer = run();
          if (isLost || cut()) return;
          this.#world.after(backMs, process, () => {
            if (over) return;
            over = true;
            resolve(answer);
          });
        });
        if (happens(faults.doubled))
          this.#world.after(thereMs + random.between(0, 2000), null, () => {
            this.#world.count("question doubled");
            run();
          });
      });
    return {
      sync: (questions) =>
        travel(() =>
          questions.map((each) => {
            const reply = this.twin.sync(asker, each, this.nowMs);
            const { spent, spentBefore, window, wanted } = each.units;
            this.#world.trace(
              `${asker.hostId} #${each.seq} ${each.ruleId.replaceAll("\n", " ")} ${each.child} says ${window}: ${spent}, ${spentBefore}, wants ${wanted}: ${reply.status} ${reply.window}: ${reply.granted} of ${reply.totals.requests} and ${reply.totals.requestsBefore}`,
            );
            return reply;
          }),
        ),
      read: (names) =>
        travel(() => names.map((each) => this.twin.read(each, this.nowMs, asker.hostId))),
    };
  }
}
