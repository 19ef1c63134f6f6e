/**
 * The slots of one gauge that the engine has granted to this host, and those of the other hosts.
 */
import { slotsValidMs } from "../bounds.js";
import { addCount } from "../cluster/halves.js";

export class ShareSlots {
  /** Granted slots, including those in use, and until when a request may take one. */
  #granted = 0;
  #endMonoMs = 0;
  #others = 0;
  /** Slots in use at the last report to the engine. */
  #reported = 0;

  /** Whether this host holds any slot. */
  get holds(): boolean {
    return this.#granted > 0;
  }

  /** Whether this host holds granted slots that no request uses. */
  get keeps(): boolean {
    return this.#granted > this.#reported;
  }

  /** Whether a granted slot is free beside those of the requests in flight. */
  has(inFlight: number, monoMs: number): boolean {
    return inFlight < this.#granted && monoMs < this.#endMonoMs;
  }

  /** Slots in use on all hosts. Granted slots of other hosts count as in use. */
  counted(inFlight: number): number {
    return addCount(this.#others, inFlight);
  }

  /**
   * Notes a report of the slots in use. `kept`: the most granted slots that stay beyond those in
   * use.
   */
  report(inFlight: number, kept: number): void {
    this.#reported = inFlight;
    this.#granted = Math.min(this.#granted, inFlight + kept);
  }

  /** Notes a grant. A host stops using slots long before the engine gives them to other hosts. */
  granted(inUse: number, granted: number, sentMonoMs: number): void {
    this.#granted = inUse + granted;
    this.#endMonoMs = sentMonoMs + slotsValidMs / 2;
  }

  /**
   * Notes the slots of the other hosts. While the engine settles after a loss of data, they don't
   * fall below the number known before.
   */
  seen(others: number, isSettling: boolean): void {
    this.#others = Math.max(isSettling ? this.#others : 0, others);
  }
}
