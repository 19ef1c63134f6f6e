/** The files that contain secrets of a configuration. */
import type { Config } from "../../shared/config/config.js";

/** Their paths without duplicates, and without those that need a variable of another process. */
export function secretFilesOf(
  config: Pick<
    Config,
    | "server"
    | "metrics"
    | "tracing"
    | "cluster"
    | "providers"
    | "mcpServers"
    | "jwtIssuers"
    | "webSearch"
    | "oidc"
    | "alerts"
  >,
): readonly string[] {
  const { server, metrics, tracing, cluster, jwtIssuers, webSearch, oidc, alerts } = config;
  const providers = [...config.providers, ...config.mcpServers];
  const paths = [
    server.masterKeyFile,
    metrics.tokenFile,
    tracing.headersFile,
    webSearch?.apiKeyFile ?? null,
    oidc?.clientSecretFile ?? null,
    ...alerts.map(({ secretFile }) => secretFile),
    cluster?.passwordFile ?? null,
    cluster?.sentinel?.passwordFile ?? null,
    ...jwtIssuers.map(({ keys }) => (keys.kind === "secret-file" ? keys.path : null)),
    ...providers.flatMap(({ apiKeyFile, apiKeys, headerFiles, proxyFile }) => [
      apiKeyFile,
      proxyFile,
      ...(apiKeys ?? []).map((apiKey) => ("keyFile" in apiKey ? apiKey.keyFile : null)),
      ...headerFiles.map(({ path }) => path),
    ]),
  ];
  const literalPaths = paths.filter((path) => path !== null && !path.includes("${"));
  return [...new Set(literalPaths as readonly string[])];
}
