/**
 * Checks `server.tls` (docs/reference/configuration.md): which settings belong together, and
 * whether a user path can be built from a client certificate. The proxy reads the files
 * (`proxy/http/tls-files.ts`).
 */
import { show } from "../../checked.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import type { SettingValues } from "../settings/settings.js";

type TlsSetting = "tlsCertFile" | "tlsKeyFile" | "tlsClientCaFile" | "tlsClientId" | "tlsUserPath";
type TlsValues = Pick<SettingValues, TlsSetting>;

export interface TlsConfig {
  /** Absolute paths of PEM files. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Null if clients need no certificate. */
  readonly clientCaFile: string | null;
  /** The callers that their certificates identify; null if none. */
  readonly clients: ClientCertificates | null;
}

export interface ClientCertificates {
  /** A name in a certificate, with `{parts}`, such as `spiffe://example.org/ns/{ns}/sa/{sa}`. */
  readonly id: string;
  /** The user path, with the same parts, such as `/{ns}/{sa}`. */
  readonly userPath: string;
}

/** Null without TLS. Reports each problem with the setting that has it. */
export function resolveTls(
  values: TlsValues,
  report: (setting: TlsSetting, problem: string) => void,
): TlsConfig | null {
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile, tlsClientId, tlsUserPath } = values;
  if (tlsCertFile !== null && tlsKeyFile === null)
    report("tlsCertFile", "needs server.tls.key_file, the certificate's private key");
  if (tlsKeyFile !== null && tlsCertFile === null)
    report("tlsKeyFile", "needs server.tls.cert_file, the key's certificate");
  if (tlsClientCaFile !== null && tlsCertFile === null)
    report("tlsClientCaFile", "needs server.tls.cert_file: only TLS has client certificates");
  if (tlsClientId !== null && tlsClientCaFile === null)
    report("tlsClientId", "needs server.tls.client_ca_file, which says whose certificates count");
  if (tlsClientId !== null && tlsUserPath === null)
    report("tlsClientId", "needs server.tls.user_path, the user path of such a client");
  if (tlsUserPath !== null && tlsClientId === null)
    report("tlsUserPath", "needs server.tls.client_id, which names its parts");
  if (tlsClientId !== null && tlsUserPath !== null) {
    const names = partsOf(tlsClientId);
    if (names === null || hasTwice(names))
      report(
        "tlsClientId",
        `must enclose each part's name in braces once, not ${show(tlsClientId)}`,
      );
    const used = partsOf(tlsUserPath);
    const unknown = used?.find((name) => names?.includes(name) === false);
    const path = normalizeUserPath(tlsUserPath.replace(/\{[^}]*\}/g, "x"));
    if (!tlsUserPath.startsWith("/") || used === null)
      report(
        "tlsUserPath",
        `must be a path such as /{namespace}/{account}, not ${show(tlsUserPath)}`,
      );
    else if (unknown !== undefined)
      report("tlsUserPath", `has {${unknown}}, which server.tls.client_id doesn't name`);
    else if (!path.ok) report("tlsUserPath", `${path.reason}, as ${show(tlsUserPath)} does`);
  }
  if (tlsCertFile === null || tlsKeyFile === null) return null;
  const clients =
    tlsClientId === null || tlsUserPath === null
      ? null
      : { id: tlsClientId, userPath: tlsUserPath };
  return { certFile: tlsCertFile, keyFile: tlsKeyFile, clientCaFile: tlsClientCaFile, clients };
}

/** The names in braces; null if a brace encloses none. */
function partsOf(template: string): readonly string[] | null {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return /[{}]/.test(template.replace(/\{\w+\}/g, "")) ? null : names;
}

function hasTwice(names: readonly string[]): boolean {
  return new Set(names).size < names.length;
}
