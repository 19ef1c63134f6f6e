/**
 * Which providers are told of the trace that a request belongs to: by default those on this host
 * and in private networks, which are the operator's own. To others it would say who is calling.
 */

import {
  isInNetwork,
  type Network,
  parseIpAddress,
  parseNetwork,
} from "../../../shared/config/ip-network.js";
import type { TracePropagation } from "../../../shared/metrics/telemetry-config.js";

export const traceHeaders = ["traceparent", "tracestate"];

/** Loopback, private, link-local and shared addresses (RFC 6890), and those of IPv6. */
const ownNetworks: readonly Network[] = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "100.64.0.0/10",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
].map((text) => parseNetwork(text)!);

/** Names that no public server has; one without a dot is a host or a service of this network. */
const ownName = /^(?:[a-z0-9_-]+|.*\.(?:localhost|local|internal|home\.arpa))$/i;

export function passesTrace(baseUrl: string, propagate: TracePropagation): boolean {
  if (propagate !== "private") return propagate === "all";
  if (!URL.canParse(baseUrl)) return false;
  const host = new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, "$1");
  const address = parseIpAddress(host);
  if (address === null) return ownName.test(host);
  return ownNetworks.some((network) => isInNetwork(address, network));
}
