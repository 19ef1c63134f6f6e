/** The parts of `sluice verify` that need no processes of Sluice's. */
import { simulateHosts } from "../sim/hosts/simulate-hosts.js";
import { mutants } from "../sim/mutants/mutants.js";
import { runMutant } from "../sim/mutants/run-mutant.js";
import { simulate } from "../sim/simulate.js";
import { simulateTogether } from "../sim/together/simulate-together.js";

/** What a part has found. */
export interface Part {
  readonly text: string;
  /** For `--json`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Empty if all of it holds. */
  readonly problems: readonly string[];
  /** The last events before a problem. */
  readonly trace?: readonly string[];
}

/** One seed after the other; a problem names the kind. */
const kinds = [
  { of: "", run: simulate },
  { of: " of limits together", run: simulateTogether },
  { of: "", run: simulate },
  { of: " of several hosts", run: simulateHosts },
] as const;
const seedsPerBug = 40;

/** Seeds from this one, until the time is over or one doesn't hold. */
export async function simulateSeeds(first: number, seconds: number): Promise<Part> {
  const endMs = performance.now() + seconds * 1000;
  let [seeds, events] = [0, 0];
  const problems: string[] = [];
  let trace: readonly string[] = [];
  while (problems.length === 0 && (seeds === 0 || performance.now() < endMs)) {
    const seed = (first + seeds) >>> 0;
    const { of, run } = kinds[seeds % kinds.length]!;
    const result = await run(seed);
    seeds++;
    events += result.events;
    if (result.violation === null) continue;
    problems.push(`seed 0x${seed.toString(16).padStart(8, "0")}${of}: ${result.violation}`);
    trace = result.lines;
  }
  return {
    text: `${seeds} seeds, ${events.toLocaleString("en-US")} events, ${problems.length} violations`,
    details: { seeds, events, violations: problems.length },
    problems,
    trace,
  };
}

/**
 * Each bug is planted in a copy of the code, in which the simulation must find it. `share`: of the
 * bugs, for a short run.
 */
export async function catchBugs(share: number): Promise<Part> {
  const planted = mutants
    .filter(({ often, simulation }) => often && simulation !== "ledger")
    .filter((_mutant, at, all) => at < Math.max(1, share * all.length));
  const missed: string[] = [];
  for (const mutant of planted) {
    const range = { from: mutant.from ?? 1, seeds: seedsPerBug, untilCaught: true };
    const { caught } = await runMutant(mutant, range);
    if (caught === 0) missed.push(`not caught: ${mutant.name}`);
  }
  return {
    text: `${planted.length - missed.length} of ${planted.length} caught by the simulation`,
    details: { planted: planted.length, caught: planted.length - missed.length },
    problems: missed,
  };
}
