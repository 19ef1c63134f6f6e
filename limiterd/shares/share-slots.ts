/** The slots of one gauge that the engine has granted to this host, and those of the others. */
import { slotsValidMs } from "../bounds.js";
import { addCount } from "../cluster/halves.js";

export class ShareSlots {
  /** Granted, those in use included, and until when a request may take one of them. */
  #granted = 0;
  #endMonoMs = 0;
  #others = 0;
  /** Those in use when the engine was told last. */
  #told = 0;

  /** Whether this host holds any. */
  get holds(): boolean {
    return this.#granted > 0;
  }

  /** Whether it holds some that no request of it uses. */
  get keeps(): boolean {
    return this.#granted > this.#told;
  }

  has(inFlight: number, monoMs: number): boolean {
    return inFlight < this.#granted && monoMs < this.#endMonoMs;
  }

  /** In use on all hosts; what others keep is in use. */
  counted(inFlight: number): number {
    return addCount(this.#others, inFlight);
  }

  /** The engine is told of those in use; so many others are kept at most. */
  tell(inFlight: number, kept: number): void {
    this.#told = inFlight;
    this.#granted = Math.min(this.#granted, inFlight + kept);
  }

  /** A host stops admitting well before the engine gives its slots to others. */
  granted(inUse: number, granted: number, sentMonoMs: number): void {
    this.#granted = inUse + granted;
    this.#endMonoMs = sentMonoMs + slotsValidMs / 2;
  }

  /** While the engine settles, no less than was known before it lost its data. */
  seen(total: number, settling: boolean): void {
    this.#others = Math.max(settling ? this.#others : 0, total - this.#granted);
  }
}
