/**
 * Which headers of a request pass to the provider, which of its answer pass to the client
 * (docs/security.md), and how they are copied: names and values stay as written.
 *
 * Not here: headers that Sluice adds (host, lengths, the provider's credential, the request id, the
 * limits), and those that it reads itself (`own-headers.ts`).
 */

import type { ProviderConfig } from "../../shared/config/config.js";
import { neverForwarded } from "../../shared/config/never-forwarded.js";
import type { ProviderType } from "../../shared/config/provider-type.js";
import { append, greatest } from "../../shared/long-lists.js";
import { cacheByText } from "../../shared/text/remembered.js";
import type { RequestHeaders } from "./exchange.js";
import { type CarriedSpan, carryTrace, traceHeaders } from "./trace-context.js";

/**
 * RFC 9110 section 7.6.1: they belong to the connection, not to the message. `Proxy-` is a prefix
 * below.
 */
const hopByHop = [
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
] as const;

/** Sent to every provider, which may otherwise compress its answers: Sluice reads them. */
export const acceptIdentity = ["accept-encoding", "identity"] as const;

// Sluice sends its own length, id, date, limits and target; the rest is about the provider's own
// site, with addresses there, and the operator's account.
const notForClients = [
  ...hopByHop,
  "content-length",
  "set-cookie",
  "x-request-id",
  "alt-svc",
  "strict-transport-security",
  "server",
  "date",
  "via",
  "openai-organization",
  "openai-project",
  "anthropic-organization-id",
  // Rewritten for passthrough (`upstream/provider-links.ts`).
  "location",
  "content-location",
  "link",
  "refresh",
  "operation-location",
  "azure-asyncoperation",
  "x-goog-upload-url",
  "x-goog-upload-control-url",
] as const;

/** `Access-Control-`: Sluice sets its own CORS headers. */
const prefixesNotForClients = ["proxy-", "x-sluice-", "access-control-"] as const;

// Sluice sets Anthropic's name of the request id too, for clients of its dialect.
const droppedFromResponses = createHeaderNames(
  [...notForClients, "request-id"],
  [...prefixesNotForClients, "x-ratelimit-", "anthropic-ratelimit-"],
);

const droppedFromPassedResponses = createHeaderNames(notForClients, prefixesNotForClients);

/**
 * The headers for the upstream, as a flat list of names and values. `passed`: the names that pass
 * (`passedHeaders`). `span`: that of the request to the provider, in place of the caller's;
 * null if it has none.
 */
export function forwardRequestHeaders(
  rawHeaders: readonly string[],
  passed: PassedHeaders,
  span: CarriedSpan | null = null,
): string[] {
  const headersKept: string[] = [];
  let connectionOptions: Set<string> | null = null;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (passed.test(name)) headersKept.push(name, rawHeaders[i + 1]!);
    else if (name.length === "connection".length)
      connectionOptions = namedByConnection(name, rawHeaders[i + 1]!, connectionOptions);
  }
  const headers =
    connectionOptions === null ? headersKept : removeHeaders(headersKept, connectionOptions);
  if (span !== null) carryTrace(headers, passed, span);
  return headers;
}

/** Removes the headers of the client's dialect before a translation. */
export function withoutDialect(headers: readonly string[]): string[] {
  return pairsWhose(headers, (name) => !/^(?:anthropic|openai)-/i.test(name));
}

/**
 * Declares a body that Sluice has read as JSON and decoded: curl, for one, declares every body a
 * form.
 */
export function describeJson(headers: string[], request: Pick<RequestHeaders, "header">): void {
  const declared = request.header("content-type") ?? "";
  // `application/json+protobuf` and the like are Google's, who may answer in the same form.
  const isDeclared =
    declared === "application/json" || (declared.includes("json") && !/proto/i.test(declared));
  if (isDeclared && request.header("content-encoding") === undefined) return;
  describeAsJson(headers);
}

/** Replaces the declared type and coding, so that the provider parses the body as Sluice did. */
export function describeAsJson(headers: string[]): void {
  for (let i = headers.length - 2; i >= 0; i -= 2)
    if (/^content-(?:type|encoding)$/i.test(headers[i]!)) headers.splice(i, 2);
  headers.push("content-type", "application/json");
}

/**
 * The headers for the client, as a flat list of names and values; bytes are read as Latin-1, which
 * is how they will be written.
 */
export function forwardResponseHeaders(rawHeaders: readonly (Buffer | string)[]): string[] {
  return keepHeaders(rawHeaders, droppedFromResponses);
}

