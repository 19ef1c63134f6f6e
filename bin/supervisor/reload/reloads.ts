/**
 * The requests to reload one running Sluice: one runs at a time, and none during a stop. The owner
 * defines what a reload does.
 */
import { exitCodes } from "../../session/exit-code.js";
import type { ReloadOutcome } from "./reload-outcome.js";

export class Reloads {
  readonly #reload: () => Promise<ReloadOutcome>;
  readonly #report: (outcome: ReloadOutcome) => void;
  #running = false;
  #again = false;
  #stopping = false;

  /** Calls `report` with the outcome of each reload. `reload` never rejects. */
  constructor(reload: () => Promise<ReloadOutcome>, report: (outcome: ReloadOutcome) => void) {
    this.#reload = reload;
    this.#report = report;
  }

  /** Reloads, and resolves with the outcome. During another reload it resolves with a refusal. */
  async request(): Promise<ReloadOutcome> {
    if (this.#stopping) return busy("error: Sluice is stopping: nothing was reloaded");
    if (this.#running) return busy("error: a reload is in progress: try again when it is done");
    this.#running = true;
    const outcome = await this.#reload();
    this.#report(outcome);
    this.#running = false;
    // The configuration may have changed after the running reload had read it.
    if (this.#again) this.signal();
    return outcome;
  }

  /** Reloads without a caller that waits. During another reload, it reloads once that has ended. */
  signal(): void {
    this.#again = this.#running && !this.#stopping;
    if (!this.#again) void this.request();
  }

  /** Starts no further reload. */
  stop(): void {
    this.#stopping = true;
  }
}

function busy(line: string): ReloadOutcome {
  return { ok: false, exitCode: exitCodes.taken, lines: [line] };
}
