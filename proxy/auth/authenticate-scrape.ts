/**
 * Who may read /metrics (docs/reference/metrics.md): with the master key or the token for scrapes;
 * without either at an open gateway alone, on loopback or on the port for administration.
 */
import { plainFailure } from "../../shared/error-code.js";
import type { Served } from "../http/match-route.js";
import {
  type CredentialSource,
  type Credentials,
  givenToken,
  headerCaller,
} from "./authenticate.js";
import { type Authentication, authenticatedCaller, wrongToken } from "./caller.js";

const rootPath = { userPath: "/", failure: null };

export function authenticateScrape(
  credentials: Credentials,
  served: Served,
  request: CredentialSource,
): Authentication {
  const { masterKey, metricsToken, open, sameSecret } = credentials;
  const isOpen = open && (credentials.metricsOpen || served === "admin");
  const token = givenToken(request, "admin");
  if (typeof token === "string") {
    const accepted = [masterKey, metricsToken].some(
      (secret) => secret !== null && sameSecret(token, secret),
    );
    if (accepted) return { ok: true, caller: authenticatedCaller("/") };
  }
  const needsKey = plainFailure(
    403,
    "permission_error",
    "/metrics needs a credential: set SLUICE_METRICS_TOKEN or SLUICE_MASTER_KEY",
  );
  if (isOpen && metricsToken === null)
    return { ok: true, caller: headerCaller("none", rootPath, needsKey) };
  if (masterKey === null && metricsToken === null) return { ok: false, failure: needsKey };
  return { ok: false, failure: typeof token === "string" ? wrongToken : token };
}
