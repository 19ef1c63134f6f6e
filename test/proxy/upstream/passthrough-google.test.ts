import t from "tap";
import { bodyTypeProblem, queryProblem } from "../../../proxy/upstream/passthrough-path.js";

t.test("what keeps Google from reporting usage is refused, however it is written", async (t) => {
  const gemini = "https://generativelanguage.googleapis.com/v1beta/openai";
  const google = [
    { type: "gemini", baseUrl: gemini },
    { type: "gemini", baseUrl: "http://127.0.0.1:9100/v1" },
    { type: "openai", baseUrl: "https://aiplatform.googleapis.com/v1/projects/p" },
  ] as const;
  const table: readonly (readonly [query: string, post: RegExp | null, get: RegExp | null])[] = [
    ["", null, null],
    ["alt=sse", null, null],
    ["alt=json&pageSize=3", null, null],
    ["$alt=json;enum-encoding=int", null, null],
    ["prettyPrint=false&$prettyPrint=false&$.xgafv=2&quotaUser=u", null, null],
    ["uploadType=resumable&upload_id=1", null, null],
    ["fields=candidates", /"fields"/, null],
    ["a=1&%24fields=candidates", /"\$fields"/, null],
    ["f%69elds=candidates", /"fields"/, null],
    ["Fields=candidates", /"Fields"/, null],
    ["a=1;fields=candidates", /"fields"/, null],
    ["alt=proto", /"alt" with a value/, null],
    ["alt=media", /"alt" with a value/, null],
    ["alt=json&alt=proto", /"alt" with a value/, null],
    ["alt=sse&$alt=%70roto", /"\$alt" with a value/, null],
    ["alt", /"alt" with a value/, null],
    ["callback=f", /"callback"/, null],
    ["%24Callback=f", /"\$Callback"/, null],
    ["$httpHeaders=x", /"\$httpHeaders"/, /"\$httpHeaders"/],
    ["$httpMethod=POST", /"\$httpMethod"/, /"\$httpMethod"/],
  ];
  for (const [query, post, get] of table) {
    for (const provider of google)
      for (const [method, problem] of [
        ["POST", post],
        ["GET", get],
      ] as const) {
        const found = queryProblem(method, query, provider);
        if (problem === null) t.equal(found, null, `${method} ${query}`);
        else t.match(found, problem, `${method} ${query}`);
      }
    const other = { type: "openai", baseUrl: "https://googleapis.com.example/v1" } as const;
    t.equal(queryProblem("POST", query, other), null, "it means nothing elsewhere");
  }
  t.match(queryProblem("GET", "a#b", google[0]), /a character/);
});

t.test(
  "a body that Google would answer in protobuf is refused, a file of that type isn't",
  async (t) => {
    const gemini = { type: "gemini", baseUrl: "https://g.example/v1beta/openai" } as const;
    const generate = "/v1beta/models/g:generateContent";
    const proto = ["Content-Type", "application/x-protobuf"];
    const table: readonly (readonly [
      rest: string,
      headers: readonly string[],
      isRefused: boolean,
    ])[] = [
      [generate, [], false],
      [generate, ["content-type", "application/json"], false],
      [generate, ["accept", "content-type", "x-a", "proto"], false],
      [generate, proto, true],
      [generate, ["content-type", "application/json", ...proto], true],
      ["/$rpc/a.Service/GenerateContent", ["content-type", "application/json+protobuf"], true],
      ["/upload/v1beta/files", proto, false],
    ];
    for (const [rest, headers, isRefused] of table) {
      t.equal(bodyTypeProblem(rest, headers, gemini) !== null, isRefused, `${rest} ${headers}`);
      const other = { type: "openai", baseUrl: "https://api.openai.com/v1" } as const;
      t.equal(bodyTypeProblem(rest, headers, other), null, "it means nothing elsewhere");
    }
  },
);
