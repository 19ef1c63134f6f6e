/**
 * The request headers that Sluice itself reads, besides the one of the user path, which
 * `server.user_path_header` names.
 */
import { closestName } from "../../shared/config/closest-name.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Exchange } from "./exchange.js";

/** `none`: no other model serves a request whose rule or budget is exhausted. */
export const fallbackHeader = "x-sluice-fallback";

/** The provider of a request about stored objects. */
export const providerHeader = "x-sluice-provider";

/**
 * Why a request to a model is refused because of its headers; null if it isn't. A misspelt header
 * would have no effect: the request would count at another user path, for example.
 */
export function unknownOwnHeader(
  { rawHeaders }: Pick<Exchange, "rawHeaders">,
  userPathHeader: string,
): Failure | null {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    // One comparison rules out nearly all names.
    if (name.charCodeAt(8) !== hyphen || !/^x-sluice-/i.test(name)) continue;
    const knownNames = [userPathHeader, fallbackHeader, providerHeader];
    if (!knownNames.includes(name.toLowerCase())) return refusal(name, knownNames);
  }
  return null;
}

const hyphen = "-".charCodeAt(0);

function refusal(name: string, knownNames: readonly string[]): Failure {
  const quotedName = JSON.stringify(name.slice(0, 64));
  const closest = closestName(name, knownNames);
  return invalid(
    closest === null
      ? `unknown header ${quotedName}: expected ${knownNames.map(displayName).join(", ")}`
      : `unknown header ${quotedName}; did you mean ${displayName(closest)}?`,
    name.slice(0, 64),
  );
}

/** `x-sluice-user-path` as people write it: `X-Sluice-User-Path`. */
export function displayName(header: string): string {
  return header.replace(
    /(^|-)([a-z])/g,
    (_, dash: string, letter: string) => dash + letter.toUpperCase(),
  );
}
