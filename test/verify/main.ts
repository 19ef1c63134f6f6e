/**
 * What `sluice verify` runs, on the user's machine: the simulation, bugs planted in it, real
 * processes killed under load, and caps under many streams. It ends with 1 if anything doesn't
 * hold. What it shows and how it repeats: docs/overshoot.md.
 */
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { version } from "../../shared/version.js";
import { createProcesses, type Processes } from "../bench/measure/processes.js";
import { holdCaps } from "./hold-caps.js";
import { killProcesses } from "./kill-processes.js";
import { packagesAsPinned } from "./packages-as-pinned.js";
import { describeEnd, describePart, type RunPart } from "./report.js";
import { catchBugs, type Part, simulateSeeds } from "./simulated.js";

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
    programs: { type: "string" },
  },
});
const minutes = Number(flags.minutes);
const seed = flags.seed === undefined ? randomInt(2 ** 32) : Number(flags.seed) >>> 0;
const hex = `0x${seed.toString(16).padStart(8, "0")}`;
/** What isn't the simulation or the kills takes so long on an idle machine. */
const fixedS = 30;
const restS = Math.max(16, 60 * minutes - fixedS);

function print(text: string): void {
  if (!flags.json) process.stdout.write(`${text}\n`);
}

type Step = readonly [name: string, run: () => Promise<Part>, advice: string];

const packagesAdvice =
  "Packages: install this release of Sluice again; it isn't tested with other versions of packages.";
const simulationAdvice = "Simulation: a bug in Sluice. Please report it with this output.";
const processesAdvice =
  "Processes and caps: run it again while the machine is idle. If it fails again, it is a bug in Sluice: please report it with this output.";

function stepsFor(processes: Processes, dir: string): readonly Step[] {
  const real = { processes, dir, programs: flags.programs ?? null, seed };
  return [
    ["packages", packagesAsPinned, packagesAdvice],
    ["simulation", () => simulateSeeds(seed, restS / 2), simulationAdvice],
    ["planted bugs", () => catchBugs(Math.min(1, minutes)), simulationAdvice],
    ["processes", () => killProcesses({ ...real, seconds: restS / 2 }), processesAdvice],
    ["caps", () => holdCaps(real), processesAdvice],
  ];
}

async function main(processes: Processes, dir: string): Promise<boolean> {
  const cpus = os.cpus();
  print(
    `Sluice ${version} on Node ${process.versions.node}, ${cpus.length} × ${cpus[0]?.model.trim() ?? "CPU"}, load ${os.loadavg()[0]!.toFixed(1)}, seed ${hex}\n`,
  );
  const startedMs = performance.now();
  const parts: RunPart[] = [];
  for (const [name, run, advice] of stepsFor(processes, dir)) {
    const found = await run().catch((error: unknown): Part => {
      const text = error instanceof Error ? error.message : String(error);
      return { text: "couldn't run", details: {}, problems: [text] };
    });
    const part = { ...found, name, advice };
    parts.push(part);
    print(describePart(part));
  }
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const repeat = `sluice verify --seed ${hex} --minutes ${minutes}`;
  const problems = parts.flatMap(({ name, problems }) =>
    problems.map((problem) => `${name}: ${problem}`),
  );
  const trace = parts.flatMap((part) => part.trace ?? []);
  const details = Object.fromEntries(
    parts.map((part) => [part.name.replace(" ", "_"), part.details]),
  );
  if (flags.json)
    process.stdout.write(
      `${JSON.stringify({ version, node: process.versions.node, seed: hex, seconds, ...details, problems, trace, repeat })}\n`,
    );
  print(describeEnd(parts, seconds, repeat));
  return problems.length === 0;
}

const dir = mkdtempSync(join(os.tmpdir(), "sluice-verify-"));
const processes = createProcesses(dir);
const clearAway = async (): Promise<void> => {
  await processes.stopAll();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
};
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void clearAway().finally(() => process.exit(130)));
try {
  process.exitCode = (await main(processes, dir)) ? 0 : 1;
} finally {
  await clearAway();
}
