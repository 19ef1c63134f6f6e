/**
 * Whether a gateway is open, that is, has no authentication; an open gateway may listen on loopback
 * only (docs/authentication.md). Not here: whether a managed key closes it, which only the daemon
 * knows.
 */
import type { Config } from "./config.js";

/** Whether the configuration authenticates no callers. */
export function isUnlocked({
  server,
  jwtIssuers,
  oidc,
}: Pick<Config, "server" | "jwtIssuers" | "oidc">): boolean {
  const { masterKey, masterKeyFile, tls } = server;
  const hasKey = masterKey !== null || masterKeyFile !== null;
  if (oidc !== null) return false;
  return !hasKey && jwtIssuers.length === 0 && (tls?.clients ?? null) === null;
}

/**
 * Whether an address is reachable from this host only. The only name that counts is `localhost`.
 */
export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const isV6 = host.includes(":");
  const url = `http://${isV6 ? `[${host}]` : host}`;
  if (!URL.canParse(url)) return false;
  // A URL normalizes the address.
  const { hostname } = new URL(url);
  return isV6
    ? hostname === "[::1]" || /^\[::ffff:7f[\da-f]{2}:/.test(hostname)
    : hostname === host && /^127\.[\d.]+$/.test(host);
}

/** An open gateway that would listen beyond loopback. */
export class OpenGatewayError extends Error {
  override name = "OpenGatewayError";
}

/** Why the proxy doesn't start without a managed key; null if it does. */
export function openBeyondLoopback(
  config: Pick<Config, "server" | "jwtIssuers" | "oidc" | "metrics">,
): string | null {
  const { host, admin, allowOpen } = config.server;
  if (!isUnlocked(config) || allowOpen) return null;
  const places = [
    ["server.host", host] as const,
    ["server.admin.host", admin?.host] as const,
    ["metrics.host", config.metrics.listen?.host] as const,
  ];
  const beyond = places.find(([, address]) => address !== undefined && !isLoopback(address));
  if (beyond === undefined) return null;
  return `${beyond.join(" ")} is not loopback and no master key is set: anybody could call. Set SLUICE_MASTER_KEY, configure a jwt issuer, issue a key (sluice keys issue), or set SLUICE_ALLOW_OPEN=true if that is what you want`;
}
