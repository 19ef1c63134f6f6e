/**
 * `npm run heavy -- fuzz`: runs the fuzzers, and prints what they found and how to run that input
 * again. The exit code is 1 when they found something that isn't known.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { type Finding, type FuzzRange, runTarget } from "./run-target.js";
import { targets } from "./targets.js";

const { values: flags } = parseArgs({
  options: {
    target: { type: "string", multiple: true },
    inputs: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    input: { type: "string" },
    first: { type: "string" },
  },
});

/** Without flags, about a minute. */
const inputsDefault = 20_000;

/** A stack that has overflown shows where it began, too. */
Error.stackTraceLimit = 30;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function tell({ target, seed, input, error }: Finding): void {
  const replay = `npm run heavy -- fuzz --target ${target} --seed ${seed} --input ${input}`;
  print(`\n${target}: seed ${seed}, input ${input}\n${error.stack}\n  replay it with: ${replay}\n`);
}

function rangeOf(share: number, seed: number): FuzzRange {
  if (flags.input !== undefined)
    return { seed, first: Number(flags.input), inputs: 1, untilMonoMs: Infinity };
  const seconds = flags.seconds === undefined ? Infinity : Number(flags.seconds);
  const inputs =
    flags.inputs === undefined
      ? flags.seconds === undefined
        ? inputsDefault
        : Infinity
      : Number(flags.inputs);
  return {
    seed,
    first: Number(flags.first ?? 0),
    inputs: Math.max(1, Math.round(inputs * share)),
    untilMonoMs: performance.now() + seconds * 1000,
  };
}

const chosen = targets.filter(({ name }) => flags.target?.includes(name) ?? true);
if (chosen.length === 0)
  print(`there is no such target; there are: ${targets.map(({ name }) => name).join(", ")}`);
const seed = Number(flags.seed ?? (flags.seconds === undefined ? 1 : randomInt(2 ** 31)));
let found = chosen.length === 0 ? 1 : 0;
for (const target of chosen) {
  const result = await runTarget(target, rangeOf(target.share, seed), tell);
  const { inputs, cases, seconds, findings } = result;
  const rate = Math.round(inputs / Math.max(seconds, 0.001));
  const more = cases > inputs ? ` with ${cases} cases` : "";
  print(
    `${target.name}: ${inputs} inputs${more} from seed ${seed} in ${seconds.toFixed(1)} s, ${rate} a second: ${findings.length} findings`,
  );
  for (const { input, error, times } of findings)
    print(`  ${times} times, first in input ${input}: ${error.message.split("\n")[0]}`);
  for (const [{ issue, finding }, times] of result.known)
    print(`  ${times} times what issue ${issue} knows as ${finding}`);
  found += findings.length;
}
process.exitCode = found === 0 ? 0 : 1;
