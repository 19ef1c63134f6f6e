/**
 * Runs inputs of one target. Each has dice of its own, made of the seed and its number, so that it
 * can be run again alone. What it breaks is told once for each place in the code.
 */
import { createRandom, type Random } from "../sim/random.js";
import type { FuzzBench, FuzzTarget } from "./fuzz-target.js";
import { type KnownFinding, known } from "./known-findings.js";

/** An input that takes longer than this has broken a property, on the slowest machine. */
const inputMsMax = 60_000;
/** After so many inputs the event loop runs: timers, and promises that were left alone. */
const inputsPerTurn = 64;
/** So many different findings are told of one target; a flood says no more. */
const findingsMax = 40;

export interface FuzzRange {
  readonly seed: number;
  readonly first: number;
  readonly inputs: number;
  readonly untilMonoMs: number;
}

export interface Finding {
  readonly target: string;
  readonly seed: number;
  /** The first input that showed it. */
  readonly input: number;
  readonly error: Error;
  times: number;
}

export interface FuzzResult {
  readonly inputs: number;
  readonly cases: number;
  readonly seconds: number;
  readonly findings: readonly Finding[];
  readonly known: ReadonlyMap<KnownFinding, number>;
}

/** The dice of one input. */
export function inputRandom(seed: number, input: number): Random {
  return createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(input + 1, 0x85ebca6b));
}

export async function runTarget(
  target: FuzzTarget,
  range: FuzzRange,
  onFinding: (finding: Finding) => void,
): Promise<FuzzResult> {
  const run = new Run(target, range, onFinding);
  const stray = (error: unknown): void => void run.strays.push(error);
  process.on("unhandledRejection", stray);
  process.on("uncaughtException", stray);
  const bench = await target.open();
  try {
    return await run.all(bench);
  } finally {
    process.off("unhandledRejection", stray);
    process.off("uncaughtException", stray);
  }
}

class Run {
  /** What was thrown where nobody caught it, since the last look. */
  readonly strays: unknown[] = [];
  readonly #target: FuzzTarget;
  readonly #range: FuzzRange;
  readonly #onFinding: (finding: Finding) => void;
  readonly #findings = new Map<string, Finding>();
  readonly #known = new Map<KnownFinding, number>();

  constructor(target: FuzzTarget, range: FuzzRange, onFinding: (finding: Finding) => void) {
    this.#target = target;
    this.#range = range;
    this.#onFinding = onFinding;
  }

  async all(bench: FuzzBench): Promise<FuzzResult> {
    const { first, inputs, untilMonoMs } = this.#range;
    const beganMs = performance.now();
    let cases = 0;
    let turnBegan = first;
    let input = first;
    for (; input < first + inputs && performance.now() < untilMonoMs; input++) {
      cases += await this.#one(bench, input);
      if (input - turnBegan + 1 < inputsPerTurn) continue;
      await this.#turn(bench, turnBegan, input);
      turnBegan = input + 1;
    }
    if (turnBegan < input) await this.#turn(bench, turnBegan, input - 1);
    await bench.close().catch((error: unknown) => this.#note(error, input - 1));
    return {
      inputs: input - first,
      cases,
      seconds: (performance.now() - beganMs) / 1000,
      findings: [...this.#findings.values()],
      known: this.#known,
    };
  }

  async #one(bench: FuzzBench, input: number): Promise<number> {
    const beganMs = performance.now();
    let cases = 1;
    try {
      const running = bench.run(inputRandom(this.#range.seed, input));
      cases = typeof running === "number" ? running : await running;
    } catch (error) {
      this.#note(error, input);
    }
    const tookMs = performance.now() - beganMs;
    if (tookMs > inputMsMax)
      this.#note(new Error(`it took more than ${inputMsMax / 1000} s`), input);
    return cases;
  }

  /** Lets the event loop run; what comes up is put down to the input that caused it. */
  async #turn(bench: FuzzBench, first: number, last: number): Promise<void> {
    await nextTurn();
    if (this.strays.length === 0) return;
    const strays = this.strays.splice(0);
    for (let input = first; input <= last; input++) {
      await this.#one(bench, input);
      await nextTurn();
      if (this.strays.length === 0) continue;
      for (const error of this.strays.splice(0)) this.#note(error, input);
      return;
    }
    for (const error of strays) this.#note(error, last);
  }

  #note(thrown: unknown, input: number): void {
    const error = thrown instanceof Error ? thrown : new Error(`thrown: ${String(thrown)}`);
    const { name: target } = this.#target;
    const stack = error.stack ?? error.message;
    const entry = known.find((each) => each.target === target && each.pattern.test(stack));
    if (entry !== undefined) {
      this.#known.set(entry, (this.#known.get(entry) ?? 0) + 1);
      return;
    }
    const place = placeOf(error);
    const before = this.#findings.get(place);
    if (before !== undefined) before.times++;
    else if (this.#findings.size < findingsMax) {
      const finding = { target, seed: this.#range.seed, input, error, times: 1 };
      this.#findings.set(place, finding);
      this.#onFinding(finding);
    }
  }
}

/** What two findings of one defect have in common: the message without its figures, and where. */
function placeOf({ name, message, stack = "" }: Error): string {
  const frame = /\((?:file:\/\/)?[^)]*\/dist\/((?:proxy|limiterd|shared)\/[^)]*)\)/.exec(
    stack,
  )?.[1];
  const words = message
    .split("\n")[0]!
    .slice(0, 60)
    .replace(/"[^"]*"|\d+/g, "…");
  return `${name} ${words} ${frame ?? ""}`;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
