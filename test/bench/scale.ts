/**
 * `npm run heavy -- bench:scale`: what 100,000 rules and 1,000,000 windows of children cost the
 * daemon, measured on a real process over its real socket. It is no test and says nothing of its
 * own about the figures; how to read them: docs/contributing/benchmark.md.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { tenantSorts } from "../../shared/api/tenant-item.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import { executed } from "./load/daemon-port.js";
import { childPath, scaleBudgets, scaleRules, templateKey } from "./load/scale-rules.js";
import { giveJob } from "./measure/job-channel.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import { createProcesses, type Running } from "./measure/processes.js";
import type { WatchedDaemon, WatchJob } from "./peers/scale-daemon.js";
import { connectPeer, type Load, type ScalePeer } from "./peers/scale-peer.js";

const options = new Command("bench:scale")
  .description("Measures the daemon with many rules and many children.")
  .option("--rules <n>", "rules of the largest book", Number, 100_000)
  .option("--children <n>", "live child windows", Number, 1_000_000)
  .option(
    "--rounds <n>",
    "how often the books take turns, and how often all children come and go",
    Number,
    3,
  )
  .option("--questions", "only what lists of tenants and limits cost with all children")
  .parse()
  .opts<{ rules: number; children: number; rounds: number; questions?: true }>();

/** Proxies at once, and admissions in flight of each. */
const peersAtOnce = 8;
const inFlight = 16;
const admissionsPerTurn = 100_000;
/** Children that ask while books are compared. */
const activeChildren = 1000;
const threeHoursMs = 3 * 3_600_000;
const mb = 1e6;

interface Daemon {
  readonly running: Running;
  readonly peers: readonly ScalePeer[];
  readonly dir: string;
  /** From the start of the process. */
  readonly firstVerdictMs: number;
}

/** Usage and budgets are only asked for in the questions. */
const recorded = options.questions === undefined ? {} : { record: executed };
const dir = mkdtempSync(join(os.tmpdir(), "sluice-scale-"));
const processes = createProcesses(dir);
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const fixed = (value: number, digits = 1): string => value.toFixed(digits);

async function start(name: string, rules: number): Promise<Daemon> {
  const home = join(dir, name);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const config = join(home, "sluice.yaml");
  // JSON is YAML.
  writeFileSync(
    config,
    JSON.stringify({
      limiter: { socket: join(home, "d.sock"), data_dir: join(home, "data") },
      providers: { bench: { type: "simulator" } },
      entitlements: ["quota_templates"],
      rate_limits: scaleRules(rules),
      ...(options.questions === undefined ? {} : { budgets: scaleBudgets }),
    }),
  );
  const begun = performance.now();
  const running = await processes.node(
    fileURLToPath(new URL("./peers/scale-daemon.js", import.meta.url)),
    [config],
  );
  const peers = await Promise.all(
    Array.from({ length: peersAtOnce }, (_, i) =>
      // The first one administers, too.
      connectPeer(
        join(home, i === 0 ? "d-admin.sock" : "d.sock"),
        `scale-${process.pid}-${i}-${running.pid}`,
      ),
    ),
  );
  await peers[0]!.run({ count: 1, inFlight: 1, pathOf: someone });
  return { running, peers, dir: home, firstVerdictMs: performance.now() - begun };
}

function watch(daemon: Daemon, job: WatchJob = {}): Promise<WatchedDaemon> {
  return giveJob<WatchJob, WatchedDaemon>(daemon.running.child, job);
}

/** Spreads a load over all peers; resolved when all of it is settled. */
async function load(
  daemon: Daemon,
  count: number,
  pathOf: Load["pathOf"],
): Promise<{ readonly cpuUs: number; readonly slowestMs: number; readonly perSecond: number }> {
  const before = readCpu([daemon.running.pid], cpuSource());
  const each = count / daemon.peers.length;
  const done = await Promise.all(
    daemon.peers.map((peer, i) =>
      peer.run({ count: each, inFlight, pathOf: (n) => pathOf(i * each + n), ...recorded }),
    ),
  );
  return {
    cpuUs: cpuUsBetween(before, readCpu([daemon.running.pid], cpuSource())) / count,
    slowestMs: Math.max(...done.map(({ slowestMs }) => slowestMs)),
    perSecond: count / Math.max(...done.map(({ seconds }) => seconds)),
  };
}

