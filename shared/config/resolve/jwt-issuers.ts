/**
 * Checks the JWT issuers of the file (docs/authentication.md): each has one kind of key, and a user
 * path that can be built from claims.
 */

import { isAbsent, show } from "../../checked.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import { append } from "../../long-lists.js";
import type { JwtIssuerConfig } from "../config.js";
import { type DeclaredIssuer, type ReadFields, validFields } from "../file/config-file.js";
import { type JwtFields, publicKeyAlgorithms, secretAlgorithms } from "../settings/jwt-settings.js";
import { type ProxyVariables, proxyFor } from "./outbound-proxies.js";
import { absolutePath } from "./resolve-settings.js";

/** The defaults of `type: kubernetes`: the issuer of most clusters, and a path by namespace. */
export const kubernetesDefaults = {
  issuer: "https://kubernetes.default.svc.cluster.local",
  userPath: "/k8s/{kubernetes.io/namespace}/{kubernetes.io/serviceaccount/name}",
} as const;

const keyKinds = ["jwks_file", "jwks_url", "secret", "secret_file"] as const;

interface Surroundings {
  readonly fileDirectory: string;
  readonly proxies: ProxyVariables;
}

/**
 * Checks how the fields of each issuer fit together. A field whose value was wrong counts as
 * present, and gets no further message.
 */
export function resolveIssuers(
  declared: readonly DeclaredIssuer[],
  surroundings: Surroundings,
  problems: string[],
): readonly JwtIssuerConfig[] {
  const issuers: JwtIssuerConfig[] = [];
  const first = new Map<string, string>();
  for (const { path, fields } of declared) {
    if (fields === null) continue;
    const before = problems.length;
    const { issuer, audience, userPath } = withDefaults(fields);
    if (issuer === null) problems.push(`${path}.issuer is required`);
    if (audience === null)
      problems.push(
        `${path}.audience is required: without it a token issued for another service would be accepted`,
      );
    if (userPath === null) problems.push(`${path}.user_path is required`);
    else if (userPath !== undefined)
      append(problems, templateProblems(userPath, `${path}.user_path`));
    const keys = keyKinds.filter((key) => fields[key] !== null);
    if (keys.length !== 1) {
      const butText = keys.length === 0 ? "" : `, not ${keys.join(" and ")}`;
      problems.push(`${path} must have exactly one of ${keyKinds.join(", ")}${butText}`);
    }
    const algorithms: readonly string[] =
      fields.secret === null && fields.secret_file === null
        ? publicKeyAlgorithms
        : secretAlgorithms;
    const unusable = (fields.algorithms ?? []).filter((name) => !algorithms.includes(name));
    if (unusable.length > 0 && keys.length === 1)
      problems.push(
        `${path}.algorithms can't hold ${unusable.join(", ")}: those for ${keys[0]} are ${algorithms.join(", ")}`,
      );
    if (!isAbsent(issuer) && !isAbsent(audience)) {
      const id = JSON.stringify([issuer, [...audience].sort()]);
      const earlier = first.get(id);
      if (earlier !== undefined)
        problems.push(`${path} has the same issuer and audience as ${earlier}: keep one of them`);
      first.set(id, earlier ?? path);
    }
    const valid = problems.length === before ? validFields(fields) : null;
    if (valid !== null && !isAbsent(issuer) && !isAbsent(audience) && !isAbsent(userPath))
      issuers.push({
        issuer,
        audience,
        algorithms: valid.algorithms ?? algorithms,
        userPath,
        models: valid.models,
        modelsClaim: valid.models_claim,
        keys: keysOf(valid, surroundings),
      });
  }
  return issuers;
}

type DefaultedFields = Pick<ReadFields<JwtFields>, "issuer" | "audience"> & {
  readonly userPath: ReadFields<JwtFields>["user_path"];
};

/** The fields with the defaults of the type; unknown, so undefined, if the type was wrong. */
function withDefaults({
  type,
  issuer,
  audience,
  user_path: userPath,
}: ReadFields<JwtFields>): DefaultedFields {
  const preset =
    type === undefined
      ? { issuer: undefined, userPath: undefined }
      : type === "kubernetes"
        ? kubernetesDefaults
        : { issuer: null, userPath: null };
  return {
    issuer: issuer === null ? preset.issuer : issuer,
    audience,
    userPath: userPath === null ? preset.userPath : userPath,
  };
}

function keysOf(
  fields: JwtFields,
  { fileDirectory, proxies }: Surroundings,
): JwtIssuerConfig["keys"] {
  if (fields.secret !== null) return { kind: "secret", secret: fields.secret };
  if (fields.secret_file !== null)
    return { kind: "secret-file", path: absolutePath(fields.secret_file, fileDirectory) };
  return fields.jwks_url !== null
    ? { kind: "url", url: fields.jwks_url, proxy: proxyFor(fields.jwks_url, null, proxies) }
    : { kind: "file", path: absolutePath(fields.jwks_file ?? "", fileDirectory) };
}

/**
 * The problems of a claim's name or of a template. A template has a leading slash or braces; its
 * path is checked with a letter in place of each claim.
 */
function templateProblems(text: string, fieldPath: string): readonly string[] {
  if (!text.startsWith("/") && !/[{}]/.test(text)) return [];
  if (!text.startsWith("/"))
    return [`${fieldPath} must begin with / when it has braces, not ${show(text)}`];
  if (/\{\s*\}|\{[^}]*(?:\{|$)|^[^{]*\}|\}[^{]*\}/.test(text))
    return [`${fieldPath} has braces that don't enclose a claim's name: ${show(text)}`];
  if (!text.includes("{"))
    return [
      `${fieldPath} needs a claim in braces, such as /team/{sub}: ${show(text)} would be the same path for every token`,
    ];
  const path = normalizeUserPath(text.replace(/\{[^}]*\}/g, "x"));
  return path.ok ? [] : [`${fieldPath} ${path.reason}, as ${show(text)} does`];
}
