/** What an error of Node's or undici's says of a provider that gave no answer, or no end of it. */
import type { UpstreamFailure } from "./upstream.js";

const unreachable = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ECONNRESET",
  "EPIPE",
  "UND_ERR_SOCKET",
]);

/** errno, undici and TLS codes to our kinds. */
export function asUpstreamFailure(error: Error & { code?: string }): UpstreamFailure {
  const code = error.code ?? "";
  if (code === "UPLOAD_TOO_LARGE") return { kind: "too_large", reason: error.message };
  if (code === "UPLOAD_REFUSED") return { kind: "refused", reason: error.message };
  const reason = code === "" ? error.message : code;
  if (code === "ETIMEDOUT") return { kind: "silent", reason };
  // A TLS failure or a reset before the response is no connection either; after the head the caller
  // treats every kind as a cut.
  if (
    unreachable.has(code) ||
    /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)
  )
    return { kind: "unreachable", reason };
  return { kind: "broken", reason };
}
