/**
 * Who may call when nobody is known: an open gateway listens on loopback alone (CONTRACT section
 * 2). Whether a managed key closes it, the daemon knows.
 */
import type { Config } from "./config.js";

/** Whether the configuration names nobody who may call. */
export function isUnlocked({ server, jwtIssuers }: Pick<Config, "server" | "jwtIssuers">): boolean {
  return server.masterKey === null && jwtIssuers.length === 0;
}

/**
 * Whether only this host can reach an address. A name that has to be looked up isn't trusted, but
 * for `localhost`.
 */
export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const isV6 = host.includes(":");
  const url = `http://${isV6 ? `[${host}]` : host}`;
  if (!URL.canParse(url)) return false;
  // A URL writes an address in its one normal form.
  const { hostname } = new URL(url);
  return isV6
    ? hostname === "[::1]" || /^\[::ffff:7f[\da-f]{2}:/.test(hostname)
    : hostname === host && /^127\.[\d.]+$/.test(host);
}

/** Why the proxy doesn't start without a managed key, or null: it does. */
export function openBeyondLoopback(config: Pick<Config, "server" | "jwtIssuers">): string | null {
  const { host, allowOpen } = config.server;
  if (!isUnlocked(config) || allowOpen || isLoopback(host)) return null;
  return `server.host ${host} is not loopback and no master key is set: anybody could call. Set SLUICE_MASTER_KEY, configure a jwt issuer, issue a key (sluice keys issue), or set SLUICE_ALLOW_OPEN=true if that is what you want`;
}
