import fc from "fast-check";
import t from "tap";
import {
  forwardRequestHeaders,
  type PassedHeaders,
  passedHeaders,
} from "../../../proxy/http/copy-headers.js";
import {
  type ProviderType,
  providerTraits,
  providerTypes,
} from "../../../shared/config/provider-type.js";

const passedTo = (type: ProviderType, forwardHeaders: readonly string[] = []): PassedHeaders =>
  passedHeaders(
    { type, operations: new Set(providerTraits[type].operations), forwardHeaders },
    "x-team.path",
  );

function kept(passed: PassedHeaders, names: readonly string[]): string[] {
  return forwardRequestHeaders(
    names.flatMap((name) => [name, "1"]),
    passed,
  ).filter((text) => text !== "1");
}

t.test("a provider is sent what its API and its SDKs need", async (t) => {
  const everywhere = [
    "Accept",
    "content-type",
    "Content-Encoding",
    "user-agent",
    "X-Stainless-Lang",
    "x-stainless-retry-count",
    "Idempotency-Key",
    "x-client-request-id",
    "range",
    "if-none-match",
  ];
  const table: readonly (readonly [type: ProviderType, names: readonly string[]])[] = [
    ["openai", ["OpenAI-Beta", "openai-safety-identifier", "HTTP-Referer", "X-Title"]],
    ["anthropic", ["anthropic-version", "Anthropic-Beta"]],
    ["gemini", ["x-goog-api-client", "X-Goog-Upload-Protocol", "x-goog-upload-offset"]],
    ["azure", ["OpenAI-Beta", "x-ms-client-request-id"]],
    ["vllm", ["OpenAI-Beta"]],
    ["ollama", ["OpenAI-Beta"]],
  ];
  for (const [type, names] of table)
    t.same(kept(passedTo(type), [...everywhere, ...names]), [...everywhere, ...names], type);
});

/** Of proxies and identity services, and of browsers; seen in their documentation. */
const internal = [
  "X-Auth-Request-Access-Token",
  "X-Auth-Request-Email",
  "X-Auth-Request-User",
  "X-Amzn-Oidc-Data",
  "X-Amzn-Oidc-Accesstoken",
  "X-Amzn-Oidc-Identity",
  "X-Amzn-Trace-Id",
  "Cf-Access-Jwt-Assertion",
  "Cf-Access-Authenticated-User-Email",
  "Cf-Connecting-Ip",
  "X-Goog-Iap-Jwt-Assertion",
  "X-Goog-Authenticated-User-Email",
  "X-Goog-User-Project",
  "X-Ms-Client-Principal",
  "X-Ms-Token-Aad-Access-Token",
  "Remote-User",
  "X-Remote-User",
  "X-Forwarded-User",
  "X-Forwarded-Access-Token",
  "X-Forwarded-For",
  "X-Forwarded-Client-Cert",
  "X-Client-Cert",
  "Ssl-Client-Cert",
  "X-Pomerium-Jwt-Assertion",
  "X-Vouch-User",
  "X-Webauth-User",
  "Tailscale-User-Login",
  "X-Envoy-Original-Path",
  "X-Original-Url",
  "X-Http-Method-Override",
  "X-B3-Traceid",
  "Traceparent",
  "Baggage",
  "X-Real-IP",
  "True-Client-Ip",
  "Forwarded",
  "Via",
  "Referer",
  "Origin",
  "Cookie",
  "Sec-Fetch-Site",
  "Sec-Ch-Ua",
  "Access-Control-Request-Method",
  "X-Team.Path",
  "X-Sluice-Provider",
  "X-Request-Id",
  "OpenAI-Organization",
  "OpenAI-Project",
  "Anthropic-Organization-Id",
  "X-Anything-Else",
];

const credentials = [
  "Authorization",
  "X-Api-Key",
  "Api-Key",
  "X-Goog-Api-Key",
  "Proxy-Authorization",
];

t.test("no provider is sent who the caller is, how it came here, or its credentials", async (t) => {
  for (const type of providerTypes)
    t.same(kept(passedTo(type), [...internal, ...credentials]), [], type);
});

t.test("the headers of a dialect don't reach a provider that speaks another", async (t) => {
  t.same(kept(passedTo("openai"), ["anthropic-version", "anthropic-beta"]), []);
  t.same(kept(passedTo("gemini"), ["anthropic-version", "http-referer"]), []);
  t.same(kept(passedTo("anthropic"), ["openai-beta", "x-goog-upload-offset"]), []);
  t.same(
    kept(
      passedHeaders(
        { type: "openai", operations: new Set(["messages"]), forwardHeaders: [] },
        "x-path",
      ),
      ["anthropic-version", "anthropic-organization-id"],
    ),
    ["anthropic-version"],
    "one that takes messages as well",
  );
});

t.test("the operator adds headers, alone or by their beginning, but no credential", async (t) => {
  const passed = passedTo("openai", ["traceparent", "x-*", "openai-project", "cf-access-*"]);
  t.same(
    kept(passed, ["Traceparent", "tracestate", "X-Real-IP", "OpenAI-Project", "Cf-Access-Jwt"]),
    ["Traceparent", "X-Real-IP", "OpenAI-Project", "Cf-Access-Jwt"],
  );
  t.same(kept(passed, [...credentials, "X-Sluice-Provider", "X-Team.Path", "Cookie", "Host"]), []);
});

t.test("whatever a header is called, only a name of the lists passes", async (t) => {
  const passed = passedTo("openai");
  const isKnown =
    /^(accept|content|range|if|user-agent|idempotency|x-(client-request|stainless|app|title|openrouter|github|grok|session)|openai|http-referer|groq)/i;
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9-]{1,20}$/), (name) => {
      return !passed.test(name) || isKnown.test(name);
    }),
  );
  t.pass();
});

t.test("a provider that may get traces gets them, and no other does", async (t) => {
  const names = ["Traceparent", "tracestate"];
  const withTraces = passedHeaders(
    { type: "vllm", operations: new Set(), forwardHeaders: [] },
    "x-path",
    true,
  );
  t.same(kept(withTraces, [...names, "x-path", "cookie"]), names);
  for (const type of providerTypes) t.same(kept(passedTo(type), names), [], type);
});

t.test(
  "a name is judged the same again and again, however many and long the others are",
  async (t) => {
    const passed = passedTo("openai");
    const many = Array.from({ length: 2000 }, (_, i) => `openai-${i}`);
    const long = ["x".repeat(5000), `openai-${"x".repeat(5000)}`];
    for (let round = 0; round < 2; round++)
      t.same(kept(passed, ["Cookie", "Accept", ...many, ...long]), ["Accept", ...many, long[1]]);
  },
);
