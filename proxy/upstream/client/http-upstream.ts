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
import { LargeBody } from "../large-body.js";
import type { Upstream, UpstreamCall } from "../upstream.js";
import { type CallOptions, createConnectionPool } from "./connection-pool.js";
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
      const isHeld = body === null || Buffer.isBuffer(body) || body instanceof LargeBody;
      if (body !== null && !Buffer.isBuffer(body) && body.bytes !== null)
        headers.push("content-length", String(body.bytes));
      const options = (): CallOptions => ({
        method,
        path: pathPrefix + path,
        headers,
        body:
          body === null || Buffer.isBuffer(body)
            ? body
            : Readable.from(body.pieces, { objectMode: false }),
      });
      if (isHeld && isRepeatable) call.mayBeSentAnew(() => pool.dispatchAlone(options(), call));
      pool.dispatch(options(), call);
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
