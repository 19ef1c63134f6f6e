/**
 * The JWT issuers of the file, checked (CONTRACT section 2): one kind of key each, and a path that
 * can be made from claims.
 */
import { show } from "../../checked.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import type { JwtIssuerConfig } from "../config.js";
import { type DeclaredIssuer, type ReadFields, validFields } from "../file/config-file.js";
import { type JwtFields, publicKeyAlgorithms, secretAlgorithms } from "../settings/jwt-settings.js";
import { absolutePath } from "./default-paths.js";

/**
 * What `type: kubernetes` fills in: the issuer of most clusters, and namespace and service account
 * as the path.
 */
export const kubernetesDefaults = {
  issuer: "https://kubernetes.default.svc.cluster.local",
  userPath: "/k8s/{kubernetes.io/namespace}/{kubernetes.io/serviceaccount/name}",
} as const;

const keyKinds = ["jwks_file", "jwks_url", "secret"] as const;

/**
 * Checks what the fields of each issuer mean together. A field whose value was wrong is given, but
 * nothing more is said of it.
 */
export function buildIssuers(
  declared: readonly DeclaredIssuer[],
  cwd: string,
  problems: string[],
): readonly JwtIssuerConfig[] {
  const issuers: JwtIssuerConfig[] = [];
  const first = new Map<string, string>();
  for (const { at, fields } of declared) {
    if (fields === null) continue;
    const before = problems.length;
    const { issuer, audience, userPath } = withDefaults(fields);
    if (issuer === null) problems.push(`${at}.issuer is required`);
    if (audience === null)
      problems.push(
        `${at}.audience is required: without it a token that was made for another service would be taken`,
      );
    if (userPath === null) problems.push(`${at}.user_path is required`);
    else if (userPath !== undefined)
      problems.push(...templateProblems(userPath, `${at}.user_path`));
    const keys = keyKinds.filter((key) => fields[key] !== null);
    if (keys.length !== 1)
      problems.push(
        `${at} must have exactly one of ${keyKinds.join(", ")}${keys.length === 0 ? "" : `, not ${keys.join(" and ")}`}`,
      );
    const known: readonly string[] =
      fields.secret === null ? publicKeyAlgorithms : secretAlgorithms;
    const strange = (fields.algorithms ?? []).filter((name) => !known.includes(name));
    if (strange.length > 0 && keys.length === 1)
      problems.push(
        `${at}.algorithms can't hold ${strange.join(", ")}: with ${keys[0]} it is ${known.join(", ")}`,
      );
    if (isGiven(issuer) && isGiven(audience)) {
      const same = JSON.stringify([issuer, [...audience].sort()]);
      const earlier = first.get(same);
      if (earlier !== undefined)
        problems.push(`${at} has the same issuer and audience as ${earlier}: keep one of them`);
      first.set(same, earlier ?? at);
    }
    const whole = problems.length === before ? validFields(fields) : null;
    if (whole !== null && isGiven(issuer) && isGiven(audience) && isGiven(userPath))
      issuers.push({
        issuer,
        audience,
        algorithms: whole.algorithms ?? known,
        userPath,
        keys: keysOf(whole, cwd),
      });
  }
  return issuers;
}

type Defaulted = Pick<ReadFields<JwtFields>, "issuer" | "audience"> & {
  readonly userPath: ReadFields<JwtFields>["user_path"];
};

/** With what the type fills in. Where the type was wrong, nobody knows whether it would have. */
function withDefaults({
  type,
  issuer,
  audience,
  user_path: userPath,
}: ReadFields<JwtFields>): Defaulted {
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

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

function keysOf(fields: JwtFields, cwd: string): JwtIssuerConfig["keys"] {
  if (fields.secret !== null) return { kind: "secret", secret: fields.secret };
  return fields.jwks_url !== null
    ? { kind: "url", url: fields.jwks_url }
    : { kind: "file", path: absolutePath(fields.jwks_file ?? "", cwd) };
}

/**
 * What is wrong with a claim's name or a template. A template is told by its slash or its braces;
 * what stands between the braces is judged by filling it with a letter.
 */
function templateProblems(text: string, at: string): readonly string[] {
  if (!text.startsWith("/") && !/[{}]/.test(text)) return [];
  if (!text.startsWith("/"))
    return [`${at} must begin with / when it has braces, not ${show(text)}`];
  if (/\{\s*\}|\{[^}]*(?:\{|$)|^[^{]*\}|\}[^{]*\}/.test(text))
    return [`${at} has braces that don't enclose a claim's name: ${show(text)}`];
  if (!text.includes("{"))
    return [
      `${at} needs a claim in braces, such as /team/{sub}: ${show(text)} would be the same path for all`,
    ];
  const path = normalizeUserPath(text.replace(/\{[^}]*\}/g, "x"));
  return path.ok ? [] : [`${at} ${path.reason}, as ${show(text)} does`];
}
