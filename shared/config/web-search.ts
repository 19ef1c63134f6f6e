/** The web search that Sluice runs for models that have none of their own (docs/web-search.md). */
export const searchProviders = ["tavily", "brave", "exa", "searxng"] as const;
export type SearchProvider = (typeof searchProviders)[number];

export interface WebSearchConfig {
  readonly provider: SearchProvider;
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly apiKeyFile: string | null;
  /** The outbound proxy; null: direct. */
  readonly proxy: string | null;
  readonly resultsMax: number;
  readonly searchesMax: number;
  readonly timeoutMs: number;
  readonly costPerSearch: number;
}
