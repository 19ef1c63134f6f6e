/**
 * `npm run heavy -- soak`: a gateway of several proxies under a mixed load for a long time, with
 * faults in between. At the end all that was counted must be exact, and memory, descriptors and
 * store must be flat or explained. docs/contributing/testing.md says how to run it, docs/sizing.md
 * what it measured.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { startClients } from "./clients.js";
import { faultText, planFaults, watchedFrom, watchedTo } from "./fault-plan.js";
import { type Gateway, issueKeys, master, startGateway } from "./gateway.js";
import { Ledger } from "./ledger.js";
import { readLiveMemory } from "./live-memory.js";
import { reportOf } from "./report.js";
import { Samples } from "./samples.js";
import { strike } from "./strike.js";
import { compareTotals } from "./totals.js";

const usage = "npm run heavy -- soak [--minutes 60] [--rate 300] [--proxies 3] [--keep DIRECTORY]";

interface Options {
  readonly seconds: number;
  readonly perSecond: number;
  readonly proxies: number;
  /** Where the samples and the report are left; null: nowhere. */
  readonly keep: string | null;
}

function readOptions(): Options {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: { minutes: text, rate: text, proxies: text, keep: text },
  });
  const number = (name: "minutes" | "rate" | "proxies", otherwise: number): number => {
    const value = Number(values[name] ?? otherwise);
    if (!(value > 0 && value <= 10_000))
      throw new Error(`--${name} must be a number above 0, not ${values[name]}: ${usage}`);
    return value;
  };
  return {
    seconds: number("minutes", 60) * 60,
    perSecond: number("rate", 300),
    proxies: Math.floor(number("proxies", 3)),
    keep: values.keep ?? null,
  };
}

const sampleEveryMs = 5_000;
/** How long what is in flight may take to end once the load has stopped. */
const quietMs = 60_000;
const calmMs = 60_000;
const inFlightCalm = 500;
const watched = [watchedFrom, (watchedFrom + watchedTo) / 2, watchedTo];
/** In a shorter soak processes are still warming up when memory begins to be watched. */
const collectedS = 30 * 60;

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

async function startProvider(): Promise<{ url: string; pid: number; end(): void }> {
  const child = fork(fileURLToPath(new URL("provider.js", import.meta.url)), { execArgv: [] });
  const [{ ready }] = (await once(child, "message")) as [{ readonly ready: string }];
  return { url: ready, pid: child.pid!, end: () => void child.kill("SIGKILL") };
}

/** Resolves when nothing is in flight and all is written. */
async function untilQuiet(gateway: Gateway): Promise<string | null> {
  const until = performance.now() + quietMs;
  let settled = -1;
  while (performance.now() < until) {
    await delay(2_000);
    // A connection that is kept may be one to a proxy that has been killed.
    const status = await gateway.admin("GET /status").catch(() => null);
    if (status === null) continue;
    if (status["in_flight"] === 0 && status["settled"] === settled) return null;
    settled = Number(status["settled"]);
  }
  return `requests are in flight ${quietMs / 1000} s after the last one`;
}

/**
 * Resolves when all have come back from the fault before: what two at once may cost is another
 * matter, and docs/contributing/testing.md's. On a busy machine that takes a while.
 */
async function untilCalm(gateway: Gateway, proxies: number, ledger: Ledger): Promise<boolean> {
  const until = performance.now() + calmMs;
  while (performance.now() < until) {
    const status = await gateway.admin("GET /status").catch(() => null);
    if (status?.["proxies"] === proxies && ledger.inFlight < inFlightCalm) return true;
    await delay(500);
  }
  return false;
}

