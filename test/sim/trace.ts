/**
 * The trace of a simulated history: how often each kind of event has happened, a hash of all lines,
 * and the last lines, for people. Two histories of one seed must have equal traces.
 */
import type { SimulationResult } from "./simulate.js";
import { Violation } from "./world.js";

export class Trace {
  readonly tally = new Map<string, number>();
  readonly #heading: readonly string[];
  readonly #linesMax: number;
  readonly #lastLines: string[] = [];
  #events = 0;
  #hash = 0;

  /** `heading`: lines that are kept and not hashed. `linesMax`: with them. */
  constructor(linesMax: number, heading: readonly string[] = []) {
    this.#heading = heading;
    this.#linesMax = linesMax - heading.length;
  }

  note(kind: string, line: string): void {
    this.tally.set(kind, (this.tally.get(kind) ?? 0) + 1);
    this.#events++;
    for (const letter of line) this.#hash = (Math.imul(this.#hash, 31) + letter.charCodeAt(0)) | 0;
    this.#lastLines.push(line);
    if (this.#lastLines.length > this.#linesMax) this.#lastLines.shift();
  }

  result(seed: number, violation: string | null): SimulationResult {
    const { tally } = this;
    const lines = [...this.#heading, ...this.#lastLines];
    return { seed, violation, lines, events: this.#events, traceHash: this.#hash >>> 0, tally };
  }
}

/** Fails the history. */
export function must(isTrue: boolean, text: () => string): void {
  if (!isTrue) throw new Violation(text());
}

interface History {
  readonly trace: Trace;
  step(): Promise<void>;
  /** Lets everything end, and checks what must be true then. */
  rest(): Promise<void>;
}

/** Runs the history of a seed until its first violation. */
export async function runHistory(
  seed: number,
  history: History,
  steps: number,
): Promise<SimulationResult> {
  let violation: string | null = null;
  try {
    for (let i = 0; i < steps; i++) await history.step();
    await history.rest();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error.message;
  }
  return history.trace.result(seed, violation);
}
