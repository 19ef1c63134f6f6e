/** What a fuzzer is: a bench on which one input after the other is tried, each drawn from dice. */
import type { Random } from "../sim/random.js";

export interface FuzzTarget {
  readonly name: string;
  /** How many of its inputs are run for each of `--inputs`: less than 1 where they take long. */
  readonly share: number;
  /** Makes what all inputs use. */
  open(): Promise<FuzzBench>;
}

export interface FuzzBench {
  /**
   * Tries one input, all of which comes from `random`. Throws, or rejects, when a property is
   * broken. Returns how many cases the input held, if more than one, such as the frames of a
   * connection.
   */
  run(random: Random): number | Promise<number>;
  /** Throws when something is left behind that shouldn't be. */
  close(): Promise<void>;
}

/** A property doesn't hold, though nothing has thrown. */
export class BrokenProperty extends Error {
  override name = "BrokenProperty";
}

/** Throws `BrokenProperty` unless the condition holds. */
export function must(condition: boolean, what: string | (() => string)): asserts condition {
  if (!condition) throw new BrokenProperty(typeof what === "string" ? what : what());
}
