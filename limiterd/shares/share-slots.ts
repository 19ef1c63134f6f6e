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

  /** Whether this host holds slots that no request uses. */
  get keeps(): boolean {
    return this.#granted > this.#reported;
  }

  has(inFlight: number, monoMs: number): boolean {
    return inFlight < this.#granted && monoMs < this.#endMonoMs;
  }

  /** Slots in use on all hosts; those that other hosts keep count as in use. */
  counted(inFlight: number): number {
    return addCount(this.#others, inFlight);
  }

  /** Notes a report of the slots in use; `kept` is the maximum number of kept slots in addition. */
  report(inFlight: number, kept: number): void {
    this.#reported = inFlight;
    this.#granted = Math.min(this.#granted, inFlight + kept);
  }

  /** Notes a grant. A host stops using slots long before the engine gives them to others. */
  granted(inUse: number, granted: number, sentMonoMs: number): void {
    this.#granted = inUse + granted;
    this.#endMonoMs = sentMonoMs + slotsValidMs / 2;
  }

  /**
   * Notes the slots of the other hosts. While the engine settles, they don't fall below the known
   * ones from before it lost its data.
   */
  seen(others: number, settling: boolean): void {
    this.#others = Math.max(settling ? this.#others : 0, others);
  }
}
