/**
 * The headers of a caller that no provider gets, whatever the operator adds
 * (docs/security.md): its credentials, what belongs to its connection, and what Sluice sets itself.
 */

/** Tested with a name in any case. */
export const neverForwarded =
  /^(?:(?:authorization|x-api-key|api-key|x-goog-api-key|cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|expect|accept-encoding|x-request-id)$|proxy-|x-sluice-|sec-)/i;
