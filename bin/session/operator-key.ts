/** The credentials of this host's operator, from the configuration and the files that it names. */
import { readFileSync } from "node:fs";
import type { Config } from "../../shared/config/config.js";
import { masterKey } from "../../shared/config/kinds/secret-kinds.js";

/**
 * The credential for the details of a proxy with this configuration, if this user may read it. The
 * scrape token is preferred to the master key, since another program may listen on that port.
 */
export function operatorKey({
  server,
  metrics,
}: Pick<Config, "server" | "metrics">): string | null {
  return metrics.token ?? keyIn(metrics.tokenFile) ?? masterKeyOf({ server });
}

/** The master key, if there is one and this user may read it. */
export function masterKeyOf({ server }: Pick<Config, "server">): string | null {
  return server.masterKey ?? keyIn(server.masterKeyFile);
}

function keyIn(file: string | null): string | null {
  if (file === null) return null;
  try {
    return masterKey.parse(readFileSync(file, "utf8")) ?? null;
  } catch {
    // Only the service may read it: this user gets no details.
    return null;
  }
}
