/**
 * `npm run heavy -- NAME`: the tests, benchmarks and tools that are no part of `npm test`. Alone it
 * lists them; what follows the name goes to the command. Adding one: a row of the table.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { didYouMean } from "../shared/config/closest-name.js";
import { root } from "./tidy/source-tree.js";

interface Heavy {
  readonly does: string;
  /** On an otherwise idle machine of two cores. */
  readonly takes: string;
  /** Debian packages and the like; without them most say so and skip. */
  readonly needs?: string;
  /** After `node`; a first word `tap` is the test runner, with the test files after it. */
  readonly command: readonly string[];
  /** Unless the environment has the variable. */
  readonly env?: Readonly<Record<string, string>>;
}

const noLimit = ["--timeout=900"];

export const heavy: Readonly<Record<string, Heavy>> = {
  "test:node24": {
    does: "the tests of npm test on Node 24, taken from npm; FILE runs one",
    takes: "4 min",
    command: ["dist/test/artefacts/test-on-node24.js"],
  },
  fuzz: {
    does: "the fuzzers; --seconds 3600 runs each for an hour",
    takes: "2 min",
    command: ["dist/test/fuzz/main.js"],
  },
  sim: {
    does: "the simulation, 100 seeds; --seed SEED replays one",
    takes: "1 min",
    command: ["dist/test/sim/main.js"],
  },
  ledger: {
    does: "100,000 requests whose providers keep ledgers of their own, with faults; --from SEED repeats",
    takes: "2 min",
    command: ["dist/test/ledger/main.js"],
  },
  "ledger-processes": {
    does: "600 of them through real processes, with kill -9; LEDGER_SEED repeats",
    takes: "2 min",
    command: ["tap", "dist/test/ledger/processes.test.js"],
    env: { LEDGER_HISTORIES: "600" },
  },
  "planted-bugs": {
    does: "bugs that the simulation must find",
    takes: "1 min",
    command: ["tap", "dist/test/sim/mutants/planted-bugs.js"],
  },
  mutants: {
    does: "small faults in the compiled core that no unit test notices",
    takes: "1 h",
    command: ["dist/test/mutation/main.js"],
  },
  crashes: {
    does: "the crash matrix: thirty ways to die, twice each; and hard caps under load and kills",
    takes: "3 min",
    command: [
      "tap",
      ...noLimit,
      "dist/test/end-to-end/crash/crash-matrix.test.js",
      "dist/test/end-to-end/crash/hard-caps-crash.test.js",
      "dist/test/end-to-end/crash/hard-caps-changes.test.js",
    ],
    env: { SLUICE_CRASH_ROUNDS: "2" },
  },
  damage: {
    does: "a thousand damaged stores: each is served whole or refused",
    takes: "2 min",
    command: ["dist/test/damage/main.js"],
  },
  drill: {
    does: "every command of the backup drill, and backups under load",
    takes: "1 min",
    command: ["tap", "dist/test/end-to-end/crash/backup-drill.test.js"],
  },
  reloads: {
    does: "a hundred reloads under load: nothing is refused, reset or cut",
    takes: "3 min",
    command: ["tap", "dist/test/end-to-end/reload/reload.test.js"],
    env: { RELOADS: "100" },
  },
  soak: {
    does: "three proxies under a mixed load, with faults; --minutes 1 for a short one",
    takes: "1 h",
    command: ["dist/test/bench/soak/main.js"],
  },
  outside: {
    does: "public reports of trouble with providers, and their log, test/outside/log.md",
    takes: "10 s",
    command: ["tap", "dist/test/outside.test.js"],
    env: { OUTSIDE_LOG: "write" },
  },
  bombs: {
    does: "compressed bodies, most of them bombs, to a real gateway",
    takes: "1 min",
    needs: "brotli",
    command: ["dist/test/bombs/main.js"],
  },
  browser: {
    does: "the dashboard in a real browser",
    takes: "1 min",
    needs: "chromium",
    command: ["tap", "dist/test/browser/cases/*.js"],
  },
  pictures: {
    does: "pictures of the dashboard: FOLDER [PAGE…], or readme for those of the README",
    takes: "2 min",
    needs: "chromium",
    command: ["dist/test/dashboard/take-pictures.js"],
  },
  "metrics-check": {
    does: "metrics, board and alerts, read by Prometheus",
    takes: "1 min",
    needs: "prometheus",
    command: ["tap", "dist/test/metrics/metrics-check.js"],
  },
  systemd: {
    does: "the units in a booted systemd; WORDS choose cases",
    takes: "10 min",
    needs: "root, systemd-container, mmdebstrap",
    command: ["dist/test/systemd/booted/main.js"],
  },
  cluster: {
    does: "several hosts on a real engine, records into PostgreSQL",
    takes: "2 min",
    needs: "redis-server or valkey-server, postgresql, iproute2",
    command: ["tap", "--jobs=2", "dist/test/cluster/cases/*.js"],
  },
  "demo:cluster": {
    does: "one limit over two hosts, on this machine",
    takes: "1 min",
    needs: "redis-server or valkey-server",
    command: ["dist/test/cluster/demo/main.js"],
  },
  "demo:tenants": {
    does: "a gateway with 14 days of 100 tenants, for looking at the dashboard",
    takes: "20 s to start",
    command: ["dist/test/dashboard/demo/main.js"],
  },
  clients: {
    does: "the client matrix: real agents and SDKs, which it installs first",
    takes: "8 min",
    needs: "python3-venv",
    command: ["dist/test/clients/main.js"],
  },
  mcp: {
    does: "MCP's official SDKs, which it installs first, through /mcp/{server} to a server of theirs",
    takes: "1 min",
    needs: "python3-venv",
    command: ["tap", "--timeout=600", "dist/test/mcp-clients/real-clients.js"],
  },
  fields: {
    does: "what becomes of each field at each type of provider; --write writes test/outside/fields.md",
    takes: "1 min",
    command: ["dist/test/outside/fields-page.js"],
  },
  "usage-fields": {
    does: "what each field of providers' usage is metered as; --write writes its table",
    takes: "1 s",
    command: ["dist/test/outside/usage-fields-page.js"],
  },
  "sdk-suites": {
    does: "the tests of OpenAI's and Anthropic's Python SDKs, directly and through Sluice",
    takes: "6 min",
    needs: "python3-venv, PyPI",
    command: ["dist/test/sdk-suites/main.js"],
  },
  artefacts: {
    does: "npm package, tarball, Debian package and container image; SLUICE_ARTEFACTS=DIR keeps them",
    takes: "6 min",
    needs: "buildah, runc, mmdebstrap, Go",
    command: ["tap", "--timeout=0", "--jobs=1", "dist/test/artefacts/cases/*.js"],
  },
  release: {
    does: "completes the folder of a release: FOLDER [TAG]; docs/releasing.md",
    takes: "1 s",
    command: ["dist/test/artefacts/release.js"],
  },
  "release-dry-run": {
    does: "the workflow of a release without publishing; SLUICE_ARTEFACTS=DIR has the artefacts",
    takes: "1 min",
    needs: "buildah, mmdebstrap",
    command: ["tap", ...noLimit, "dist/test/artefacts/release-dry-run.js"],
  },
  thermometer: {
    does: "how heavy the project is, in figures to compare over time",
    takes: "1 min",
    command: ["dist/test/tidy/thermometer.js"],
  },
  "bench:builds": {
    does: "one request in this build and in that of --beside DIR",
    takes: "10 min",
    command: ["dist/test/bench/builds.js"],
  },
  "bench:streams": {
    does: "2,000 streams through one proxy",
    takes: "5 min",
    command: ["dist/test/bench/streams.js"],
  },
  "bench:scale": {
    does: "100,000 rules and 1,000,000 children; --questions: what lists of tenants and limits cost",
    takes: "10 min",
    needs: "2 GB of memory",
    command: ["dist/test/bench/scale.js"],
  },
  "bench:start": {
    does: "how long a start takes with many rules, windows and records",
    takes: "5 min",
    command: ["dist/test/bench/start.js"],
  },
  "bench:translations": {
    does: "the CPU of each translation",
    takes: "2 min",
    command: ["dist/test/bench/translations.js"],
  },
  "bench:hard-caps": {
    does: "what a hard cap costs for each event of a stream; --write writes its table",
    takes: "6 min",
    command: ["dist/test/bench/hard-caps.js"],
  },
  waiting: {
    does: "1,000 SDK clients wait at 60 requests a window: no 429, and within 2% of the ideal time",
    takes: "2 min",
    command: ["dist/test/bench/waiting.js"],
  },
  "bench:limits": {
    does: "what each kind of limit costs a request, in one process",
    takes: "3 min",
    command: ["dist/test/bench/limit-kinds.js"],
  },
  "bench:live": {
    does: "what the dashboard's watchers cost",
    takes: "3 min",
    command: ["dist/test/bench/live.js"],
  },
  "bench:usage": {
    does: "usage over ten million records",
    takes: "10 min",
    needs: "2 GB of disk",
    command: ["dist/test/bench/usage.js"],
  },
  "bench:proxies": {
    does: "several proxies under one supervisor",
    takes: "5 min",
    command: ["dist/test/bench/proxies.js"],
  },
  overshoot: {
    does: "how far gateways go beyond their caps, and what a kill loses (docs/overshoot.md)",
    takes: "20 min",
    needs: "the other gateways",
    command: ["dist/test/bench/overshoot/main.js"],
  },
  "bench:cluster": {
    does: "hosts that share limits, beside hosts that don't",
    takes: "10 min",
    needs: "redis-server or valkey-server",
    command: ["dist/test/bench/cluster.js"],
  },
};

