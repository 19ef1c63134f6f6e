/**
 * `npm run heavy -- waiting`: a thousand clients of OpenAI's SDK, each with connections of its own,
 * against a limit of 60 requests a window. They send no header for it: the path's own wait lets
 * them wait. It prints the 429s, the time beside the ideal, and by how much later than an overtaken
 * request another one came; it exits with 1 if a request failed or the time is 2% above the ideal.
 */
import os from "node:os";
import { Command } from "commander";
import OpenAI from "openai";
import { admin } from "../support/client.js";
import { idealEndMs } from "../support/ideal-end.js";
import { withProcesses } from "./measure/with-processes.js";
import { startConfigured } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";

const options = new Command("waiting")
  .description("Lets many SDK clients wait at a limit far below.")
  .option("--clients <n>", "clients", atLeastOne, 1000)
  .option("--requests <n>", "requests of a window", atLeastOne, 60)
  .option("--period <seconds>", "length of the window", atLeastOne, 5)
  .parse()
  .opts<{ clients: number; requests: number; period: number }>();

const masterKey = "master";
const bearer = { authorization: `Bearer ${masterKey}` };
/** Node's fetch gives up when an answer hasn't begun after five minutes. */
const waitSeconds = 299;
const ratioMax = 1.02;

interface Served {
  readonly arrivedMs: number;
  readonly endMs: number;
  readonly waitedMs: number;
}

/** Null if it wasn't served; `refused` gets the error. */
async function serve(client: OpenAI, refused: unknown[]): Promise<Served | null> {
  try {
    const { response } = await client.chat.completions
      .create({ model: "simulator/fast", messages: [{ role: "user", content: "Hello!" }] })
      .withResponse();
    const endMs = Date.now();
    const waitedMs = Number(response.headers.get("x-sluice-waited-ms"));
    return { arrivedMs: endMs - waitedMs, endMs, waitedMs };
  } catch (error) {
    refused.push(error);
    return null;
  }
}

interface RequestRecord {
  readonly time: string;
  readonly latency_ms: number;
  readonly first_byte_ms: number;
}

/** The most milliseconds by which a request came later than one that was served after it. */
async function overtakenByMs(url: string): Promise<number> {
  const file = await fetch(`${url}/admin/usage/records?format=ndjson`, { headers: bearer });
  const lines = (await file.text()).trim().split("\n");
  const requests = lines.map((line) => {
    const { time, latency_ms, first_byte_ms } = JSON.parse(line) as RequestRecord;
    const arrivedMs = Date.parse(time) - latency_ms;
    return { arrivedMs, beganMs: arrivedMs + first_byte_ms };
  });
  let latestMs = 0;
  let most = 0;
  for (const { arrivedMs } of requests.sort((a, b) => a.beganMs - b.beganMs)) {
    most = Math.max(most, latestMs - arrivedMs);
    latestMs = Math.max(latestMs, arrivedMs);
  }
  return most;
}

await withProcesses("waiting", async (processes, dir) => {
  const { clients: count, requests: max, period } = options;
  const { proxy } = await startConfigured(processes, dir, {
    server: { host: "127.0.0.1", port: 0, master_key: masterKey },
    providers: { simulator: { type: "simulator", models: ["fast"] } },
    waiting: { paths: [`/team=${waitSeconds}:${waitSeconds}`] },
    rate_limits: {
      user_paths: [{ path: "/team", limits: [{ period_seconds: period, max_requests: max }] }],
    },
  });
  const key = await admin(proxy.url, "POST /auth-keys", { user_path: "/team" }, bearer);
  const apiKey = (key.body as unknown as { readonly value: string }).value;
  const refused: unknown[] = [];
  const answers = await Promise.all(
    Array.from({ length: count }, () =>
      serve(new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey, maxRetries: 0 }), refused),
    ),
  );
  const served = answers.filter((answer) => answer !== null);
  if (served.length === 0) throw refused[0];
  const arrivals = served.map(({ arrivedMs }) => arrivedMs);
  const startMs = Math.min(...arrivals);
  const idealMs = idealEndMs(arrivals, { periodMs: period * 1000, max }) - startMs;
  const tookMs = Math.max(...served.map(({ endMs }) => endMs)) - startMs;
  const ratio = tookMs / idealMs;
  const limited = refused.filter((error) => error instanceof OpenAI.RateLimitError).length;
  const [load = 0] = os.loadavg();
  process.stdout.write(
    [
      `${count} clients, ${max} requests a window of ${period} s${period === 60 ? "" : " (scaled: not a minute)"}, load ${load.toFixed(1)}`,
      `429s             ${limited}`,
      `other failures   ${refused.length - limited}`,
      `waited           ${served.filter(({ waitedMs }) => waitedMs > 0).length}`,
      `time ÷ ideal     ${ratio.toFixed(4)} (${tookMs} ms ÷ ${idealMs} ms), at most ${ratioMax}`,
      `overtaken        by requests that came at most ${await overtakenByMs(proxy.url)} ms later`,
      "",
    ].join("\n"),
  );
  const [first] = refused;
  if (first !== undefined) process.stdout.write(`the first failure: ${String(first)}\n`);
  return refused.length === 0 && ratio <= ratioMax ? 0 : 1;
});
