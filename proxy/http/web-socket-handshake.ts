/**
 * The handshake of a WebSocket (RFC 6455 section 4): which requests are handshakes, the credential
 * that browsers put among the subprotocols, and the headers in both directions.
 *
 * Extensions are removed, so that frames can be read as they pass: a server may always decline
 * compression.
 */
import {
  forwardRequestHeaders,
  hasValue,
  headerOf,
  keyHeaders,
  type PassedHeaders,
} from "./copy-headers.js";
import type { Exchange, RequestHeaders } from "./exchange.js";
import { endpointAddress } from "./match-route.js";
import type { CarriedSpan } from "./trace-context.js";

type Header = (name: string) => string | undefined;

/**
 * Whether a request opens a WebSocket at one of the paths that have them. Any other upgrade is
 * ignored, as HTTP allows, and the request is answered like any other.
 */
export function isHandshake(
  method: string | undefined,
  url: string | undefined,
  header: Header,
): boolean {
  if (method !== "GET" || header("upgrade")?.trim().toLowerCase() !== "websocket") return false;
  // After a body it would be unclear where the frames begin.
  if ((header("content-length") ?? "0") !== "0" || header("transfer-encoding") !== undefined)
    return false;
  const { path } = endpointAddress(url ?? "");
  return path.startsWith("/p/") || path === "/v1/realtime" || path === "/v1/responses";
}

/**
 * The prefix of the subprotocol in which realtime clients in browsers send their key; they can't
 * set headers.
 */
const credentialProtocol = "openai-insecure-api-key.";

/**
 * The request's headers, with the key among its subprotocols as its authorization, unless it has
 * another credential.
 */
export function withProtocolKey(
  request: RequestHeaders & Pick<Exchange, "path" | "query" | "tls">,
): RequestHeaders & Pick<Exchange, "path" | "query" | "tls"> {
  const header: Header = (name) => {
    const value = request.header(name);
    if (name !== "authorization" || hasValue(value)) return value;
    if (keyHeaders.some((keyHeader) => hasValue(request.header(keyHeader)))) return value;
    const key = protocolsIn(request.header("sec-websocket-protocol")).find((protocol) =>
      protocol.startsWith(credentialProtocol),
    );
    return key === undefined ? undefined : `Bearer ${key.slice(credentialProtocol.length)}`;
  };
  const { path, query, tls } = request;
  return { header, isRepeated: (name) => request.isRepeated(name), path, query, tls };
}

/** The subprotocols for the provider: all except keys. */
function offeredProtocols(header: string | undefined): readonly string[] {
  return protocolsIn(header).filter(
    (protocol) => !protocol.toLowerCase().startsWith(credentialProtocol),
  );
}

function protocolsIn(header: string | undefined): readonly string[] {
  return (header ?? "")
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");
}

/**
 * The headers of the handshake with the provider, flat, without those of the connection. `passed`:
 * the names that pass. `span`: as for `forwardRequestHeaders`.
 */
export function handshakeHeaders(
  rawHeaders: readonly string[],
  passed: PassedHeaders,
  span: CarriedSpan | null = null,
): string[] {
  const headers = forwardRequestHeaders(rawHeaders, passed, span);
  for (const name of ["sec-websocket-version", "sec-websocket-key"]) {
    const value = joinedValues(rawHeaders, name);
    if (value !== "") headers.push(name, value);
  }
  const protocols = offeredProtocols(joinedValues(rawHeaders, "sec-websocket-protocol"));
  if (protocols.length > 0) headers.push("sec-websocket-protocol", protocols.join(", "));
  return headers;
}

/**
 * The headers of the 101 for the client, flat, from the provider's headers that may pass. A
 * subprotocol is included only if the client offered it, in `requestHeaders`.
 */
export function switchedHeaders(
  responseHeaders: readonly string[],
  requestHeaders: readonly string[],
): string[] {
  const headers = removeHeaders(responseHeaders, /^sec-websocket-(?:extensions|protocol)$/i);
  const chosen = headerOf(responseHeaders, "sec-websocket-protocol");
  if (
    chosen !== "" &&
    offeredProtocols(joinedValues(requestHeaders, "sec-websocket-protocol")).includes(chosen)
  )
    headers.push("sec-websocket-protocol", chosen);
  return ["upgrade", "websocket", "connection", "Upgrade", ...headers];
}

/** The subprotocol that a server chooses; null if the client offered none. */
export function chosenProtocol(request: Pick<RequestHeaders, "header">): string | null {
  return offeredProtocols(request.header("sec-websocket-protocol"))[0] ?? null;
}

function joinedValues(rawHeaders: readonly string[], name: string): string {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === name) values.push(rawHeaders[i + 1]!);
  return values.join(", ");
}

function removeHeaders(flat: readonly string[], names: RegExp): string[] {
  const headers: string[] = [];
  for (let i = 0; i < flat.length; i += 2)
    if (!names.test(flat[i]!)) headers.push(flat[i]!, flat[i + 1]!);
  return headers;
}