/**
 * The same for passthrough (docs/reference/passthrough.md): with the provider's own limits or,
 * where it reports none, with ours, `limits`.
 */
export function passResponseHeaders(
  rawHeaders: readonly (Buffer | string)[],
  limits: readonly string[],
): string[] {
  const headers = keepHeaders(rawHeaders, droppedFromPassedResponses);
  for (let i = 0; i < headers.length; i += 2)
    if (/^x-ratelimit-/i.test(headers[i]!)) return headers;
  append(headers, limits);
  return headers;
}

function keepHeaders(rawHeaders: readonly (Buffer | string)[], table: HeaderNames): string[] {
  const headersKept: string[] = [];
  let connectionOptions: Set<string> | null = null;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const dropped = typeof name === "string" ? table.text.test(name) : hasName(table, name);
    if (!dropped) headersKept.push(asText(name), asText(rawHeaders[i + 1]!));
    else if (name.length === "connection".length)
      connectionOptions = namedByConnection(
        asText(name),
        asText(rawHeaders[i + 1]!),
        connectionOptions,
      );
  }
  return connectionOptions === null ? headersKept : removeHeaders(headersKept, connectionOptions);
}

/** The provider's retry headers, which the official SDKs follow. */
export function retryHeaders(flat: readonly string[]): string[] {
  return pairsWhose(flat, (name) => /^(?:retry-after(?:-ms)?|x-should-retry)$/i.test(name));
}

/** Without the headers of an encoding that has been decoded, and the length, which has changed. */
export function withoutCoding(rawHeaders: readonly (Buffer | string)[]): (Buffer | string)[] {
  return pairsWhose(rawHeaders, (name) => !/^content-(?:encoding|length)$/i.test(name));
}

/** The headers with this content type in place of any other. */
export function withContentType(
  rawHeaders: readonly (Buffer | string)[],
  contentType: string,
): (Buffer | string)[] {
  const otherHeaders = pairsWhose(rawHeaders, (name) => name.toLowerCase() !== "content-type");
  return ["content-type", contentType, ...otherHeaders];
}

/** The first value of a header in a flat list, by its lower-case name; empty without one. */
export function headerOf(flat: readonly (Buffer | string)[], name: string): string {
  for (let i = 0; i < flat.length; i += 2) {
    const isAsLong = flat[i]!.length === name.length;
    if (isAsLong && asText(flat[i]!).toLowerCase() === name) return asText(flat[i + 1]!);
  }
  return "";
}

/** Where clients put a key that isn't a bearer token: Anthropic's, Azure's and Google's. */
export const keyHeaders = ["x-api-key", "api-key", "x-goog-api-key"] as const;

/** Whether a header has a value: clients send an empty one for an unset key. */
export function hasValue(header: string | undefined): header is string {
  return header !== undefined && header.trim() !== "";
}

/** Adds the headers that a Connection header names, which are dropped too; usually none. */
function namedByConnection(
  name: string,
  value: string,
  connectionOptions: Set<string> | null,
): Set<string> | null {
  if (value === "keep-alive" || value === "close" || name.toLowerCase() !== "connection")
    return connectionOptions;
  connectionOptions ??= new Set();
  for (const option of value.split(",")) connectionOptions.add(option.trim().toLowerCase());
  return connectionOptions;
}

function removeHeaders(headers: readonly string[], names: ReadonlySet<string>): string[] {
  return pairsWhose(headers, (name) => !names.has(name.toLowerCase()));
}

/** The headers of a flat list whose names match. */
export function pairsWhose<Text extends Buffer | string>(
  flat: readonly Text[],
  isWanted: (name: string) => boolean,
): Text[] {
  const headersKept: Text[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2)
    if (isWanted(asText(flat[i]!))) headersKept.push(flat[i]!, flat[i + 1]!);
  return headersKept;
}

function asText(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}

/**
 * A fixed set of names and prefixes in lower case, made once, which tests every header of every
 * request.
 *
 * One regular expression takes a third of the time of lower-casing each name for a Set. A name that
 * is still bytes is compared as bytes: most of a provider's headers are dropped, and converting
 * each to a string first would cost 70% more.
 */
interface HeaderNames {
  readonly text: RegExp;
  readonly byLength: readonly (readonly Buffer[])[];
  readonly prefixes: readonly Buffer[];
}

function createHeaderNames(names: readonly string[], prefixes: readonly string[]): HeaderNames {
  const byLength: Buffer[][] = Array.from(
    { length: greatest(names.map((name) => name.length)) + 1 },
    () => [],
  );
  for (const name of names) byLength[name.length]!.push(Buffer.from(name));
  return {
    // Names hold letters and hyphens only, so nothing in them needs an escape.
    text: new RegExp(`^(?:(?:${names.join("|")})$|${prefixes.join("|")})`, "i"),
    byLength,
    prefixes: prefixes.map((prefix) => Buffer.from(prefix)),
  };
}

