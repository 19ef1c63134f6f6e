/** The URLs of a proxy by its host and port. Pure. */

/** The URL of a host and port, with the brackets of an IPv6 address and no trailing slash. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The URL at which this machine reaches a proxy that listens on `host`: loopback for "any". */
export function localUrl(host: string, port: number): string {
  if (host === "0.0.0.0" || host === "") return httpUrl("127.0.0.1", port);
  return httpUrl(host === "::" ? "::1" : host, port);
}
