/**
 * The fields of a JWT issuer in the file. Which fields an issuer needs depends on its type and on
 * its kind of key: `../resolve/jwt-issuers.ts` checks that.
 */
import { choice } from "../kinds/choice-kinds.js";
import { allowedModels, list, listOfNames } from "../kinds/list-kinds.js";
import { signingSecret } from "../kinds/secret-kinds.js";
import { filePath, text } from "../kinds/text-kinds.js";
import { webUrl } from "../kinds/url-kinds.js";
import { type FieldValues, field } from "./setting.js";

/** The algorithms for keys of a JWKS. `none` isn't among them and can't be configured. */
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
 * The algorithms for a shared secret. Never mixed with the others: a public key must not be
 * accepted as a secret.
 */
export const secretAlgorithms = ["HS256", "HS384", "HS512"] as const;

/** By the key in the file, in an entry of `jwt`. */
export const jwtSettings = {
  type: field({
    kind: choice(["generic", "kubernetes"]),
    defaultText: "generic",
    example: "generic",
    meaning: "kubernetes sets issuer and user path for a cluster's service accounts.",
  }),
  issuer: field({
    kind: text,
    defaultText: null,
    example: "https://login.example.com/",
    meaning: "Exact value of iss.",
  }),
  audience: field({
    kind: list,
    defaultText: null,
    example: "sluice",
    meaning: "Names of this gateway; aud must contain one.",
  }),
  jwks_file: field({
    kind: filePath,
    defaultText: "none",
    example: "/etc/sluice/jwks.json",
    meaning: "File with the issuer's JWKS, read again when it changes.",
  }),
  jwks_url: field({
    kind: webUrl,
    defaultText: "none",
    example: "https://login.example.com/.well-known/jwks.json",
    meaning: "URL of the issuer's JWKS, fetched every ten minutes and for unknown keys.",
  }),
  secret: field({
    kind: signingSecret,
    defaultText: "none",
    example: '"${JWT_SECRET}"',
    meaning: "Shared secret for HS256, HS384 and HS512.",
  }),
  secret_file: field({
    kind: filePath,
    defaultText: "none",
    example: "/run/secrets/jwt",
    meaning: "File with the shared secret, read at the start.",
  }),
  algorithms: field({
    kind: listOfNames([...publicKeyAlgorithms, ...secretAlgorithms], { itemsMin: 1 }),
    defaultText: "all for its kind of key",
    example: "[RS256]",
    meaning: "Accepted signature algorithms.",
  }),
  user_path: field({
    kind: text,
    defaultText: null,
    example: "/team/{team}/{sub}",
    meaning: "Claim with the user path, or a path with claims in braces.",
  }),
  models: field({
    kind: allowedModels,
    defaultText: "any",
    example: "[gpt-4o, openai/*]",
    meaning: "Models that these callers may use, such as gpt-4o and openai/*.",
  }),
  models_claim: field({
    kind: text,
    defaultText: "none",
    example: "models",
    meaning: "Claim with the models that the caller may use, as a list or separated text.",
  }),
} as const;

/** The checked fields of an issuer; null for those that the file leaves out. */
export type JwtFields = FieldValues<typeof jwtSettings>;
