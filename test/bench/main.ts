/**
 * `npm run bench`: measures Sluice beside its peers in one run and prints both, with the ratios
 * that hold on other machines too. It exits 0 whatever the figures say, and 1 only when Sluice
 * couldn't be measured. How to read it: docs/contributing/benchmark.md.
 */
import { Command, Option } from "commander";
import { measureDaemon } from "./measure/measure-daemon.js";
import { measureProxy } from "./measure/measure-proxy.js";
import { measureRest } from "./measure/measure-rest.js";
import type { RunContext } from "./measure/rounds.js";
import { withProcesses } from "./measure/with-processes.js";
import { atLeastOne, describeRun } from "./report/describe-run.js";
import { formatReport } from "./report/format-report.js";
import { buildReport, type Report } from "./report/report.js";

interface Options {
  readonly json: boolean;
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly only?: "proxy" | "daemon" | "rest";
}

function readOptions(): Options {
  return new Command("bench")
    .description("Measures Sluice beside its peers, in one run.")
    .option("--json", "print the report as JSON", false)
    .option("--seconds <n>", "length of each measured phase", atLeastOne, 3)
    .option("--rounds <n>", "how often the peers take turns", atLeastOne, 5)
    .option("--connections <n>", "connections of the HTTP part", atLeastOne, 32)
    .addOption(
      new Option("--only <part>", "measure one part alone").choices(["proxy", "daemon", "rest"]),
    )
    .parse()
    .opts<Options>();
}

async function run(options: Options, context: RunContext): Promise<Report> {
  const head = describeRun(options, [
    ["nginx", "nginx", "-v"],
    ["Redis", "redis-server", "--version"],
  ]);
  const { only, connections } = options;
  const takesPart = (part: Options["only"]): boolean => only === undefined || only === part;
  const rest = takesPart("rest") ? await measureRest(context, connections) : null;
  const proxy = takesPart("proxy") ? await measureProxy(context, connections) : null;
  const daemon = takesPart("daemon") ? await measureDaemon(context) : null;
  return buildReport(head, proxy, daemon, rest);
}

const options = readOptions();

await withProcesses("bench", async (processes, dir) => {
  const report = await run(options, {
    processes,
    dir,
    seconds: options.seconds,
    rounds: options.rounds,
    say: (line) => process.stderr.write(`${line}\n`),
  });
  process.stdout.write(
    `${options.json ? JSON.stringify(report, null, 2) : formatReport(report)}\n`,
  );
  return report.skipped["sluice"] === undefined && report.skipped["daemon"] === undefined ? 0 : 1;
});