/** What `npm run heavy` prints. */
export function listHeavy(): string {
  const wide = Math.max(...Object.keys(heavy).map((name) => name.length));
  const rows = Object.entries(heavy).map(
    ([name, { does, takes, needs }]) =>
      `${name.padEnd(wide)}  ${takes.padStart(6)}  ${does}${needs === undefined ? "" : ` (needs ${needs})`}`,
  );
  return `npm run heavy -- NAME [ARGUMENTS]\n\n${rows.join("\n")}\n`;
}

async function run({ command, env }: Heavy, given: readonly string[]): Promise<number> {
  const [first = "", ...rest] = command;
  const words =
    first === "tap" ? ["node_modules/.bin/tap", "--disable-coverage", ...rest] : command;
  const child = spawn(process.execPath, [...words, ...given], {
    cwd: root,
    env: { ...env, ...process.env },
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

async function main([name, ...given]: readonly string[]): Promise<number> {
  if (name === undefined) {
    process.stdout.write(listHeavy());
    return 0;
  }
  const chosen = Object.hasOwn(heavy, name) ? heavy[name] : undefined;
  if (chosen !== undefined) return run(chosen, given);
  const hint = didYouMean(name, Object.keys(heavy));
  process.stderr.write(`unknown name ${name}${hint || "; npm run heavy lists the names"}\n`);
  return 2;
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main(process.argv.slice(2));
