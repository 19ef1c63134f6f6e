/**
 * The fields of the configuration that the daemon uses unchanged. A reload that changes one
 * restarts the daemon. Not here: fields of which the daemon uses a part or a derived value
 * (`limiterd/main.ts`, `bin/supervisor/reload/daemon-part.ts`).
 */
import type { Config } from "./config.js";

const names = [
  "usageEnabled",
  "requestDetailsMax",
  "showsAncestors",
  "background",
  "quotaTemplatesEntitled",
] as const satisfies readonly (keyof Config)[];

export type DaemonConfig = Pick<Config, (typeof names)[number]>;

export function daemonConfig(config: DaemonConfig): DaemonConfig {
  return Object.fromEntries(names.map((name) => [name, config[name]])) as DaemonConfig;
}

const sections = /^(?:limiter|usage|audit|cluster|rate_limits|budgets|waiting)\.|^log_level$/;

/** Whether the daemon, rather than a proxy, reports this setting to the audit log. */
export function isDaemonSetting(path: string): boolean {
  return sections.test(path) && path !== "usage.request_messages";
}
