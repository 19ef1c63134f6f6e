/** What the daemon does for the holder of a role for a subtree: by operation, path and limit. */
import t from "tap";
import { withinOf } from "../../../../limiterd/handlers/admin/admin-operation.js";
import { confine } from "../../../../limiterd/handlers/admin/confine.js";
import { type AdminOp, adminOps } from "../../../../shared/wire/admin-op.js";
import { ask, refusal, startDaemon } from "../../in-memory-daemon.js";

const by = { who: "key key_1", from: "socket", requestId: "", within: "/team" };
const status = (op: AdminOp, body: unknown, within = "/team"): number => {
  const confined = confine(op, body, within);
  return confined.ok ? 200 : confined.failure.status;
};

t.test("a role for everything is confined in nothing", async (t) => {
  const daemon = startDaemon([]);
  for (const within of ["/", undefined])
    t.same((await ask(daemon, "audit.list", {}, { ...by, within }))["entries"], []);
  t.equal(withinOf({ request: { op: "status", by: undefined } }), "/");
  t.equal(withinOf({ request: { op: "status", by } }), "/team");
});

t.test("a list is about the subtree, or a path in it", async (t) => {
  const lists = adminOps.filter((op) => {
    const confined = confine(op, null, "/team");
    return op !== "tenants.list" && confined.ok && confined.value !== null;
  });
  t.same(confine("tenants.list", {}, "/team"), { ok: true, value: { under: "/team" } });
  t.equal(status("tenants.list", { under: "/team/a" }), 200);
  t.equal(status("tenants.list", { under: "/team2" }), 403);
  t.same(lists, [
    "rate-limits.list",
    "budgets.list",
    "keys.list",
    "leases.list",
    "queues.list",
    "refusals.list",
    "usage.summary",
    "usage.records",
    "usage.export",
    "requests.list",
    "requests.sessions",
    "audit.list",
  ]);
  for (const op of lists) {
    t.same(confine(op, { limit: 1 }, "/team"), {
      ok: true,
      value: { limit: 1, user_path: "/team" },
    });
    t.same(confine(op, { user_path: null }, "/team"), { ok: true, value: { user_path: "/team" } });
    for (const [path, expected] of [
      ["/team", 200],
      ["team//a/", 200],
      ["/", 403],
      ["", 403],
      ["/team2", 403],
      ["/tea", 403],
      ["/Team", 403],
      ["/team/../x", 400],
      [7, 400],
    ] as const)
      t.equal(status(op, { user_path: path }), expected, `${op} ${path}`);
  }
});

t.test("limits are changed below the subtree's path, and read on it, too", async (t) => {
  for (const [target, read, changed] of [
    [{ user_path: "/team/a" }, 200, 200],
    [{ subject: "team/a/b" }, 200, 200],
    [{ user_path: "/team" }, 200, 403],
    [{ user_path: "/team/" }, 200, 403],
    [{ user_path: "/team", per_child: true }, 200, 403],
    [{}, 403, 403],
    [null, 403, 403],
    [{ user_path: "/team2/a" }, 403, 403],
    [{ user_path: "/team/a", subject: "/x" }, 403, 403],
    [{ scope: "provider", subject: "openai" }, 403, 403],
    [{ scope: "PROVIDER", subject: "openai" }, 403, 403],
    [{ user_path: "/team/../x" }, 400, 400],
    [{ scope: "nothing" }, 400, 400],
  ] as const) {
    const name = JSON.stringify(target);
    for (const kind of ["rate-limits", "budgets"] as const) {
      t.equal(status(`${kind}.children`, target), read, name);
      for (const op of ["put", "delete", "raise", "end-raise", "reset-one"] as const)
        t.equal(status(`${kind}.${op}`, target), changed, `${op} ${name}`);
    }
    t.equal(status("rate-limits.test", target), read, name);
  }
  const move = (replaces: unknown): number =>
    status("rate-limits.put", { user_path: "/team/a", replaces });
  t.equal(move({ user_path: "/team/b" }), 200);
  for (const other of [{ user_path: "/team2" }, { user_path: "/team" }, {}, null, "x"])
    t.equal(move(other), 403, JSON.stringify(other));
  t.equal(status("budgets.put", { scope: "label", subject: "green" }), 403);
});

t.test("a daemon doesn't do for a role of a subtree what concerns the whole gateway", async (t) => {
  const daemon = startDaemon([]);
  const whole = adminOps.filter((op) => status(op, { user_path: "/team/a" }) === 403);
  for (const op of whole)
    if (op !== "backup")
      t.match(
        await refusal(ask(daemon, op, {}, by)),
        { status: 403, type: "permission_error" },
        op,
      );
  const { uptime_seconds: _, ...rest } = await ask(daemon, "status", {}, by);
  t.same(Object.keys(rest), ["version", "enabled", "usage_enabled", "budgets_enabled"]);
  for (const op of ["metrics", "jwts.deny", "limits.apply", "usage.adjust", "usage.follow"])
    t.ok(
      whole.some((name) => name === op),
      op,
    );
});
