/**
 * A provider over HTTP, by undici: pooled keep-alive connections, deadlines, cancellation.
 * Responses are requested without compression, and decoded if they are compressed all the same.
 */
import { Readable } from "node:stream";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { Egress } from "../../egress/egress.js";
import { acceptIdentity, headerOf } from "../../http/copy-headers.js";
import { createDeadlines } from "../call-deadlines.js";
import {
  credentialHeaders,
  redactHeaders,
  withOwnHeaders,
} from "../credentials/credential-headers.js";
import { noteRefusals } from "../credentials/note-refusals.js";
import type { ProviderKeys } from "../credentials/provider-keys.js";
import { LargeBody } from "../large-body.js";
import type { Upstream, UpstreamCall } from "../upstream.js";
import { type CallOptions, createConnectionPool } from "./connection-pool.js";
import { decodedAnswer } from "./decoded-answer.js";
import { HttpCall } from "./http-call.js";

/** `blame`: what a failed connection was about, if not what its error says. */
export function createHttpUpstream(
  provider: ProviderConfig,
  egress: Egress,
  keys: ProviderKeys,
  blame: (error: Error) => Error = (error) => error,
): Upstream {
  const pathPrefix = new URL(provider.baseUrl).pathname.replace(/\/$/, "");
  const pool = createConnectionPool(provider, egress, blame);
  const deadlines = createDeadlines(provider);
  const headersWith = rememberingLast((key: string | null) => [
    ...acceptIdentity,
    ...credentialHeaders(provider, key),
  ]);
  const isAnthropic = provider.type === "anthropic";
  return {
    send({ method, path, headers: given, body, isRepeatable }, sink): UpstreamCall {
      const call = new HttpCall(sink, deadlines, decodedAnswer);
      if (keys.missing !== null) {
        sink.onFailure({ kind: "unreachable", reason: keys.missing });
        return call;
      }
      const key = keys.choose();
      if (key !== null && keys.learns) call.onStatus = noteRefusals(keys, key);
      const own = headersWith(key);
      const passed = withOwnHeaders(given, provider.headers);
      const headers = isAnthropic ? withVersion(passed, own) : [...passed, ...own];
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
    redact: (text) => redactHeaders(keys.redact(text), provider.headers),
    hasReadyKey: () => keys.hasReady(),
    // Calls that are still open at the end of the process are not waited for.
    close() {
      deadlines.stop();
      return pool.close();
    },
  };
}

/** Nearly always it is asked for the key that it was asked for last. */
function rememberingLast<K, V>(make: (key: K) => V): (key: K) => V {
  let last: { readonly key: K; readonly value: V } | null = null;
  return (key) => {
    if (last === null || last.key !== key) last = { key, value: make(key) };
    return last.value;
  };
}

/** Anthropic requires a version; a client that speaks its dialect names one itself. */
const anthropicVersion = ["anthropic-version", "2023-06-01"] as const;

function withVersion(headers: readonly string[], ownHeaders: readonly string[]): string[] {
  return headerOf(headers, "anthropic-version") === ""
    ? [...headers, ...anthropicVersion, ...ownHeaders]
    : [...headers, ...ownHeaders];
}
