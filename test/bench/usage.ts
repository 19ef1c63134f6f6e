/**
 * `npm run heavy -- bench:usage`: GET /v1/usage's answer over ten thousand and over ten million
 * records, and how long admissions take meanwhile. The stores are made through the product's own
 * functions, the answers come from a real daemon over its socket. It prints what it measured and
 * holds no run to it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { dayMs, dayOf } from "../../shared/time.js";
import {
  connectDaemon as connectCommandLine,
  type DaemonClient,
} from "../../shared/wire/daemon-client.js";
import { seedUsage } from "../support/seed-usage.js";
import { type AdmissionPort, unattended } from "./load/admission-port.js";
import { connectDaemon } from "./load/daemon-port.js";
import { createProcesses } from "./measure/processes.js";
import { startDaemon } from "./peers/sluice.js";

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10_000, 10_000_000];
const answersPerSize = 200;
const days = 365;
const endMs = Date.parse(`${dayOf(Date.now())}T00:00:00Z`) - 1;

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "sluice-usage-"));
  const processes = createProcesses(dir);
  try {
    say(
      `Node ${process.versions.node} on ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]!.toFixed(2)} before the run`,
    );
    for (const records of sizes) {
      const own = join(dir, String(records));
      const seeded = await seedUsage(join(own, "data"), { records, days, endMs });
      say(
        `\n${number(records)} records over ${days} days, 100 paths in 10 teams: written in ${(seeded.ms / 1000).toFixed(1)} s, ${number(Math.round(seeded.bytes / 1e6))} MB`,
      );
      const { socket } = await startDaemon(processes, own, true);
      await measure(socket, records);
      await processes.stopAll();
      say(`  (load now ${loadavg()[0]!.toFixed(2)})`);
    }
  } finally {
    await processes.stopAll();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(socket: string, records: number): Promise<void> {
  const client = await connectCommandLine({ socketPath: socket, deadlineMs: 60_000 });
  const body = { start_date: dayOf(endMs - (days - 1) * dayMs), end_date: dayOf(endMs) };
  const port = await connectDaemon(socket);
  const quiet = await admissionsDuring(
    port,
    () => new Promise((resolve) => setTimeout(resolve, 2000)),
  );
  say(`  admissions with nothing beside them: ${timesText(quiet)}`);
  for (const [what, userPath, share] of [
    ["/", "/", 1],
    ["a team", "/team3", 10],
    ["one path", "/team3/app33", 100],
  ] as const) {
    const answers: number[] = [];
    const admissions = await admissionsDuring(port, async () => {
      for (let i = 0; i < answersPerSize; i++) {
        const askedAt = performance.now();
        const { usage } = (await call(client, { ...body, user_path: userPath })) as {
          usage: { total_requests: number };
        };
        answers.push(performance.now() - askedAt);
        if (usage.total_requests !== records / share)
          throw new Error(`${what} has ${usage.total_requests} requests, not ${records / share}`);
      }
    });
    say(
      `  365 days of ${what}: ${timesText(answers)}; admissions meanwhile: ${timesText(admissions)}`,
    );
  }
  client.close();
}

async function call(client: DaemonClient, body: unknown): Promise<unknown> {
  const answer = await client.call("usage.status", body);
  if (!answer.ok) throw new Error(answer.failure.message);
  return answer.body;
}

/** The round trips of admissions, one at a time and each settled, as long as `work` takes. */
async function admissionsDuring(
  port: AdmissionPort,
  work: () => Promise<unknown>,
): Promise<number[]> {
  const trips: number[] = [];
  let done = false;
  const admitting = new Promise<void>((resolve, reject) => {
    let askedAt = performance.now();
    port.events = {
      onSettled: () => {},
      onVerdict(slot) {
        trips.push(performance.now() - askedAt);
        port.settle(slot);
        if (done) return resolve();
        askedAt = performance.now();
        port.admit(slot, trips.length % 1000);
      },
      onLost: reject,
    };
    port.admit(0, 0);
  });
  await work();
  done = true;
  await admitting;
  // The last settle's acknowledgement is still to come, and at last the daemon's end.
  port.events = { ...unattended, onSettled: () => {}, onLost: () => {} };
  return trips;
}

function timesText(ms: number[]): string {
  ms.sort((a, b) => a - b);
  const at = (share: number): string =>
    (ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? 0).toFixed(2);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms of ${number(ms.length)}`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
