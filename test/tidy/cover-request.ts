/**
 * Which functions of proxy and daemon one plain chat request runs: V8's coverage of the compiled
 * modules from the request to its settle on the disk, less what the processes run at rest.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../support/processes/free-port.js";
import { root } from "./source-tree.js";

/** Source files from the root, with the names of the functions that ran in each. */
export type Covered = ReadonlyMap<string, readonly string[]>;

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number; readonly startOffset: number }[];
  }[];
}

/** Writes a report, and sets all counts back, at each SIGUSR2. */
const reporter = `data:text/javascript,${encodeURIComponent(
  'import v8 from "node:v8"; process.on("SIGUSR2", () => v8.takeCoverage());',
)}`;

const answer = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "small",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi!" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 },
});

const configuration = (provider: string): string => `
providers: { up: { type: openai, base_url: "${provider}", api_key: key, models: [small] } }
rate_limits:
  user_paths: [{ path: /, limits: [{ period: minute, max_requests: 1000, max_tokens: 100000 }] }]
`;

/** Long enough for every timer of a process at rest, and for a settle to reach the disk. */
const restMs = 4000;

export async function coverRequest(): Promise<{ proxy: Covered; daemon: Covered }> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-rooms-"));
  const provider = createServer((request, response) => {
    request.resume().once("end", () => {
      response.writeHead(200, { "content-type": "application/json" }).end(answer);
    });
  }).listen(0, "127.0.0.1");
  await once(provider, "listening");
  const upstream = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  writeFileSync(join(directory, "sluice.yaml"), configuration(upstream));
  const port = await freePort();
  const start = (program: string, flags: readonly string[]): ChildProcess => {
    mkdirSync(join(directory, program));
    return spawn(
      process.execPath,
      [`--import=${reporter}`, join(root, `dist/bin/sluice-${program}.js`), ...flags],
      {
        env: {
          PATH: process.env["PATH"],
          NODE_V8_COVERAGE: join(directory, program),
          SLUICE_CONFIG: join(directory, "sluice.yaml"),
          SLUICE_DATA_DIR: join(directory, "data"),
        },
        stdio: ["ignore", "ignore", process.env["SLUICE_SHOW"] === undefined ? "ignore" : 2],
      },
    );
  };
  const daemon = start("limiterd", []);
  const proxy = start("proxy", ["--port", String(port)]);
  let reports = 0;
  const report = async (): Promise<void> => {
    reports++;
    for (const child of [daemon, proxy]) child.kill("SIGUSR2");
    for (const program of ["limiterd", "proxy"])
      while (readdirSync(join(directory, program)).length < reports) await delay(100);
    // The file is there before it is whole.
    await delay(1000);
  };
  try {
    await ready(port);
    await delay(restMs);
    await report();
    await delay(restMs);
    await report();
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "small", messages: [{ role: "user", content: "Hello!" }] }),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
    await delay(restMs);
    await report();
    return {
      proxy: covered(join(directory, "proxy")),
      daemon: covered(join(directory, "limiterd")),
    };
  } finally {
    for (const child of [proxy, daemon])
      if (child.exitCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
    provider.close();
    provider.closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function ready(port: number): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const answered = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    if (answered?.ok === true) return;
    await delay(100);
  }
  throw new Error("the proxy isn't ready after half a minute");
}

/** The functions of the third report that the second, at rest, doesn't have. */
function covered(reports: string): Covered {
  const [, rest, request] = readdirSync(reports)
    .map((file) => ({ file, order: Number(/-(\d+)\.json$/.exec(file)?.[1] ?? 0) }))
    .sort((a, b) => a.order - b.order)
    .map(({ file }) => ranIn(readFileSync(join(reports, file), "utf8")));
  const files = new Map<string, string[]>();
  for (const [at, { path, name }] of request ?? []) {
    if (rest?.has(at) === true) continue;
    files.set(path, [...(files.get(path) ?? []), name]);
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Ran {
  readonly path: string;
  readonly name: string;
}

/** The functions of our own modules that a report has a count of, by module and position. */
function ranIn(report: string): Map<string, Ran> {
  const { result } = JSON.parse(report) as { result: readonly Script[] };
  const ran = new Map<string, Ran>();
  for (const { url, functions } of result) {
    const path = /\/dist\/((?:proxy|limiterd|shared|bin)\/.*)\.js$/.exec(url)?.[1];
    if (path === undefined) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      if (range === undefined || range.count === 0 || range.startOffset === 0) continue;
      ran.set(`${path}:${range.startOffset}`, { path: `${path}.ts`, name: functionName });
    }
  }
  return ran;
}
