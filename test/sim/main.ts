/**
 * `npm run heavy -- sim`: runs seeds and prints what has happened in them, or how to replay the one
 * that failed.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { simulateBatches } from "./batches/simulate-batches.js";
import { simulateCaps } from "./caps/simulate-caps.js";
import { simulateSharedCaps } from "./caps/simulate-shared-caps.js";
import { simulateHosts } from "./hosts/simulate-hosts.js";
import { simulateLoops } from "./loops/simulate-loops.js";
import { mutants } from "./mutants/mutants.js";
import { runMutant } from "./mutants/run-mutant.js";
import { simulateShares } from "./shares/simulate-shares.js";
import { type SimulationResult, simulate } from "./simulate.js";
import { simulateTogether } from "./together/simulate-together.js";

const { values: flags } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string" },
    minutes: { type: "string" },
    hosts: { type: "boolean" },
    caps: { type: "boolean" },
    shares: { type: "boolean" },
    together: { type: "boolean" },
    batches: { type: "boolean" },
    loops: { type: "boolean" },
    waiting: { type: "boolean" },
    "shared-caps": { type: "boolean" },
    mutant: { type: "string" },
    mutants: { type: "boolean" },
    "until-caught": { type: "boolean" },
    json: { type: "boolean" },
  },
});

const variants = {
  hosts: simulateHosts,
  caps: simulateCaps,
  "shared-caps": simulateSharedCaps,
  shares: simulateShares,
  together: simulateTogether,
  batches: simulateBatches,
  loops: simulateLoops,
  waiting: (seed: number) => simulate(seed, true),
};
const names = [
  "hosts",
  "caps",
  "shared-caps",
  "shares",
  "together",
  "batches",
  "loops",
  "waiting",
] as const;
const variant = names.find((name) => flags[name]);
const simulateSeed = variant === undefined ? simulate : variants[variant];

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function hex(seed: number): string {
  return `0x${seed.toString(16).padStart(8, "0")}`;
}

function printViolation({ seed, violation, lines }: SimulationResult): void {
  print(
    `\nseed ${hex(seed)}: ${violation}\n\nthe end of its trace:\n${lines.join("\n")}\n\nreplay it with: npm run heavy -- sim ${variant === undefined ? "" : `--${variant} `}--seed ${hex(seed)}\n`,
  );
}

/** All seeds one after the other, until they or the time are over. */
async function run(): Promise<boolean> {
  const from =
    flags.seed ??
    flags.from ??
    (flags.minutes === undefined ? "1" : String(randomInt(2 ** 32 - 1)));
  const seeds =
    flags.seed !== undefined
      ? 1
      : flags.seeds !== undefined
        ? Number(flags.seeds)
        : flags.minutes === undefined
          ? 100
          : Number.POSITIVE_INFINITY;
  const endMs = performance.now() + Number(flags.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  const beganMs = performance.now();
  const tally = new Map<string, number>();
  const failed: SimulationResult[] = [];
  let events = 0;
  let done = 0;
  let hash = 0;
  while (
    done < seeds &&
    performance.now() < endMs &&
    !(flags["until-caught"] && failed.length > 0)
  ) {
    const result = await simulateSeed((Number(from) + done++) >>> 0);
    events += result.events;
    hash = result.traceHash;
    for (const [kind, times] of result.tally) tally.set(kind, (tally.get(kind) ?? 0) + times);
    if (result.violation === null) continue;
    failed.push(result);
    if (!flags.json) printViolation(result);
  }
  if (flags.json) {
    print(
      JSON.stringify({ seeds: done, caught: failed.length, first: failed[0]?.violation ?? "" }),
    );
    return failed.length === 0;
  }
  for (const [kind, times] of [...tally].sort(([a], [b]) => (a < b ? -1 : 1)))
    print(`${String(times).padStart(10)}  ${kind}`);
  print(
    `\n${done} seeds from ${hex(Number(from))}, ${events} events in ${((performance.now() - beganMs) / 1000).toFixed(1)} s${done === 1 ? `, trace ${hex(hash)}` : ""}: ${failed.length} violations`,
  );
  return failed.length === 0;
}

/** Whether each of these mutants was caught. */
async function runMutants(wanted: string | null): Promise<boolean> {
  const chosen = mutants.filter(({ name }) => wanted === null || name === wanted);
  if (chosen.length === 0)
    print(`there is no such mutant; there are:\n${mutants.map(({ name }) => name).join("\n")}`);
  let all = chosen.length > 0;
  for (const mutant of chosen) {
    const { seeds, caught, first } = await runMutant(mutant, {
      from: Number(flags.from ?? 1),
      seeds: Number(flags.seeds ?? 200),
      untilCaught: false,
    });
    print(`| ${mutant.name} | ${caught} of ${seeds} | ${first.split("\n")[0]} |`);
    all &&= caught > 0;
  }
  return all;
}

const held =
  flags.mutants === true || flags.mutant !== undefined
    ? await runMutants(flags.mutant ?? null)
    : await run();
process.exitCode = held ? 0 : 1;
