/**
 * `npm run overshoot`: how far gateways go beyond their caps, by how many requests run at the same
 * moment, and what a kill loses. How to read it: docs/overshoot.md.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, InvalidArgumentError } from "commander";
import { didYouMean } from "../../../shared/config/closest-name.js";
import { root } from "../../tidy/source-tree.js";
import type { Processes } from "../measure/processes.js";
import { withProcesses } from "../measure/with-processes.js";
import { atLeastOne } from "../report/describe-run.js";
import { gateways } from "./gateways/all.js";
import type { GatewaySetUp, NamedCap } from "./gateways/gateway.js";
import { capText, describeTable, type GatewayResults, pageOf } from "./results.js";
import { type RunResult, runCap } from "./run-cap.js";
import { capFor, priced, type Unit, units } from "./work.js";

/** So many requests run when a gateway is killed: what they cost is neither served nor unserved. */
const streamsAtKill = 10;

function unitsIn(text: string): readonly Unit[] {
  return text.split(",").map((word) => {
    const unit = units.find((known) => known === word);
    if (unit === undefined)
      throw new InvalidArgumentError(`It must be of ${units.join(", ")}, not ${word}.`);
    return unit;
  });
}

const counts = (text: string): readonly number[] => text.split(",").map(atLeastOne);

interface NamedPeer {
  readonly setUp: GatewaySetUp;
  readonly program: string | null;
}

function withPeer(text: string, before: readonly NamedPeer[] = []): readonly NamedPeer[] {
  const [name = "", program] = text.split("=", 2);
  const setUp = Object.hasOwn(gateways, name) ? gateways[name] : undefined;
  if (setUp === undefined) {
    const known = Object.keys(gateways);
    throw new InvalidArgumentError(`It must be of ${known.join(", ")}.${didYouMean(name, known)}`);
  }
  return [...before, { setUp, program: program ?? setUp.find() }];
}

interface Options {
  readonly peer?: readonly NamedPeer[];
  readonly url?: string;
  readonly key?: string;
  readonly model: string;
  readonly crash?: string;
  readonly providerPort: number;
  readonly caps: readonly Unit[];
  readonly streams: readonly number[];
  readonly requests: readonly number[];
  readonly json?: boolean;
  readonly write?: boolean;
}

const options = new Command("overshoot")
  .description("Measures how far gateways go beyond their caps.")
  .option(
    "--peer <name[=program]>",
    `a gateway: ${Object.keys(gateways).join(", ")}; several times for several; by default all that are installed`,
    withPeer,
  )
  .option("--url <url>", "a gateway that runs already, with one cap, of --caps")
  .option("--key <key>", "with --url: sent as bearer token")
  .option("--model <name>", "with --url: the model that clients ask for", priced.model)
  .option("--crash <command>", "with --url: kills the gateway by SIGKILL and starts it again")
  .option(
    "--provider-port <port>",
    "with --url: where the provider stand-in listens",
    atLeastOne,
    9100,
  )
  .option("--caps <units>", "what is capped", unitsIn, units)
  .option("--streams <counts>", "requests at the same moment", counts, [1, 50, 500])
  .option("--requests <counts>", "requests that a cap is for", counts, [100])
  .option("--json", "prints the results as JSON")
  .option("--write", "writes the rows of these caps and gateways into docs/overshoot.md")
  .parse()
  .opts<Options>();

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function sayRun(name: string, run: RunResult): void {
  const { cap, streams, killed, served, statuses, broken } = run;
  const times = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  say(
    `${name}, ${capText(cap)}, ${streams} streams${killed ? ", killed" : ""}: served ${cap.unit === "dollars" ? served.toFixed(3) : Math.round(served)}; ${[...times, `${broken} broken`].join(", ")}`,
  );
}

interface PlannedRun extends NamedCap {
  readonly streams: number;
  readonly killed: boolean;
}

