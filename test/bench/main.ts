/**
 * `npm run bench`: measures Sluice beside its peers in one run, as a table with what each figure
 * should be at most, and the daemon beside Redis. It exits 0 whatever the figures say, and 1 only
 * when the run isn't sound. How to read it: docs/contributing/benchmark.md.
 */
import { Command, Option } from "commander";
import { measureDaemon } from "./measure/measure-daemon.js";
import type { RunContext } from "./measure/rounds.js";
import { withProcesses } from "./measure/with-processes.js";
import { gomodel } from "./overshoot/gateways/gomodel.js";
import { portkey } from "./overshoot/gateways/portkey.js";
import { sluiceMissing } from "./peers/sluice.js";
import { atLeastOne, describeRun } from "./report/describe-run.js";
import { buildDaemonReport, formatDaemon, formatHead } from "./report/report.js";
import { formatComparison } from "./report/table-report.js";
import { lineNames, measureTable } from "./table/measure-table.js";

interface Options {
  readonly json: boolean;
  readonly seconds: number;
  readonly rounds: number;
  readonly warmUp: number;
  readonly streams: number;
  readonly only: readonly string[];
}

const allParts = [...lineNames, "daemon"];

const options = new Command("bench")
  .description("Measures Sluice beside its peers, in one run.")
  .option("--json", "print the figures as JSON", false)
  .option("--seconds <n>", "length of each measured phase", atLeastOne, 3)
  .option("--rounds <n>", "how often the peers take turns", atLeastOne, 5)
  .option("--warm-up <n>", "short requests to each peer before a line", atLeastOne, 30_000)
  .option("--streams <n>", "streams of a burst", atLeastOne, 1000)
  .addOption(
    new Option("--only <parts...>", "measure these alone")
      .choices(allParts)
      .default(allParts, "all"),
  )
  .parse()
  .opts<Options>();

await withProcesses("bench", async (processes, dir) => {
  const missing = sluiceMissing();
  if (missing !== null) throw new Error(missing);
  const context: RunContext = {
    processes,
    dir,
    seconds: options.seconds,
    rounds: options.rounds,
    say: (line) => void process.stderr.write(`${line}\n`),
  };
  const head = describeRun(options, { GoModel: gomodel, Portkey: portkey });
  const table = await measureTable(context, options, new Set(options.only));
  const daemon = options.only.includes("daemon")
    ? buildDaemonReport(await measureDaemon(context))
    : null;
  const texts = [formatHead(head), formatComparison(table)];
  if (daemon !== null) texts.push(formatDaemon(daemon));
  const text = options.json ? JSON.stringify({ head, table, daemon }, null, 2) : texts.join("\n\n");
  process.stdout.write(`${text}\n`);
  return table.complaints.length + (daemon?.complaints.length ?? 0) === 0 ? 0 : 1;
});
