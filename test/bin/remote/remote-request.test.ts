import t from "tap";
import { apiFailure, daemonBody, remoteRequest } from "../../../bin/remote/remote-request.js";
import { adminOps } from "../../../shared/wire/admin-op.js";

const nowMs = Date.parse("2026-01-01T00:00:00Z");

t.test("operations become requests of the admin API", async (t) => {
  for (const [op, body, expected] of [
    ["rate-limits.list", { after: null }, ["GET", "/admin/rate-limits", null]],
    [
      "leases.list",
      { limit: 5, search: "/a b" },
      ["GET", "/admin/in-flight?limit=5&search=%2Fa+b", null],
    ],
    ["rate-limits.put", { subject: "/a" }, ["PUT", "/admin/rate-limits", { subject: "/a" }]],
    ["keys.list", { user_path: "/", limit: 5 }, ["GET", "/admin/auth-keys?limit=5", null]],
    ["tenants.list", { under: "/", search: "/" }, ["GET", "/admin/tenants?search=%2F", null]],
    [
      "rate-limits.children",
      { user_path: "/" },
      ["GET", "/admin/rate-limits/children?user_path=%2F", null],
    ],
    ["status", null, ["GET", "/admin/status", null]],
    [
      "keys.issue",
      { key_hash: "h", redacted_value: "r", key: { name: "x" }, expires_in_seconds: 60 },
      ["POST", "/admin/auth-keys", { name: "x", expires_at: "2026-01-01T00:01:00.000Z" }],
    ],
    [
      "keys.rotate",
      { id: "key_1", new_hash: "h", rotation: { overlap_seconds: 0 } },
      ["POST", "/admin/auth-keys/key_1/rotate", { overlap_seconds: 0 }],
    ],
    ["keys.deactivate", { id: "key_1" }, ["POST", "/admin/auth-keys/key_1/deactivate", {}]],
    ["keys.delete", { id: "../x" }, ["DELETE", "/admin/auth-keys/..%2Fx", null]],
    ["jwts.deny", { jwt: { sub: "a" } }, ["PUT", "/admin/denied-jwts", { sub: "a" }]],
  ] as const) {
    const [method, path, sent] = expected;
    t.same(remoteRequest(op, body, nowMs), { method, path, body: sent }, op);
  }
});

t.test("an operation without an endpoint, and a key by its value, are refused here", async (t) => {
  t.match(remoteRequest("backup", {}, nowMs), { message: /run this on the host/ });
  t.match(remoteRequest("keys.delete", { key_hash: "h" }, nowMs), { message: /takes a key's id/ });
  for (const op of adminOps) t.type(remoteRequest(op, {}, nowMs), "object", op);
});

t.test("answers have the form of the daemon's", async (t) => {
  t.same(daemonBody("keys.list", {}, [{ id: "key_1" }]), { keys: [{ id: "key_1" }], next: null });
  t.same(daemonBody("jwts.list", {}, { denied_jwts: [] }), { denied_jwts: [], next: null });
  t.same(daemonBody("keys.delete", { id: "key_1" }, null), { id: "key_1" });
  t.same(daemonBody("status", null, { rules: 1 }), { rules: 1 });
});

t.test("the error for a refused key says where the key is from, or where to put one", async (t) => {
  const body = { type: "authentication_error", message: "missing credentials", code: null };
  t.match(apiFailure(401, body, null), {
    status: 401,
    message:
      "missing credentials: put the gateway's master key, or a key of administration, into SLUICE_API_KEY",
  });
  t.match(apiFailure(401, body, "SLUICE_MASTER_KEY")?.message, /is that of SLUICE_MASTER_KEY/);
  const keyless = { type: "permission_error", message: "it needs one: set SLUICE_MASTER_KEY" };
  for (const from of [null, "SLUICE_API_KEY"])
    t.equal(
      apiFailure(403, keyless, from)?.message,
      "it needs one: set SLUICE_MASTER_KEY where that gateway runs, or use sluice there, which needs no key",
    );
  t.equal(apiFailure(404, "<html>", null), null);
  t.match(apiFailure(404, { type: "not_found_error", message: "no such rule", code: "x" }, null), {
    message: "no such rule",
    code: "x",
    param: null,
  });
});