function plan(held: readonly Unit[]): readonly PlannedRun[] {
  return options.caps
    .filter((unit) => held.includes(unit))
    .flatMap((unit) => options.requests.map((requests) => capFor(unit, requests)))
    .flatMap((cap) => {
      const { unit } = cap;
      const levels = options.streams.filter((count) => unit !== "slots" || count > cap.amount);
      return [
        ...levels.map((streams) => ({ streams, killed: false })),
        { streams: unit === "slots" ? 3 * cap.amount : streamsAtKill, killed: true },
      ].map((run) => ({
        ...run,
        cap,
        name: `${unit}-${`${cap.amount}`.replace(".", "-")}-${run.killed ? "killed" : run.streams}`,
      }));
    });
}

async function measure(
  { setUp, program }: { readonly setUp: GatewaySetUp; readonly program: string },
  processes: Processes,
  dir: string,
): Promise<GatewayResults> {
  const { name, configured, units: held } = setUp;
  const measured = machine();
  const provider = await processes.node(file("./provider.js"), []);
  const home = join(dir, name.replaceAll(/\W+/g, "-"));
  mkdirSync(home, { mode: 0o700 });
  const runs: RunResult[] = [];
  const planned = plan(held);
  if (planned.length > 0) {
    const setting = { caps: planned, home, providerUrl: provider.url, processes, program };
    const gateway = await setUp.start(setting);
    for (const { name: cap, ...run } of planned) {
      const target = () => gateway.target(cap);
      const crash = run.killed ? () => gateway.crash() : null;
      const result = await runCap(provider.child, { ...run, target, crash });
      sayRun(name, result);
      runs.push(result);
    }
  }
  return { name, version: setUp.version(program), measured, configured, units: held, runs };
}

/** One run against a gateway that isn't ours to start. */
async function measureUrl(url: string, processes: Processes): Promise<GatewayResults> {
  const { caps, streams, crash, key, model, requests, providerPort } = options;
  const [unit] = caps;
  if (unit === undefined || caps.length > 1 || streams.length > 1 || requests.length > 1)
    throw new Error("with --url, --caps, --streams and --requests must have one value each");
  await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch((error: Error) => {
    throw new Error(`nothing answers at ${url}`, { cause: error.cause ?? error });
  });
  const provider = await processes.node(file("./provider.js"), [`${providerPort}`]);
  const cap = capFor(unit, requests[0]!);
  say(
    `The gateway must send ${model} to ${provider.url}/v1 and have a cap of ${capText(cap)}${unit === "dollars" ? `, at $${priced.inputUsdPerMillion} and $${priced.outputUsdPerMillion} for a million tokens of input and output` : ""}.`,
  );
  const headers: Record<string, string> =
    key === undefined ? {} : { authorization: `Bearer ${key}` };
  const restart = async (): Promise<void> => {
    const { status } = spawnSync("sh", ["-c", crash!], { stdio: "inherit" });
    if (status !== 0) throw new Error(`${crash} ended with ${status}`);
  };
  const result = await runCap(provider.child, {
    cap,
    streams: streams[0]!,
    target: () => ({ url: url.replace(/\/$/, ""), headers, model }),
    crash: crash === undefined ? null : restart,
  });
  return {
    name: url,
    version: "",
    measured: "",
    configured: "",
    units: [unit],
    runs: [result],
  };
}

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function machine(): string {
  const load = os.loadavg()[0]!.toFixed(1);
  return `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node} on ${os.cpus().length} × ${os.cpus()[0]?.model.trim()}, Linux ${os.release()}, load ${load} before the run`;
}

function writePage(results: readonly GatewayResults[]): void {
  const page = join(root, "docs/overshoot.md");
  const text = readFileSync(page, "utf8");
  writeFileSync(
    page,
    text.replace(
      /(<!-- results -->\n)([^]*)(\n<!-- end -->)/,
      (_, start: string, before: string, end: string) => start + pageOf(before, results) + end,
    ),
  );
}

await withProcesses("overshoot", async (processes, dir) => {
  const head = machine();
  const results: GatewayResults[] = [];
  if (options.url !== undefined) results.push(await measureUrl(options.url, processes));
  else
    for (const { setUp, program } of options.peer ??
      Object.values(gateways).map((setUp) => ({ setUp, program: setUp.find() }))) {
      if (program === null) say(`${setUp.name}: not installed`);
      else results.push(await measure({ setUp, program }, processes, dir));
    }
  if (options.write) writePage(results);
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ head, results })}\n`
      : `${head}\n${describeTable(results)}\n`,
  );
  return 0;
});
