/**
 * A provider over HTTP, by undici: pooled keep-alive connections, deadlines, cancellation.
 * Responses are requested without compression, and decoded if they are compressed all the same.
 */
import { Readable } from "node:stream";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { Egress } from "../../egress/egress.js";
import { acceptIdentity, headerOf } from "../../http/copy-headers.js";
import { createDeadlines } from "../call-deadlines.js";
import { credentialHeaders } from "../credential-headers.js";
import type { Upstream, UpstreamCall } from "../upstream.js";
import { createConnectionPool } from "./connection-pool.js";
import { decodedAnswer } from "./decoded-answer.js";
import { HttpCall } from "./http-call.js";

/** `blame`: what a failed connection was about, if not what its error says. */
export function createHttpUpstream(
  provider: ProviderConfig,
  egress: Egress,
  blame: (error: Error) => Error = (error) => error,
): Upstream {
  const pathPrefix = new URL(provider.baseUrl).pathname.replace(/\/$/, "");
  const pool = createConnectionPool(provider, egress, blame);
  const deadlines = createDeadlines(provider);
  const ownHeaders = [...acceptIdentity, ...credentialHeaders(provider)];
  const isAnthropic = provider.type === "anthropic";
  return {
    send({ method, path, headers: given, body, isRepeatable }, sink): UpstreamCall {
      const call = new HttpCall(sink, deadlines, decodedAnswer);
      const headers = isAnthropic ? withVersion(given, ownHeaders) : [...given, ...ownHeaders];
      const to = pathPrefix + path;
      if (body === null || Buffer.isBuffer(body)) {
        const options = { method, path: to, headers, body };
        if (isRepeatable) call.mayBeSentAnew(() => pool.dispatchAlone(options, call));
        pool.dispatch(options, call);
      } else {
        if (body.bytes !== null) headers.push("content-length", String(body.bytes));
        const pieces = Readable.from(body.pieces, { objectMode: false });
        pool.dispatch({ method, path: to, headers, body: pieces }, call);
      }
      return call;
    },
    redact: (text) =>
      provider.apiKey === null ? text : text.replaceAll(provider.apiKey, "[redacted]"),
    // Calls that are still open at the end of the process are not waited for.
    close() {
      deadlines.stop();
      return pool.close();
    },
  };
}

/** Anthropic requires a version; a client that speaks its dialect names one itself. */
const anthropicVersion = ["anthropic-version", "2023-06-01"] as const;

function withVersion(headers: readonly string[], ownHeaders: readonly string[]): string[] {
  return headerOf(headers, "anthropic-version") === ""
    ? [...headers, ...anthropicVersion, ...ownHeaders]
    : [...headers, ...ownHeaders];
}
