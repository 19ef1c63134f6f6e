/**
 * Finds the files that the configuration names and this process can't read now. They are read later
 * than the configuration, by the process that needs them and as its user, so each is a warning.
 */
import { accessSync, constants } from "node:fs";
import type { Config } from "../../shared/config/config.js";
import { placeOfProvider } from "../../shared/domain/target-name.js";
import { systemReason } from "../../shared/text/system-reason.js";

interface NamedFile {
  readonly setting: string;
  /** Null: none is named. */
  readonly path: string | null;
  /** The consequence while it can't be read. */
  readonly consequence: string;
}

/** A warning for each such file. */
export function unreadableFiles(config: Config): readonly string[] {
  return namedFiles(config).flatMap(({ setting, path, consequence }) => {
    // A variable that is set in the unit of the proxy alone, such as CREDENTIALS_DIRECTORY.
    if (path === null || path.includes("${")) return [];
    try {
      accessSync(path, constants.R_OK);
      return [];
    } catch (error) {
      return [`${setting} can't be read, and ${consequence}: ${systemReason(error)}: ${path}`];
    }
  });
}

const noStart = "no proxy starts until it can";
const noEngine = "the engine is away until it can";

function namedFiles(config: Config): NamedFile[] {
  const { server, metrics, tracing, jwtIssuers, cluster, webSearch, oidc, alerts } = config;
  const providers = [...config.providers, ...config.mcpServers];
  const { tls } = server;
  return [
    { setting: "server.master_key_file", path: server.masterKeyFile, consequence: noStart },
    { setting: "server.tls.cert_file", path: tls?.certFile ?? null, consequence: noStart },
    { setting: "server.tls.key_file", path: tls?.keyFile ?? null, consequence: noStart },
    { setting: "server.tls.client_ca_file", path: tls?.clientCaFile ?? null, consequence: noStart },
    { setting: "metrics.token_file", path: metrics.tokenFile, consequence: noStart },
    { setting: "tracing.headers_file", path: tracing.headersFile, consequence: noStart },
    {
      setting: "admin.oidc.client_secret_file",
      path: oidc?.clientSecretFile ?? null,
      consequence: noStart,
    },
    {
      setting: "tools.web_search.api_key_file",
      path: webSearch?.apiKeyFile ?? null,
      consequence: noStart,
    },
    ...alerts.map(({ url, secretFile }) => ({
      setting: `the secret_file of the alerts to ${new URL(url).host}`,
      path: secretFile,
      consequence: noStart,
    })),
    ...jwtIssuers.flatMap(({ issuer, keys }): NamedFile[] => {
      const issuerText = `of the issuer ${issuer}`;
      if (keys.kind === "secret-file")
        return [
          { setting: `the secret_file ${issuerText}`, path: keys.path, consequence: noStart },
        ];
      if (keys.kind !== "file") return [];
      const consequence = "its tokens get 503 until it can";
      return [{ setting: `the jwks_file ${issuerText}`, path: keys.path, consequence }];
    }),
    ...providers.flatMap(({ name, apiKeyFile, apiKeys, headerFiles, caFile, proxyFile }) => {
      const providerPath = placeOfProvider(name);
      return [
        {
          setting: `${providerPath}.api_key_file`,
          path: apiKeyFile,
          consequence: "its requests fail until it can",
        },
        ...(apiKeys ?? []).map((key, i) => ({
          setting: `${providerPath}.api_keys[${i}].key_file`,
          path: "keyFile" in key ? key.keyFile : null,
          consequence: "that key isn't used until it can",
        })),
        ...headerFiles.map(({ name: header, path }) => ({
          setting: `${providerPath}.headers.${header}.file`,
          path,
          consequence: noStart,
        })),
        { setting: `${providerPath}.proxy_file`, path: proxyFile, consequence: noStart },
        { setting: `${providerPath}.ca_file`, path: caFile, consequence: noStart },
      ];
    }),
    {
      setting: "cluster.password_file",
      path: cluster?.passwordFile ?? null,
      consequence: noEngine,
    },
    {
      setting: "cluster.sentinel_password_file",
      path: cluster?.sentinel?.passwordFile ?? null,
      consequence: noEngine,
    },
    { setting: "cluster.ca_file", path: cluster?.caFile ?? null, consequence: noEngine },
  ];
}
