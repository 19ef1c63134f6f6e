/** The JWT issuers of the file, checked (CONTRACT section 2): one kind of key each, and a path that can be made from claims. */
import { normalizeUserPath } from "../user-path.js";
import { show } from "../checked.js";
import type { JwtIssuerConfig } from "./config.js";
import type { DeclaredIssuer } from "./config-file.js";
import { absolutePath } from "./default-paths.js";
import { type JwtFields, publicKeyAlgorithms, secretAlgorithms } from "./jwt-settings.js";

/** What `type: kubernetes` fills in: the issuer of most clusters, and namespace and service account as the path. */
export const kubernetesDefaults = {
  issuer: "https://kubernetes.default.svc.cluster.local",
  userPath: "/k8s/{kubernetes.io/namespace}/{kubernetes.io/serviceaccount/name}",
} as const;

const keyKinds = ["jwks_file", "jwks_url", "secret"] as const;

export function buildIssuers(declared: readonly DeclaredIssuer[], cwd: string, problems: string[]): readonly JwtIssuerConfig[] {
  const issuers: JwtIssuerConfig[] = [];
  const first = new Map<string, string>();
  for (const { at, fields } of declared) {
    if (fields === null) continue;
    const before = problems.length;
    const preset = fields.type === "kubernetes" ? kubernetesDefaults : null;
    const issuer = fields.issuer ?? preset?.issuer ?? "";
    const userPath = fields.user_path ?? preset?.userPath ?? "";
    const audience = fields.audience ?? [];
    if (issuer === "") problems.push(`${at}.issuer is required`);
    if (audience.length === 0) problems.push(`${at}.audience is required: without it a token that was made for another service would be taken`);
    if (userPath === "") problems.push(`${at}.user_path is required`);
    else problems.push(...templateProblems(userPath, `${at}.user_path`));
    const keys = keyKinds.filter((key) => fields[key] !== null);
    if (keys.length !== 1) problems.push(`${at} must have exactly one of ${keyKinds.join(", ")}${keys.length === 0 ? "" : `, not ${keys.join(" and ")}`}`);
    const known: readonly string[] = fields.secret === null ? publicKeyAlgorithms : secretAlgorithms;
    const algorithms = fields.algorithms ?? known;
    const strange = algorithms.filter((name) => !known.includes(name));
    if (strange.length > 0 && keys.length === 1) problems.push(`${at}.algorithms can't hold ${strange.join(", ")}: with ${keys[0]} it is ${known.join(", ")}`);
    const same = JSON.stringify([issuer, [...audience].sort()]);
    const earlier = first.get(same);
    if (earlier !== undefined && issuer !== "") problems.push(`${at} has the same issuer and audience as ${earlier}: keep one of them`);
    first.set(same, earlier ?? at);
    if (problems.length === before) issuers.push({ issuer, audience, algorithms, userPath, keys: keysOf(fields, cwd) });
  }
  return issuers;
}

function keysOf(fields: JwtFields, cwd: string): JwtIssuerConfig["keys"] {
  if (fields.secret !== null) return { kind: "secret", secret: fields.secret };
  return fields.jwks_url !== null ? { kind: "url", url: fields.jwks_url } : { kind: "file", path: absolutePath(fields.jwks_file ?? "", cwd) };
}

/** What is wrong with a claim's name or a template. A template is told by its slash or its braces; what stands between the braces is judged by filling it with a letter. */
function templateProblems(text: string, at: string): readonly string[] {
  if (!text.startsWith("/") && !/[{}]/.test(text)) return [];
  if (!text.startsWith("/")) return [`${at} must begin with / when it has braces, not ${show(text)}`];
  if (/\{\s*\}|\{[^}]*(?:\{|$)|^[^{]*\}|\}[^{]*\}/.test(text)) return [`${at} has braces that don't enclose a claim's name: ${show(text)}`];
  if (!text.includes("{")) return [`${at} needs a claim in braces, such as /team/{sub}: ${show(text)} would be the same path for all`];
  const path = normalizeUserPath(text.replace(/\{[^}]*\}/g, "x"));
  return path.ok ? [] : [`${at} ${path.reason}, as ${show(text)} does`];
}
