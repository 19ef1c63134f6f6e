/**
 * Runs in the machine: it scrapes the port that workers share while they are reloaded, and slow
 * streams keep those that are replaced. Throws when a worker is missing, or a sum over all falls.
 * Arguments: the master key, and the units that share the port.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { parseMetrics } from "../../support/parse-metrics.js";

/** Requests that have ended, by the label of their worker. */
type Counts = ReadonlyMap<string, number>;

const [, , key = "", ...units] = process.argv;
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const names = units.map((unit) => (unit.includes("@") ? `worker-${unit.split("@")[1]}` : ""));

/** On a connection of its own, so that whichever worker may answer. */
function ask(method: string, path: string, body = "", onPiece = () => {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: 8080, agent: false, method, path, headers };
    const request = http.request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        onPiece();
      });
      response.once("error", reject).once("end", () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    request.once("error", reject).end(body);
  });
}

const chat = (model: string, stream: boolean, content: string): string =>
  JSON.stringify({ model, stream, messages: [{ role: "user", content }] });

async function scrape(): Promise<Counts> {
  const families = parseMetrics(await ask("GET", "/metrics"));
  const counts = new Map<string, number>();
  // Each says what it is, whether it has served anybody or not.
  for (const name of ["sluice_build_info", "sluice_requests_total"])
    for (const { labels, value } of families.get(name)?.samples ?? []) {
      const worker = labels["proxy"] ?? "";
      const counted = name === "sluice_requests_total" ? value : 0;
      counts.set(worker, (counts.get(worker) ?? 0) + counted);
    }
  return counts;
}

const sumOf = (counts: Counts): number => [...counts.values()].reduce((sum, each) => sum + each, 0);
const shown = (counts: Counts): string => JSON.stringify(Object.fromEntries(counts));
const hasAll = (counts: Counts): boolean => names.every((name) => counts.has(name));
const isSettled = (counts: Counts): boolean => hasAll(counts) && counts.size === names.length;

function requireThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

async function until(holds: (counts: Counts) => boolean): Promise<Counts> {
  for (let tries = 0; tries < 600; tries++) {
    const found = await scrape();
    if (holds(found)) return found;
    await delay(100);
  }
  throw new Error(`not so after a minute: ${shown(await scrape())}`);
}

/** Once all that was asked for is counted: an answer may be read before it is. */
async function settled(): Promise<Counts> {
  for (let last = -1; ; await delay(100)) {
    const found = await until(isSettled);
    if (sumOf(found) === last) return found;
    last = sumOf(found);
  }
}

/** How often a scrape told of fewer: a worker may take longer than its second on a busy machine. */
async function scrapeAgain(times: number, expected: number): Promise<number> {
  let missed = 0;
  for (let i = 0; i < times; i++) {
    const found = await scrape();
    requireThat(
      [...found.keys()].every((name) => names.includes(name)),
      `more: ${shown(found)}`,
    );
    if (!hasAll(found)) missed++;
    else requireThat(sumOf(found) === expected, `it matters who is met: ${shown(found)}`);
  }
  return missed;
}

/** Has the workers of other units wait meanwhile, so that this one gets every new connection. */
async function withUnitAlone<T>(unit: string, work: () => Promise<T>): Promise<T> {
  const others = units
    .filter((each) => each !== unit)
    .map((each) => execFileSync("systemctl", ["show", each, "--value", "-p", "MainPID"]))
    .map(Number);
  try {
    for (const pid of others) {
      process.kill(pid, "SIGSTOP");
      while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await delay(10);
    }
    return await work();
  } finally {
    for (const pid of others) process.kill(pid, "SIGCONT");
  }
}

/** Streams that last for the time of a reload. Resolves once they have begun. */
async function holdStreams(): Promise<{ readonly ended: Promise<unknown> }> {
  let begun = 0;
  const words = Array.from({ length: 80 }, () => "word").join(" ");
  const streams = Array.from({ length: 4 }, () => {
    let isFirst = true;
    return ask("POST", "/v1/chat/completions", chat("sim-slow", true, words), () => {
      if (isFirst) begun++;
      isFirst = false;
    });
  });
  const ended = Promise.all(streams);
  while (begun < streams.length) await Promise.race([delay(50), ended]);
  return { ended };
}

const start = sumOf(await settled());
const asked = 60;
for (let i = 0; i < asked; i++)
  await ask("POST", "/v1/chat/completions", chat("sim-fast", false, "a"));
const before = await settled();
requireThat(sumOf(before) === start + asked, `${asked} asked, ${start} before: ${shown(before)}`);
const missed = await scrapeAgain(20, sumOf(before));
requireThat(missed <= 5, `${missed} of 20 scrapes didn't tell of all workers`);

const state = { running: units.length };
const streams: Promise<unknown>[] = [];
let last: Counts = before;
let kept = 0;
for (const [i, unit] of units.entries()) {
  const { ended } = await withUnitAlone(unit, holdStreams);
  streams.push(ended.finally(() => state.running--));
  execFileSync("systemctl", ["reload", unit]);
  const prefix = `${names[i] || "proxy"}-finishing-`;
  const finishing = (counts: Counts): number | undefined =>
    [...counts].find(([name]) => name.startsWith(prefix))?.[1];
  last = await until((counts) => hasAll(counts) && finishing(counts) !== undefined);
  kept += finishing(last)!;
}
requireThat(kept >= sumOf(before), `a sum fell: ${shown(before)}, ${kept}`);
for (; state.running > 0; await delay(200)) {
  const found = await scrape();
  // A worker that has ended takes its counts with it, as any process does.
  for (const [name, count] of last)
    requireThat((found.get(name) ?? count) >= count, `${name}: ${shown(last)}, ${shown(found)}`);
  last = found;
}
await Promise.all(streams);
await until(isSettled);
process.stdout.write(
  `${names.length} workers; ${sumOf(before)} requests before the reloads, ${kept} of those that finish; ${missed} of 20 scrapes were without a busy one`,
);
