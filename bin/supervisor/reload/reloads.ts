/**
 * The requests to reload of one running Sluice: one at a time, none while it stops. What a reload
 * does is the owner's.
 */
import { exitCodes } from "../../session/exit-code.js";
import type { ReloadOutcome } from "./reload-outcome.js";

export class Reloads {
  readonly #reload: () => Promise<ReloadOutcome>;
  readonly #report: (outcome: ReloadOutcome) => void;
  #running = false;
  #again = false;
  #stopping = false;

  /** `report`: called with the outcome of each. `reload` never rejects. */
  constructor(reload: () => Promise<ReloadOutcome>, report: (outcome: ReloadOutcome) => void) {
    this.#reload = reload;
    this.#report = report;
  }

  /** The caller waits for the outcome; a second one gets the answer that the first isn't done. */
  async request(): Promise<ReloadOutcome> {
    if (this.#stopping) return busy("error: Sluice is stopping: nothing was reloaded");
    if (this.#running) return busy("error: a reload is in progress: try again when it is done");
    this.#running = true;
    const outcome = await this.#reload();
    this.#report(outcome);
    this.#running = false;
    // The configuration may have changed since the one before has read it.
    if (this.#again) this.signal();
    return outcome;
  }

  /** No caller waits: one that comes during another is done after it. */
  signal(): void {
    this.#again = this.#running && !this.#stopping;
    if (!this.#again) void this.request();
  }

  /** From now on no reload begins. */
  stop(): void {
    this.#stopping = true;
  }
}

function busy(line: string): ReloadOutcome {
  return { ok: false, exitCode: exitCodes.taken, lines: [line] };
}