const someone = (): string => childPath(Math.floor(Math.random() * activeChildren));

/** Of what `under` prints: ms, or numbers of turns. */
const columns = [
  "    took",
  "longest",
  "over 10",
  "calm longest",
  "over 10",
  "by the clock",
  "slowest verdict",
];
const printColumns = (title: string): void =>
  print(`\n${title.padEnd(56)}${columns.map((column) => `  ${column}`).join("")}`);

/** Runs an operation while other peers go on asking, and prints what the loop and they noticed. */
async function under(daemon: Daemon, name: string, run: () => Promise<unknown>): Promise<void> {
  await watch(daemon);
  let isDone = false;
  let slowestMs = 0;
  const others = daemon.peers.slice(peersAtOnce / 2);
  const begun = performance.now();
  const traffic = others.map(async (peer) => {
    while (!isDone)
      slowestMs = Math.max(
        slowestMs,
        (await peer.run({ count: 200, inFlight: 2, pathOf: someone })).slowestMs,
      );
  });
  await run();
  const tookMs = performance.now() - begun;
  isDone = true;
  await Promise.all(traffic);
  const { stallMs, busyMs, turnsOver10Ms, calmBusyMs, calmTurnsOver10Ms } = await watch(daemon);
  const cells = [
    fixed(tookMs, 0),
    fixed(busyMs),
    String(turnsOver10Ms),
    fixed(calmBusyMs),
    String(calmTurnsOver10Ms),
    fixed(stallMs),
    fixed(slowestMs),
  ];
  print(
    `  ${name.padEnd(54)}${cells.map((cell, i) => cell.padStart(columns[i]!.length + 2)).join("")}`,
  );
}

/** Half of the peers: the others go on asking as `under` has them. */
function busy(daemon: Daemon): Daemon {
  return { ...daemon, peers: daemon.peers.slice(0, peersAtOnce / 2) };
}

async function childWindows(daemon: Daemon): Promise<number> {
  return ((await daemon.peers[0]!.admin("status", null)) as { child_windows: number })
    .child_windows;
}

async function untilChildren(daemon: Daemon, atMost: number): Promise<void> {
  while ((await childWindows(daemon)) > atMost) await delay(250);
}

async function listAll(daemon: Daemon): Promise<number> {
  let after: string | null = null;
  let rules = 0;
  do {
    const page = (await daemon.peers[0]!.admin("rate-limits.list", { after })) as {
      rate_limits: readonly unknown[];
      next: string | null;
    };
    rules += page.rate_limits.length;
    after = page.next;
  } while (after !== null);
  if (rules !== options.rules)
    throw new Error(`the list holds ${rules} rules, not ${options.rules}`);
  return rules;
}

function storeMb(daemon: Daemon): string {
  return fixed(statSync(join(daemon.dir, "data", "limiterd.mdb")).size / mb, 0);
}

/**
 * Heap and buffers that live: what V8 holds after a collection, once the last snapshot is written
 * and nothing more is let go.
 */
async function liveBytes(daemon: Daemon): Promise<{ readonly live: number; readonly rss: number }> {
  for (let before = Infinity; ; ) {
    const { heapBytes, bufferBytes, rssBytes } = await watch(daemon, { memory: true });
    const live = heapBytes + bufferBytes;
    if (live > before * 0.99) return { live, rss: rssBytes };
    before = live;
    await delay(3000);
  }
}

async function startText(daemon: Daemon): Promise<string> {
  const { configMs, startMs } = await watch(daemon);
  return `${fixed(configMs, 0)} ms for the configuration, ${fixed(startMs, 0)} ms for the store and what must be in memory; the first verdict after ${fixed(daemon.firstVerdictMs, 0)} ms`;
}

