import fc from "fast-check";
import t from "tap";
import {
  isCleanQuery,
  originPath,
  parameterOf,
  passedQuery,
  replaceParameter,
  restProblem,
  splitPassthrough,
} from "../../../proxy/upstream/passthrough-path.js";

t.test("a path is split after the provider's name", async (t) => {
  const table: readonly (readonly [path: string, expected: unknown])[] = [
    ["/p/openai/v1/models", { provider: "openai", rest: "/v1/models" }],
    ["/p/openai/", { provider: "openai", rest: "/" }],
    ["/p/openai", { provider: "openai", rest: "" }],
    ["/p/openai//evil", { provider: "openai", rest: "//evil" }],
    ["/p/", null],
    ["/p", null],
    ["/p//x", null],
    ["/pp/openai/x", null],
    ["/v1/p/openai", null],
  ];
  for (const [path, expected] of table) t.same(splitPassthrough(path), expected, path);
});

t.test("a rest that servers could interpret in two ways is refused, with a reason", async (t) => {
  const table: readonly (readonly [rest: string, problem: RegExp | null])[] = [
    ["", null],
    ["/", null],
    ["/v1/chat/completions", null],
    ["/v1/models/org%2Fmodel", null],
    ["/v1beta/models/gemini-2.5-flash:generateContent", null],
    ["/@evil.example/", null],
    ["/v1/a..b/...", null],
    ["/v1/100%25", null],
    ["/..", /dot segment/],
    ["/v1/../x", /dot segment/],
    ["/./x", /dot segment/],
    ["/%2e%2E/x", /dot segment/],
    ["/x%2f..%2fy", /dot segment/],
    ["/%252e%252e/x", /dot segment/],
    ["/..;a=b/x", /dot segment/],
    ["/%2e%2e%3bx/y", /dot segment/],
    [`/${"%25".repeat(1)}2525252e/x`, /too often/],
    ["//evil.example", /empty segment/],
    ["/%2fevil.example", /empty segment/],
    ["/a%5cb", /backslash/],
    ["/a\\b", /no place in a path/],
    ["/http:/evil.example", /an address/],
    ["/a%00b", /control character/],
    ["/a%0d%0ab", /control character/],
    ["/a%zz", /encodes nothing/],
    ["/a%4", /encodes nothing/],
    ["/a b", /no place/],
    ["/a#b", /no place/],
    ["/é", /no place/],
  ];
  for (const [rest, problem] of table) {
    const found = restProblem(rest);
    if (problem === null) t.equal(found, null, rest);
    else t.match(found, problem, rest);
  }
});

const unescapeBytes = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );

t.test(
  "a path that is passed on has one meaning: a URL parser and decoding change nothing",
  async (t) => {
    const piece = fc.oneof(
      fc.constantFrom(
        "/",
        "..",
        ".",
        "%2e",
        "%2F",
        "%5c",
        "%25",
        "\\",
        "//",
        "@",
        ":",
        ";",
        "?",
        "#",
        "evil.example",
        "http:",
        "%00",
        "a",
      ),
      fc.string({ maxLength: 3 }),
    );
    let passed = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const rest = `/${pieces.join("")}`;
        if (restProblem(rest) !== null) return true;
        passed++;
        const url = new URL(`https://provider.example${rest}`);
        const decoded = unescapeBytes(unescapeBytes(unescapeBytes(rest)));
        return (
          url.origin === "https://provider.example" &&
          url.pathname === rest &&
          !decoded.split(/[/\\]/).includes("..")
        );
      }),
      { seed: 7, numRuns: 5000 },
    );
    t.ok(passed > 500, `${passed} were passed on`);
  },
);

t.test(
  "a rest is a path of the origin; the resources of the known APIs are below the base URL",
  async (t) => {
    const openai = "https://api.openai.com/v1";
    const groq = "https://api.groq.com/openai/v1";
    const gemini = "https://generativelanguage.googleapis.com/v1beta/openai";
    const table = [
      [openai, "/v1/chat/completions", "/v1/chat/completions"],
      [openai, "/chat/completions", "/v1/chat/completions"],
      [openai, "/v2/things", "/v2/things"],
      [openai, "", "/"],
      [openai, "/", "/"],
      [groq, "/openai/v1/models", "/openai/v1/models"],
      [groq, "/models", "/openai/v1/models"],
      [
        gemini,
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "/v1beta/models/gemini-2.5-flash:generateContent",
      ],
      [gemini, "/upload/v1beta/files", "/upload/v1beta/files"],
      [gemini, "/chat/completions", "/v1beta/openai/chat/completions"],
      ["http://127.0.0.1:8000/v1", "/metrics", "/metrics"],
      ["https://api.perplexity.ai", "/chat/completions", "/chat/completions"],
      [
        "https://host.example/models/v1/",
        "/models/v1/chat/completions",
        "/models/v1/chat/completions",
      ],
      ["https://host.example/models/v1/", "/models", "/models/v1/models"],
      [
        "https://res.openai.azure.com/openai",
        "/openai/deployments/d/chat/completions",
        "/openai/deployments/d/chat/completions",
      ],
    ] as const;
    for (const [base, rest, path] of table)
      t.equal(originPath(base, rest), path, `${base} ${rest}`);
  },
);

t.test(
  "a query is passed on without credentials, and with the API version if it has none",
  async (t) => {
    const table = [
      ["", null, ""],
      ["a=1&b=%20&&c", null, "?a=1&b=%20&c"],
      ["key=k&a=1", null, "?a=1"],
      [
        "%6bey=k&KEY=k&oauth_token=k&api-key=k&api_key=k&access_token=k&Authorization=Bearer%20k",
        null,
        "",
      ],
      ["monkey=1&key2=2", null, "?monkey=1&key2=2"],
      ["alt=sse", "2024-10-21", "?alt=sse&api-version=2024-10-21"],
      ["api-version=mine", "2024-10-21", "?api-version=mine"],
      ["API-Version=mine", "2024-10-21", "?API-Version=mine"],
    ] as const;
    for (const [query, version, expected] of table)
      t.equal(passedQuery(query, version), expected, query);
  },
);

t.test("one parameter replaces another one, and only once", async (t) => {
  t.equal(replaceParameter("a=1&model=x&b=2", "model", "model", "y z"), "a=1&model=y%20z&b=2");
  t.equal(replaceParameter("model=x&model=y", "model", "deployment", "d"), "deployment=d");
  t.equal(replaceParameter("m%6fdel=x", "model", "model", "y"), "model=y", "however it is spelt");
  t.equal(parameterOf("a=1&model=x%20y&model=z", "model"), "x y");
  t.equal(parameterOf("a=1", "model"), null);
});

t.test("a query without anything that breaks a request line is clean", async (t) => {
  for (const clean of ["", "a=1&b[]=2", 'a="b"', "a=http://x//y?z"])
    t.ok(isCleanQuery(clean), clean);
  for (const unclean of ["a b", "a#b", "é", "a\r\nb"])
    t.notOk(isCleanQuery(unclean), JSON.stringify(unclean));
});
