/**
 * The request headers that are forwarded to a provider (docs/security.md): those that its API
 * reads, and those that the operator adds. All others are dropped: proxies and identity services in
 * front of Sluice add headers about callers and the network.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { neverForwarded } from "../../shared/config/never-forwarded.js";
import type { ProviderType } from "../../shared/config/provider-type.js";
import { remembered } from "../../shared/text/remembered.js";
import { traceHeaders } from "./trace-context.js";

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
const ofAccounts = ["openai-organization", "openai-project", "anthropic-organization-id"];

/** Tests a header name in any case. */
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
  const own = [
    ...always,
    ...byType[type],
    ...(operations.has("messages") ? anthropic : []),
    ...(getsTrace ? traceHeaders : []),
  ];
  const never = neverForwarded.source.slice(1);
  const path = `(?:${userPathHeader.replace(/[^a-z0-9_-]/g, "\\$&")})$`;
  const expression = new RegExp(
    `^(?!${never}|${path})(?:${anyOf(forwardHeaders)}(?!(?:${ofAccounts.join("|")})$)${anyOf(own, "")})`,
    "i",
  );
  // The same few names come with each request, and the expression is long.
  return { test: remembered((name) => expression.test(name)) };
}

/** An expression of the names; empty without any. `end` follows it. */
function anyOf(names: readonly string[], end = "|"): string {
  if (names.length === 0) return "";
  const each = names.map((name) => (name.endsWith("*") ? name.slice(0, -1) : `${name}$`));
  return `(?:${each.join("|")})${end}`;
}
