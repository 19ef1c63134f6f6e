import t from "tap";
import { type ListOf, replyList } from "../../../../proxy/handlers/admin/reply-list.js";
import { periodSecondsMax } from "../../../../shared/bounds.js";
import { invalid } from "../../../../shared/error-code.js";
import type { DaemonAnswer } from "../../../../shared/wire/admin-op.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { fakeGateway, operator, type Served, served } from "../../fake-gateway.js";

const fake = fakeGateway("providers: { openai: { type: openai, api_key: none, models: [m] } }");

type Body = Readonly<Record<string, unknown>>;

/** A daemon with seven items, of which one page looks at three. */
const seven = (body: Body): DaemonAnswer => {
  const from = body["after"] === undefined ? 0 : Number(body["after"]);
  const end = Math.min(7, from + Math.min(3, Number(body["limit"] ?? 3)));
  const items = [0, 1, 2, 3, 4, 5, 6]
    .slice(from, end)
    .filter((n) => body["search"] !== "even" || n % 2 === 0);
  return {
    ok: true,
    body: { budgets: items, server_time: "now", next: end < 7 ? String(end) : null },
  };
};

const list: ListOf = {
  op: "budgets.list",
  items: "budgets",
  pageItems: "budgets",
  whole: "object",
  headers: [],
};

async function get(
  query: string,
  { of = list, call = seven }: { of?: ListOf; call?: (body: Body) => DaemonAnswer } = {},
): Promise<Served & { readonly asked: readonly Body[] }> {
  const asked: Body[] = [];
  const limiter = {
    call(_op: string, body: Body) {
      asked.push(body);
      return Promise.resolve(call(body));
    },
  };
  const gateway = { ...fake.gateway, limiter } as unknown as typeof fake.gateway;
  const answer = await served({ ...fake, gateway }, (context) => replyList(context, of, query), {
    method: "GET",
    caller: operator,
    path: "/admin/budgets",
    query,
  });
  return { ...answer, asked };
}

t.test("without limit and after the answer is the whole list, as it is narrowed", async (t) => {
  t.same((await get("")).body, { budgets: [0, 1, 2, 3, 4, 5, 6], server_time: "now" });
  t.same((await get("search=even")).body, { budgets: [0, 2, 4, 6], server_time: "now" });
  const bare = await get("search=even", { of: { ...list, whole: "array" } });
  t.same(JSON.parse(String(bare.body)), [0, 2, 4, 6]);
  t.same(
    bare.asked.map(({ search, after }) => [search, after]),
    [
      ["even", undefined],
      ["even", "3"],
      ["even", "6"],
    ],
  );
});

t.test("a page is full unless it is the last, however few items the daemon looks at", async (t) => {
  t.same((await get("limit=4")).body, { budgets: [0, 1, 2, 3], server_time: "now", next: "4" });
  t.same((await get("limit=4&after=4")).body, {
    budgets: [4, 5, 6],
    server_time: "now",
    next: null,
  });
  t.same((await get("limit=3&search=even")).body, {
    budgets: [0, 2, 4],
    server_time: "now",
    next: "5",
  });
  t.same((await get("after=6")).body, { budgets: [6], server_time: "now", next: null });
});

t.test(
  "parameters reach the daemon as they are, a number as one; a repeated one doesn't",
  async (t) => {
    t.same((await get("limit=2&scope=provider&search=50%25")).asked, [
      { limit: 2, scope: "provider", search: "50%" },
    ]);
    t.match((await get("limit=many")).asked, exactly([{ limit: "many" }]));
    const longest = `limit=2&period_seconds=${periodSecondsMax}`;
    t.equal((await get(longest)).asked[0]!["period_seconds"], periodSecondsMax);
    for (const query of ["search=a&search=b", "__proto__=1"]) {
      const { status, asked } = await get(query);
      t.equal(status, 400, query);
      t.same(asked, [], query);
    }
  },
);

t.test(
  "a failure is the answer as long as nothing was sent, and cuts the list after that",
  async (t) => {
    const failed: DaemonAnswer = { ok: false, failure: invalid("limit must be less", "limit") };
    const atOnce = await get("limit=300", { call: () => failed });
    t.match([atOnce.status, atOnce.body], exactly([400, { param: "limit" }]));
    const later = await get("", {
      call: (body) => (body["after"] === undefined ? seven(body) : failed),
    });
    t.match([later.status, later.exchange.ended], exactly([200, "cut"]));
  },
);
