/**
 * The requests to reload one running Sluice: one runs at a time, and none during a stop. The owner
 * defines what a reload does.
 */
import { exitCodes } from "../../session/exit-code.js";
import type { ReloadOutcome } from "./reload-outcome.js";

export class Reloads {
  readonly #reload: () => Promise<ReloadOutcome>;
  readonly #report: (outcome: ReloadOutcome) => void;
  #isRunning = false;
  #mustRunAgain = false;
  #isStopping = false;

  /** Calls `report` with the outcome of each reload. `reload` never rejects. */
  constructor(reload: () => Promise<ReloadOutcome>, report: (outcome: ReloadOutcome) => void) {
    this.#reload = reload;
    this.#report = report;
  }

  /** Reloads, and resolves with the outcome. During another reload it resolves with a refusal. */
  async request(): Promise<ReloadOutcome> {
    if (this.#isStopping) return busyOutcome("error: Sluice is stopping: nothing was reloaded");
    if (this.#isRunning)
      return busyOutcome("error: a reload is in progress: try again when it is done");
    this.#isRunning = true;
    const outcome = await this.#reload();
    this.#report(outcome);
    this.#isRunning = false;
    // The configuration may have changed after the running reload had read it.
    if (this.#mustRunAgain) this.signal();
    return outcome;
  }

  /** Reloads without a caller that waits. During another reload, it reloads once that has ended. */
  signal(): void {
    this.#mustRunAgain = this.#isRunning && !this.#isStopping;
    if (!this.#mustRunAgain) void this.request();
  }

  /** Starts no further reload. */
  stop(): void {
    this.#isStopping = true;
  }
}

function busyOutcome(line: string): ReloadOutcome {
  return { ok: false, exitCode: exitCodes.taken, lines: [line] };
}
