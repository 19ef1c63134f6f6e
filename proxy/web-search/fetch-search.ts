/** Calls the configured search provider over HTTP. */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { parseJson } from "../../shared/checked.js";
import type { WebSearchConfig } from "../../shared/config/web-search.js";
import { createEgress } from "../egress/egress.js";
import { createEgressAgent } from "../egress/egress-agent.js";
import {
  readResults,
  type SearchQuery,
  type SearchRequest,
  type SearchResult,
  searchRequest,
} from "./search-provider.js";

/** The results, or why there are none. */
type SearchAnswer =
  | { readonly ok: true; readonly results: readonly SearchResult[] }
  | { readonly ok: false; readonly isBusy: boolean; readonly reason: string };

export interface WebSearch {
  readonly config: WebSearchConfig;
  /**
   * Never rejects; resolves within `timeoutMs`. `onCall` receives a function that cancels the
   * search.
   */
  search(query: SearchQuery, onCall: (abort: () => void) => void): Promise<SearchAnswer>;
}

const answerBytesMax = 4 * 1024 * 1024;

export function createWebSearch(config: WebSearchConfig): WebSearch {
  const { provider, baseUrl, proxy, timeoutMs, resultsMax } = config;
  const agent = createEgressAgent(
    new URL(baseUrl).protocol,
    createEgress({ proxy, caFile: null }),
    { connectTimeoutMs: timeoutMs, keepAlive: true },
  );
  return {
    config,
    async search(query, onCall) {
      const abort = new AbortController();
      onCall(() => abort.abort());
      const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const { status, body } = await send(searchRequest(query, config), { agent, signal });
        if (status !== 200)
          return failedSearch(`${provider} answered ${status}`, status === 429 || status === 503);
        const results = readResults(provider, parseJson(body), query, resultsMax);
        return results === null
          ? failedSearch(`${provider} answered with no list of results`)
          : { ok: true, results };
      } catch (error) {
        const { name, message } = error as Error;
        const isLate = name === "TimeoutError" || name === "AbortError";
        return failedSearch(isLate ? `${provider} was silent for ${timeoutMs} ms` : message);
      }
    },
  };
}

function failedSearch(reason: string, isBusy = false): SearchAnswer {
  return { ok: false, isBusy, reason };
}

interface Sending {
  readonly agent: ReturnType<typeof createEgressAgent>;
  readonly signal: AbortSignal;
}

/** Redirects aren't followed: the operator named this address. */
function send(
  { method, url, headers, body }: SearchRequest,
  { agent, signal }: Sending,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const start = url.startsWith("https:") ? requestHttps : requestHttp;
    const type = body === null ? {} : { "content-type": "application/json" };
    const request = start(url, { method, headers: { ...headers, ...type }, agent, signal });
    request.on("response", (response: IncomingMessage) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > answerBytesMax)
          request.destroy(new Error(`its answer is larger than ${answerBytesMax} bytes`));
        else pieces.push(piece);
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString("utf8") }),
      );
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body ?? undefined);
  });
}
