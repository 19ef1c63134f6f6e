import t from "tap";
import {
  accessProblem,
  adminAccess,
  requestsOf,
} from "../../../../proxy/http/paths/admin-access.js";
import {
  type AdminEndpoint,
  adminIdRoutes,
  adminRoutes,
} from "../../../../proxy/http/paths/admin-routes.js";
import { adminRoles, everything } from "../../../../shared/access/admin-role.js";

t.test("each endpoint has a role for each of its methods, and for no other", async (t) => {
  const routed = [...adminRoutes, ...adminIdRoutes].flatMap(([, methods]) =>
    Object.entries(methods).map(([method, endpoint]) => `${method} ${endpoint}`),
  );
  const listed = Object.entries(adminAccess).flatMap(([endpoint, methods]) =>
    Object.keys(methods).map((method) => `${method} ${endpoint}`),
  );
  t.same(listed.toSorted(), [...new Set(routed)].toSorted());
});

t.test("whoever reads needs to be a viewer; a change needs more", async (t) => {
  for (const [endpoint, methods] of Object.entries(adminAccess))
    for (const [method, { role }] of Object.entries(methods))
      if (endpoint !== "explain" && endpoint !== "rate-limits-test")
        t.equal(role === "viewer", method === "GET", `${method} ${endpoint}`);
});

t.test("a role includes those below it, in its subtree", async (t) => {
  const request = { method: "PUT", path: "/admin/rate-limits" };
  for (const role of adminRoles)
    for (const path of ["/", "/team"])
      t.equal(accessProblem({ role, path }, "rate-limits", request) === null, role !== "viewer");
  t.match(accessProblem({ role: "viewer", path: "/team" }, "rate-limits", request), {
    status: 403,
    message: "PUT /admin/rate-limits needs the role operator for /team: this is viewer of /team",
  });
  const reset = { method: "POST", path: "/admin/budgets/reset" };
  t.match(accessProblem({ role: "admin", path: "/team" }, "budgets-reset", reset), {
    message: "POST /admin/budgets/reset needs the role operator for /: this is admin of /team",
  });
  for (const endpoint of Object.keys(adminAccess) as AdminEndpoint[])
    for (const method of Object.keys(adminAccess[endpoint]))
      t.equal(accessProblem(everything, endpoint, { method, path: "/" }), null);
  t.match(accessProblem(everything, "status", { method: "PATCH", path: "/admin/status" }), {
    status: 403,
  });
});

t.test("a role's requests are those that it may send, by their paths", async (t) => {
  t.same(requestsOf({ role: "viewer", path: "/team" }), [
    "POST /admin/rate-limits/test",
    "POST /admin/explain",
  ]);
  const operator = requestsOf({ role: "operator", path: "/team" });
  t.ok(operator.includes("PUT /admin/rate-limits"));
  t.notOk(operator.includes("POST /admin/auth-keys"), "it issues no keys");
  t.notOk(operator.includes("POST /admin/rate-limits/reset"), "that is of all");
  t.ok(requestsOf({ role: "admin", path: "/team" }).includes("DELETE /admin/auth-keys/{id}"));
  t.ok(requestsOf(everything).includes("POST /admin/usage/reprice"));
});
