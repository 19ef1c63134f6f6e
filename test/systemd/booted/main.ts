/**
 * The units in a booted systemd, by the page's own words: `npm run heavy -- systemd`. Each case
 * prints a line; where no machine can be booted it says why, and is skipped. `-- WORDS` plays the
 * cases whose names have these words, `--layout` those of one layout of control groups (`own`:
 * those in the host's), and `--stops` and `--seed` say how many stops are drawn at random, in both
 * layouts together, and from what.
 */
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { cases as unitCases } from "./cases.js";
import { bootMachine, type Layout, type Machine, whyNotHere } from "./machine.js";
import { packageCases } from "./package-cases.js";
import { stopCases } from "./stop-cases.js";
import type { Case } from "./under-load.js";
import { upgradeCases } from "./upgrade-cases.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { layout: { type: "string" }, stops: { type: "string" }, seed: { type: "string" } },
});
const only = positionals.join(" ");
/** In each layout. */
const stops = Math.ceil(Number(options.stops ?? 200) / 2);
const seed = Number(options.seed ?? randomInt(2 ** 31));
const page = readFileSync(join(root, "docs/systemd.md"), "utf8");

interface Suite {
  /** Null: whatever the host's is. */
  readonly layout: Layout | null;
  /** The first one installs what the others need. */
  readonly cases: readonly Case[];
}

const suites: readonly Suite[] = [
  { layout: null, cases: [...unitCases, ...packageCases, ...upgradeCases] },
  ...(["legacy", "unified"] as const).map((layout) => ({ layout, cases: stopCases })),
];

/** What is logged last, without the lines of requests. */
const journal = (seconds: string): string =>
  `journalctl --no-pager --since "-${Math.ceil(Number(seconds))}s" -n 3000 -o short-monotonic | grep -v '"request_id"' | tail -n 80 | cut -c1-300`;

/** Longer than a case takes on a busy machine. */
const caseMsMax = 600_000;

function withinDeadline<T>(playing: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${caseMsMax / 1000} s`)), caseMsMax);
  });
  return Promise.race([playing, late]).finally(() => clearTimeout(timer));
}

async function run(machine: Machine, { cases, layout }: Suite): Promise<number> {
  let failed = 0;
  for (const [index, { name, play }] of cases.entries()) {
    if (index > 0 && !name.includes(only)) continue;
    const startedMs = performance.now();
    const seconds = (): string => ((performance.now() - startedMs) / 1000).toFixed(1);
    const title = layout === null ? name : `${layout}: ${name}`;
    try {
      const said = await withinDeadline(play(machine, { page, stops, seed }));
      console.log(`ok - ${title} (${seconds()} s)${said === "" ? "" : `: ${said}`}`);
    } catch (error) {
      failed++;
      console.log(
        `not ok - ${title} (${seconds()} s): ${error instanceof Error ? error.message : error}`,
      );
      console.log(machine.try(journal(seconds())).stdout);
    }
  }
  return failed;
}

/** How many cases have failed. */
async function playSuite(suite: Suite): Promise<number> {
  if (!suite.cases.some(({ name }) => name.includes(only))) return 0;
  const machine = await bootMachine(root, suite.layout).catch((error: Error) => {
    const where = suite.layout === null ? "" : ` with control groups that are ${suite.layout}`;
    console.log(`skipped: systemd can't be booted in a container${where} here: ${error.message}`);
    return null;
  });
  if (machine === null) return 0;
  const onSignal = (): void => void machine.stop().then(() => process.exit(1));
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, onSignal);
  try {
    return await run(machine, suite);
  } finally {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.off(signal, onSignal);
    await machine.stop();
  }
}

const reason = whyNotHere();
if (reason === null) {
  console.log(`seed ${seed}`);
  // A package is built once, for all cases.
  const packages = mkdtempSync(join(tmpdir(), "sluice-machine-packages-"));
  process.env["SLUICE_ARTEFACTS"] ??= packages;
  let failed = 0;
  for (const suite of suites)
    if (options.layout === undefined || options.layout === (suite.layout ?? "own"))
      failed += await playSuite(suite);
  rmSync(packages, { recursive: true });
  process.exitCode = failed === 0 ? 0 : 1;
} else console.log(`skipped: ${reason}`);
