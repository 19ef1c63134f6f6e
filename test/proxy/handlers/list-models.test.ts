import t from "tap";
import { authenticatedCaller } from "../../../proxy/auth/caller.js";
import { answerModel, answerModels } from "../../../proxy/handlers/list-models.js";
import type { ModelPatterns } from "../../../shared/access/allowed-models.js";
import { type FakeGateway, fakeGateway, type Served, served } from "../fake-gateway.js";

const fake = fakeGateway(`
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [gpt, "meta/llama"] }
  any: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] }
virtual_models:
  smart: { targets: [{ model: one/gpt }] }
`);
const none: readonly string[] = [];
const anthropic = ["anthropic-version", "2023-06-01"];

const list = (of: FakeGateway, headers: readonly string[] = []): Promise<Served> =>
  served(of, answerModels, {
    method: "GET",
    path: "/v1/models",
    headers,
  });
const one = (id: string, headers: readonly string[] = []): Promise<Served> =>
  served(fake, answerModel, {
    method: "GET",
    path: `/v1/models/${id}`,
    headers,
  });

t.test("the list comes in the client's dialect", async (t) => {
  const ids = ["smart", "one/gpt", "one/meta/llama"];
  const owners = ["sluice", "one", "one"];
  t.same((await list(fake)).body, {
    object: "list",
    data: ids.map((id, i) => ({ id, object: "model", created: 0, owned_by: owners[i] })),
  });
  t.same((await list(fake, anthropic)).body, {
    data: ids.map((id) => ({
      type: "model",
      id,
      display_name: id,
      created_at: "1970-01-01T00:00:00Z",
      max_input_tokens: null,
      max_tokens: null,
      capabilities: null,
      lifecycle: "active",
      line: null,
      deprecated_at: null,
      retires_at: null,
    })),
    has_more: false,
    first_id: "smart",
    last_id: "one/meta/llama",
  });
});

t.test("a caller with a list of models sees those alone, in every dialect", async (t) => {
  const idsOf = async (
    allowLists: readonly ModelPatterns[],
    path = "/v1/models",
    headers = none,
  ) => {
    const caller = authenticatedCaller("/team", allowLists);
    const { body } = await served(fake, answerModels, { method: "GET", path, headers, caller });
    const { data, models } = body as { data?: { id: string }[]; models?: { name: string }[] };
    return data?.map(({ id }) => id) ?? models!.map(({ name }) => name);
  };
  t.same(await idsOf([["one/*"]]), ["one/gpt", "one/meta/llama"]);
  t.same(await idsOf([["gpt", "SMART"].map((name) => name.toLowerCase())]), ["smart", "one/gpt"]);
  t.same(await idsOf([["meta/*"]], "/v1/models", anthropic), ["one/meta/llama"]);
  t.same(await idsOf([["gpt"]], "/v1beta/models"), ["models/one/gpt"]);
  t.same(await idsOf([["one/*"], ["gpt"]]), ["one/gpt"]);
  t.same(await idsOf([[]]), []);
  const caller = authenticatedCaller("/team", [["gpt"]]);
  for (const [id, status] of [
    ["gpt", 200],
    ["one/gpt", 200],
    ["smart", 403],
    ["any/other", 403],
  ] as const) {
    const answer = await served(fake, answerModel, {
      method: "GET",
      path: `/v1/models/${id}`,
      caller,
    });
    t.equal(answer.status, status, id);
  }
});

t.test("pages, in the dialects that have them", async (t) => {
  const idsOf = async (
    query: string,
    headers = none,
    path = "/v1/models",
  ): Promise<readonly unknown[]> => {
    const { status, body } = await served(fake, answerModels, {
      method: "GET",
      path,
      query,
      headers,
    });
    if (status !== 200) return [status, (body as { error: { message: string } }).error.message];
    const { data, models, ...page } = body as {
      data?: { id: string }[];
      models?: { name: string }[];
      has_more?: boolean;
      nextPageToken?: string;
    };
    const ids = data?.map(({ id }) => id) ?? models!.map(({ name }) => name);
    return [...ids, page.has_more ?? page.nextPageToken ?? null];
  };
  const all = ["smart", "one/gpt", "one/meta/llama"];
  const cases = [
    ["limit=2", ["smart", "one/gpt", true]],
    ["limit=2&after_id=one%2Fgpt", ["one/meta/llama", false]],
    ["limit=1&before_id=one%2Fmeta%2Fllama", ["one/gpt", true]],
    ["limit=2&before_id=one%2Fmeta%2Fllama", ["smart", "one/gpt", false]],
    ["limit=3", [...all, false]],
    ["limit=1000", [...all, false]],
    ["", [...all, false]],
    ["limit=&after_id=", [...all, false]],
    ["limit=0", [...all, false]],
    ["after_id=gone", [400, "after_id must be the id of a listed model"]],
  ] as const;
  for (const [query, right] of cases) t.same(await idsOf(query, anthropic), right, query);
  const google = all.map((id) => `models/${id}`);
  const beta = "/v1beta/models";
  t.same(await idsOf("pageSize=2", none, beta), [...google.slice(0, 2), "one/gpt"]);
  t.same(await idsOf("pageToken=one%2Fgpt", none, beta), [google[2], null]);
  t.same(await idsOf("pageToken=", none, beta), [...google, null]);
  t.same((await idsOf("pageToken=x", none, beta))[0], 400);
  t.same(await idsOf("limit=1&after_id=x"), [...all, null], "OpenAI's list has none");
});

t.test("an empty list has neither first nor last", async (t) => {
  const none = fakeGateway(
    'providers: { any: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] } }',
  );
  t.same((await list(none)).body, { object: "list", data: [] });
  t.same((await list(none, anthropic)).body, {
    data: [],
    has_more: false,
    first_id: null,
    last_id: null,
  });
});

t.test(
  "one model is answered under the name in the path, with slashes as they are or percent-encoded",
  async (t) => {
    const table = [
      ["smart", "smart", "sluice"],
      ["one/gpt", "one/gpt", "one"],
      ["one%2Fmeta%2Fllama", "one/meta/llama", "one"],
      ["whatever", "whatever", "any"],
      ["gr%C3%B6%C3%9Fe", "größe", "any"],
    ] as const;
    for (const [id, named, owner] of table) {
      const { status, body, record } = await one(id);
      t.same([status, body], [200, { id: named, object: "model", created: 0, owned_by: owner }]);
      t.match(record, { status: 200, outcome: "answered" });
      t.match((await one(id, anthropic)).body, { type: "model", id: named, display_name: named });
    }
  },
);

t.test("an unknown model is a 404, and so is a broken percent encoding", async (t) => {
  for (const id of ["one/", "%20", "%zz", "x".repeat(600)])
    t.match(
      await one(id),
      {
        status: 404,
        body: { error: { code: "model_not_found", param: "model" } },
        record: { outcome: "refused" },
      },
      id,
    );
  t.match(
    (await one("one/", anthropic)).body,
    {
      type: "error",
      error: { type: "not_found_error", message: /^the model "one\/" does not exist/ },
    },
    "in the dialect of who asks",
  );
});
