/**
 * `npm run heavy -- bench:proxies`: what several proxies under one `sluice up` cost and carry,
 * beside one alone. Where there are fewer processors than processes, the throughput says nothing:
 * what counts is the CPU that the proxies spend on a request, and how evenly the kernel gives them
 * connections; and that once more at a rate that leaves all of them room, so many times that of one
 * alone. It exits 0 whatever the figures are; how to read them: docs/contributing/benchmark.md.
 */
import { mkdirSync, readFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { freePort } from "../support/processes/free-port.js";
import { programPath } from "../support/processes/program-path.js";
import { benchModel, chatRequest } from "./load/chat-exchange.js";
import type { HttpJob } from "./load/http-load.js";
import { giveJob } from "./measure/job-channel.js";
import type { Phase } from "./measure/phase.js";
import { cpuSource, cpuUsBetween, readCpu, withChildren } from "./measure/process-stat.js";
import type { Processes, Running } from "./measure/processes.js";
import { withProcesses } from "./measure/with-processes.js";
import { twoRules, writeConfig } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable, micro, whole } from "./report/table.js";
import { median } from "./report/trend.js";

const options = new Command("bench:proxies")
  .description("Measures several proxies on one listening socket beside one.")
  .option("--proxies <n>", "how many", atLeastOne, 2)
  .option("--connections <n>", "connections for each proxy", atLeastOne, 32)
  .option("--rate <n>", "requests a second for each proxy, of the paced rounds", atLeastOne, 2000)
  .option("--seconds <n>", "length of each phase", atLeastOne, 3)
  .option("--rounds <n>", "how often the two take turns", atLeastOne, 5)
  .parse()
  .opts<{ proxies: number; connections: number; rate: number; seconds: number; rounds: number }>();

interface Gateway {
  readonly url: string;
  readonly proxies: readonly number[];
  /** Daemon and supervisor. */
  readonly beside: readonly number[];
}

interface Turn extends Phase {
  /** The part of the proxies' CPU that the busiest of them has spent. */
  readonly busiest: number;
}

async function start(
  processes: Processes,
  dir: string,
  { upstream, proxies }: { readonly upstream: Running; readonly proxies: number },
): Promise<Gateway> {
  mkdirSync(dir, { mode: 0o700 });
  const port = await freePort();
  const config = writeConfig(dir, {
    server: { host: "127.0.0.1", port, proxies, drain_grace_seconds: 0 },
    providers: {
      bench: {
        type: "openai",
        base_url: `${upstream.url}/v1`,
        api_key: "none",
        models: [benchModel],
      },
    },
    rate_limits: twoRules,
  });
  const up = await processes.program(
    process.execPath,
    [programPath("sluice"), "up", "--config", config],
    { host: "127.0.0.1", port },
  );
  const url = `http://127.0.0.1:${port}`;
  // Answered once a proxy is ready; the others are a moment later.
  while (proxiesBelow(up.pid).length < proxies || !(await isReady(url)));
  const pids = proxiesBelow(up.pid);
  return { url, proxies: pids, beside: withChildren(up.pid).filter((pid) => !pids.includes(pid)) };
}