async function run(options: Options, directory: string): Promise<number> {
  const { seconds, perSecond, proxies } = options;
  // Now, so that an hour isn't lost because it can't be made.
  if (options.keep !== null) mkdirSync(options.keep, { recursive: true });
  const provider = await startProvider();
  process.once("exit", provider.end);
  const cap = Math.ceil(seconds * perSecond * 0.003);
  const gateway = await startGateway({ directory, providerUrl: provider.url, proxies, cap });
  process.once("exit", () => endAll(gateway));
  const keys = await issueKeys(gateway);
  say(`${gateway.url} is ready, with ${[...gateway.processes().keys()].join(", ")}`);
  const startMs = performance.now();
  const nowS = (): number => (performance.now() - startMs) / 1000;
  const ledger = new Ledger(Math.ceil((seconds + 2 * (calmMs / 1000)) * perSecond));
  const samples = new Samples();
  const clients = startClients({ url: gateway.url, master, keys, perSecond, ledger, nowS });
  const problems: string[] = [];
  const faults: string[] = [];
  const deathsS: number[] = [];
  const reloadsS: number[] = [];
  let sampling = Promise.resolve();
  const beside = new Map([
    ["clients", process.pid],
    ["provider", provider.pid],
  ]);
  const sampler = setInterval(() => {
    sampling = sampling.then(() => samples.take(gateway, nowS(), beside));
  }, sampleEveryMs);
  const setWeather = async (weather: string): Promise<void> => {
    await fetch(`${provider.url}/weather/${weather}`);
  };
  for (const { atS, fault } of planFaults(seconds, proxies)) {
    await delay(Math.max(0, (atS - nowS()) * 1000));
    if (!(await untilCalm(gateway, proxies, ledger)))
      problems.push(`at ${nowS().toFixed(0)} s the gateway hasn't recovered from what was before`);
    if (nowS() > seconds - 3) break;
    if (seconds >= collectedS && atS >= seconds * (watched[samples.live.length] ?? Infinity))
      samples.live.push(
        await readLiveMemory(lastingOf(gateway.processes())).catch((error: Error) => {
          problems.push(`memory can't be read after a collection: ${error.message}`);
          return [];
        }),
      );
    say(
      `${nowS().toFixed(0)} s, ${ledger.sent} sent, ${ledger.inFlight} in flight: ${faultText(fault)}`,
    );
    faults.push(faultText(fault));
    if (fault.kind === "kill" && fault.process !== "limiterd") deathsS.push(nowS());
    const replaces = fault.kind === "stop" && fault.process !== "limiterd";
    if (fault.kind === "reload" || replaces) reloadsS.push(nowS());
    const wrong = await strike(fault, { gateway, directory, setWeather });
    if (wrong !== null) problems.push(`at ${nowS().toFixed(0)} s: ${wrong}`);
  }
  await delay(Math.max(0, (seconds - nowS()) * 1000));
  const loadSeconds = nowS();
  clearInterval(sampler);
  await clients.stop();
  await sampling;
  const quiet = await untilQuiet(gateway);
  if (quiet !== null) problems.push(quiet);
  await samples.take(gateway, nowS(), beside);
  say("the load has ended; its totals are compared");
  const seen = new Uint8Array(await (await fetch(`${provider.url}/seen`)).arrayBuffer());
  const daemon = await connectDaemon({ socketPath: gateway.socket, deadlineMs: 60_000 });
  const totals = await compareTotals({ ledger, seen, daemon, deathsS, reloadsS, cap }).catch(
    (error: Error) => {
      problems.push(`the totals can't be compared: ${error.message}`);
      return null;
    },
  );
  daemon.close();
  const exitCode = await gateway.stop();
  if (exitCode !== 0) problems.push(`sluice up ended with ${exitCode}`);
  const verified = await gateway.run("verify-store");
  if (verified.code !== 0) problems.push(`the store: ${verified.text}`);
  const report = reportOf({
    ...{ seconds, perSecond, proxies, loadSeconds, late: clients.late, ledger, samples },
    ...{ log: gateway.log, totals, faults, problems },
  });
  process.stdout.write(`${report.text}\n`);
  if (options.keep !== null) {
    writeFileSync(join(options.keep, "samples.json"), JSON.stringify(samples));
    writeFileSync(join(options.keep, "report.txt"), `${report.text}\n`);
    // The store and the log, to look into.
    if (report.problems.length > 0)
      cpSync(directory, join(options.keep, "site"), {
        recursive: true,
        filter: (source) => !lstatSync(source).isSocket(),
      });
  }
  return report.problems.length === 0 ? 0 : 1;
}

/** Without those that a reload has replaced, which end. */
function lastingOf(processes: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...processes].filter(([name]) => !name.endsWith(" before")));
}

/** Whatever of the gateway runs still: its services have sessions of their own. */
function endAll(gateway: Gateway): void {
  for (const pid of gateway.processes().values()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended, as it should.
    }
  }
}

const options = readOptions();
const directory = mkdtempSync(join(tmpdir(), "sluice-soak-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
process.exitCode = await run(options, directory).catch((error: unknown) => {
  say(`the soak couldn't run: ${error instanceof Error ? error.stack : String(error)}`);
  return 1;
});
process.exit();
