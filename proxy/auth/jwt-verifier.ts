/**
 * Callers by JWT (docs/authentication.md): selects the configured issuer of a token, makes a caller
 * of its verified claims, and caches the result. `jose-issuers.ts` verifies signatures and claims.
 */
import type { ModelPatterns } from "../../shared/access/allowed-models.js";
import { verifiedTokenMs, verifiedTokensMax } from "../../shared/bounds.js";
import { plainFailure } from "../../shared/error-code.js";
import { authenticatedCaller, type Caller, type RefusedCaller, wrongToken } from "./caller.js";
import { claimedIssuer, modelsFromClaims, pathFromClaims } from "./jwt-path.js";

type TokenClaims = Readonly<Record<string, unknown>>;

export type Judgement =
  | {
      readonly kind: "verified";
      readonly claims: Readonly<Record<string, unknown>> & { readonly exp: number };
    }
  /** `expiredAtMs`: of a genuine token, whose time is over. */
  | { readonly kind: "wrong"; readonly reason: string; readonly expiredAtMs?: number }
  /** No keys are loaded yet, so the token can't be verified. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** One configured issuer. */
export interface JwtIssuer {
  readonly issuer: string;
  readonly userPath: string;
  readonly models: ModelPatterns | null;
  readonly modelsClaim: string | null;
  /** Signature, algorithm, issuer, audience, expiry. Never rejects. */
  judge(token: string, nowMs: number): Promise<Judgement>;
}

/** A token that is accepted. */
interface VerifiedJwt {
  readonly ok: true;
  readonly caller: Caller;
  /** The names by which a denial matches it. */
  readonly claims: TokenClaims;
  readonly expiresAtMs: number;
}

export interface JwtVerifier {
  /** Caches verified tokens for a moment. Never rejects. */
  verify(token: string): Promise<VerifiedJwt | RefusedCaller>;
}

interface JwtPorts {
  readonly nowMs: () => number;
  /** Whether a valid token with these claims is denied. */
  readonly isDenied: (claims: TokenClaims) => boolean;
  /** A digest of the token: tokens aren't kept in memory. */
  readonly digest: (token: string) => string;
}

interface RememberedToken {
  readonly verified: VerifiedJwt;
  readonly untilMs: number;
}

/**
 * The allow lists of a token: its own and its issuer's, if any. Null if the token must have one and
 * doesn't.
 */
function allowListsOf(
  { models, modelsClaim }: Pick<JwtIssuer, "models" | "modelsClaim">,
  claims: TokenClaims,
): readonly ModelPatterns[] | null {
  const issuerModels = models === null ? [] : [models];
  if (modelsClaim === null) return issuerModels;
  const tokenModels = modelsFromClaims(modelsClaim, claims);
  return tokenModels === null ? null : [...issuerModels, tokenModels];
}

export function createJwtVerifier(
  issuers: readonly JwtIssuer[],
  { nowMs, isDenied, digest }: JwtPorts,
): JwtVerifier {
  // Ordered by last use; the first is evicted.
  const remembered = new Map<string, RememberedToken>();

  function remember(key: string, entry: RememberedToken): void {
    remembered.delete(key);
    remembered.set(key, entry);
    if (remembered.size > verifiedTokensMax) remembered.delete(remembered.keys().next().value!);
  }

  async function judge(token: string, key: string): Promise<VerifiedJwt | RefusedCaller> {
    const claimedIss = claimedIssuer(token);
    let unavailable: string | null = null;
    let wrong: { readonly reason: string; readonly expiredAtMs?: number } = {
      reason: "no configured issuer",
    };
    for (const issuer of issuers) {
      if (issuer.issuer !== claimedIss) continue;
      const now = nowMs();
      const judgement = await issuer.judge(token, now);
      if (judgement.kind === "unavailable") unavailable = judgement.reason;
      else if (judgement.kind === "wrong") wrong = judgement;
      else {
        const userPath = pathFromClaims(issuer.userPath, judgement.claims);
        if (userPath === null) {
          wrong = { reason: `its claims give no user path for ${issuer.userPath}` };
          continue;
        }
        const allowLists = allowListsOf(issuer, judgement.claims);
        if (allowLists === null) {
          wrong = { reason: `its claim ${issuer.modelsClaim} is no list of models` };
          continue;
        }
        const { iss, jti, sub, exp } = judgement.claims;
        const verified: VerifiedJwt = {
          ok: true,
          caller: authenticatedCaller(userPath, allowLists),
          claims: { iss, jti, sub },
          expiresAtMs: exp * 1000,
        };
        remember(key, { verified, untilMs: Math.min(exp * 1000, now + verifiedTokenMs) });
        return unlessDenied(verified);
      }
    }
    if (unavailable !== null)
      return {
        ok: false,
        failure: plainFailure(
          503,
          "internal_error",
          "the keys of the token's issuer can't be loaded",
        ),
        note: unavailable,
      };
    const { reason, ...expiry } = wrong;
    return { ok: false, failure: wrongToken, note: `JWT refused: ${reason}`, ...expiry };
  }

  /** Checked each time, since a denial takes effect immediately. */
  function unlessDenied(verified: VerifiedJwt): VerifiedJwt | RefusedCaller {
    return isDenied(verified.claims)
      ? { ok: false, failure: wrongToken, note: "JWT refused: it is denied" }
      : verified;
  }

  return {
    async verify(token) {
      const key = digest(token);
      const cached = remembered.get(key);
      if (cached === undefined || cached.untilMs <= nowMs()) return judge(token, key);
      remember(key, cached);
      return unlessDenied(cached.verified);
    },
  };
}
