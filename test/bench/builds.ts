/**
 * `npm run heavy -- bench:builds`: another build of Sluice beside this one, in one run. How to read
 * it: docs/contributing/benchmark.md.
 */
import os from "node:os";
import { join } from "node:path";
import { Command, Option } from "commander";
import { measureBuilds } from "./measure/measure-builds.js";
import { withProcesses } from "./measure/with-processes.js";
import { buildIn, ownBuild, sluiceMissing } from "./peers/sluice.js";
import { buildBuildsReport, formatBuilds } from "./report/builds-report.js";
import { atLeastOne } from "./report/describe-run.js";
import { scenarioOf, scenarios } from "./table/scenarios.js";

const options = new Command("bench:builds")
  .description("Measures one request in two builds of Sluice, in one run.")
  .requiredOption("--beside <dir>", "a built checkout of another version")
  .option("--connections <n>", "connections", atLeastOne, 32)
  .option("--starts <n>", "how often both are started", atLeastOne, 6)
  .option("--bursts <n>", "of each of them, at each start", atLeastOne, 100)
  .option("--warm-up <n>", "requests to each of them before the first burst", atLeastOne, 15_000)
  .addOption(
    new Option("--request <name>", "what both are called with")
      .choices(scenarios.map(({ name }) => name))
      .default("chat"),
  )
  .parse()
  .opts<{
    connections: number;
    starts: number;
    bursts: number;
    warmUp: number;
    beside: string;
    request: string;
  }>();

await withProcesses("builds", async (processes, dir) => {
  const builds = { "the other": buildIn(join(options.beside, "dist")), "this one": ownBuild };
  for (const build of Object.values(builds)) {
    const missing = sluiceMissing(build);
    if (missing !== null) throw new Error(missing);
  }
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const size = { ...options, scenario: scenarioOf(options.request) };
  const report = buildBuildsReport(await measureBuilds({ processes, dir, say }, size, builds));
  process.stdout.write(
    `${formatBuilds(report).join("\n")}\n\nload ${os.loadavg()[0]!.toFixed(2)} after the run\n`,
  );
  return 0;
});
