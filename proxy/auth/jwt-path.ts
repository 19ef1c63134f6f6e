/**
 * Reads the user path and the models from the claims of a verified token (docs/authentication.md).
 * It doesn't check the signature.
 */

import { type ModelPatterns, parseModelPatterns } from "../../shared/access/allowed-models.js";
import { jwtBytesMax } from "../../shared/bounds.js";
import { isObject } from "../../shared/checked.js";
import { normalizeUserPath } from "../../shared/domain/user-path.js";

type Claims = Readonly<Record<string, unknown>>;

/** Three parts in base64url, the last of which may be empty: any other token isn't a JWT. */
export function looksLikeJwt(token: string): boolean {
  return token.length <= jwtBytesMax && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}

/** The issuer that an unverified token names; null when it can't be read. */
export function claimedIssuer(token: string): string | null {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(
        token.slice(token.indexOf(".") + 1, token.lastIndexOf(".")),
        "base64url",
      ).toString("utf8"),
    );
    return isObject(claims) && typeof claims["iss"] === "string" ? claims["iss"] : null;
  } catch {
    // Not a JWT: refused like any wrong token.
    return null;
  }
}

/**
 * The user path that these claims give by a configured `user_path`, or null when they give none.
 *
 * A name such as `team` is a claim that holds the whole path. A text with a leading slash is a
 * template: each `{claim}` is exactly one segment, so a value that is empty or holds a slash gives
 * no path. It would otherwise lead out of its place in the tree.
 */
export function pathFromClaims(userPath: string, claims: Claims): string | null {
  if (!userPath.startsWith("/")) {
    const path = claimText(claims, userPath);
    return path === null ? null : normalizedOrNull(path);
  }
  let isComplete = true;
  const path = userPath.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const value = claimText(claims, name.trim());
    if (value === null || value.includes("/")) isComplete = false;
    return value ?? "";
  });
  return isComplete ? normalizedOrNull(path) : null;
}

/**
 * The models that a claim names, in a list or in a text with spaces or commas; null if it names
 * none, or something else.
 */
export function modelsFromClaims(claim: string, claims: Claims): ModelPatterns | null {
  const value = claimAt(claims, claim);
  const names =
    typeof value === "string" ? value.split(/[\s,]+/).filter((name) => name !== "") : value;
  const models = parseModelPatterns(names, claim);
  return models.ok ? models.value : null;
}

function normalizedOrNull(path: string): string | null {
  const result = normalizeUserPath(path);
  return result.ok ? result.path : null;
}

/** A claim as text; null unless it is a text that isn't empty, or an integer. */
function claimText(claims: Claims, name: string): string | null {
  const value = claimAt(claims, name);
  if (typeof value === "string") return value.trim() === "" ? null : value;
  return Number.isSafeInteger(value) ? String(value) : null;
}

/**
 * A claim by its name; `kubernetes.io/serviceaccount/name` is the claim of that name if there is
 * one, else `serviceaccount/name` in the claim `kubernetes.io`. Names may hold dots and slashes
 * themselves, so the longest one that is there is taken first.
 */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let slash = name.lastIndexOf("/"); slash > 0; slash = name.lastIndexOf("/", slash - 1)) {
    const outer = name.slice(0, slash);
    if (!Object.hasOwn(claims, outer)) continue;
    const inner = claims[outer];
    return isObject(inner) ? claimAt(inner, name.slice(slash + 1)) : undefined;
  }
  return undefined;
}
