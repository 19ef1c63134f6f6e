/**
 * Judges JWTs with `jose`: signature, algorithm, issuer, audience, `exp` and `nbf`. This file alone
 * knows the package, and where keys come from: a file, an address, a secret. The package is loaded
 * only when an issuer is configured.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import type { JSONWebKeySet, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import { assert } from "../../shared/assert.js";
import { keySetBytesMax, keySetLoadMs } from "../../shared/bounds.js";
import type { JwtIssuerConfig } from "../../shared/config/config.js";
import type { Log } from "../../shared/log.js";
import { isMoment } from "../../shared/time.js";
import { createEgress } from "../egress/egress.js";
import { createEgressAgent } from "../egress/egress-agent.js";
import { createIssuerKeys, type IssuerKeyAges, type IssuerKeys } from "./issuer-keys.js";
import type { Judgement, JwtIssuer } from "./jwt-verifier.js";

type Jose = typeof import("jose");
type UrlKeys = Extract<JwtIssuerConfig["keys"], { readonly kind: "url" }>;

/** Clocks of an issuer and of this host may differ by as much. */
const clockToleranceSeconds = 10;

/**
 * A file is reloaded after a second. An address is reloaded after ten minutes, and for an unknown
 * key immediately, but at most every ten seconds.
 */
const fileAges: IssuerKeyAges = { freshMs: 1_000, waitForFresh: true, cooldownMs: 1_000 };
const urlAges: IssuerKeyAges = { freshMs: 600_000, waitForFresh: false, cooldownMs: 10_000 };

/** SHA-256 of a token. */
export function digestToken(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/** Begins to load the keys of every issuer. */
export async function createJwtIssuers(
  configs: readonly JwtIssuerConfig[],
  log: Log,
): Promise<readonly JwtIssuer[]> {
  const jose = await import("jose");
  return configs.map((config) => {
    const options: JWTVerifyOptions = {
      issuer: config.issuer,
      audience: [...config.audience],
      algorithms: [...config.algorithms],
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ["exp"],
    };
    const { keys } = config;
    if (keys.kind === "secret") {
      const secret = new TextEncoder().encode(keys.secret);
      return {
        ...claimRules(config),
        judge: (token, nowMs) =>
          judgeToken(jose, () =>
            verify(jose, token, () => secret, { ...options, currentDate: new Date(nowMs) }),
          ),
      };
    }
    assert(keys.kind !== "secret-file", "secrets have been read");
    const place = keys.kind === "url" ? keys.url : keys.path;
    const source = createIssuerKeys<JWTVerifyGetKey>(keys.kind === "url" ? urlAges : fileAges, {
      load: () => (keys.kind === "url" ? fetchText(keys) : readFile(keys.path, "utf8")),
      parse: (text) => parseKeySet(jose, text),
      monoMs: () => performance.now(),
      onLoaded: (isFirst) =>
        log.info(
          { issuer: config.issuer, from: place },
          isFirst ? "loaded an issuer's keys" : "an issuer's keys have changed",
        ),
      onFailed: (reason, keptOld) =>
        log.warn(
          { issuer: config.issuer, from: place, reason },
          keptOld
            ? "an issuer's keys can't be loaded: the old ones stay in use"
            : "an issuer's keys can't be loaded: its tokens get 503",
        ),
    });
    return {
      ...claimRules(config),
      judge: (token, nowMs) =>
        judgeToken(jose, () =>
          verifyBySource(jose, token, source, { ...options, currentDate: new Date(nowMs) }),
        ),
    };
  });
}

function claimRules({
  issuer,
  userPath,
  models,
  modelsClaim,
}: JwtIssuerConfig): Omit<JwtIssuer, "judge"> {
  return { issuer, userPath, models, modelsClaim };
}

type VerifiedClaims = Extract<Judgement, { readonly kind: "verified" }>["claims"];

async function judgeToken(
  jose: Jose,
  run: () => Promise<VerifiedClaims | null>,
): Promise<Judgement> {
  try {
    const claims = await run();
    return claims === null
      ? { kind: "unavailable", reason: "no keys could be loaded" }
      : { kind: "verified", claims };
  } catch (error) {
    if (error instanceof jose.errors.JWTExpired) {
      const expiredAtMs = (error.payload.exp ?? 0) * 1000;
      const expiry = isMoment(expiredAtMs) ? { expiredAtMs } : {};
      return { kind: "wrong", reason: error.message, ...expiry };
    }
    if (error instanceof jose.errors.JOSEError) return { kind: "wrong", reason: error.message };
    // Keys that WebCrypto can't take, such as an elliptic point that isn't on its curve.
    return {
      kind: "wrong",
      reason: `not verifiable: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** Null when no keys could be loaded. */
async function verifyBySource(
  jose: Jose,
  token: string,
  source: IssuerKeys<JWTVerifyGetKey>,
  options: JWTVerifyOptions,
): Promise<VerifiedClaims | null> {
  const keys = await source.current();
  if (keys === null) return null;
  try {
    return await verify(jose, token, keys, options);
  } catch (error) {
    const mayBeRotated =
      error instanceof jose.errors.JWKSNoMatchingKey ||
      // The new key may have the id of the old one (DataZooDE/quack-oauth#15).
      error instanceof jose.errors.JWSSignatureVerificationFailed;
    if (!mayBeRotated) throw error;
    const newer = await source.newer(keys);
    if (newer === null) throw error;
    return verify(jose, token, newer, options);
  }
}

async function verify(
  jose: Jose,
  token: string,
  keys: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<VerifiedClaims> {
  try {
    const { payload } = await jose.jwtVerify(token, keys, options);
    return { ...payload, exp: payload.exp! };
  } catch (error) {
    // Without a key id several keys may fit: each is tried.
    if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        const { payload } = await jose.jwtVerify(token, key, options);
        return { ...payload, exp: payload.exp! };
      } catch (inner) {
        if (!(inner instanceof jose.errors.JWSSignatureVerificationFailed)) throw inner;
      }
    }
    throw new jose.errors.JWSSignatureVerificationFailed();
  }
}

function parseKeySet(jose: Jose, text: string): JWTVerifyGetKey {
  const value: unknown = JSON.parse(text);
  return jose.createLocalJWKSet(value as JSONWebKeySet);
}

/**
 * A body of at most `keySetBytesMax`, complete after at most `keySetLoadMs`. Redirects aren't
 * followed: the operator named this address.
 */
function fetchText({ url, proxy }: UrlKeys): Promise<string> {
  return new Promise((resolve, reject) => {
    const get = url.startsWith("https:") ? getHttps : getHttp;
    const egress = createEgress({ proxy, caFile: null });
    const agent = createEgressAgent(new URL(url).protocol, egress, {
      connectTimeoutMs: keySetLoadMs,
    });
    const request = get(
      url,
      {
        headers: { accept: "application/json" },
        signal: AbortSignal.timeout(keySetLoadMs),
        agent,
      },
      (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        if (response.statusCode !== 200)
          request.destroy(new Error(`it answered ${response.statusCode}`));
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > keySetBytesMax)
            request.destroy(new Error(`its key set is larger than ${keySetBytesMax} bytes`));
          else chunks.push(chunk);
        });
        response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
        response.on("error", reject);
      },
    );
    request.on("error", (error: Error) =>
      reject(
        error.name === "AbortError" || error.name === "TimeoutError"
          ? new Error(`it was silent for ${keySetLoadMs} ms`)
          : error,
      ),
    );
  });
}
