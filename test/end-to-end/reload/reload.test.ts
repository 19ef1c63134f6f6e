import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { bindSocket } from "../../../bin/supervisor/reload/bind-socket.js";
import { processStat } from "../../../shared/supervision/process-stat.js";
import {
  type Program,
  runProgram,
  startProgram,
  temporaryDirectory,
} from "../../bin/program-run.js";
import { until } from "../../support/client.js";
import { parseMetrics } from "../../support/parse-metrics.js";
import { makeSite, type Site } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";
import { startLoad } from "../../support/processes/steady-load.js";

const sluice = programPath("sluice");

/** `npm run heavy -- reloads` makes it more. */
const reloads = Number(process.env["RELOADS"] ?? 9);

interface Gateway {
  readonly up: Program;
  readonly url: string;
  readonly file: string;
  /** Runs a command of the command line beside it. */
  run(...argv: readonly string[]): Promise<{ exitCode: number | null; out: string; err: string }>;
}

async function startUp(t: Test, yaml: string): Promise<Gateway> {
  const directory = temporaryDirectory(t);
  const file = join(directory, "sluice.yaml");
  writeFileSync(file, yaml);
  const paths = ["--socket", join(directory, "l.sock")];
  const up = startProgram(
    t,
    sluice,
    ["up", "--port=0", "--verbose", ...paths, "--data-dir", join(directory, "data")],
    { cwd: directory },
  );
  const url = (await up.line(/^ready: /)).replace(/^ready: +/, "");
  return {
    up,
    url,
    file,
    run: (...argv) => runProgram(t, sluice, [...argv, ...paths], { cwd: directory }),
  };
}

/** How many requests the daemon has counted on a path. */
async function counted({ run }: Gateway, path: string): Promise<number> {
  const { out } = await run("limits", "list", "--json");
  const { rate_limits } = JSON.parse(out) as {
    rate_limits: readonly { subject: string; requests_used: number }[];
  };
  return rate_limits.find(({ subject }) => subject === path)!.requests_used;
}

const yaml = `
server: { proxies: 1 }
# The daemon's restart may take its time on a busy machine.
limiter: { deadline_ms: 20000 }
rate_limits:
  user_paths:
    - { path: /load, limits: [ { period: day, max_requests: 1000000 } ] }
`;

/** The sum of the requests to models that a scrape counts, and which proxies say something. */
async function scraped(url: string): Promise<{ requests: number; proxies: readonly string[] }> {
  const families = parseMetrics(await (await fetch(`${url}/metrics`)).text());
  const samples = families.get("sluice_requests_total")?.samples ?? [];
  const gauges = families.get("sluice_limiter_reachable")!.samples;
  return {
    requests: samples.reduce((sum, { value }) => sum + value, 0),
    proxies: gauges.map(({ labels }) => labels["proxy"] ?? "").sort(),
  };
}

/** Scrapes until it is told to stop: whatever is replaced meanwhile, no sum may fall. */
function watchSums(t: Test, url: string): { stop(): Promise<void> } {
  let stopping = false;
  let highest = 0;
  const watching = (async () => {
    while (!stopping) {
      const { requests } = await scraped(url);
      if (requests < highest) t.fail(`${requests} after ${highest}`);
      highest = requests;
      await delay(50);
    }
  })();
  return {
    stop() {
      stopping = true;
      return watching;
    },
  };
}

/** Tells `up` to reload as a signal does, and waits for its word. */
async function hangUp({ up }: Gateway): Promise<void> {
  const reloads = (): number => up.err.filter((line) => line === "reloaded").length;
  const before = reloads();
  up.child.kill("SIGHUP");
  while (reloads() === before) await Promise.race([once(up.child.stderr!, "data"), up.ended]);
}