async function restart(daemon: Daemon, name: string): Promise<Daemon> {
  for (const peer of daemon.peers) peer.close();
  const stoppedAt = performance.now();
  const gone = new Promise((resolve) => daemon.running.child.once("exit", resolve));
  daemon.running.child.kill("SIGTERM");
  await gone;
  const stopMs = performance.now() - stoppedAt;
  const next = await start(name, options.rules);
  print(`  stopped in ${fixed(stopMs, 0)} ms; started again: ${await startText(next)}`);
  await under(next, "until all windows are in memory", async () => {
    while ((await childWindows(next)) < options.children) await delay(20);
  });
  return next;
}

async function compare(books: ReadonlyMap<string, Daemon>): Promise<void> {
  print(
    "\nCPU per admission + settle, five rules match, 128 in flight; lowest of the rounds, and the ratio to the first",
  );
  const cpuUs = new Map<string, number[]>([...books.keys()].map((name) => [name, []]));
  for (let round = 0; round <= options.rounds; round++) {
    for (const [name, daemon] of books) {
      const measured = await load(daemon, admissionsPerTurn, someone);
      // The first round warms up.
      if (round > 0) cpuUs.get(name)!.push(measured.cpuUs);
    }
  }
  const first = Math.min(...cpuUs.values().next().value!);
  for (const [name, values] of cpuUs)
    print(
      `  ${name.padEnd(40)} ${fixed(Math.min(...values), 2).padStart(6)} µs  ${fixed(Math.min(...values) / first, 2)} ×`,
    );
}

/**
 * What a person who opens the dashboard asks, and Prometheus: each question walks over all children
 * the first time; the repetition shows what is reused.
 */
async function ask(daemon: Daemon): Promise<void> {
  const today = new Date().toISOString().slice(0, 10);
  const days = { start_date: today, end_date: today };
  const tenants = (query: object) => ["tenants.list", { ...days, limit: 100, ...query }] as const;
  const questions: Readonly<Record<string, readonly [AdminOp, object]>> = {
    "limits, the fullest first": ["rate-limits.list", { order: "use", limit: 100 }],
    "limits, a search": ["rate-limits.list", { order: "use", search: "r-00012", limit: 100 }],
    "budgets, the fullest first": ["budgets.list", { order: "use", limit: 100 }],
    ...Object.fromEntries(
      tenantSorts.map((sort) => [`tenants by ${sort}`, tenants({ under: "/users", sort })]),
    ),
    "tenants, all levels": tenants({ flat: true }),
    "tenants, a search": tenants({ search: "r-00012" }),
    "tenants, the page": tenants({}),
    metrics: ["metrics", { rules_max: 1000 }],
  };
  for (const [name, [op, body]] of Object.entries(questions)) {
    await under(daemon, name, () => daemon.peers[0]!.admin(op, body));
    await under(daemon, `${name}, again`, () => daemon.peers[0]!.admin(op, body));
  }
}

