import t from "tap";
import {
  readResults,
  type SearchQuery,
  searchRequest,
} from "../../../proxy/web-search/search-provider.js";
import type { SearchProvider } from "../../../shared/config/web-search.js";
import { exactly } from "../../support/patterns/exactly.js";

const query: SearchQuery = {
  query: "newest version",
  allowedDomains: ["example.org"],
  blockedDomains: ["old.example.org"],
  country: "DE",
};
const config = { baseUrl: "https://search.test", apiKey: "secret", resultsMax: 3 };
const url = "https://www.example.org/a";
const sites = "newest version site:example.org -site:old.example.org";

/** As each provider describes its API. */
const providers: Readonly<
  Record<SearchProvider, { readonly request: object; readonly answer: unknown }>
> = {
  tavily: {
    request: {
      method: "POST",
      url: "https://search.test/search",
      headers: { accept: "application/json", authorization: "Bearer secret" },
      body: {
        query: "newest version",
        max_results: 3,
        include_domains: ["example.org"],
        exclude_domains: ["old.example.org"],
      },
    },
    answer: { results: [{ url, title: "A", content: "Nine.", published_date: "2026", score: 1 }] },
  },
  brave: {
    request: {
      method: "GET",
      url: `https://search.test/res/v1/web/search?${new URLSearchParams({ q: sites, count: "3", country: "DE" })}`,
      headers: { accept: "application/json", "x-subscription-token": "secret" },
      body: null,
    },
    answer: {
      type: "search",
      web: { results: [{ url, title: "A", description: "Nine.", age: "2026" }] },
    },
  },
  exa: {
    request: {
      method: "POST",
      url: "https://search.test/search",
      headers: { accept: "application/json", "x-api-key": "secret" },
      body: {
        query: "newest version",
        numResults: 3,
        contents: { text: { maxCharacters: 2000 } },
        includeDomains: ["example.org"],
        excludeDomains: ["old.example.org"],
        userLocation: "DE",
      },
    },
    answer: { results: [{ id: "1", url, title: "A", text: "Nine.", publishedDate: "2026" }] },
  },
  searxng: {
    request: {
      method: "GET",
      url: `https://search.test/search?${new URLSearchParams({ q: sites, format: "json" })}`,
      headers: { accept: "application/json", authorization: "Bearer secret" },
      body: null,
    },
    answer: { query: "", results: [{ url, title: "A", content: "Nine.", publishedDate: "2026" }] },
  },
};

const names = Object.keys(providers) as readonly SearchProvider[];

t.test("each provider is asked, and read, as its API says", async (t) => {
  for (const provider of names) {
    const { request, answer } = providers[provider];
    const { body, ...rest } = searchRequest(query, { ...config, provider });
    t.same({ ...rest, body: body === null ? null : JSON.parse(body) }, request, provider);
    const expected = [{ url, title: "A", text: "Nine.", age: "2026" }];
    t.same(readResults(provider, answer, query, 3), expected, provider);
  }
});

t.test(
  "what isn't a list of results is none; other domains and schemes are left out",
  async (t) => {
    for (const provider of names)
      for (const answer of [null, [], "x", { results: 1, web: { results: 1 } }, { error: "no" }])
        if (provider !== "brave" || !JSON.stringify(answer).includes("error"))
          t.equal(
            readResults(provider, answer, query, 3),
            null,
            `${provider} ${JSON.stringify(answer)}`,
          );
    t.same(
      readResults("brave", { type: "search" }, query, 3),
      [],
      "Brave leaves out an empty list",
    );
    const results = [
      "https://old.example.org/",
      "https://evilexample.org/",
      "ftp://example.org/",
      "javascript:alert(1)",
      7,
      "https://example.org/1",
      "https://b.example.org/2",
      "https://example.org/3",
      "https://example.org/4",
    ].map((each) => ({ url: each, content: "x".repeat(5000) }));
    t.match(
      readResults("tavily", { results }, query, 3),
      exactly([
        {
          url: "https://example.org/1",
          title: "https://example.org/1",
          text: /^x{2000}$/,
          age: null,
        },
        { url: "https://b.example.org/2" },
        { url: "https://example.org/3" },
      ]),
    );
  },
);

t.test("every blocked domain is left out, also those that no search provider takes", async (t) => {
  const blockedDomains = Array.from({ length: 150 }, (_, i) => `d${i}.example.org`);
  const blocking = { ...query, allowedDomains: [], blockedDomains };
  const sent = JSON.parse(searchRequest(blocking, { ...config, provider: "tavily" }).body!) as {
    exclude_domains: readonly string[];
  };
  t.equal(sent.exclude_domains.length, 100);
  const results = [{ url: "https://d149.example.org/", content: "x" }];
  t.same(readResults("tavily", { results }, blocking, 3), []);
});

t.test("the path of a domain is compared name by name, in any case", async (t) => {
  const blocking = { ...query, allowedDomains: [], blockedDomains: ["example.org/Blog/"] };
  const urls = ["/Blog", "/blog/1", "/blogger", "/"].map(
    (path) => `https://www.example.org${path}`,
  );
  const results = urls.map((url) => ({ url, content: "x" }));
  t.same(
    readResults("tavily", { results }, blocking, 4)?.map(({ url }) => url),
    ["https://www.example.org/blogger", "https://www.example.org/"],
  );
});
