/**
 * The engine that simulated hosts share: the twin, behind a network that loses, doubles and delays
 * questions and answers. A host gets the answer to a question within a second or not at all; the
 * engine may execute the question long after that.
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

/** After this time a host gives up the connection and takes no answer. */
export const answerMaxMs = 1000;

export class SharedEngine {
  readonly #world: World;
  readonly #faults: NetworkFaults;
  readonly #aheadMs: number;
  twin: CounterTwin = createCounterTwin();
  /** Changes whenever the engine may have lost data. */
  epoch = 1;
  /** Whether network faults have ended. */
  isHealed = false;

  constructor(world: World, faults: NetworkFaults, aheadMs: number) {
    this.#world = world;
    this.#faults = faults;
    this.#aheadMs = aheadMs;
  }

  get nowMs(): number {
    return Math.floor(this.#world.nowMs + this.#aheadMs);
  }

  /** The port of one host. `isCut`: whether the host doesn't reach the engine. */
  portOf(asker: Asker, process: Process, isCut: () => boolean): SharedLimits {
    const travel = <T>(run: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const { random } = this.#world;
        const faults = this.#faults;
        let isOver = false;
        this.#world.after(answerMaxMs, process, () => {
          if (isOver) return;
          isOver = true;
          reject(new Error("it doesn't answer"));
        });
        const happens = (chance: number): boolean => !this.isHealed && random.chance(chance);
        if (isCut() || happens(faults.lost)) return this.#world.count("question lost");
        const late = happens(faults.late);
        if (late) this.#world.count("question executed late");
        const isLost = happens(faults.answerLost);
        if (isLost) this.#world.count("answer lost");
        const slow = happens(faults.slow) ? random.between(40, 900) : 0;
        const thereMs = late ? random.between(900, 3000) : random.skewed(0.05, 5) + slow / 2;
        const backMs = random.skewed(0.05, 5) + slow / 2;
        this.#world.after(thereMs, null, () => {
          const answer = run();
          if (isLost || isCut()) return;
          this.#world.after(backMs, process, () => {
            if (isOver) return;
            isOver = true;
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
