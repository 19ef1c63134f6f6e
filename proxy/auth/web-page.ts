/**
 * Refuses requests from foreign web pages (docs/security.md). A browser sends requests of any page
 * to any address, also to an open gateway on its own host, which has no credential to recognize its
 * owner's requests.
 *
 * Not here: CORS (`cors.ts`).
 */
import type { Config } from "../../shared/config/config.js";
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { RequestHeaders } from "../http/exchange.js";

/** The pages and hosts that an open gateway trusts. */
export interface TrustedPages {
  /** Host names, in lower case, without a port. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages, as browsers send them. */
  readonly origins: ReadonlySet<string>;
}

/** From the configuration: its own names, and the operator's lists. */
export function trustedPages({
  host,
  admin,
  allowedHosts,
  corsOrigins,
}: Pick<Config["server"], "host" | "admin" | "allowedHosts" | "corsOrigins">): TrustedPages {
  const ownNames = [host, ...(admin === null ? [] : [admin.host])].map((name) =>
    name.toLowerCase(),
  );
  return { hosts: new Set([...allowedHosts, ...ownNames]), origins: new Set(corsOrigins) };
}

/** An IP address, or a name that always means this host. A rebound DNS name is neither. */
const unreboundHost =
  /^(?:(?:[a-z0-9_-]{1,63}\.)?localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d*)?$/i;

/**
 * Why a request without credentials is refused, or null. `Host` reveals DNS rebinding; the
 * browser's headers reveal other pages.
 */
export function webPageProblem(
  request: Pick<RequestHeaders, "header">,
  { hosts, origins }: TrustedPages,
): Failure | null {
  const host = request.header("host");
  if (host !== undefined && !unreboundHost.test(host) && !hosts.has(nameOf(host)))
    return pageFailure(
      `an open gateway is called by an IP address or as localhost, not as ${JSON.stringify(host.slice(0, 255))}: list the name in server.allowed_hosts, or set a master key`,
    );
  const origin = request.header("origin");
  if (origin !== undefined) {
    if (origins.has(origin)) return null;
    if (origin !== `http://${host}` && origin !== `https://${host}`)
      return foreignPageFailure(origin);
  }
  // Set by browsers, not by scripts. "none": typed, or from a bookmark.
  const site = request.header("sec-fetch-site");
  return site === undefined || site === "same-origin" || site === "none"
    ? null
    : foreignPageFailure(origin ?? `Sec-Fetch-Site: ${site.slice(0, 64)}`);
}

function foreignPageFailure(from: string): Failure {
  return pageFailure(
    `an open gateway takes no request from a web page (${from.slice(0, 255)}): list the page's origin in server.cors_origins, or set a master key`,
  );
}

function pageFailure(message: string): Failure {
  return plainFailure(403, "permission_error", message);
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
