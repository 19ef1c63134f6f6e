/**
 * What an issuer of JWTs is made of in the file, in one table that `docs/configuration.md` is
 * checked against. What the fields mean together is in `jwt-issuers.ts`.
 */
import { choice, filePath, keySecret, list, text, type ValueKind, webUrl } from "./setting-kind.js";

export interface JwtSetting<T> {
  readonly kind: ValueKind<T>;
  /** The default as an operator reads it; null: required. */
  readonly shown: string | null;
  readonly meaning: string;
}

function field<T>(row: JwtSetting<T>): JwtSetting<T> {
  return row;
}

/** What a JWKS may sign with. `none` isn't among them and can't be configured. */
export const publicKeyAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;
/**
 * What a shared secret signs with. Never mixed with the others: a public key must not be taken for
 * a secret.
 */
export const secretAlgorithms = ["HS256", "HS384", "HS512"] as const;
export type JwtAlgorithm = (typeof publicKeyAlgorithms)[number] | (typeof secretAlgorithms)[number];

/** By the key in the file, in an entry of `jwt`. */
export const jwtSettings = {
  type: field({
    kind: choice(["generic", "kubernetes"]),
    shown: "generic",
    meaning:
      "kubernetes knows the issuer and the user path of a cluster's service accounts, so that these may be left out.",
  }),
  issuer: field({ kind: text, shown: null, meaning: "What iss must be, letter by letter." }),
  audience: field({
    kind: list,
    shown: null,
    meaning:
      "What aud must hold, one of them: the name under which tokens are made for this gateway.",
  }),
  jwks_file: field({
    kind: filePath,
    shown: "none",
    meaning: "The issuer's public keys as a JWKS, in a file that is read again when it changes.",
  }),
  jwks_url: field({
    kind: webUrl,
    shown: "none",
    meaning:
      "The issuer's public keys as a JWKS, at an address that is asked again for a key that isn't known, and every ten minutes.",
  }),
  secret: field({
    kind: keySecret,
    shown: "none",
    meaning: "A shared secret, for HS256, HS384 and HS512.",
  }),
  algorithms: field({
    kind: choiceList([...publicKeyAlgorithms, ...secretAlgorithms]),
    shown: "all for its kind of key",
    meaning: "The signatures that are taken.",
  }),
  user_path: field({
    kind: text,
    shown: null,
    meaning: "A claim that holds the user path, or a path with claims in braces.",
  }),
} as const;

function choiceList<const T extends string>(known: readonly T[]): ValueKind<readonly T[]> {
  return {
    label: "list",
    expected: `must be a list that holds nothing but ${known.join(", ")}`,
    quotable: () => true,
    parse: (raw) => {
      const given = list.parse(raw)?.map((item) => known.find((name) => name === item));
      return given === undefined || given.length === 0 || given.includes(undefined)
        ? undefined
        : given.filter((name) => name !== undefined);
    },
  };
}

type Parsed<K> = K extends JwtSetting<infer T> ? T : never;
/** The checked fields; null for those that weren't given. */
export type JwtFields = {
  readonly [K in keyof typeof jwtSettings]: Parsed<(typeof jwtSettings)[K]> | null;
};
