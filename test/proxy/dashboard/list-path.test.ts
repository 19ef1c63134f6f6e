/** What a page of the dashboard asks a list for. */
import t from "tap";
import { listPath } from "../../../proxy/dashboard/web/logic/list-path.js";

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
