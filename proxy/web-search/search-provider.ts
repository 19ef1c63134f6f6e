/**
 * The APIs of search providers: their requests, and the results in their answers. One entry per
 * provider.
 */
import { isObject } from "../../shared/checked.js";
import type { SearchProvider, WebSearchConfig } from "../../shared/config/web-search.js";

export interface SearchQuery {
  readonly query: string;
  /** Empty: any. A domain includes its subdomains. */
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
  /** The country of the user, in two letters; null if unknown. */
  readonly country: string | null;
}

export interface SearchResult {
  readonly url: string;
  readonly title: string;
  /** The text of the page, shortened. */
  readonly text: string;
  /** The age of the page, in the provider's words; null if unknown. */
  readonly age: string | null;
}

export interface SearchRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null for a GET. */
  readonly body: string | null;
}

type ApiConfig = Pick<WebSearchConfig, "baseUrl" | "apiKey" | "resultsMax">;

interface SearchApi {
  request(query: SearchQuery, config: ApiConfig): SearchRequest;
  /** The list of results in an answer. */
  list(answer: Readonly<Record<string, unknown>>): unknown;
  /** The names of a result's text, best first, and of its age. */
  readonly text: readonly string[];
  readonly age: string;
}

const json = { accept: "application/json" };

const apis: Readonly<Record<SearchProvider, SearchApi>> = {
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  tavily: {
    request: ({ query, allowedDomains, blockedDomains }, { baseUrl, apiKey, resultsMax }) => ({
      method: "POST",
      url: `${baseUrl}/search`,
      headers: { ...json, authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        query,
        max_results: resultsMax,
        ...(allowedDomains.length === 0 ? {} : { include_domains: allowedDomains }),
        ...(blockedDomains.length === 0 ? {} : { exclude_domains: blockedDomains }),
      }),
    }),
    list: ({ results }) => results,
    text: ["content"],
    age: "published_date",
  },
  // https://api-dashboard.search.brave.com/app/documentation/web-search/query
  brave: {
    request: (query, { baseUrl, apiKey, resultsMax }) => ({
      method: "GET",
      url: `${baseUrl}/res/v1/web/search?${new URLSearchParams({
        q: withSites(query),
        count: String(resultsMax),
        ...(query.country === null ? {} : { country: query.country }),
      })}`,
      headers: { ...json, "x-subscription-token": apiKey ?? "" },
      body: null,
    }),
    list: ({ web }) => (isObject(web) ? web["results"] : undefined),
    text: ["description"],
    age: "age",
  },
  // https://exa.ai/docs/reference/search
  exa: {
    request: (query, { baseUrl, apiKey, resultsMax }) => ({
      method: "POST",
      url: `${baseUrl}/search`,
      headers: { ...json, "x-api-key": apiKey ?? "" },
      body: JSON.stringify({
        query: query.query,
        numResults: resultsMax,
        contents: { text: { maxCharacters: textCharsMax } },
        ...(query.allowedDomains.length === 0 ? {} : { includeDomains: query.allowedDomains }),
        ...(query.blockedDomains.length === 0 ? {} : { excludeDomains: query.blockedDomains }),
        ...(query.country === null ? {} : { userLocation: query.country }),
      }),
    }),
    list: ({ results }) => results,
    text: ["text", "summary"],
    age: "publishedDate",
  },
  // https://docs.searxng.org/dev/search_api.html
  searxng: {
    request: (query, { baseUrl, apiKey }) => ({
      method: "GET",
      url: `${baseUrl}/search?${new URLSearchParams({ q: withSites(query), format: "json" })}`,
      headers: apiKey === null ? json : { ...json, authorization: `Bearer ${apiKey}` },
      body: null,
    }),
    list: ({ results }) => results,
    text: ["content"],
    age: "publishedDate",
  },
};

/** For APIs without a field for domains: the operators that search engines share. */
function withSites({ query, allowedDomains, blockedDomains }: SearchQuery): string {
  const allowed = allowedDomains.map((domain) => `site:${domain}`).join(" OR ");
  const blocked = blockedDomains.map((domain) => `-site:${domain}`);
  return [query, allowed, ...blocked].filter((part) => part !== "").join(" ");
}

/** Search providers refuse longer lists. `readResults` leaves out the other blocked domains. */
const sentDomainsMax = 100;

export function searchRequest(
  query: SearchQuery,
  config: ApiConfig & { readonly provider: SearchProvider },
): SearchRequest {
  const allowedDomains = query.allowedDomains.slice(0, sentDomainsMax);
  const blockedDomains = query.blockedDomains.slice(0, sentDomainsMax);
  return apis[config.provider].request({ ...query, allowedDomains, blockedDomains }, config);
}

/**
 * Bounds on the parts of a result for the model and the client, so that a conversation stays small.
 */
const titleCharsMax = 300;
const textCharsMax = 2000;
const urlCharsMax = 2000;

/** Null if the answer isn't this provider's. Results of other domains are left out. */
export function readResults(
  provider: SearchProvider,
  answer: unknown,
  query: SearchQuery,
  resultsMax: number,
): readonly SearchResult[] | null {
  const api = apis[provider];
  if (!isObject(answer)) return null;
  const list = api.list(answer);
  // Brave omits `web` if there are no results.
  if (list === undefined) return provider === "brave" ? [] : null;
  if (!Array.isArray(list)) return null;
  const results: SearchResult[] = [];
  for (const item of list as readonly unknown[]) {
    if (results.length === resultsMax) break;
    if (!isObject(item)) continue;
    const { url, title } = item;
    if (typeof url !== "string" || url.length > urlCharsMax || !isWanted(url, query)) continue;
    const text = api.text.map((name) => item[name]).find((value) => typeof value === "string");
    const age = item[api.age];
    results.push({
      url,
      title: (typeof title === "string" ? title : url).slice(0, titleCharsMax),
      text: typeof text === "string" ? text.slice(0, textCharsMax) : "",
      age: typeof age === "string" ? age.slice(0, titleCharsMax) : null,
    });
  }
  return results;
}

function isWanted(
  url: string,
  { allowedDomains, blockedDomains }: Pick<SearchQuery, "allowedDomains" | "blockedDomains">,
): boolean {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return false;
  const { hostname, pathname } = new URL(url);
  const isIn = (domain: string): boolean => {
    const [host = "", ...path] = domain.toLowerCase().split("/");
    const inHost = hostname === host || hostname.endsWith(`.${host}`);
    const folder = ["", ...path.filter((name) => name !== ""), ""].join("/");
    return inHost && `${pathname.toLowerCase()}/`.startsWith(folder);
  };
  if (blockedDomains.some(isIn)) return false;
  return allowedDomains.length === 0 || allowedDomains.some(isIn);
}
