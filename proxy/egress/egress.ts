/**
 * How connections leave this host: directly or through a proxy, and which certificates they trust.
 * Each provider has one, and so has each address of an issuer's keys. The connection pool and
 * Node's agents are made from it.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as tls from "node:tls";
import type { ProviderConfig } from "../../shared/config/config.js";

export interface Egress {
  /** The proxy's address, with a user and a password if it has them; null: direct. */
  readonly proxy: URL | null;
  /** Null: Node's own. */
  readonly secureContext: tls.SecureContext | null;
}

/** Throws if the file of certificates can't be read, or contains none. */
export function createEgress({ proxy, caFile }: Pick<ProviderConfig, "proxy" | "caFile">): Egress {
  return {
    proxy: proxy === null ? null : new URL(proxy),
    secureContext: caFile === null ? null : contextWith(caFile),
  };
}

class CaFileError extends Error {
  override name = "CaFileError";
}

/** The file's certificates besides those that Node trusts, NODE_EXTRA_CA_CERTS included. */
function contextWith(caFile: string): tls.SecureContext {
  let pem: string;
  try {
    pem = readFileSync(caFile, "utf8");
  } catch (error) {
    throw new CaFileError(`ca_file can't be read: ${String(error)}`, { cause: error });
  }
  const certificates = pem.match(certificate) ?? [];
  if (certificates.length === 0)
    throw new CaFileError(`ca_file ${caFile} holds no certificate in PEM form`);
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (error) {
    throw new CaFileError(`ca_file ${caFile} holds a broken certificate: ${String(error)}`, {
      cause: error,
    });
  }
  return tls.createSecureContext({ ca: [...trustedByNode(), ...certificates] });
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * The certificates that Node trusts. Node 20 can't list the extra ones, which then apply only to
 * providers without a file.
 */
function trustedByNode(): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: string) => string[] };
  return getCACertificates?.("default") ?? tls.rootCertificates;
}
