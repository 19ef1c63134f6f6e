/**
 * The units in a booted systemd, by the page's own words: `npm run systemd`. Each case prints a
 * line; where no machine can be booted it says why, and is skipped.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cases as unitCases } from "./cases.js";
import { bootMachine, type Machine, whyNotHere } from "./machine.js";
import { packageCases } from "./package-cases.js";
import { upgradeCases } from "./upgrade-cases.js";

const cases = [...unitCases, ...packageCases, ...upgradeCases];

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** What is logged last, without the requests that went well. */
const journal =
  "journalctl --no-pager -n 3000 -o short-monotonic | grep -v '\"status\":200' | tail -n 80 | cut -c1-300";

async function run(machine: Machine, only: string): Promise<number> {
  let failed = 0;
  for (const [index, { name, play }] of cases.entries()) {
    // The first one installs what the others need.
    if (index > 0 && !name.includes(only)) continue;
    const startedMs = performance.now();
    const seconds = (): string => ((performance.now() - startedMs) / 1000).toFixed(1);
    try {
      const said = await play(machine, {
        page: readFileSync(join(root, "docs/systemd.md"), "utf8"),
      });
      console.log(`ok - ${name} (${seconds()} s)${said === "" ? "" : `: ${said}`}`);
    } catch (error) {
      failed++;
      console.log(
        `not ok - ${name} (${seconds()} s): ${error instanceof Error ? error.message : error}`,
      );
      console.log(machine.try(journal).stdout);
    }
  }
  return failed;
}

const reason = whyNotHere();
if (reason === null) {
  const machine = await bootMachine(root).catch((error: Error) => {
    console.log(`skipped: systemd can't be booted in a container here: ${error.message}`);
    return null;
  });
  if (machine !== null) {
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      process.once(signal, () => void machine.stop().then(() => process.exit(1)));
    try {
      const failed = await run(machine, process.argv[2] ?? "");
      process.exitCode = failed === 0 ? 0 : 1;
    } finally {
      await machine.stop();
    }
  }
} else console.log(`skipped: ${reason}`);
