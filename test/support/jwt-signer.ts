/** Signs JWTs as an issuer does, with jose, and publishes its public keys. */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

export interface Signer {
  readonly kid: string;
  /** The public key, as it stands in a key set. */
  readonly jwk: object;
  /** A token with these claims; `exp` is in an hour unless they say otherwise. */
  sign(
    claims: Readonly<Record<string, unknown>>,
    header?: { readonly kid?: string | undefined },
  ): Promise<string>;
}

export async function makeSigner(kid: string, alg = "ES256"): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    kid,
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
    sign: (claims, header = { kid }) =>
      new SignJWT({ exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
        .setProtectedHeader({ alg, ...(header.kid === undefined ? {} : { kid: header.kid }) })
        .sign(privateKey),
  };
}

export function signWithSecret(secret: string, claims: JWTPayload, alg = "HS256"): Promise<string> {
  return new SignJWT({ exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
    .setProtectedHeader({ alg })
    .sign(new TextEncoder().encode(secret));
}

export function keySet(...signers: readonly Signer[]): string {
  return JSON.stringify({ keys: signers.map(({ jwk }) => jwk) });
}

/** The claims of a Kubernetes service-account token. */
export function serviceAccountClaims(
  namespace: string,
  name: string,
): Readonly<Record<string, unknown>> {
  return {
    iss: "https://kubernetes.default.svc.cluster.local",
    aud: ["sluice"],
    sub: `system:serviceaccount:${namespace}:${name}`,
    "kubernetes.io": { namespace, serviceaccount: { name, uid: "0b1c" } },
  };
}
