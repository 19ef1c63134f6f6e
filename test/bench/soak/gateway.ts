/**
 * The gateway of the soak: `sluice up` with several proxies, as it is shipped, its processes and
 * its log.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { agesSeconds } from "../../support/ages.js";
import { programPath } from "../../support/processes/program-path.js";
import { withChildren } from "../measure/process-stat.js";
import { pricesYaml, tenants } from "./mix.js";

export const master = "master-key-of-the-soak";

export interface GatewayOptions {
  readonly directory: string;
  readonly providerUrl: string;
  readonly proxies: number;
  /** Requests that the path `/capped` gets in all. */
  readonly cap: number;
}

function configurationYaml({ providerUrl, proxies, cap }: GatewayOptions): string {
  const openai = (name: string, more: string): string =>
    `  ${name}: { type: openai, base_url: "${providerUrl}/${name}/v1", api_key: none, ${more} }`;
  const slow = "first_byte_timeout_ms: 5000, idle_timeout_ms: 10000";
  return `
server: { proxies: ${proxies}, master_key: ${master}, drain_grace_seconds: 1 }
limiter: { deadline_ms: 30000 }
providers:
${openai("main", `models: [chat, odd, embed], operations: [chat_completions, embeddings], ${slow}`)}
${openai("ill", `models: [chat], operations: [chat_completions], ${slow}`)}
  claude: { type: anthropic, base_url: "${providerUrl}/claude/v1", api_key: none, models: [chat], ${slow} }
virtual_models:
  smart: { strategy: failover, targets: [{ model: ill/chat }, { model: main/chat }] }
prices:
${pricesYaml}
entitlements: [quota_templates]
cache: { enabled: true, ttl_seconds: 30 }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000000, max_tokens: 100000000000 }, { period: concurrent, max_requests: 10000 }, { period: minute, max_requests: 1000000 }] }
    - { path: /tenants, per_child: true, limits: [{ period: minute, max_requests: 100000, max_tokens: 100000000 }] }
    - { path: /each, per_child: true, limits: [{ period: minute, max_requests: 600 }, { period: concurrent, max_requests: 50 }] }
    - { path: /tight, limits: [{ period: minute, max_requests: 60 }] }
    - { path: /capped, limits: [{ period_seconds: ${agesSeconds}, max_requests: ${cap} }] }
    - { path: /narrow, limits: [{ period: concurrent, max_requests: 3 }] }
  providers:
    - { name: main, limits: [{ period: minute, max_requests: 1000000 }] }
budgets:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, amount: 1000000 }] }
    - { path: /tenants, per_child: true, limits: [{ period: daily, amount: 100000 }] }
    - { path: /poor, limits: [{ period: hourly, amount: 0.5 }] }
  labels:
    - { label: red, limits: [{ period_seconds: ${agesSeconds}, amount: 100000 }] }
`;
}

export interface LogCounts {
  lines: number;
  bytes: number;
  requests: number;
  /** What is no request's and worse than a remark, by its words. */
  readonly notices: Map<string, number>;
  /** Where lines that are no request's are written as they come. */
  readonly file: string;
}

