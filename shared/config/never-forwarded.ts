/**
 * Request headers that are never forwarded to a provider, whatever the operator adds
 * (docs/security.md): credentials, headers of the connection, and headers that Sluice sets itself.
 */

/** Matches a header name, ignoring case. */
export const neverForwarded =
  /^(?:(?:authorization|x-api-key|api-key|x-goog-api-key|cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|expect|accept-encoding|x-request-id)$|proxy-|x-sluice-|sec-)/i;
