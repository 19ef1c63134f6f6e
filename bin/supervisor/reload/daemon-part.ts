/** The part of a configuration that the daemon uses: whether a reload must restart it. */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../../shared/config/config.js";
import { daemonConfig } from "../../../shared/config/daemon-config.js";

export function daemonNeedsRestart(before: Config, after: Config): boolean {
  return !isDeepStrictEqual(daemonPart(before), daemonPart(after));
}

function daemonPart(config: Config): object {
  const { limiter, cluster, rateLimits, budgets, waiting, providers, virtualModels } = config;
  const { usageRetentionDays, storeBytesMax, auditRetentionDays } = config;
  const { logLevel, alerts, mcpServers, aliases } = config;
  return {
    ...daemonConfig(config),
    limiter,
    cluster,
    rateLimits,
    budgets,
    waiting,
    usageRetentionDays,
    auditRetentionDays,
    storeBytesMax,
    logLevel,
    alerts,
    upstreamLimits: providers.map(({ name, upstreamLimits }) => [name, upstreamLimits]),
    // To know which rules are inert.
    providers: [...providers, ...mcpServers].map(({ name, type, models }) => ({
      name,
      type,
      models,
    })),
    virtualModels,
    aliases,
  };
}

/** The changed settings that need a restart of everything: both processes use these files. */
export function fixedSettings({ limiter }: Config, next: Config): readonly string[] {
  const names = [
    ["limiter.socket", "socket"],
    ["limiter.admin_socket", "adminSocket"],
    ["limiter.data_dir", "dataDir"],
    ["limiter.spool_dir", "spoolDir"],
  ] as const;
  return names.filter(([, key]) => limiter[key] !== next.limiter[key]).map(([name]) => name);
}
