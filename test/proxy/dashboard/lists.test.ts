/** What is asked of one page of a list, and what it is after the stream has told of it. */
import t from "tap";
import { itemsAfter, listPath, newRows } from "../../../proxy/dashboard/web/logic/list-page.js";

t.test("only what the list knows is passed on, escaped, and nothing empty", async (t) => {
  const query = new URLSearchParams({ search: "a&b=c", after: "", status: "active", tab: "x" });
  t.equal(
    listPath("/admin/auth-keys", query, ["status"]),
    ["/admin/auth-keys?limit=100", "search=a%26b%3Dc", "status=active"].join("&"),
  );
  t.equal(listPath("/admin/in-flight", new URLSearchParams()), "/admin/in-flight?limit=100");
});

t.test("what the address doesn't have is given beside it", async (t) => {
  t.equal(
    listPath("/admin/budgets", new URLSearchParams({ scope: "label" }), [], { scope: "user_path" }),
    "/admin/budgets?limit=100&scope=user_path",
  );
});

const item = (subject: string, used: number, period_seconds = 60) => ({
  scope: "user_path",
  subject,
  period_seconds,
  used,
});

t.test("changed items take their places, and a whole page takes all", async (t) => {
  const before = [item("/a", 1), item("/a", 2, 3600), item("/b", 3)];
  t.same(itemsAfter(before, false, [item("/a", 9, 3600)]), [
    before[0],
    item("/a", 9, 3600),
    before[2],
  ]);
  t.same(itemsAfter(before, false, []), before);
  t.same(
    itemsAfter(before, false, [item("/new", 1)]),
    before,
    "what isn't on the page stays off it",
  );
  t.same(itemsAfter(before, true, [item("/c", 1)]), [item("/c", 1)]);
});

t.test("rows that came while a list stands still are counted", async (t) => {
  const rows = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
  t.equal(newRows(rows(0, 10), rows(0, 10), String), "0");
  t.equal(newRows(rows(0, 10), rows(7, 10), String), "7");
  t.equal(newRows(rows(0, 100), rows(500, 100), String), "100+", "more may have gone by");
});
