/**
 * Which headers travel from the client to the provider and back. What belongs to one hop, to the
 * gateway's own credentials or limits, or to the provider's cookies stays behind.
 */

const hopByHop = ["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/** The answer must be readable, so no encoding is asked for; undici sets host and length itself. */
const keptFromUpstream = new Set([
  ...hopByHop,
  "host", "content-length", "expect", "accept-encoding",
  "authorization", "x-api-key", "api-key", "cookie",
  "forwarded", "x-real-ip", "x-request-id",
]);

const keptFromClient = new Set([...hopByHop, "content-length", "set-cookie", "x-request-id", "alt-svc", "strict-transport-security", "server", "date", "via"]);

/** The client's headers for the provider, flat. `userPathHeader` is lower case. */
export function forwardRequestHeaders(rawHeaders: readonly string[], userPathHeader: string): string[] {
  const kept: string[] = [];
  let named: readonly string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (name === "connection") named = connectionNames(rawHeaders[i + 1]!, named);
    if (keptFromUpstream.has(name) || name === userPathHeader || name.startsWith("x-sluice-") || name.startsWith("x-forwarded-")) continue;
    kept.push(name, rawHeaders[i + 1]!);
  }
  return named.length === 0 ? kept : without(kept, named);
}

/** The provider's headers for the client, flat. */
export function forwardResponseHeaders(rawHeaders: readonly (Buffer | string)[]): string[] {
  const kept: string[] = [];
  let named: readonly string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = text(rawHeaders[i]!).toLowerCase();
    if (name === "connection") named = connectionNames(text(rawHeaders[i + 1]!), named);
    if (keptFromClient.has(name) || name.startsWith("x-ratelimit-")) continue;
    kept.push(name, text(rawHeaders[i + 1]!));
  }
  return named.length === 0 ? kept : without(kept, named);
}

function text(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}

/** What a Connection header declares to be hop-by-hop; `keep-alive` and `close` are dropped anyway. */
function connectionNames(value: string, before: readonly string[]): readonly string[] {
  const lower = value.toLowerCase();
  if (lower === "keep-alive" || lower === "close") return before;
  return [...before, ...lower.split(",").map((name) => name.trim())];
}

function without(flat: readonly string[], names: readonly string[]): string[] {
  return flat.filter((_, i) => !names.includes(flat[i - (i % 2)]!));
}
