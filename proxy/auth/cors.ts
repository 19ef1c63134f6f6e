/**
 * CORS headers for the pages that the operator lists (docs/security.md). Nothing is refused here:
 * without these headers the browser blocks the page.
 */
import type { Exchange } from "../http/exchange.js";
import type { RouteMatch } from "../http/match-route.js";

/** What a page may read besides the body and the usual headers. */
const exposed = [
  "x-request-id",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
  "x-ratelimit-limit-input-tokens",
  "x-ratelimit-remaining-input-tokens",
  "x-ratelimit-reset-input-tokens",
  "x-ratelimit-limit-output-tokens",
  "x-ratelimit-remaining-output-tokens",
  "x-ratelimit-reset-output-tokens",
  "x-ratelimit-limit-cost",
  "x-ratelimit-remaining-cost",
  "x-ratelimit-reset-cost",
  "x-sluice-target",
  "x-sluice-dropped",
  "x-sluice-loop",
  "x-sluice-estimated",
  "x-sluice-fallback",
  "x-sluice-exhausted",
  "x-sluice-waited-ms",
  "preference-applied",
  "x-cache",
].join(", ");

/** How long a browser may remember the answer to a preflight; none remembers it for longer. */
const maxAgeSeconds = 7200;

/** Headers of every answer, also to other pages: caches must distinguish them. */
export function corsHeaders(
  origins: ReadonlySet<string>,
  { header }: { readonly header: (name: string) => string | undefined },
): readonly string[] {
  const origin = header("origin");
  return origin === undefined || !origins.has(origin)
    ? ["vary", "Origin"]
    : [
        "vary",
        "Origin",
        "access-control-allow-origin",
        origin,
        "access-control-expose-headers",
        exposed,
      ];
}

/**
 * Further headers of the answer to a preflight; null if this isn't the preflight of a listed page
 * for an existing path.
 */
export function preflightHeaders(
  origins: ReadonlySet<string>,
  exchange: Exchange,
  match: RouteMatch,
): readonly string[] | null {
  if (exchange.method !== "OPTIONS" || match.kind === "unknown") return null;
  const origin = exchange.header("origin");
  if (origin === undefined || !origins.has(origin)) return null;
  if (exchange.header("access-control-request-method") === undefined) return null;
  const requestedHeaders = exchange.header("access-control-request-headers") ?? "";
  return [
    "vary",
    "Access-Control-Request-Method, Access-Control-Request-Headers",
    "access-control-allow-methods",
    match.kind === "wrong-method" ? match.allow : "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    // SDKs send many headers; unknown ones don't reach the provider.
    ...(/^[a-zA-Z0-9_\-, ]+$/.test(requestedHeaders)
      ? ["access-control-allow-headers", requestedHeaders]
      : []),
    "access-control-max-age",
    String(maxAgeSeconds),
  ];
}

/** Adds CORS headers to the answer; true if the request was a preflight, which is then answered. */
export function answeredPreflight(
  origins: ReadonlySet<string>,
  exchange: Exchange,
  match: RouteMatch,
): boolean {
  exchange.addHeaders(corsHeaders(origins, { header: (name) => exchange.header(name) }));
  const headers = preflightHeaders(origins, exchange, match);
  if (headers === null) return false;
  exchange.reply(204, ["x-request-id", exchange.id, ...headers], "", "latin1");
  return true;
}
