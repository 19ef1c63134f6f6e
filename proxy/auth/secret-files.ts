/**
 * Reads secrets that the configuration names by a file, such as systemd's credentials. Only the
 * proxy does: neither the daemon nor the command line needs them. Provider keys are read where they
 * are used (`upstream/credentials/`).
 */
import { readFile } from "node:fs/promises";
import type {
  AlertConfig,
  Config,
  JwtIssuerConfig,
  ProviderConfig,
} from "../../shared/config/config.js";
import {
  apiKey,
  headerList,
  headerValue,
  masterKey,
  signingSecret,
  webhookSecret,
} from "../../shared/config/kinds/secret-kinds.js";
import { outboundProxy } from "../../shared/config/kinds/url-kinds.js";
import type { ValueKind } from "../../shared/config/kinds/value-kind.js";
import { placeOfProvider } from "../../shared/domain/target-name.js";

/** A secret can't be read, or isn't valid. */
class SecretFileError extends Error {
  override name = "SecretFileError";
}

/** The configuration with the secrets of its files. Rejects with `SecretFileError`. */
export async function withSecrets(config: Config): Promise<Config> {
  const { server, metrics, tracing } = config;
  const key = await keyIn("server.master_key_file", server.masterKeyFile, server.masterKey);
  const token = await keyIn("metrics.token_file", metrics.tokenFile, metrics.token);
  const headers =
    tracing.headersFile === null
      ? tracing.headers
      : await readSecretFile("tracing.headers_file", tracing.headersFile, headerList);
  const oidc = await withClientSecret(config.oidc);
  const webSearch = await withSearchKey(config.webSearch);
  const jwtIssuers = await Promise.all(config.jwtIssuers.map(withSecret));
  const providers = await Promise.all(config.providers.map(withProviderFiles));
  const mcpServers = await Promise.all(config.mcpServers.map(withProviderFiles));
  const alerts = await Promise.all(config.alerts.map(withAlertSecret));
  return {
    ...config,
    providers,
    mcpServers,
    server: { ...server, masterKey: key },
    metrics: { ...metrics, token },
    tracing: { ...tracing, headers },
    jwtIssuers,
    webSearch,
    oidc,
    alerts,
  };
}

/** The alert with the secret of its file. Rejects with `SecretFileError`. */
export async function withAlertSecret(alert: AlertConfig): Promise<AlertConfig> {
  if (alert.secretFile === null) return alert;
  const name = `the secret_file of the alerts to ${new URL(alert.url).host}`;
  return { ...alert, secret: await readSecretFile(name, alert.secretFile, webhookSecret) };
}

async function withSearchKey(search: Config["webSearch"]): Promise<Config["webSearch"]> {
  if (search === null || search.apiKeyFile === null) return search;
  const name = "tools.web_search.api_key_file";
  return { ...search, apiKey: await readSecretFile(name, search.apiKeyFile, apiKey) };
}

async function withClientSecret(oidc: Config["oidc"]): Promise<Config["oidc"]> {
  if (oidc === null || oidc.clientSecretFile === null) return oidc;
  const name = "admin.oidc.client_secret_file";
  return { ...oidc, clientSecret: await readSecretFile(name, oidc.clientSecretFile, apiKey) };
}

/** The key in the file, or the configured key if there is no file. */
async function keyIn(
  name: string,
  path: string | null,
  configured: string | null,
): Promise<string | null> {
  return path === null ? configured : readSecretFile(name, path, masterKey);
}

/** The provider with the headers and the proxy of its files. Rejects with `SecretFileError`. */
export async function withProviderFiles(provider: ProviderConfig): Promise<ProviderConfig> {
  const { name: providerName, headers, headerFiles } = provider;
  const proxy = await proxyOf(provider);
  if (headerFiles.length === 0) return { ...provider, proxy };
  const pairs = headerFiles.map(async ({ name, path }) => [
    name,
    await readSecretFile(`the header ${name} of the provider ${providerName}`, path, headerValue),
  ]);
  return { ...provider, proxy, headers: [...headers, ...(await Promise.all(pairs)).flat()] };
}

async function proxyOf({ name, proxy, proxyFile }: ProviderConfig): Promise<string | null> {
  if (proxyFile === null) return proxy;
  const proxyUrl = await readSecretFile(
    `${placeOfProvider(name)}.proxy_file`,
    proxyFile,
    outboundProxy,
  );
  return proxyUrl === "none" ? null : proxyUrl;
}

async function withSecret(issuer: JwtIssuerConfig): Promise<JwtIssuerConfig> {
  if (issuer.keys.kind !== "secret-file") return issuer;
  const name = `the secret_file of the issuer ${issuer.issuer}`;
  return {
    ...issuer,
    keys: { kind: "secret", secret: await readSecretFile(name, issuer.keys.path, signingSecret) },
  };
}

async function readSecretFile(
  name: string,
  path: string,
  kind: ValueKind<string | null>,
): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    const unset = path.includes("${") ? ", a variable in it isn't set" : "";
    throw new SecretFileError(`${name} can't be read: ${path} (${error.code}${unset})`);
  });
  const secret = kind.parse(text.trim());
  if (typeof secret === "string") return secret;
  throw new SecretFileError(
    text.trim() === "" ? `${name} is empty: ${path}` : `${name}, ${path}, ${kind.expected}`,
  );
}
