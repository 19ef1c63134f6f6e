/** Sluice as it is shipped: the two built programs, with a configuration of the benchmark's. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { benchModel } from "./chat-exchange.js";
import { userPathsConfig } from "./limiter-rules.js";
import type { Processes, Running } from "./processes.js";

const daemonFile = fileURLToPath(new URL("../../bin/sluice-limiterd.js", import.meta.url));
const proxyFile = fileURLToPath(new URL("../../bin/sluice-proxy.js", import.meta.url));

export interface SluicePair {
  readonly daemon: Running;
  readonly proxy: Running;
  /** From the first spawn until both are ready. */
  readonly readyMs: number;
}

/** Why Sluice can't be measured, or null. */
export function sluiceMissing(): string | null {
  const missing = [daemonFile, proxyFile].filter((file) => !existsSync(file));
  return missing.length === 0 ? null : `not built: ${missing.join(", ")}`;
}

/** Both processes, started at the same moment, with two rules that match every request of the benchmark, or with none. */
export async function startPair(processes: Processes, dir: string, upstreamUrl: string, rules: "two rules" | "no rules"): Promise<SluicePair> {
  const config = writeConfig(dir, {
    providers: { bench: { type: "openai", base_url: `${upstreamUrl}/v1`, api_key: "none", models: [benchModel] } },
    rate_limits: {
      user_paths: rules === "no rules" ? [] : [
        { path: "/", limits: [{ period: "minute", max_requests: 1_000_000_000 }] },
        { path: "/bench", limits: [{ period: "hour", max_requests: 1_000_000_000, max_tokens: 1_000_000_000_000 }] },
      ],
    },
  });
  const startedAt = performance.now();
  const [daemon, proxy] = await Promise.all([processes.node(daemonFile, ["--config", config]), processes.node(proxyFile, ["--config", config])]);
  return { daemon, proxy, readyMs: performance.now() - startedAt };
}

/** The daemon alone, with the 10,000 rules; `usage`: whether it writes a record of each request. */
export async function startDaemon(processes: Processes, dir: string, usage: boolean): Promise<{ readonly daemon: Running; readonly socket: string }> {
  const config = writeConfig(dir, {
    providers: { bench: { type: "simulator" } },
    usage: { enabled: usage },
    rate_limits: { user_paths: userPathsConfig() },
  });
  return { daemon: await processes.node(daemonFile, ["--config", config]), socket: socketIn(dir) };
}

function socketIn(dir: string): string {
  return join(dir, "limiterd.sock");
}

function writeConfig(dir: string, parts: { readonly providers: object; readonly rate_limits: object; readonly usage?: object }): string {
  const file = join(dir, "sluice.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ server: { host: "127.0.0.1", port: 0 }, limiter: { socket: socketIn(dir), data_dir: join(dir, "data") }, ...parts }, null, 2));
  return file;
}
