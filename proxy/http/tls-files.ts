/**
 * The certificate, key and client CA of `server.tls`: read at the start, and again when a file has
 * changed, so that a renewed certificate needs no restart. Wrong files end a start; later, the
 * files in use stay.
 */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { TlsConfig } from "../../shared/config/resolve/tls.js";
import type { Log } from "../../shared/log.js";

/** A certificate or its key can't be used. */
class TlsFileError extends Error {
  override name = "TlsFileError";
}

export interface TlsFiles {
  /** The present content of the files. */
  readonly context: SecureContextOptions;
  /** Calls `apply` with each later content. */
  onRenewed(apply: (context: SecureContextOptions) => void): void;
  stop(): void;
}

/** Certificates are renewed days before they expire; a Secret reaches its pod within a minute. */
const pollMs = 10_000;
const warnBeforeMs = 3 * 24 * 3600 * 1000;

export async function openTlsFiles(
  config: TlsConfig,
  log: Pick<Log, "info" | "warn">,
): Promise<TlsFiles> {
  let { context, expiresAtMs } = await readContext(config);
  log.info({ expires_at: new Date(expiresAtMs).toISOString() }, "TLS certificate loaded");
  const applies: ((context: SecureContextOptions) => void)[] = [];
  let lastReason = "";
  let hasWarned = false;
  const poll = async (): Promise<void> => {
    if (!hasWarned && Date.now() > expiresAtMs - warnBeforeMs) {
      hasWarned = true;
      log.warn(
        { expires_at: new Date(expiresAtMs).toISOString() },
        "the TLS certificate expires soon or has expired: renew server.tls.cert_file",
      );
    }
    try {
      const newContext = await readContext(config);
      lastReason = "";
      if (isSame(newContext.context, context)) return;
      ({ context, expiresAtMs } = newContext);
      hasWarned = false;
      for (const apply of applies) apply(context);
      log.info({ expires_at: new Date(expiresAtMs).toISOString() }, "TLS certificate renewed");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // A key is often written after its certificate.
      if (reason !== lastReason)
        log.warn({ reason }, "the changed TLS files can't be used; the earlier ones stay in use");
      lastReason = reason;
    }
  };
  let polling: Promise<void> | null = null;
  const timer = setInterval(() => {
    polling ??= poll().finally(() => (polling = null));
  }, pollMs).unref();
  return {
    get context() {
      return context;
    },
    onRenewed: (apply) => void applies.push(apply),
    stop: () => clearInterval(timer),
  };
}

interface ReadContext {
  readonly context: SecureContextOptions;
  readonly expiresAtMs: number;
}

async function readContext({ certFile, keyFile, clientCaFile }: TlsConfig): Promise<ReadContext> {
  const [cert, key, ca] = await Promise.all([
    read("server.tls.cert_file", certFile),
    read("server.tls.key_file", keyFile),
    clientCaFile === null ? null : read("server.tls.client_ca_file", clientCaFile),
  ]);
  const context = { cert, key, ...(ca === null ? {} : { ca }), minVersion: "TLSv1.2" as const };
  try {
    const expiresAtMs = Date.parse(new X509Certificate(cert).validTo);
    createSecureContext(context);
    return { context, expiresAtMs };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const files = `server.tls.cert_file ${certFile}, server.tls.key_file ${keyFile}`;
    if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH")
      throw new TlsFileError(`the certificate and the key don't belong together: ${files}`);
    const withCa =
      clientCaFile === null ? files : `${files}, server.tls.client_ca_file ${clientCaFile}`;
    throw new TlsFileError(
      `the TLS files aren't a PEM certificate and its key: ${withCa} (${message})`,
    );
  }
}

async function read(name: string, path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new TlsFileError(`${name} can't be read: ${path} (${error.code})`);
  });
}

function isSame(a: SecureContextOptions, b: SecureContextOptions): boolean {
  const files = (["cert", "key", "ca"] as const).map((name) => [a[name], b[name]]);
  return files.every(([one, other]) => String(one) === String(other));
}
