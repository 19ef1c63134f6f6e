/**
 * Whether a request comes from a web page that has no business here (docs/security.md). A browser
 * sends requests for any page to any address, also to an open gateway on its own host, which has
 * no credential to tell them from those of its owner.
 *
 * Not here: what browsers ask before they send a request with credentials (`cors.ts`).
 */
import type { Config } from "../../shared/config/config.js";
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { RequestHeaders } from "../http/exchange.js";

/** Whom a gateway without credentials trusts by name. */
export interface TrustedPages {
  /** Host names, in lower case, without a port. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages, as browsers send them. */
  readonly origins: ReadonlySet<string>;
}

/** Those of a configuration: its own names, and the lists of its operator. */
export function trustedPages({
  host,
  admin,
  allowedHosts,
  corsOrigins,
}: Pick<Config["server"], "host" | "admin" | "allowedHosts" | "corsOrigins">): TrustedPages {
  const own = [host, ...(admin === null ? [] : [admin.host])].map((name) => name.toLowerCase());
  return { hosts: new Set([...allowedHosts, ...own]), origins: new Set(corsOrigins) };
}

/** An IP address, or a name that always means this host: no page comes from a host named so. */
const ownHost =
  /^(?:(?:[a-z0-9_-]{1,63}\.)?localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d*)?$/i;

/**
 * Why a request without credentials is refused, or null. A page whose host name was made to point
 * here ("DNS rebinding") is seen by its `Host`; any other page by what its browser says of it.
 */
export function webPageProblem(
  request: Pick<RequestHeaders, "header">,
  { hosts, origins }: TrustedPages,
): Failure | null {
  const host = request.header("host");
  if (host !== undefined && !ownHost.test(host) && !hosts.has(nameOf(host)))
    return refused(
      `an open gateway is called by an IP address or as localhost, not as ${JSON.stringify(host.slice(0, 255))}: list the name in server.allowed_hosts, or set a master key`,
    );
  const origin = request.header("origin");
  if (origin !== undefined) {
    if (origins.has(origin)) return null;
    if (origin !== `http://${host}` && origin !== `https://${host}`) return foreign(origin);
  }
  // Browsers only send it; a script can't change it. "none": typed, or from a bookmark.
  const site = request.header("sec-fetch-site");
  return site === undefined || site === "same-origin" || site === "none"
    ? null
    : foreign(origin ?? `Sec-Fetch-Site: ${site.slice(0, 64)}`);
}

function foreign(from: string): Failure {
  return refused(
    `an open gateway takes no request from a web page (${from.slice(0, 255)}): list the page's origin in server.cors_origins, or set a master key`,
  );
}

function refused(message: string): Failure {
  return plainFailure(403, "permission_error", message);
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