t.test("reloads under load refuse, reset and cut nothing, and all is counted once", async (t) => {
  const gateway = await startUp(t, yaml);
  const load = startLoad({
    url: gateway.url,
    headers: { "x-sluice-user-path": "/load" },
    kept: 2,
    fresh: 1,
    streaming: 2,
    model: "sim-fast",
  });
  const sums = watchSums(t, gateway.url);
  for (let reload = 1; reload <= reloads; reload++) await hangUp(gateway);
  // New rules: the daemon is replaced, too. And there are more proxies from now on.
  const changed = yaml.replace("proxies: 1", "proxies: 2");
  const rule = "    - { path: /other, limits: [ { period: day, max_requests: 5 } ] }\n";
  writeFileSync(gateway.file, changed + rule);
  t.match(await gateway.run("reload"), {
    exitCode: 0,
    out: /^replaced 2 proxies\nrestarted the daemon$/,
    err: "",
  });
  const { answered, streams, failures, slowestMs } = await load.stop();
  t.same(failures, [], `${answered} answered, ${streams} of them streams, slowest ${slowestMs} ms`);
  t.ok(answered > 100 && streams > 2, `${answered}, ${streams}`);
  t.equal(await counted(gateway, "/load"), answered);
  await sums.stop();
  const { requests, proxies } = await until(
    () => scraped(gateway.url),
    (all) => all.proxies.length === 2,
  );
  t.equal(requests, answered, "a scrape of any proxy has all, of those that were replaced too");
  t.same(proxies, ["proxy-1", "proxy-2"]);
  t.equal(await counted(gateway, "/other"), 0, "and the new rule is there");

  writeFileSync(gateway.file, `${changed}nonsense: 1\n`);
  t.match(await gateway.run("reload", "--pid", String(gateway.up.child.pid)), {
    exitCode: 78,
    err: /nonsense is not a known key/,
  });
  t.equal((await fetch(`${gateway.url}/ready`)).status, 200, "what ran before runs on");
  t.match(await gateway.run("reload", "--pid", "1"), {
    exitCode: 69,
    err: /^error: nothing that can be reloaded runs beside .* with the process id 1$/,
  });
  gateway.up.child.kill("SIGTERM");
  t.same(await gateway.up.ended, { code: 0, signal: null });
  t.match(await gateway.run("reload"), { exitCode: 69 }, "and it leaves nothing behind");
});

/** A proxy as systemd starts it, on a socket that the test holds; its notices are in a file. */
async function startActivated(t: Test, site: Site) {
  const programs = temporaryDirectory(t);
  const notices = join(programs, "notices");
  const others = "-mindepth 1 '(' -name '[3-9]' -o -name '??*' ')'";
  const listing = `(exec find /proc/self/fd ${others} -printf '%l\\n' >> ${programs}/descriptors)`;
  writeFileSync(
    join(programs, "systemd-notify"),
    `#!/bin/sh\necho "$@" >> ${notices}\n${listing}\n`,
    { mode: 0o755 },
  );
  const keyed = `${yaml}
providers:
  simulator: { type: simulator }
  keyed: { base_url: "http://127.0.0.1:9/v1", models: [m], api_key_command: "${listing}; echo key" }
`;
  writeFileSync(site.configFile, keyed);
  const changes = watch(programs);
  t.teardown(() => changes.close());
  const { fd, close } = await bindSocket("127.0.0.1", 0);
  t.teardown(close);
  const env = {
    PATH: `${programs}:${process.env["PATH"]}`,
    NOTIFY_SOCKET: join(programs, "no-socket"),
    RUNTIME_DIRECTORY: programs,
    WATCHDOG_USEC: "60000000",
    SLUICE_SOCKET: site.socket,
    SLUICE_SPOOL_DIR: join(site.directory, "spool"),
  };
  const command = 'WATCHDOG_PID=$$ LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec "$@"';
  // It isn't this process's child: whoever takes it in is to be the parent of its successors, too.
  const child = spawn(
    "/bin/sh",
    [
      "-c",
      'sh -c "$0" sh "$@" & echo "pid $!"',
      command,
      process.execPath,
      programPath("sluice-proxy"),
      "--config",
      site.configFile,
    ],
    { env, cwd: site.directory, stdio: ["ignore", "pipe", "pipe", fd] },
  );
  let output = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
  const noticed = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = existsSync(notices) ? pattern.exec(readFileSync(notices, "utf8")) : null;
      if (found !== null) return found;
      await once(changes, "change");
    }
  };
  const [, url] = await noticed(/STATUS=ready: (http:[^;]+)/);
  const pid = Number(/^pid (\d+)$/m.exec(output)![1]);
  endWith(t, pid);
  return {
    pid,
    url: url!,
    yaml: keyed,
    noticed,
    notices: () => readFileSync(notices, "utf8").trim().split("\n"),
    /** What each process had open besides 0, 1 and 2 that the proxies have started. */
    descriptors: () => readFileSync(join(programs, "descriptors"), "utf8").trim().split("\n"),
    /** Its successors print to the same places. */
    async printed(pattern: RegExp): Promise<void> {
      while (!pattern.test(output)) await delay(20);
    },
    reload: (...argv: readonly string[]) =>
      runProgram(t, sluice, ["reload", "--config", site.configFile, ...argv], { env }),
  };
}

