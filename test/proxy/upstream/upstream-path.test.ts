import t from "tap";
import { leavesPath, upstreamPath, wantsEvents } from "../../../proxy/upstream/upstream-path.js";
import { providerConfig } from "../../support/provider-config.js";

t.test("operations are where OpenAI and Anthropic have them", async (t) => {
  const provider = providerConfig({ name: "a" });
  t.same(
    (
      [
        "chat_completions",
        "responses",
        "messages",
        "count_tokens",
        "embeddings",
        "speech",
        "transcriptions",
        "translations",
        "images",
        "files",
        "batches",
        "realtime",
      ] as const
    ).map((operation) => upstreamPath(provider, operation, "m")),
    [
      "/chat/completions",
      "/responses",
      "/messages",
      "/messages/count_tokens",
      "/embeddings",
      "/audio/speech",
      "/audio/transcriptions",
      "/audio/translations",
      "/images/generations",
      "/files",
      "/batches",
      "/realtime",
    ],
  );
});

t.test(
  "Azure's dated API has the models' operations below the deployment, and names its version",
  async (t) => {
    const dated = providerConfig({ name: "azure", type: "azure", apiVersion: "2024-10-21" });
    t.equal(
      upstreamPath(dated, "chat_completions", "my gpt/4"),
      "/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21",
    );
    t.equal(upstreamPath(dated, "files", ""), "/files?api-version=2024-10-21");
    t.equal(
      upstreamPath(providerConfig({ name: "azure", type: "azure" }), "chat_completions", "gpt"),
      "/chat/completions",
    );
  },
);

t.test(
  "the client's query is passed on, without credentials and Google's parameters, with the provider's version",
  async (t) => {
    const plain = providerConfig({ name: "a", type: "anthropic" });
    const dated = providerConfig({ name: "azure", type: "azure", apiVersion: "2024-10-21" });
    const table = [
      ["", "", "?api-version=2024-10-21"],
      ["beta=true", "?beta=true", "?beta=true&api-version=2024-10-21"],
      [
        "beta=true&key=sk-1&api_key=sk-2&Access_Token=t&x=%26&",
        "?beta=true&x=%26",
        "?beta=true&x=%26&api-version=2024-10-21",
      ],
      ["%6bey=sk-1&authorization=Bearer+a", "", "?api-version=2024-10-21"],
      ["api-version=preview&a=b?c", "?api-version=preview&a=b?c", "?a=b?c&api-version=2024-10-21"],
      ["Api-Version=preview&a=b", "?Api-Version=preview&a=b", "?a=b&api-version=2024-10-21"],
      [
        "fields=choices&beta=true&%24fields=id&ALT=proto&callback=f&$alt=media&$x=1",
        "?beta=true",
        "?beta=true&api-version=2024-10-21",
      ],
      ["a=1;fields=id&fields2=1&oauth_token=t", "?fields2=1", "?fields2=1&api-version=2024-10-21"],
      ["a=1#b&c=2", "?c=2", "?c=2&api-version=2024-10-21"],
    ] as const;
    for (const [query, atPlain, atDated] of table) {
      t.equal(upstreamPath(plain, "messages", "m", query), `/messages${atPlain}`, query);
      t.equal(upstreamPath(dated, "files", "", query), `/files${atDated}`, query);
    }
  },
);

t.test(
  "of a query to Google's own API, nothing is sent but that a stream is one of events",
  async (t) => {
    const provider = providerConfig({ name: "gemini", type: "gemini" });
    const table: readonly (readonly [query: string, isEvents: boolean])[] = [
      ["", false],
      ["alt=sse", true],
      ["$alt=sse", true],
      ["%24alt=sse&prettyPrint=false", true],
      ["%61lt=%73se&key=k", true],
      ["$alt=sse;enum-encoding=int", true],
      ["alt=sse&fields=candidates&$fields=candidates&%24fields=candidates", true],
      ["alt=proto&alt=sse", true],
      ["alt=json", false],
      ["$alt=json;enum-encoding=int", false],
      ["alt=proto", false],
      ["alt=media&callback=f&access_token=t&oauth_token=t&quotaUser=u&$.xgafv=1", false],
      ["fields=candidates", false],
      ["unknown=1&a#b", false],
    ];
    for (const [query, isEvents] of table) {
      t.equal(wantsEvents(query), isEvents, query);
      for (const [operation, path] of [
        ["generate_content", "generateContent"],
        ["stream_generate_content", `streamGenerateContent${isEvents ? "?alt=sse" : ""}`],
        ["embed_content", "embedContent"],
        ["batch_embed_contents", "batchEmbedContents"],
        ["count_content_tokens", "countTokens"],
      ] as const)
        t.equal(upstreamPath(provider, operation, "m", query), `/models/m:${path}`, query);
    }
  },
);

t.test("a model's name in the path has no empty part and no part of dots", async (t) => {
  const plain = providerConfig({ name: "a" });
  const dated = providerConfig({ name: "azure", type: "azure", apiVersion: "2024-10-21" });
  for (const model of ["..", ".", "../files", "a/../b", "a//b", "/a", "a/", "tunedModels/.."]) {
    t.ok(leavesPath(plain, "generate_content", model), model);
    t.ok(leavesPath(dated, "chat_completions", model), model);
    t.notOk(leavesPath(plain, "chat_completions", model), "there it is in the body");
  }
  for (const model of ["gemini-2.5-pro", "tunedModels/x", "...", "a.b/.c"])
    t.notOk(leavesPath(plain, "generate_content", model), model);
});