async function isReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/ready`)).ok;
}

function proxiesBelow(pid: number): number[] {
  return withChildren(pid).filter((child) =>
    readFileSync(`/proc/${child}/cmdline`, "utf8").includes("sluice-proxy"),
  );
}

/** `rate`: for each proxy; null: as much as there can be. */
async function measure(generator: Running, gateway: Gateway, rate: number | null): Promise<Turn> {
  const { url, proxies, beside } = gateway;
  const read = () => proxies.map((pid) => readCpu([pid], cpuSource()));
  const before = read();
  const phase = await giveJob<HttpJob, Phase>(generator.child, {
    url,
    pids: proxies,
    besidePids: beside,
    seconds: options.seconds,
    connections: options.connections * proxies.length,
    ...(rate === null ? {} : { ratePerSecond: rate * proxies.length }),
    request: chatRequest(new URL(url).hostname),
  });
  const spent = read().map((reading, i) => cpuUsBetween(before[i]!, reading));
  const all = spent.reduce((sum, us) => sum + us, 0);
  return { ...phase, busiest: Math.max(...spent) / all };
}

/** Less isn't the same utilization any more. */
const rateReachedMin = 0.95;

interface Pair {
  readonly one: Turn;
  readonly several: Turn;
}

function row(name: string, turns: readonly Turn[]): string[] {
  const middle = (value: (turn: Turn) => number): number => median(turns.map(value));
  return [
    name,
    whole(middle(({ perSecond }) => perSecond)),
    micro(middle(({ cpuUs }) => cpuUs)),
    micro(middle(({ besideCpuUs }) => besideCpuUs)),
    `${(middle(({ busiest }) => busiest) * 100).toFixed(0)}%`,
    String(turns.reduce((sum, { errors }) => sum + errors, 0)),
  ];
}

/** The median and the extremes. */
function ratio(turns: readonly Pair[], value: (turn: Pair) => number): string {
  const values = turns.map(value);
  return `${median(values).toFixed(2)} × [${Math.min(...values).toFixed(2)} – ${Math.max(...values).toFixed(2)}]`;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const own = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

await withProcesses("proxies", async (processes, dir) => {
  print(
    `Node ${process.versions.node} on ${os.cpus().length} × ${os.cpus()[0]?.model ?? "unknown"}, load ${os.loadavg()[0]!.toFixed(2)} before the run; ${options.rounds} rounds of ${options.seconds} s, ${options.connections} connections for each proxy; medians\n`,
  );
  const upstream = await processes.node(own("peers/upstream.js"), []);
  const generator = await processes.node(own("load/http-load.js"), []);
  const one = await start(processes, join(dir, "one"), { upstream, proxies: 1 });
  const { proxies } = options;
  const several = await start(processes, join(dir, "several"), { upstream, proxies });
  const each = async (rate: number | null): Promise<readonly Pair[]> => {
    const turns: Pair[] = [];
    for (let round = 0; round <= options.rounds; round++) {
      process.stderr.write(
        `round ${round} of ${options.rounds}${rate === null ? "" : ", paced"}\n`,
      );
      const turn = {
        one: await measure(generator, one, rate),
        several: await measure(generator, several, rate),
      };
      // The first one warms up.
      if (round > 0) turns.push(turn);
    }
    return turns;
  };
  const full = await each(null);
  const paced = await each(options.rate);
  const names = ["1 proxy", `${proxies} proxies`] as const;
  const head = ["", "req/s", "proxies µs/req", "daemon, up µs/req", "the busiest's part", "errors"];
  for (const [text, turns] of [
    ["as many requests as there can be", full],
    [`${options.rate} requests a second for each proxy`, paced],
  ] as const) {
    print(`${text}\n`);
    const rows = [
      row(
        names[0],
        turns.map((turn) => turn.one),
      ),
      row(
        names[1],
        turns.map((turn) => turn.several),
      ),
    ];
    for (const line of formatTable(head, rows)) print(line);
    print("");
  }
  print(
    `proxies' CPU of a request ÷ that of one alone: ${ratio(full, ({ one, several }) => several.cpuUs / one.cpuUs)}`,
  );
  const reached = Math.min(...paced.map(({ several }) => several.perSecond)) / proxies;
  if (reached < options.rate * rateReachedMin)
    print(`the rate wasn't reached: ${whole(reached)} for each of them; choose a lower --rate`);
  print(
    `the same, paced, each as busy as the one: ${ratio(paced, ({ one, several }) => several.cpuUs / one.cpuUs)}`,
  );
  print(
    `what ${proxies} processors' worth of proxies carry ÷ ${proxies} × one: ${ratio(full, ({ one, several }) => one.cpuUs / several.cpuUs / (several.busiest * proxies))}`,
  );
  return 0;
});
