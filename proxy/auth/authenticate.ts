/**
 * The caller of a request and its user path, from the request alone (docs/authentication.md): TLS
 * has checked a client certificate; the master key and JWTs are checked here. The daemon checks
 * managed keys, and whether calls without credentials are allowed (`authorizeCaller`, or the
 * admission).
 */
import { everything } from "../../shared/access/admin-role.js";
import {
  couldBeImportedKey,
  looksLikeManagedKey,
  setMasterKey,
} from "../../shared/domain/managed-key.js";
import { normalizeUserPath } from "../../shared/domain/user-path.js";
import { type Failure, invalid, plainFailure } from "../../shared/error-code.js";
import { cacheByText } from "../../shared/text/remembered.js";
import { hasValue, keyHeaders } from "../http/copy-headers.js";
import type { Exchange, RequestHeaders } from "../http/exchange.js";
import type { Area, ServedEndpoints } from "../http/match-route.js";
import { displayName } from "../http/own-headers.js";
import {
  type Authentication,
  authenticatedCaller,
  type Caller,
  unauthorizedFailure,
  wrongToken,
} from "./caller.js";
import { looksLikeJwt } from "./jwt-path.js";
import type { JwtVerifier } from "./jwt-verifier.js";

export interface Credentials {
  readonly masterKey: string | null;
  /** Null without a configured issuer. */
  readonly jwt: JwtVerifier | null;
  /** Lower case. */
  readonly userPathHeader: string;
  /**
   * Whether requests without credentials are served while no managed key exists. Requires that
   * there is neither a master key nor an issuer.
   */
  readonly open: boolean;
  /** Whether /admin is open too: on loopback only. */
  readonly isAdminOpen: boolean;
  /** Opens /metrics and nothing else; null without one. */
  readonly metricsToken: string | null;
  /** Whether `open` includes /metrics on the port for models: on loopback only. */
  readonly isMetricsOpen: boolean;
  /**
   * Whether a token of any form may be a key, because keys were imported. True before the first
   * welcome, so that a valid key gets no 401, except on a gateway that may be open.
   */
  importedKeysMayExist(): boolean;
  /** The SHA-256 by which the daemon knows a managed key. */
  hashKey(key: string): string;
  /** Whether a key with this hash is the configured secret; compares in constant time. */
  isHashOf(hash: string, secret: string): boolean;
}

const needsMasterKey = plainFailure(
  403,
  "permission_error",
  `/admin needs a master key: ${setMasterKey}`,
);

/** The caller of a request to `area`, or the refusal. A promise only for the signature of a JWT. */
export function authenticate(
  credentials: Credentials,
  area: Area,
  request: CredentialSource,
): Authentication | Promise<Authentication> {
  const { masterKey, jwt } = credentials;
  const headers: RequestHeaders = request;
  const token = givenToken(request, area);
  const denial = typeof token === "string" ? wrongToken : token;
  if (typeof token === "string") {
    const isManaged = looksLikeManagedKey(token);
    const hash = masterKey !== null || isManaged ? credentials.hashKey(token) : "";
    if (masterKey !== null && credentials.isHashOf(hash, masterKey)) {
      const path = requestedPath(credentials, area, headers);
      return path.failure === null
        ? { ok: true, caller: headerCaller("authenticated", path, denial) }
        : { ok: false, failure: path.failure };
    }
    if (isManaged) {
      const path = requestedPath(credentials, area, headers);
      return { ok: true, caller: headerCaller(hash, path, denial) };
    }
    if (jwt !== null && looksLikeJwt(token)) {
      const verified = jwt.verify(token);
      return area === "admin" ? verified.then(deniedOnAdmin) : verified;
    }
  }
  // Clients of OpenAI's libraries always send some key.
  const certificatePath = request.tls?.userPath ?? null;
  if (area !== "admin" && certificatePath !== null)
    return { ok: true, caller: authenticatedCaller(certificatePath) };
  if (
    typeof token === "string" &&
    area !== "admin" &&
    credentials.importedKeysMayExist() &&
    couldBeImportedKey(token)
  ) {
    const path = requestedPath(credentials, area, headers);
    return { ok: true, caller: headerCaller(credentials.hashKey(token), path, denial) };
  }
  if (masterKey !== null || jwt !== null) return { ok: false, failure: denial };
  if (area === "admin" && !credentials.isAdminOpen) return { ok: false, failure: needsMasterKey };
  if (!credentials.open) return { ok: false, failure: denial };
  const path = requestedPath(credentials, area, headers);
  return {
    ok: true,
    caller: headerCaller("none", path, area === "admin" ? needsMasterKey : denial),
  };
}

