import t from "tap";
import {
  listOwnObjects,
  pageLimit,
  pageOf,
  pageQuery,
  readPage,
} from "../../../../proxy/handlers/objects/list-objects.js";
import type { Upstream } from "../../../../proxy/upstream/upstream.js";
import {
  type FakeGateway,
  fakeGateway,
  type RequestSample,
  type Served,
  served,
} from "../../fake-gateway.js";

const yaml = `
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] }
`;

const list = (fake: FakeGateway, request: Partial<RequestSample> = {}): Promise<Served> =>
  served(
    fake,
    (context) => listOwnObjects(context, "files", context.gateway.providers.get("one")!),
    { method: "GET", path: "/v1/files", ...request },
  );

/** A provider of so many files, of which every n-th is the caller's. */
function providerOf(count: number, nth: number): FakeGateway {
  const fake = fakeGateway(yaml);
  for (let i = 0; i < count; i++)
    fake.owners.set(`file-${i}`, [
      { provider: "one", userPath: i % nth === nth - 1 ? "/team" : "/other" },
    ]);
  const upstream: Partial<Upstream> = {
    send({ path }, sink) {
      fake.sent.push({ what: path, headers: [], body: null });
      const query = new URLSearchParams(path.split("?")[1]);
      const after = query.get("after");
      const from = after === null ? 0 : Number(after.slice("file-".length)) + 1;
      const to = Math.min(count, from + Number(query.get("limit")));
      const data = Array.from({ length: to - from }, (_, i) => ({ id: `file-${from + i}` }));
      const ids = { first_id: data[0]?.id, last_id: data.at(-1)?.id };
      sink.onHead(200, ["content-type", "application/json"]);
      sink.onData(
        Buffer.from(JSON.stringify({ object: "list", data, ...ids, has_more: to < count })),
      );
      sink.onEnd();
      return { isSent: true, pause() {}, resume() {}, abort() {} };
    },
  };
  Object.assign(fake.gateway.providers.get("one")!.upstream, upstream);
  return fake;
}

const idsOf = ({ body }: Served): readonly string[] =>
  (body as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id);

t.test("a list has the caller's own alone, and begins and ends with them", async (t) => {
  const answer = await list(providerOf(10, 4));
  t.same(answer.body, {
    object: "list",
    data: [{ id: "file-3" }, { id: "file-7" }],
    first_id: "file-3",
    last_id: "file-7",
    has_more: false,
  });
  t.match(answer.record, { status: 200, outcome: "complete", target: { provider: "one" } });
});

t.test(
  "pages without any of the caller's are passed over, and all of them are found by paging",
  async (t) => {
    const fake = providerOf(1000, 250);
    const found: string[] = [];
    let query = "limit=5000&purpose=batch";
    for (;;) {
      const answer = await list(fake, { query });
      found.push(...idsOf(answer));
      const { has_more: hasMore, last_id: last } = answer.body as Record<string, unknown>;
      if (hasMore !== true) break;
      query = `after=${String(last)}`;
    }
    t.same(found, ["file-249", "file-499", "file-749", "file-999"]);
    t.match(fake.sent[0]!.what, /^\/files\?limit=100&purpose=batch$/);
    const foreign = providerOf(5000, 1e9);
    t.match(await list(foreign), { body: { data: { length: 0 }, has_more: false } });
    t.equal(foreign.sent.length, 20, "a bound on what one answer looks at");
  },
);

t.test("a small limit finds as much as a large one, a page at a time", async (t) => {
  const fake = providerOf(5000, 150);
  const found: string[] = [];
  for (let query = "limit=1"; ; ) {
    const { body } = await list(fake, { query });
    const {
      data,
      has_more: hasMore,
      last_id: last,
    } = body as {
      readonly data: readonly { readonly id: string }[];
      readonly has_more: boolean;
      readonly last_id: string;
    };
    t.equal(data.length, data.length > 0 ? 1 : 0);
    found.push(...data.map(({ id }) => id));
    if (!hasMore) break;
    t.equal(last, data[0]!.id);
    query = `limit=1&after=${last}`;
  }
  t.equal(found.length, 33);
  t.equal(new Set(found).size, 33);
  t.match(fake.sent[0]!.what, /^\/files\?limit=100$/);
});

