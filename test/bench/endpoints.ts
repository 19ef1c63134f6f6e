/**
 * `npm run heavy -- bench:endpoints`: what Sluice adds to each endpoint, beside forwarders that do
 * less; what limits, budgets and records add; and, on demand, another build of Sluice beside this
 * one. All in one run. It says nothing of its own about the figures; how to read them:
 * docs/contributing/benchmark.md.
 */
import os from "node:os";
import { join } from "node:path";
import { Command, Option } from "commander";
import { measureBuilds } from "./measure/measure-builds.js";
import { measureGrowing, measureScenarios } from "./measure/measure-endpoints.js";
import { withProcesses } from "./measure/with-processes.js";
import { buildIn, sluiceMissing } from "./peers/sluice.js";
import { atLeastOne, describeRun, type RunSize } from "./report/describe-run.js";
import { scenarioOf, scenarios } from "./report/endpoint-scenarios.js";
import { buildEndpointsReport, formatEndpointsReport } from "./report/endpoints-report.js";

interface Options extends RunSize {
  readonly starts: number;
  readonly bursts: number;
  readonly warmUp: number;
  readonly json: boolean;
  readonly only?: readonly string[];
  readonly beside?: string;
  readonly request: string;
}

const options = new Command("bench:endpoints")
  .description("Measures each endpoint beside bare forwarders, in one run.")
  .option("--json", "print the report as JSON", false)
  .option("--seconds <n>", "length of each measured phase", atLeastOne, 2)
  .option("--rounds <n>", "how often the peers take turns", atLeastOne, 5)
  .option("--connections <n>", "connections under load", atLeastOne, 32)
  .option("--starts <n>", "how often two builds are started to be compared", atLeastOne, 6)
  .option("--bursts <n>", "of each of them, at each start", atLeastOne, 100)
  .option("--warm-up <n>", "requests to each of them before the first burst", atLeastOne, 15_000)
  .addOption(
    new Option("--only <parts...>", "measure these alone").choices([
      ...scenarios.map(({ name }) => name),
      "growing",
      "builds",
    ]),
  )
  .option("--beside <dir>", "a built checkout of another version, compared with this one")
  .addOption(
    new Option("--request <name>", "what the two builds are called with")
      .choices(scenarios.map(({ name }) => name))
      .default("chat"),
  )
  .parse()
  .opts<Options>();

const isWanted = (part: string): boolean =>
  options.only === undefined || options.only.includes(part);
const own = buildIn(join(import.meta.dirname, "..", ".."));
const builds =
  options.beside === undefined || !isWanted("builds")
    ? null
    : { "the other": buildIn(join(options.beside, "dist")), "this one": own };

await withProcesses("endpoints", async (processes, dir) => {
  for (const build of [own, ...Object.values(builds ?? {})]) {
    const missing = sluiceMissing(build);
    if (missing !== null) throw new Error(missing);
  }
  const { connections } = options;
  const context = {
    processes,
    dir,
    seconds: options.seconds,
    rounds: options.rounds,
    say: (line: string) => process.stderr.write(`${line}\n`),
  };
  const head = describeRun(options, []);
  const wanted = scenarios.filter(({ name }) => isWanted(name));
  const report = buildEndpointsReport(head, {
    scenarios: wanted.length === 0 ? [] : await measureScenarios(context, connections, wanted),
    growing: isWanted("growing") ? await measureGrowing(context, connections) : null,
    builds:
      builds === null
        ? null
        : await measureBuilds(
            context,
            { ...options, scenario: scenarioOf(options.request) },
            builds,
          ),
  });
  process.stdout.write(
    options.json
      ? `${JSON.stringify(report, null, 2)}\n`
      : `${formatEndpointsReport(report)}\n\nload ${os.loadavg()[0]!.toFixed(2)} after the run\n`,
  );
  return 0;
});
