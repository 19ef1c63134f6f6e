/** The client's address, and whether it used TLS, as reported by trusted reverse proxies. */
import {
  clientGroup,
  type IpAddress,
  isInNetwork,
  type Network,
  parseIpAddress,
} from "../../../shared/config/ip-network.js";
import type { Exchange, RequestHeaders } from "../../http/exchange.js";

type AddressedRequest = Pick<RequestHeaders, "header"> & { readonly remoteAddress: string };

/** Chains of proxies are short, but clients may send any number. */
const hopsMax = 20;

/** The key for counting a client's attempts: its address, or its network for IPv6. */
export function clientOf(request: AddressedRequest, trusted: readonly Network[]): string {
  const client = parseIpAddress(clientAddress(request, trusted));
  return client === null ? "unknown" : clientGroup(client);
}

/**
 * The client's address: the last one in `X-Forwarded-For` that isn't a trusted proxy. Earlier ones
 * may be forged.
 */
export function clientAddress(request: AddressedRequest, trusted: readonly Network[]): string {
  let client = request.remoteAddress;
  if (trusted.length === 0 || !isTrusted(parseIpAddress(client), trusted)) return client;
  const hops = (request.header("x-forwarded-for") ?? "").split(",").slice(-hopsMax).reverse();
  for (const hop of hops) {
    const before = parseIpAddress(hop.trim());
    if (before === null) break;
    client = hop.trim();
    if (!isTrusted(before, trusted)) break;
  }
  return client;
}

/** Whether the client uses TLS: to this proxy, or to a trusted one before it that says so. */
export function isOverTls(
  request: AddressedRequest & Pick<Exchange, "tls">,
  trusted: readonly Network[],
): boolean {
  if (request.tls !== null) return true;
  const proxy = parseIpAddress(request.remoteAddress);
  if (!isTrusted(proxy, trusted)) return false;
  const protocol = (request.header("x-forwarded-proto") ?? "").split(",").at(-1)!;
  return protocol.trim().toLowerCase() === "https";
}

function isTrusted(address: IpAddress | null, trusted: readonly Network[]): boolean {
  return address !== null && trusted.some((network) => isInNetwork(address, network));
}