t.test("a provider that fails, or answers with no list, is a failure of its own", async (t) => {
  for (const [answer, status] of [
    [{ status: 500, body: '{"error":{"message":"broken"}}' }, 500],
    [{ status: 401, body: "{}" }, 502],
    [{ status: 200, body: '{"object":"list"}' }, 502],
    [{ status: 200, body: "<html>" }, 502],
    [{ kind: "unreachable", reason: "ECONNREFUSED" }, 502],
  ] as const) {
    const fake = fakeGateway(yaml);
    fake.answers.set("one", answer);
    t.match(await list(fake), { status, body: { error: { provider: "one" } } });
  }
});

t.test("a key that the provider repeats in its error doesn't reach the caller", async (t) => {
  const fake = fakeGateway(yaml);
  const body = '{"error":{"message":"é: bad key sk-provider-secret"}}';
  fake.answers.set("one", { status: 400, body });
  Object.assign(fake.gateway.providers.get("one")!.upstream, {
    redact: (text: string) => text.replaceAll("sk-provider-secret", "[redacted]"),
  });
  const answer = await list(fake);
  t.equal(answer.status, 400);
  t.match(JSON.stringify(answer.body), /é: bad key \[redacted\]/);
  t.notMatch(JSON.stringify(answer.body), /secret/);
});

t.test("without the daemon nothing is listed", async (t) => {
  const fake = providerOf(3, 1);
  const failure = {
    status: 503,
    type: "internal_error",
    message: "away",
    code: "limiter_unavailable",
    param: null,
    provider: null,
  };
  Object.assign(fake.gateway.limiter, { call: () => Promise.resolve({ ok: false, failure }) });
  t.match(await list(fake), { status: 503, body: { error: { message: "away" } } });
});

const own = ["a", "b", "c"].map((id) => ({ id }));
const forth = { limit: 2, goesBack: false };

t.test("a page is cut to what the client wants, on the side away from its cursor", async (t) => {
  const page = readPage({ object: "list", data: own, first_id: "x", last_id: "y" })!;
  const cut = { object: "list", first_id: "a", last_id: "b", has_more: true };
  t.same(pageOf(page, own, forth).page, { ...cut, data: own.slice(0, 2) });
  const back = { ...cut, first_id: "b", last_id: "c", data: own.slice(1) };
  t.same(pageOf(page, own, { limit: 2, goesBack: true }).page, back);
  t.match(pageOf(page, own, { ...forth, limit: 3 }), { items: own, page: { has_more: false } });
  const more = { ...page, hasMore: true };
  t.match(pageOf(more, own, { ...forth, limit: 3 }).page, { has_more: true });
  const none = { object: "list", data: [], first_id: null, last_id: null, has_more: false };
  t.same(pageOf(more, [], forth).page, none);
});

t.test("nothing else of the provider's page is returned: it may name other callers", async (t) => {
  const page = readPage({ data: own, total: 9, has_more: true, usage_bytes: 7 })!;
  t.same(pageOf(page, own, forth).page, { data: own.slice(0, 2), has_more: true });
});

t.test("however few are wanted, a hundred are asked for", async (t) => {
  for (const [query, limit] of [
    ["", 100],
    ["limit=1", 1],
    ["limit=100", 100],
    ["limit=5000", 100],
    ["limit=0", 100],
    ["limit=x", 100],
  ] as const) {
    t.equal(pageLimit(query), limit, query);
    t.equal(pageQuery(query, "after", "f"), "limit=100&after=f");
  }
  t.equal(pageQuery("purpose=batch", "after_id", null), "purpose=batch&limit=100");
  t.equal(pageQuery("purpose=&after_id=", "after_id", null), "limit=100", "empty: absent");
});
