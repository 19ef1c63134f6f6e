/**
 * Why a provider gave no response or an incomplete one, and how errors of Node and TLS map
 * to these reasons.
 */

export interface UpstreamFailure {
  /**
   * `unreachable`: no connection. `timed_out`: a deadline passed. `broken`: the connection ended or
   * the provider sent invalid bytes. `untranslatable`: the client's dialect can't express the
   * answer. `too_large`, `refused`: the client's own body, which is checked while it is sent.
   * `exhausted`: this process has no file descriptor left for a connection.
   */
  readonly kind:
    | "unreachable"
    | "timed_out"
    | "broken"
    | "untranslatable"
    | "too_large"
    | "refused"
    | "exhausted";
  readonly reason: string;
  /** Whether the provider's answer arrived, and reports that the model failed. */
  readonly isFailedAnswer?: boolean;
}

/** RFC 9110 section 15: a response that isn't informational has one of these statuses. */
export function isFinalStatus(status: number): boolean {
  return status >= 200 && status <= 599;
}

export function noSuchStatus(status: number): UpstreamFailure {
  return { kind: "broken", reason: `HTTP has no final status ${status}` };
}

const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ECONNRESET",
  "EPIPE",
]);

/** The codes of Sluice's own errors, whose messages are sentences. */
const ownCodes = new Set([
  "ERR_CONNECT_TIMEOUT",
  "ERR_CONNECTION_CLOSED",
  "ERR_PROXY_REFUSED",
  "ERR_PROXY_TIMEOUT",
]);

/** Whether the provider, or the network between, ended the connection. */
export function isConnectionLost({ code }: Error & { code?: string }): boolean {
  return code === "ERR_CONNECTION_CLOSED" || code === "ECONNRESET" || code === "EPIPE";
}

/** The code, followed by advice if the code doesn't suggest it. */
function codeText(code: string): string {
  return code === "ERR_SSL_WRONG_VERSION_NUMBER"
    ? `${code}: it answers without TLS; its base_url may have to begin with http://`
    : code;
}

/** Maps an error of Node or TLS by its code. */
export function asUpstreamFailure(error: Error & { code?: string }): UpstreamFailure {
  const code = error.code ?? "";
  if (code === "UPLOAD_TOO_LARGE") return { kind: "too_large", reason: error.message };
  if (code === "UPLOAD_REFUSED") return { kind: "refused", reason: error.message };
  const reason = code === "" || ownCodes.has(code) ? error.message : codeText(code);
  if (code === "EMFILE" || code === "ENFILE") return { kind: "exhausted", reason };
  if (code === "ETIMEDOUT") return { kind: "timed_out", reason };
  // A TLS failure or a reset before the response also counts as no connection; after the head the
  // caller treats every kind as a cut.
  if (
    unreachableCodes.has(code) ||
    ownCodes.has(code) ||
    /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)
  )
    return { kind: "unreachable", reason };
  return { kind: "broken", reason };
}
