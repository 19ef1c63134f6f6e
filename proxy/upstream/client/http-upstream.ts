/**
 * A provider over HTTP: pooled keep-alive connections, deadlines, cancellation. Sluice
 * requests responses without compression, and decodes them if they are compressed anyway.
 */
import type { ProviderConfig } from "../../../shared/config/config.js";
import { cacheLast } from "../../../shared/text/remembered.js";
import type { Egress } from "../../egress/egress.js";
import { acceptIdentity, headerOf } from "../../http/copy-headers.js";
import { createDeadlines } from "../call-deadlines.js";
import {
  credentialHeaders,
  credentialHeadersAt,
  noteRefusals,
  type ProviderKeys,
  redactHeaders,
  withOwnHeaders,
} from "../credentials/provider-keys.js";
import { echoedSecrets, maskSecrets } from "../echo-mask.js";
import { SentBody } from "../sent-body.js";
import type { RequestBody, Upstream, UpstreamCall } from "../upstream.js";
import type { CallBody } from "./connection.js";
import { type CallOptions, ConnectionPool } from "./connection-pool.js";
import { HttpCall } from "./http-call.js";

/** `replaceError`: replaces the error of a failed connection if the cause is another one. */
export function createHttpUpstream(
  provider: ProviderConfig,
  egress: Egress,
  keys: ProviderKeys,
  replaceError: (error: Error) => Error = (error) => error,
): Upstream {
  const pathPrefix = new URL(provider.baseUrl).pathname.replace(/\/$/, "");
  const nativePrefix = pathPrefix.replace(/\/(?:openai|endpoints\/openapi)$/, "");
  const pool = new ConnectionPool(provider, egress, replaceError);
  const deadlines = createDeadlines(provider);
  const headersWith = cacheLast((key: string | null) => [
    ...acceptIdentity,
    ...credentialHeaders(provider, key),
  ]);
  const nativeHeadersWith = cacheLast((key: string | null) => [
    ...acceptIdentity,
    ...credentialHeadersAt(provider, key, nativePrefix),
  ]);
  const secretsWith = cacheLast((key: string | null) => echoedSecrets(key, provider.headers));
  const isAnthropic = provider.type === "anthropic";
  return {
    send(
      { method, path, isNative, headers: clientHeaders, body, isRepeatable, timeouts },
      sink,
    ): UpstreamCall {
      const key = keys.choose();
      const call = new HttpCall(
        maskSecrets(sink, secretsWith(key), successStatusMax),
        deadlines,
        timeouts,
      );
      if (keys.missing !== null) {
        sink.onFailure({ kind: "unreachable", reason: keys.missing });
        return call;
      }
      if (key !== null) call.keyName = keys.nameOf(key);
      if (key !== null && keys.wantsRefusals) call.onStatus = noteRefusals(keys, key);
      const keyHeaders = isNative === true ? nativeHeadersWith(key) : headersWith(key);
      const passed = withOwnHeaders(clientHeaders, provider.headers);
      const headers = isAnthropic ? withVersion(passed, keyHeaders) : [...passed, ...keyHeaders];
      const isHeld = body === null || Buffer.isBuffer(body) || body instanceof SentBody;
      const length = lengthOfPieces(body);
      if (length !== null) headers.push("content-length", String(length));
      const options = (): CallOptions => ({
        method,
        path: (isNative === true ? nativePrefix : pathPrefix) + path,
        headers,
        body: contentOf(body),
      });
      if (isHeld && isRepeatable) call.mayBeResent(() => pool.dispatchAlone(options(), call));
      pool.dispatch(options(), call);
      return call;
    },
    redact: (text) => redactHeaders(keys.redact(text), provider.headers),
    hasReadyKey: () => keys.hasReady(),
    // The process doesn't wait for calls that are still open when it ends.
    close() {
      deadlines.stop();
      return pool.close();
    },
  };
}

/** A body in the form that a connection writes. */
export function contentOf(body: RequestBody): CallBody {
  if (body === null || Buffer.isBuffer(body)) return body;
  return body instanceof SentBody && !body.isLarge ? body.wholeBody() : body.pieces;
}

/** The length of a body in pieces; null if it isn't known, and for one that is written whole. */
function lengthOfPieces(body: RequestBody): number | null {
  if (body === null || Buffer.isBuffer(body)) return null;
  return body instanceof SentBody && !body.isLarge ? null : body.bytes;
}

/** Errors are redacted as a whole (`redact`). */
const successStatusMax = 299;

/** Anthropic requires a version. A client that speaks Anthropic's dialect names one itself. */
const anthropicVersion = ["anthropic-version", "2023-06-01"] as const;

function withVersion(headers: readonly string[], keyHeaders: readonly string[]): string[] {
  return headerOf(headers, "anthropic-version") === ""
    ? [...headers, ...anthropicVersion, ...keyHeaders]
    : [...headers, ...keyHeaders];
}
