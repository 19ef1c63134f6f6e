/** The proxy in one line, for `systemctl status`. */
import type { Gateway } from "./gateway.js";

export function statusLine(
  { limiter, providers }: Pick<Gateway, "limiter" | "providers">,
  url: string,
): string {
  return `ready: ${url}; providers: ${providers.size}, limiter daemon: ${limiter.state}`;
}
