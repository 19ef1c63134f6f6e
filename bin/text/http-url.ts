/** Addresses of the proxy as one would type them. Pure. */

/** The URL of a host and port; an IPv6 address gets its brackets. No trailing slash. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Where a proxy that listens on `host` is reached from the same machine: "any address" is asked on
 * loopback.
 */
export function localUrl(host: string, port: number): string {
  if (host === "0.0.0.0" || host === "") return httpUrl("127.0.0.1", port);
  return httpUrl(host === "::" ? "::1" : host, port);
}
