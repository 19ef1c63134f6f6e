import t from "tap";
import { overrideRequest, overridesFor } from "../../../proxy/dialects/override-request.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { Operation } from "../../../shared/operation.js";
import { accepted, refused } from "../../shared/config/resolve-sample.js";

const providerWith = (entries: string): ProviderConfig =>
  accepted(`providers: { a: { base_url: "http://a", models: ["*"], per_model: ${entries} } }`)
    .config.providers[0]!;

function sent(
  entry: string,
  body: string,
  operation: Operation = "chat_completions",
): { readonly body: string; readonly dropped: readonly string[] } {
  const request = { operation, body: Buffer.from(body), dropped: ["before"] };
  const { body: bytes, dropped } = overrideRequest(request, providerWith(`[${entry}]`), "m");
  return { body: bytes.toString(), dropped: dropped.slice(1) };
}

t.test("fields are set, added where the client has none, and left out", async (t) => {
  const body = '{"model":"m","temperature":1,"user":"ann","max_tokens":null,"x":[1,{"y":"ü"}]}';
  const table: readonly (readonly [string, string, readonly string[]])[] = [
    [
      "set: {temperature: 0}",
      '{"model":"m","user":"ann","max_tokens":null,"x":[1,{"y":"ü"}],"temperature":0}',
      [],
    ],
    ["defaults: {temperature: 0}", body, []],
    [
      "defaults: {max_tokens: 9}",
      '{"model":"m","temperature":1,"user":"ann","x":[1,{"y":"ü"}],"max_tokens":9}',
      [],
    ],
    [
      "defaults: {seed: 7}",
      '{"model":"m","temperature":1,"user":"ann","max_tokens":null,"x":[1,{"y":"ü"}],"seed":7}',
      [],
    ],
    [
      "drop: [user, nothing]",
      '{"model":"m","temperature":1,"max_tokens":null,"x":[1,{"y":"ü"}]}',
      ["user"],
    ],
    ["drop: [max_tokens]", '{"model":"m","temperature":1,"user":"ann","x":[1,{"y":"ü"}]}', []],
    ["drop: [nothing]", body, []],
    ["first_byte_timeout_ms: 5", body, []],
  ];
  for (const [entry, expected, dropped] of table)
    t.same(sent(`{models: [m], ${entry}}`, body), { body: expected, dropped }, entry);
});

t.test("whatever a client writes, the provider reads the operator's value", async (t) => {
  const entry = '{models: ["*"], set: {stop: "é中\\u2028"}, drop: [user]}';
  for (const body of [
    '{"stop":1,"stop":2,"user":"a","user":"b"}',
    '{"st\\u006fp":1,"\\u0075ser":"a"}',
    '{ "user" : "a" , "stop" : { "stop" : 1 } }',
    "{}",
    ' {"model":"m"} ',
  ]) {
    const read = JSON.parse(sent(entry, body).body) as Record<string, unknown>;
    t.equal(read["stop"], "é中\u2028", body);
    t.notOk("user" in read, body);
  }
  const kept = JSON.parse(
    sent(entry, '{"\\u4e2d\\"\\n":1,"ü":2,"中":3,"\\u00e9":4}').body,
  ) as object;
  t.match(kept, { '中"\n': 1, ü: 2, é: 4 }, "names keep their characters");
});

t.test("the first entry for the model and the operation applies", async (t) => {
  const provider = providerWith(
    "[{models: [gpt-5*], operations: [responses], total_timeout_ms: 1}, {models: [GPT-*], total_timeout_ms: 2}, {models: [x], operations: [embeddings], set: {dimensions: 5}}]",
  );
  const totalOf = (model: string, operation: Operation): number | null =>
    overridesFor(provider, model, operation)?.totalTimeoutMs ?? null;
  t.equal(totalOf("gpt-5.4", "responses"), 1);
  t.equal(totalOf("gpt-5.4", "chat_completions"), 2);
  t.equal(totalOf("Gpt-4o", "embeddings"), 2);
  t.equal(totalOf("claude", "responses"), null);
  const request = { operation: "embeddings", body: Buffer.from("{}"), dropped: [] } as const;
  t.equal(overrideRequest({ ...request }, provider, "x").body.toString(), "{}", "not tuned");
});

t.test("what the file says wrongly is reported, with its place", async (t) => {
  const problems = (entries: string): readonly string[] =>
    refused(`providers: { a: { base_url: "http://a", per_model: ${entries} } }`);
  const at = "providers.a.per_model[0]";
  const fields = "must be a mapping of at most 32 fields of a body to values";
  for (const [entry, problem] of [
    ["{}", `${at}.models is required`],
    ["{models: []}", `${at}.models must be a list of model ids`],
    ["{models: [m], set: {model: x}}", `${at}.set ${fields}`],
    ["{models: [m], set: {stream: true}}", `${at}.set ${fields}`],
    ["{models: [m], defaults: [temperature]}", `${at}.defaults ${fields}`],
    ["{models: [m], set: {a b: 1}}", `${at}.set ${fields}`],
    ["{models: [m], set: {a: .inf}}", `${at}.set ${fields}`],
    ["{models: [m], set: {__proto__: 1}}", `${at}.set.__proto__ is a reserved name`],
    ["{models: [m], drop: [messages]}", `${at}.drop must be a list of at most 32 fields`],
    ["{models: [m], drop: [7x]}", `${at}.drop must be a list of at most 32 fields`],
    ["{models: [m], total_timeout_ms: 0}", `${at}.total_timeout_ms must be an integer from 1`],
    ["{models: [m], operations: [dance]}", `${at}.operations must be a list`],
    [
      "{models: [m], set: {a: 1}, drop: [a]}",
      `${at}.drop names a, which set names too: keep one of them`,
    ],
  ] as const)
    t.ok(
      problems(`[${entry}]`).some((line) => line.startsWith(problem)),
      `${entry}: ${problems(`[${entry}]`).join("; ")}`,
    );
});
