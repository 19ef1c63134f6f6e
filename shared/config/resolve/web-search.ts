/** Resolves the settings of the web search, `tools.web_search`. */
import { picoFromUsd } from "../../domain/money.js";
import type { SettingValues } from "../settings/settings.js";
import type { SearchProvider, WebSearchConfig } from "../web-search.js";
import { type ProxyVariables, proxyFor } from "./outbound-proxies.js";

const addresses: Readonly<Record<SearchProvider, string | null>> = {
  tavily: "https://api.tavily.com",
  brave: "https://api.search.brave.com",
  exa: "https://api.exa.ai",
  searxng: null,
};

/** Null if it is off. */
export function resolveWebSearch(
  values: SettingValues,
  proxies: ProxyVariables,
  problems: string[],
): WebSearchConfig | null {
  const { searchProvider: provider, searchKey: apiKey, searchKeyFile: apiKeyFile } = values;
  if (provider === "off") return null;
  const baseUrl = values.searchBaseUrl ?? addresses[provider];
  if (baseUrl === null) {
    problems.push(`tools.web_search.base_url is required for ${provider}`);
    return null;
  }
  if (provider !== "searxng" && apiKey === null && apiKeyFile === null)
    problems.push(`tools.web_search.api_key is required for ${provider}`);
  return {
    provider,
    baseUrl,
    apiKey,
    apiKeyFile,
    proxy: proxyFor(baseUrl, null, proxies),
    resultsMax: values.searchResultsMax,
    searchesMax: values.searchesMax,
    timeoutMs: values.searchTimeoutMs,
    costPerSearch: picoFromUsd(values.searchUsd) ?? 0,
  };
}
