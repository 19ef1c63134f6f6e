/** Sluice as it is shipped: the two built programs, with a configuration of the benchmark's. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { newSpaceFlag } from "../../../bin/supervisor/supervised-proxies.js";
import { keptCodeFlag } from "../../../bin/supervisor/supervised-service.js";
import { programPath } from "../../support/processes/program-path.js";
import { benchModel } from "../load/chat-exchange.js";
import { userPathsConfig } from "../load/limiter-rules.js";
import type { Processes, Running } from "../measure/processes.js";

/** A built Sluice: where its programs are. */
export interface Build {
  readonly daemonFile: string;
  readonly proxyFile: string;
  /** What its configuration has beside that of others which it is compared with. */
  readonly parts?: Partial<ConfigParts>;
}

/** The one that this benchmark belongs to. */
export const ownBuild: Build = buildIn(fileURLToPath(new URL("../../..", import.meta.url)));

/** `dist` is a checkout's directory of compiled files. */
export function buildIn(dist: string): Build {
  return {
    daemonFile: programPath("sluice-limiterd", dist),
    proxyFile: programPath("sluice-proxy", dist),
  };
}

export interface SluicePair {
  readonly daemon: Running;
  readonly proxy: Running;
  /** From the first spawn until both are ready. */
  readonly readyMs: number;
}

/** Why Sluice can't be measured, or null. */
export function sluiceMissing({ daemonFile, proxyFile }: Build = ownBuild): string | null {
  const missing = [daemonFile, proxyFile].filter((file) => !existsSync(file));
  return missing.length === 0 ? null : `not built: ${missing.join(", ")}`;
}

/** Two rules that match every request of the benchmark. */
export const twoRules = {
  user_paths: [
    { path: "/", limits: [{ period: "minute", max_requests: 1_000_000_000 }] },
    {
      path: "/bench",
      limits: [{ period: "hour", max_requests: 1_000_000_000, max_tokens: 1_000_000_000_000 }],
    },
  ],
};

/** The provider of the HTTP part. */
export function benchProviders(upstreamUrl: string): object {
  return {
    bench: { type: "openai", base_url: `${upstreamUrl}/v1`, api_key: "none", models: [benchModel] },
  };
}

/** Both processes, started at the same moment, with two rules or with none. */
export function startPair(
  processes: Processes,
  dir: string,
  upstreamUrl: string,
  rules: "two rules" | "no rules",
): Promise<SluicePair> {
  return startConfigured(processes, dir, {
    providers: benchProviders(upstreamUrl),
    rate_limits: rules === "no rules" ? { user_paths: [] } : twoRules,
  });
}

/** Both processes of a build with any configuration, with the flags of their systemd units. */
export async function startConfigured(
  processes: Processes,
  dir: string,
  parts: ConfigParts,
  { daemonFile, proxyFile }: Build = ownBuild,
): Promise<SluicePair> {
  const config = writeConfig(dir, parts);
  const startedAt = performance.now();
  const [daemon, proxy] = await Promise.all([
    processes.node(daemonFile, ["--config", config], [keptCodeFlag]),
    processes.node(proxyFile, ["--config", config], [keptCodeFlag, newSpaceFlag]),
  ]);
  return { daemon, proxy, readyMs: performance.now() - startedAt };
}

interface LoneDaemon {
  readonly daemon: Running;
  readonly socket: string;
}

/** The daemon alone, with the 10,000 rules; `usage`: whether it writes a record of each request. */
export function startDaemon(
  processes: Processes,
  dir: string,
  usage: boolean,
): Promise<LoneDaemon> {
  return startAlone(processes, dir, {
    usage: { enabled: usage },
    rate_limits: { user_paths: userPathsConfig() },
  });
}

/** The daemon alone, with a section of rules and that of its cluster, if it is in one. */
export function startSharingDaemon(
  processes: Processes,
  dir: string,
  rules: object,
  cluster: object | null,
): Promise<LoneDaemon> {
  mkdirSync(dir, { recursive: true });
  return startAlone(processes, dir, {
    usage: { enabled: false },
    rate_limits: rules,
    ...(cluster === null ? {} : { cluster }),
  });
}

async function startAlone(
  processes: Processes,
  dir: string,
  parts: Omit<ConfigParts, "providers">,
): Promise<LoneDaemon> {
  const config = writeConfig(dir, { providers: { bench: { type: "simulator" } }, ...parts });
  return {
    daemon: await processes.node(ownBuild.daemonFile, ["--config", config]),
    socket: socketIn(dir),
  };
}

/** Where a Sluice that was started in `dir` has its socket. */
export function socketIn(dir: string): string {
  return join(dir, "limiterd.sock");
}

/** What of a `sluice.yaml` isn't the same in every run. */
export interface ConfigParts {
  readonly server?: object;
  readonly providers: object;
  readonly rate_limits: object;
  readonly usage?: object;
  readonly budgets?: object;
  readonly prices?: object;
  readonly cluster?: object;
  readonly waiting?: object;
}

/** Writes `sluice.yaml` for a Sluice that lives in `dir`, and says where. */
export function writeConfig(dir: string, parts: ConfigParts): string {
  const file = join(dir, "sluice.yaml");
  // JSON is YAML.
  writeFileSync(
    file,
    JSON.stringify(
      {
        server: { host: "127.0.0.1", port: 0 },
        limiter: { socket: socketIn(dir), data_dir: join(dir, "data") },
        ...parts,
      },
      null,
      2,
    ),
  );
  return file;
}