/** A process that the test hasn't started itself, but must not leave behind. */
function endWith(t: Test, pid: number): void {
  t.teardown(() => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended, as it should.
    }
  });
}

t.test("under systemd a proxy's successor becomes the main process", async (t) => {
  const site = makeSite(t, yaml);
  await site.startDaemon();
  const first = await startActivated(t, site);
  const parentPid = processStat(first.pid)!.parentPid;
  const load = startLoad({
    url: first.url,
    headers: { "x-sluice-user-path": "/load" },
    kept: 2,
    fresh: 1,
    streaming: 1,
    model: "sim-fast",
  });
  process.kill(first.pid, "SIGHUP");
  const pid = Number((await first.noticed(/MAINPID=(\d+)/))[1]);
  endWith(t, pid);
  t.not(pid, first.pid);
  t.equal(processStat(pid)?.parentPid, parentPid, "and that waits for the end of its own children");
  await first.printed(/"proxy stopped"/);

  writeFileSync(site.configFile, `${first.yaml}nonsense: 1\n`);
  t.match(await first.reload("--pid", String(pid)), { exitCode: 78, err: /nonsense/ });
  process.kill(pid, "SIGHUP");
  await first.printed(/the reload failed/);
  // A right one with which no successor can start: the port is taken.
  const { port } = new URL(first.url);
  const taken = first.yaml.replace("proxies: 1", `proxies: 1, admin: { port: ${port} }`);
  writeFileSync(site.configFile, taken);
  t.match(await first.reload("--pid", String(pid)), {
    exitCode: 1,
    err: /the new process ended before it was ready/,
  });
  writeFileSync(site.configFile, first.yaml);
  t.match(await first.reload("--pid", String(pid)), { exitCode: 0, out: /has taken over from/ });
  const [, last] = await first.noticed(new RegExp(`MAINPID=(?!${pid})(\\d+)`));
  endWith(t, Number(last));
  t.equal(processStat(Number(last))?.parentPid, parentPid);
  const { answered, failures } = await load.stop();
  t.same(failures, [], `${answered} answered`);
  process.kill(Number(last), "SIGTERM");
  await first.noticed(/STOPPING=1/);
  const alive = first.notices().filter((notice) => notice.startsWith("READY=1 WATCHDOG=1 "));
  t.equal(alive.length, 3, "systemd waits for the successors' signs of life, too");
  const given = first.descriptors();
  t.ok(given.length > first.notices().length, "what they start looks at what it was given");
  t.same(
    given.filter((each) => /^(?:socket|anon_inode):/.test(each)),
    [],
    "and has no socket of theirs",
  );
});

t.test("a stopping proxy still serves while it says that it isn't ready", async (t) => {
  const site = makeSite(t, yaml, { SLUICE_DRAIN_GRACE_SECONDS: "60" });
  await site.startDaemon();
  const proxy = await site.startProxy();
  t.equal((await fetch(`${proxy.ready}/ready`)).status, 200);
  proxy.child.kill("SIGTERM");
  await proxy.printed(/"stopping"/);
  const probe = await fetch(`${proxy.ready}/ready`);
  t.same([probe.status, await probe.json()], [503, { status: "not ready", reason: "stopping" }]);
  t.equal((await fetch(`${proxy.ready}/health`)).status, 200);
  const load = startLoad({ url: proxy.ready, kept: 1, fresh: 1, streaming: 0, model: "sim-fast" });
  const { answered, failures } = await load.stop();
  t.same(failures, []);
  t.equal(answered, 2);
  const ended = once(proxy.child, "exit");
  proxy.child.kill("SIGTERM");
  t.same(await ended, [130, null], "a second signal ends it immediately");
});
