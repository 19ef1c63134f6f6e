/**
 * Chooses the outbound proxy for an address (docs/reference/configuration.md, "Outbound proxies"):
 * the provider's own, else that of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in upper or lower case, as
 * curl and most programs read them.
 */
import type { ProviderConfig } from "../config.js";
import { type Environment, variable } from "../environment.js";
import { outboundProxy } from "../kinds/url-kinds.js";
import { kindProblem } from "../kinds/value-kind.js";
import { absolutePath } from "./resolve-settings.js";

/** By the scheme of the address; null for a direct connection. */
export interface ProxyVariables {
  readonly http: string | null;
  readonly https: string | null;
  /** Hosts that are reached directly; `*` means all. */
  readonly direct: readonly string[];
}

export function readProxyVariables(env: Environment, problems: string[]): ProxyVariables {
  const proxyFrom = (...names: readonly string[]): string | null => {
    const name = names.find((candidate) => variable(env, candidate) !== null);
    if (name === undefined) return null;
    const raw = variable(env, name)!;
    // Many people omit the scheme.
    const value = outboundProxy.parse(raw.includes("://") ? raw : `http://${raw}`);
    if (value === undefined) problems.push(kindProblem(outboundProxy, name, raw));
    return value ?? null;
  };
  const noProxy = variable(env, "NO_PROXY") ?? variable(env, "no_proxy") ?? "";
  return {
    http: proxyFrom("HTTP_PROXY", "http_proxy"),
    https: proxyFrom("HTTPS_PROXY", "https_proxy"),
    direct: noProxy
      .toLowerCase()
      .split(/[\s,]+/)
      .filter((entry) => entry !== ""),
  };
}

/** `own`: the provider's setting; null if unset. Loopback hosts are always reached directly. */
export function proxyFor(
  address: string,
  configured: string | null,
  { http, https, direct }: ProxyVariables,
): string | null {
  if (configured !== null) return configured === "none" ? null : configured;
  if (address === "") return null;
  const { protocol, hostname, port } = new URL(address);
  const proxy = protocol === "https:" ? https : http;
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (proxy === null || isLoopback(host)) return null;
  const place = { host, port: port === "" ? (protocol === "https:" ? "443" : "80") : port };
  return direct.some((entry) => covers(entry, place)) ? null : proxy;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

interface Place {
  readonly host: string;
  readonly port: string;
}

/** `example.com` covers its subdomains too; so do `.example.com` and `*.example.com`. */
function covers(entry: string, { host, port }: Place): boolean {
  if (entry === "*") return true;
  const range = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(entry);
  if (range !== null) return isInRange(host, range[1]!, Number(range[2]));
  const [, bracketed, plain = entry, entryPort = ""] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  if (entryPort !== "" && entryPort !== port) return false;
  const name = (bracketed ?? plain).replace(/^\*?\./, "");
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

function isInRange(host: string, start: string, bits: number): boolean {
  const address = ipv4(host);
  const first = ipv4(start);
  if (address === null || first === null || bits > 32) return false;
  const size = 2 ** (32 - bits);
  return Math.floor(address / size) === Math.floor(first / size);
}

function ipv4(text: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

/** The provider with its outbound proxy and the absolute paths of its files. */
export function withEgress(
  provider: ProviderConfig,
  proxies: ProxyVariables,
  fileDirectory: string,
): ProviderConfig {
  const { baseUrl, proxy, proxyFile, caFile, apiKeyFile, apiKeys, headerFiles } = provider;
  const absolute = (path: string): string => absolutePath(path, fileDirectory);
  return {
    ...provider,
    proxy: proxyFile === null ? proxyFor(baseUrl, proxy, proxies) : null,
    proxyFile: proxyFile === null ? null : absolute(proxyFile),
    caFile: caFile === null ? null : absolute(caFile),
    apiKeyFile: apiKeyFile === null ? null : absolute(apiKeyFile),
    apiKeys:
      apiKeys?.map((apiKey) =>
        "keyFile" in apiKey ? { ...apiKey, keyFile: absolute(apiKey.keyFile) } : apiKey,
      ) ?? null,
    headerFiles: headerFiles.map(({ name, path }) => ({ name, path: absolute(path) })),
  };
}