/** A caller that may choose its user path. */
function headerCaller(
  credential: string,
  { userPath, failure }: RequestedPath,
  denial: Failure,
): Caller {
  const isOperator = credential === "authenticated" || credential === "none";
  return {
    userPath,
    credential,
    isOperator,
    administers: isOperator ? everything : undefined,
    keyId: "",
    allowLists: [],
    pathFailure: failure,
    denial,
  };
}

interface RequestedPath {
  readonly userPath: string;
  /** Why the header isn't a valid path. */
  readonly failure: Failure | null;
}

const pathOf = cacheByText((header) => normalizeUserPath(asUtf8(header)));

const rootPath: RequestedPath = { userPath: "/", failure: null };

/** The path in the user-path header. */
export function requestedPath(
  { userPathHeader }: Pick<Credentials, "userPathHeader">,
  area: Area,
  headers: RequestHeaders,
): RequestedPath {
  const header = area === "admin" ? undefined : headers.header(userPathHeader);
  if (header === undefined) return rootPath;
  const path = pathOf(header);
  // Node joins repeated headers with a comma, and no rule would match that path.
  if (path.ok && !(header.includes(",") && headers.isRepeated(userPathHeader)))
    return { userPath: path.path, failure: null };
  const name = displayName(userPathHeader);
  return { userPath: "/", failure: invalid(`invalid ${name} header`, name) };
}

function deniedOnAdmin(verified: Authentication): Authentication {
  return verified.ok
    ? {
        ok: false,
        failure: plainFailure(
          403,
          "permission_error",
          "a JWT does not open /admin: use the master key or a key of administration",
        ),
      }
    : verified;
}

/** Whether a request contains a key, valid or not. */
export function showsKey(request: RequestHeaders): boolean {
  return ["authorization", ...keyHeaders].some((name) => hasValue(request.header(name)));
}

/** Where the clients of OpenAI, Anthropic, Azure and Google put their key. */
type CredentialSource = RequestHeaders & Pick<Exchange, "path" | "query" | "tls">;

/** Paths of Gemini's own API, and of passthrough to it. */
const googlePath = /^(?:\/p\/[^/]+)?\/v1beta\//;

/** The token of a request, or the refusal without one. */
function givenToken(request: CredentialSource, area: Area): string | Failure {
  const authorization = request.header("authorization");
  if (hasValue(authorization))
    return (
      /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ??
      unauthorizedFailure("malformed credentials: expected Authorization: Bearer <token>")
    );
  for (const name of keyHeaders) {
    const token = request.header(name);
    if (hasValue(token)) return token;
  }
  // URLs end up in logs, so a key in the URL is accepted only where Google's clients send it.
  if (request.query.includes("key=") && area === "model" && googlePath.test(request.path)) {
    const token = new URLSearchParams(request.query).get("key") ?? undefined;
    if (hasValue(token)) return token;
  }
  return missingCredentials;
}

/** Made once: an open gateway needs it for every request. */
const missingCredentials = unauthorizedFailure("missing credentials");

/** Node decodes headers as Latin-1, clients send UTF-8: decodes valid UTF-8. */
function asUtf8(latin1: string): string {
  if (/^[\u0000-\u007f]*$/.test(latin1)) return latin1;
  const text = Buffer.from(latin1, "latin1").toString("utf8");
  return text.includes("\ufffd") ? latin1 : text;
}

/**
 * The caller of /metrics (docs/reference/metrics.md): the master key or the scrape token. Without
 * either, an open gateway serves it on loopback or on the ports of `server.admin` and `metrics`.
 */
export function authenticateScrape(
  credentials: Credentials,
  served: ServedEndpoints,
  request: CredentialSource,
): Authentication {
  const { masterKey, metricsToken, open } = credentials;
  const isOpen = open && (credentials.isMetricsOpen || served === "admin" || served === "metrics");
  const token = givenToken(request, "admin");
  if (typeof token === "string") {
    const hash = credentials.hashKey(token);
    const accepted = [masterKey, metricsToken].some(
      (secret) => secret !== null && credentials.isHashOf(hash, secret),
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