async function run(): Promise<void> {
  const cpus = os.cpus();
  print(
    `Sluice at scale, ${new Date().toISOString()}\nNode ${process.versions.node} on ${cpus.length} × ${cpus[0]?.model.trim()}, Linux ${os.release()}, load ${fixed(os.loadavg()[0] ?? 0, 2)} before the run`,
  );
  if (options.questions === true) return questions();
  const small = await start("small", 10);
  const middle = await start("middle", options.rules / 10);
  const many = await start("many", options.rules);
  let large = await start("large", options.rules);
  print(
    `\nStart, empty store\n  10 rules: ${await startText(small)}\n  ${options.rules} rules: ${await startText(large)}`,
  );
  const ofFew = await liveBytes(small);
  const ofRules = await liveBytes(large);
  print(
    `Memory per rule\n  ${fixed((ofRules.live - ofFew.live) / options.rules, 0)} bytes live, ${fixed((ofRules.rss - ofFew.rss) / options.rules, 0)} bytes of RSS`,
  );

  printColumns(`${options.children} children, ${options.rules} rules`);
  await under(large, "every child's first request, snapshots once a second", () =>
    load(busy(large), options.children, childPath),
  );
  const filled = await liveBytes(large);
  print(
    `  memory per child window: ${fixed((filled.live - ofRules.live) / options.children, 0)} bytes live, ${fixed((filled.rss - ofRules.rss) / options.children, 0)} bytes of RSS; store ${storeMb(large)} MB`,
  );
  await compare(
    new Map([
      ["10 rules", small],
      [`${options.rules / 10} rules`, middle],
      [`${options.rules} rules`, many],
      [`${options.rules} rules, ${options.children} children`, large],
    ]),
  );
  for (const other of [small, middle, many]) await processes.stop(other.running);
  printColumns("Restart");
  large = await restart(large, "large");
  printColumns(`Operations under load, ${options.rules} rules, ${options.children} children`);
  const first = large.peers[0]!;
  await under(large, "the complete list", () => listAll(large));
  await under(large, "100 rules written, each followed by a page of the list", async () => {
    for (let i = 0; i < 100; i++) {
      await first.admin("rate-limits.put", {
        user_path: `/new/${i}`,
        limit_key: { period: "minute" },
        max_requests: 5,
      });
      await first.admin("rate-limits.list", { after: null });
      await first.admin("rate-limits.delete", {
        subject: `/new/${i}`,
        limit_key: { period: "minute" },
      });
    }
  });
  await under(large, "every child once more", () => load(busy(large), options.children, childPath));
  await under(large, "reset of the template, answered", () =>
    first.admin("rate-limits.reset-one", {
      scope: templateKey.scope,
      subject: templateKey.subject,
      period: templateKey.limit_key.period,
    }),
  );
  await under(large, "until all its children are gone from memory and store", () =>
    untilChildren(large, activeChildren),
  );
  await load(large, options.children, childPath);
  await under(large, "reset of all rules, answered", () =>
    first.admin("rate-limits.reset", { confirmation: "reset" }),
  );
  await under(large, "the complete list after it", () => listAll(large));
  await under(large, "until all children are gone", () => untilChildren(large, activeChildren));
  await load(large, options.children, childPath);
  await under(large, "the template deleted, answered", () =>
    first.admin("rate-limits.delete", templateKey),
  );
  await under(large, "until its children are gone", () => untilChildren(large, 0));
  await first.admin("rate-limits.put", {
    ...templateKey,
    per_child: true,
    max_requests: 1_000_000_000,
  });

  printColumns(`${options.children} children come and go`);
  for (let round = 1; round <= options.rounds; round++) {
    await under(large, `round ${round}: they come`, () =>
      load(busy(large), options.children, (n) => childPath(round * options.children + n)),
    );
    await watch(large, { forwardMs: threeHoursMs });
    await under(large, `round ${round}: they are forgotten`, () =>
      untilChildren(large, activeChildren),
    );
    const after = await liveBytes(large);
    print(
      `  afterwards ${fixed((after.live - ofRules.live) / mb)} MB live more than at the start, ${fixed(after.rss / mb, 0)} MB of RSS in all, store file ${storeMb(large)} MB`,
    );
  }
}

/** As `run`, of the questions alone. */
async function questions(): Promise<void> {
  const empty = await start("large", options.rules);
  print(`\nStart, empty store\n  ${options.rules} rules: ${await startText(empty)}`);
  const before = await liveBytes(empty);
  printColumns(`${options.children} children, ${options.rules} rules`);
  await under(empty, "every child's first request", () =>
    load(busy(empty), options.children, childPath),
  );
  const after = await liveBytes(empty);
  print(
    `  memory per child: ${fixed((after.live - before.live) / options.children, 0)} bytes live, ${fixed((after.rss - before.rss) / options.children, 0)} bytes of RSS; store ${storeMb(empty)} MB`,
  );
  await ask(empty);
  printColumns("Restart");
  await restart(empty, "large");
}

async function clearAway(): Promise<void> {
  await processes.stopAll();
  rmSync(dir, { recursive: true, force: true });
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void clearAway().finally(() => process.exit(130)));
try {
  await run();
} finally {
  await clearAway();
}
