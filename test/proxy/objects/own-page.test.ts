import t from "tap";
import { pageLimit, pageOf, pageQuery, readPage } from "../../../proxy/objects/own-page.js";

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

t.test("nothing else of the provider's page is told: it may be of the whole account", async (t) => {
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
});
