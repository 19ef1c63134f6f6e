/**
 * `npm run heavy -- bench:live`: what the dashboard's watchers cost. A daemon and a proxy at rest,
 * without a watcher and with as many as a proxy takes, each on the Overview: the CPU of both
 * processes. It exits 0 whatever the figures are; how to read them: docs/contributing/benchmark.md.
 */
import { request } from "node:http";
import os from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { watchersMax } from "../../proxy/bounds.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import { withProcesses } from "./measure/with-processes.js";
import { startConfigured } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable } from "./report/table.js";

const options = new Command("bench:live")
  .description("Measures what the watchers of the dashboard cost.")
  .option("--watchers <n>", `streams at once, at most ${watchersMax}`, atLeastOne, watchersMax)
  .option("--rules <n>", "rules on user paths", atLeastOne, 1000)
  .option("--seconds <n>", "how long each is measured", atLeastOne, 30)
  .parse()
  .opts<{ watchers: number; rules: number; seconds: number }>();

/** What the Overview's page asks the stream for. */
const overview = "/admin/live?rules=true&budgets=true&limit=10&order=use";
/** Until the first whole pages have been told. */
const settleMs = 3_000;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Resolved once the stream has begun; ends with what it returns. */
function watch(url: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${overview}`, { agent: false }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) resolve(() => void asked.destroy());
      else reject(new Error(`a stream was answered with ${answer.statusCode}`));
    });
    asked.on("error", reject).end();
  });
}

await withProcesses("live", async (processes, dir) => {
  const paths = Array.from({ length: options.rules }, (_, i) => ({
    path: `/team${i % 100}/app${i}`,
    limits: [{ period: "minute", max_requests: 1000 }],
  }));
  const { daemon, proxy } = await startConfigured(processes, dir, {
    providers: { sim: { type: "simulator" } },
    rate_limits: { user_paths: paths },
  });
  const source = cpuSource();
  const rows: string[][] = [];
  const measure = async (watchers: number): Promise<void> => {
    await delay(settleMs);
    const shares = [];
    const before = [daemon, proxy].map(({ pid }) => readCpu([pid], source));
    await delay(options.seconds * 1000);
    for (const [i, { pid }] of [daemon, proxy].entries())
      shares.push(cpuUsBetween(before[i]!, readCpu([pid], source)) / (options.seconds * 1e6));
    const texts = [...shares, shares[0]! + shares[1]!].map(
      (share) => `${(share * 100).toFixed(2)}%`,
    );
    rows.push([String(watchers), ...texts]);
  };
  print(
    `Node ${process.versions.node} on ${os.cpus().length} × ${os.cpus()[0]?.model ?? "unknown"}, load ${os.loadavg()[0]!.toFixed(2)}; ${options.rules} rules, CPU of a core over ${options.seconds} s from ${source}\n`,
  );
  await measure(0);
  const leaves = await Promise.all(
    Array.from({ length: options.watchers }, () => watch(proxy.url)),
  );
  await measure(options.watchers);
  for (const leave of leaves) leave();
  await measure(0);
  for (const line of formatTable(["watchers", "daemon", "proxy", "both"], rows)) print(line);
  return 0;
});