/** Whether a name that is still bytes is in the table. */
function hasName(table: HeaderNames, name: Buffer): boolean {
  const sameLength = table.byLength[name.length];
  if (sameLength !== undefined)
    for (const candidate of sameLength) if (beginsWith(name, candidate)) return true;
  for (const prefix of table.prefixes) if (beginsWith(name, prefix)) return true;
  return false;
}

/**
 * Whether a name begins with another one, which is in lower case, ignoring case: setting 0x20
 * lower-cases a letter and keeps digits and the hyphen.
 */
export function beginsWith(name: Buffer, lowerName: Buffer): boolean {
  for (let i = 0; i < lowerName.length; i++) if ((name[i]! | 0x20) !== lowerName[i]) return false;
  return true;
}

/** A text as a header value for people: invalid characters become question marks. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

/** The codings of a Content-Encoding header; empty for none or identity. */
export function contentCoding(header: string | undefined): string {
  if (header === undefined) return "";
  return header
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity")
    .join(",");
}

// Which request headers pass to a provider: those that its API reads, and those that the operator
// adds. All others are dropped: proxies and identity services in front of Sluice add headers about
// callers and the network.

/** Headers that describe the request and the client's software. */
const always = [
  "accept",
  "accept-language",
  "content-type",
  "content-encoding",
  "content-language",
  "content-disposition",
  "content-range",
  "content-md5",
  "range",
  "if-match",
  "if-none-match",
  "if-modified-since",
  "if-unmodified-since",
  "if-range",
  "user-agent",
  "idempotency-key",
  "x-client-request-id",
  // From the SDKs of OpenAI and Anthropic: version, platform and retries.
  "x-stainless-*",
  "x-app",
];

/** OpenAI's own headers, except those that name an account, which is the operator's. */
const openai = ["openai-*"];
const anthropic = ["anthropic-*"];

/** An asterisk matches any ending. */
const byType: Readonly<Record<ProviderType, readonly string[]>> = {
  openai: [
    ...openai,
    // OpenRouter's names for the application, Groq's and GitHub's versions.
    "http-referer",
    "x-title",
    "x-openrouter-*",
    "groq-beta",
    "x-github-api-version",
    // Where the prompt is cached: xAI, Fireworks.
    "x-grok-conv-id",
    "x-session-affinity",
  ],
  anthropic,
  gemini: [...openai, "x-goog-api-client", "x-goog-upload-*", "x-server-timeout"],
  azure: [...openai, "x-ms-client-request-id", "x-ms-useragent", "x-ms-enable-preview"],
  ollama: openai,
  vllm: openai,
  simulator: [],
  mcp: ["mcp-*", "last-event-id"],
};

/** Headers that name the paying account; the operator may add them. */
const accountHeaders = ["openai-organization", "openai-project", "anthropic-organization-id"];

/** Tests a header name, ignoring case. */
export interface PassedHeaders {
  test(name: string): boolean;
}

/** The header names that are forwarded to a provider. */
export function passedHeaders(
  {
    type,
    operations,
    forwardHeaders,
  }: Pick<ProviderConfig, "type" | "operations" | "forwardHeaders">,
  userPathHeader: string,
  /** Whether it receives the trace context of a request. */
  getsTrace = false,
): PassedHeaders {
  const forwarded = [
    ...always,
    ...byType[type],
    ...(operations.has("messages") ? anthropic : []),
    ...(getsTrace ? traceHeaders : []),
  ];
  const never = neverForwarded.source.slice(1);
  const path = `(?:${userPathHeader.replace(/[^a-z0-9_-]/g, "\\$&")})$`;
  const expression = new RegExp(
    `^(?!${never}|${path})(?:${anyOf(forwardHeaders)}(?!(?:${accountHeaders.join("|")})$)${anyOf(forwarded, "")})`,
    "i",
  );
  // Most requests have the same few names, and testing the long expression takes time.
  return { test: cacheByText((name) => expression.test(name)) };
}

/** An expression of the names; empty without any. `end` follows it. */
function anyOf(names: readonly string[], end = "|"): string {
  if (names.length === 0) return "";
  const alternatives = names.map((name) => (name.endsWith("*") ? name.slice(0, -1) : `${name}$`));
  return `(?:${alternatives.join("|")})${end}`;
}
