/** The URLs of a proxy by its configuration. Pure. */
import type { Config } from "../../shared/config/config.js";

interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * The URL of a host and port, with the brackets of an IPv6 address and no trailing slash. `tls`: as
 * in the configuration; null for plain HTTP.
 */
export function httpUrl({ host, port }: Place, tls: Config["server"]["tls"]): string {
  const scheme = tls === null ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * The URL at which this machine reaches /health of a proxy: its port for metrics if it has one,
 * which has no TLS; loopback for "any". Null if the proxy chooses the port when it starts.
 */
export function healthUrl({ server, metrics }: Pick<Config, "server" | "metrics">): string | null {
  const { listen } = metrics;
  const isPlain = listen !== null && listen.port !== 0;
  const { host, port } = isPlain ? listen : server;
  return urlHere({ host, port }, isPlain ? null : server.tls);
}

/** The URL at which this machine calls models; null as above. */
export function modelsUrl({ server }: Pick<Config, "server">): string | null {
  return urlHere(server, server.tls);
}

/** The URL at which this machine reaches the admin API of a proxy; null as above. */
export function adminUrl({ server }: Pick<Config, "server">): string | null {
  return urlHere(server.admin ?? server, server.tls);
}

function urlHere({ host, port }: Place, tls: Config["server"]["tls"]): string | null {
  if (port === 0) return null;
  const reached = host === "0.0.0.0" || host === "" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return httpUrl({ host: reached, port }, tls);
}