export interface Gateway {
  readonly url: string;
  readonly socket: string;
  /** A file system of its own where one can be mounted, so that it can be filled. */
  readonly dataDirectory: string;
  readonly supervisor: ChildProcess;
  readonly log: LogCounts;
  /** By `up`, `limiterd`, `proxy-1`, …; one that a reload has replaced is `proxy-1 before`. */
  processes(): ReadonlyMap<string, number>;
  /** `sluice reload`, or another command beside it; its exit code and what it printed. */
  run(...argv: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }>;
  /** As an administrator, over HTTP. */
  admin(operation: string, body?: unknown): Promise<Record<string, unknown>>;
  stop(): Promise<number | null>;
}

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { directory } = options;
  writeFileSync(join(directory, "sluice.yaml"), configurationYaml(options));
  const socket = join(directory, "l.sock");
  const dataDirectory = join(directory, "data");
  mountSmall(dataDirectory);
  const env = {
    PATH: process.env["PATH"],
    HOME: directory,
    TMPDIR: directory,
    SLUICE_SOCKET: socket,
    SLUICE_DATA_DIR: dataDirectory,
  };
  const child = spawn(process.execPath, [programPath("sluice"), "up", "--verbose", "--port=0"], {
    cwd: directory,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: LogCounts = {
    lines: 0,
    bytes: 0,
    requests: 0,
    notices: new Map(),
    file: join(directory, "gateway.log"),
  };
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`sluice up ended with ${code}`)));
    createInterface({ input: child.stdout! }).on("line", (line) => {
      countLine(log, line);
      const ready = /^ready: +(http\S+)/.exec(line);
      if (ready !== null) resolve(ready[1]!);
    });
    createInterface({ input: child.stderr! }).on("line", (line) => {
      appendFileSync(log.file, `${line}\n`);
      notice(log, `up: ${line}`);
    });
  });
  const headers = { authorization: `Bearer ${master}` };
  return {
    url,
    socket,
    dataDirectory,
    supervisor: child,
    log,
    processes: () => processesOf(child.pid!),
    async run(...argv) {
      const command = spawn(process.execPath, [programPath("sluice"), ...argv], {
        cwd: directory,
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let text = "";
      for (const stream of [command.stdout!, command.stderr!])
        stream.on("data", (piece: Buffer) => (text += piece.toString()));
      const [code] = (await once(command, "close")) as [number | null];
      return { code, text };
    },
    async admin(operation, body) {
      const [method, path] = operation.split(" ") as [string, string];
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${url}/admin${path}`, { method, headers, ...init });
      if (!response.ok) throw new Error(`${operation}: ${response.status}`);
      return (await response.json()) as Record<string, unknown>;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const ended = once(child, "close") as Promise<[number | null]>;
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}

/** By root alone; elsewhere the disk is never full. */
function mountSmall(directory: string): void {
  mkdirSync(directory, { mode: 0o700 });
  if (process.getuid?.() !== 0) return;
  const mount = ["-t", "tmpfs", "-o", "size=2g,mode=0700", "sluice-soak", directory];
  if (spawnSync("mount", mount).status === 0)
    process.prependOnceListener("exit", () => void spawnSync("umount", ["--lazy", directory]));
}

/** A managed key for each tenant; every second one is labelled. */
export async function issueKeys(gateway: Gateway): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let i = 0; i < tenants; i++) {
    const labels = i % 2 === 0 ? ["red"] : [];
    const key = await gateway.admin("POST /auth-keys", { user_path: `/tenants/t${i}`, labels });
    keys.push(String(key["value"]));
  }
  return keys;
}

function countLine(log: LogCounts, line: string): void {
  if (!line.startsWith("{")) return;
  log.lines++;
  log.bytes += Buffer.byteLength(line) + 1;
  const level = /^\{"level":"(\w+)"/.exec(line)?.[1];
  if (line.endsWith('"msg":"request"}')) {
    log.requests++;
    return;
  }
  appendFileSync(log.file, `${line}\n`);
  if (level === "warn" || level === "error" || level === "fatal")
    notice(log, `${level}: ${/"msg":"([^"]*)"/.exec(line)?.[1]}`);
}

/** Numbers in it would make many of one. */
function notice(log: LogCounts, text: string): void {
  const words = text.replaceAll(/\d+/g, "N");
  if (log.notices.size < 500 || log.notices.has(words))
    log.notices.set(words, (log.notices.get(words) ?? 0) + 1);
}

function processesOf(supervisor: number): ReadonlyMap<string, number> {
  const named = new Map([["up", supervisor]]);
  for (const pid of childrenOf(supervisor)) {
    const name = nameOf(pid);
    if (name === null) continue;
    // A later one has the higher id, but for ids that begin again.
    const [old] = [named.get(name)];
    if (old !== undefined) named.set(`${name} before`, Math.min(old, pid));
    named.set(name, old === undefined ? pid : Math.max(old, pid));
  }
  return named;
}

/** None of one that has ended. */
function childrenOf(supervisor: number): readonly number[] {
  try {
    return withChildren(supervisor).slice(1);
  } catch {
    return [];
  }
}

/** Null: it has just ended, or is none of the gateway's. */
function nameOf(pid: number): string | null {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    if (command.includes("sluice-limiterd")) return "limiterd";
    if (!command.includes("sluice-proxy")) return null;
    return /SLUICE_PROXY_NAME=([\w-]+)/.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))![1]!;
  } catch {
    return null;
  }
}
