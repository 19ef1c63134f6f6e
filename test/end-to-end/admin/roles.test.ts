/**
 * Roles of administration (docs/roles.md), through real processes: what keys with a role may do at
 * each endpoint, and that a role for a subtree neither sees nor changes what is beside or above it.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { adminAccess } from "../../../proxy/http/paths/admin-access.js";
import {
  type AdminEndpoint,
  adminIdRoutes,
  adminRoutes,
} from "../../../proxy/http/paths/admin-routes.js";
import { type AdminRole, adminRoles } from "../../../shared/access/admin-role.js";
import { isObject } from "../../../shared/checked.js";
import { run } from "../../bin/command-session.js";
import { agesSeconds } from "../../support/ages.js";
import { until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyCompletion,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const master = "master-key-of-the-test";
const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const limit = (max: number): string => `limits: [{ period: day, max_requests: ${max} }]`;
const site = makeSite(
  t,
  `
entitlements: [quota_templates]
server: { master_key: ${master} }
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: k, models: ["*"] }
prices: { test/model: { input: 3, output: 15 } }
rate_limits:
  providers: [{ name: test, ${limit(51017)} }]
  user_paths:
    - { path: /, per_child: true, ${limit(50017)} }
    - { path: /team, ${limit(52017)} }
    - { path: /team, per_child: true, limits: [{ period: hour, max_requests: 53017 }] }
    - { path: /team/a, ${limit(54017)} }
    - { path: /team2, ${limit(55017)} }
    - { path: /teamx/a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
budgets:
  user_paths:
    - { path: /, limits: [{ period: daily, amount: 56017 }] }
    - { path: /team, limits: [{ period: daily, amount: 57017 }] }
    - { path: /team/a, limits: [{ period: daily, amount: 58017 }] }
    - { path: /team2, limits: [{ period: daily, amount: 59017 }] }
  labels: [{ label: green, limits: [{ period: daily, amount: 60017 }] }]
`,
);
await site.startDaemon();
const url = (await site.startProxy()).ready;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

async function call(method: string, path: string, token: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isObject = text.startsWith("{") && !text.includes("\n");
  return {
    status: response.status,
    text,
    body: isObject ? (JSON.parse(text) as Answer["body"]) : {},
  };
}

interface Issued {
  readonly id: string;
  readonly value: string;
}

async function issue(body: object, by = master): Promise<Issued> {
  const answer = await call("POST", "/admin/auth-keys", by, body);
  assert.equal(answer.status, 201, answer.text);
  return { id: String(answer.body["id"]), value: String(answer.body["value"]) };
}

const paths = ["/team", "/team/a", "/team2", "/teamx/a", "/"];
const apps = new Map<string, Issued>();
for (const user_path of paths)
  apps.set(user_path, await issue({ user_path, name: `app ${user_path}` }));
const unbound = await issue({ name: "for any path" });
const requestIds = new Map<string, string>();
for (const [path, { value }] of apps) {
  for (const [status, id] of [
    [200, `sent${path}`],
    [400, `failed${path}`],
    [200, `again${path}`],
  ] as const) {
    upstream.answer = (one) =>
      status === 200
        ? replyCompletion(one, 7)
        : void one.response
            .writeHead(400, { "content-type": "application/json" })
            .end(JSON.stringify({ error: { message: `wrong for ${path}` } }));
    await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${value}`,
        "x-request-id": id.replaceAll("/", "-"),
        "session-id": `session${path}`,
      },
      body: JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "hi" }] }),
    });
  }
  requestIds.set(path, `sent${path}`.replaceAll("/", "-"));
}
// The proxy reports failed requests a moment after their answers.
await until(
  () => call("GET", "/admin/requests", master),
  ({ text }) => paths.every((path) => text.includes(`failed${path}`.replaceAll("/", "-"))),
);
const ofTeam = new Map<AdminRole, Issued>();
const ofAll = new Map<AdminRole, Issued>();
for (const role of adminRoles) {
  ofTeam.set(role, await issue({ role, user_path: "/team", name: `${role} of the team` }));
  ofAll.set(role, await issue({ role }));
}
const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
const teamAdmin = ofTeam.get("admin")!.value;
const day = { limit_key: { period: "day" } };
const daily = { budget_key: { period: "daily" } };

/** A request to an endpoint that a role may make, which changes nothing: no such limit exists. */
const bodies: Readonly<Record<string, unknown>> = {
  "PUT /admin/rate-limits": { user_path: "/team/a", ...day },
  "DELETE /admin/rate-limits": { user_path: "/team/none", ...day },
  "POST /admin/rate-limits/test": { user_path: "/team/a", ...day, max_requests: 1 },
  "POST /admin/rate-limits/raise": { user_path: "/team/none" },
  "DELETE /admin/rate-limits/raise": { user_path: "/team/none", ...day },
  "POST /admin/rate-limits/reset-one": { user_path: "/team/none", period: "day" },
  "PUT /admin/budgets": { user_path: "/team/a", ...daily },
  "DELETE /admin/budgets": { user_path: "/team/none", ...daily },
  "POST /admin/budgets/raise": { user_path: "/team/none" },
  "DELETE /admin/budgets/raise": { user_path: "/team/none", ...daily },
  "POST /admin/budgets/reset-one": { user_path: "/team/none", period: "daily" },
  "POST /admin/auth-keys": { user_path: "/team", name: "" },
  "POST /admin/explain": { user_path: "/team/a", model: "test/model" },
};

const endpoints: readonly (readonly [method: string, path: string, endpoint: AdminEndpoint])[] = [
  ...adminRoutes.map(([path, methods]) => [path, methods] as const),
  ...adminIdRoutes.map(
    ([, methods, route]) => [route.replace("{id}", "key_999"), methods] as const,
  ),
].flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, endpoint]) => [method, path, endpoint] as const),
);

t.test("each endpoint has a role for each of its methods, and no other", async (t) => {
  const named = new Set(endpoints.map(([method, , endpoint]) => `${method} ${endpoint}`));
  const listed = Object.entries(adminAccess).flatMap(([endpoint, methods]) =>
    Object.keys(methods).map((method) => `${method} ${endpoint}`),
  );
  t.same(listed.toSorted(), [...named].toSorted());
});

t.test("each role opens the endpoints of its row, of its subtree or of everything", async (t) => {
  for (const [method, path, endpoint] of endpoints) {
    const needed = adminAccess[endpoint][method]!;
    const query = path.endsWith("/children") ? "?user_path=/team&period=hour" : "";
    for (const [where, keys] of [
      ["/team", ofTeam],
      ["/", ofAll],
    ] as const) {
      for (const [role, key] of keys) {
        const name = `${method} ${path} by ${role} of ${where}`;
        // The stream has no end: `live.test.ts` reads it.
        if (endpoint === "live") continue;
        const answer = await call(method, path + query, key.value, bodies[`${method} ${path}`]);
        const may =
          adminRoles.indexOf(role) >= adminRoles.indexOf(needed.role) &&
          (needed.ofSubtree || where === "/");
        if (may) {
          if ([401, 403].includes(answer.status) || answer.status >= 500)
            t.fail(`${name}: ${answer.status} ${answer.text}`);
          continue;
        }
        t.equal(answer.status, 403, name);
        t.equal(
          answer.body["message"],
          `${method} ${path} needs the role ${needed.role} for ${needed.ofSubtree ? where : "/"}: ` +
            `this is ${role} of ${where}`,
        );
      }
    }
  }
});

t.test("a role for a subtree sees what is in it, and nothing beside or above it", async (t) => {
  const others = ["/team2", "/teamx", "51017", "56017", "59017", "60017", 'app /"', "any path"];
  const ids = [apps.get("/team2")!.id, apps.get("/teamx/a")!.id, apps.get("/")!.id, unbound.id];
  for (const [path, has] of [
    ["/admin/status", ["version"]],
    // Also what its child of the template on / may use.
    ["/admin/rate-limits", ["50017", "52017", "54017"]],
    ["/admin/rate-limits?order=use", ["50017", "52017", "54017", '"template":"/team"']],
    ["/admin/rate-limits?limit=1", ["50017"]],
    ["/admin/rate-limits?search=team", ["52017"]],
    ["/admin/rate-limits?user_path=/team/a", ["53017", "54017"]],
    ["/admin/rate-limits/children?user_path=/team&period=hour", ["/team/a"]],
    ["/admin/budgets", ["57017", "58017"]],
    ["/admin/budgets?order=use", ["57017", "58017"]],
    ["/admin/auth-keys", ["app /team", "app /team/a", "viewer of the team"]],
    ["/admin/auth-keys?limit=200&search=app", ["app /team/a"]],
    ["/admin/in-flight", []],
    ["/admin/refusals", []],
    ["/admin/queues", []],
    ["/admin/usage", []],
    ["/admin/usage?by=path", ["/team/a"]],
    ["/admin/usage?by=key", [apps.get("/team/a")!.id]],
    ["/admin/usage?by=session", ["session/team/a"]],
    ["/admin/usage?by=path&days=2&step=hour", ["/team/a", '"step":"hour"']],
    [`/admin/tenants?sort=spend&start=${hourAgo}`, ["/team/a", '"requests":3']],
    ["/admin/usage?by=path&format=csv", ["/team/a"]],
    ["/admin/usage/records", ["/team/a"]],
    ["/admin/usage/records?format=ndjson", ["/team/a"]],
    ["/admin/usage/records?format=csv", ["/team/a"]],
    ["/admin/usage/export", ["/team/a"]],
    ["/admin/requests", ["/team/a"]],
    ["/admin/sessions", ["session/team/a"]],
    ["/admin/tenants", ["/team/a"]],
    ["/admin/audit", ["/team"]],
    ["/admin/audit?format=ndjson", ["/team"]],
    [`/admin/requests/${requestIds.get("/team/a")}`, ["/team/a"]],
  ] as const) {
    const all = await call("GET", path, master);
    t.equal(all.status, 200, path);
    for (const [role, { value }] of ofTeam) {
      const { status, text } = await call("GET", path, value);
      t.equal(status, 200, `${path} ${text}`);
      for (const part of has) t.ok(text.includes(part), `${role} ${path} has ${part}: ${text}`);
      if (path.startsWith("/admin/requests/")) continue;
      for (const part of others)
        t.notOk(text.includes(part), `${role} ${path} has no ${part}: ${text}`);
      for (const id of ids)
        t.notOk(new RegExp(`\\b${id}\\b`).test(text), `${role} ${path} has no ${id}: ${text}`);
    }
  }
  t.match((await call("GET", "/admin/usage", teamAdmin)).body, {
    user_path: "/team",
    usage: { total_requests: 6, total_tokens: 28 },
  });
});

t.test(
  "what a role names beside its subtree is refused, or as unknown as what isn't there",
  async (t) => {
    const outside = ["/", "/team2", "/teamx/a", "/tea", "/TEAM/a", " /team2 ", "//team2//"];
    for (const path of outside) {
      for (const query of [
        "/admin/rate-limits?user_path=",
        "/admin/budgets?user_path=",
        "/admin/auth-keys?limit=9&user_path=",
        "/admin/in-flight?user_path=",
        "/admin/refusals?user_path=",
        "/admin/requests?user_path=",
        "/admin/sessions?user_path=",
        "/admin/tenants?under=",
        "/admin/audit?user_path=",
        "/admin/usage?user_path=",
        "/admin/usage/records?user_path=",
        "/admin/usage/export?user_path=",
        "/admin/rate-limits/children?period=day&user_path=",
        "/admin/budgets/children?period=daily&user_path=",
      ]) {
        const answer = await call("GET", query + encodeURIComponent(path), teamAdmin);
        t.equal(answer.status, 403, `${query}${path}: ${answer.text}`);
      }
      t.equal(
        (await call("POST", "/admin/explain", teamAdmin, { user_path: path, model: "test/model" }))
          .status,
        403,
        `explain ${path}`,
      );
    }
    for (const path of ["/team/../team2", "/team/./a", "/team/%2e%2e/team2:x"]) {
      const answer = await call("GET", `/admin/usage?user_path=${path}`, teamAdmin);
      t.ok([400, 200].includes(answer.status), `${path}: ${answer.text}`);
      t.notMatch(answer.text, /team2"/);
    }
    const unknown = await call("POST", "/admin/auth-keys/key_999/deactivate", teamAdmin);
    t.equal(unknown.status, 404);
    for (const { id } of [apps.get("/team2")!, apps.get("/")!, unbound, ofAll.get("viewer")!]) {
      for (const [method, tail, body] of [
        ["POST", "/rotate", {}],
        ["POST", "/deactivate", undefined],
        ["DELETE", "", undefined],
      ] as const) {
        const answer = await call(method, `/admin/auth-keys/${id}${tail}`, teamAdmin, body);
        t.equal(answer.status, 404, `${method} ${id}${tail}`);
        t.equal(answer.text, unknown.text.replace("key_999", id), "as an unknown key");
      }
      const explained = { key: id, model: "test/model" };
      t.equal((await call("POST", "/admin/explain", teamAdmin, explained)).status, 404);
    }
    const none = await call("GET", "/admin/requests/none", teamAdmin);
    t.equal(none.status, 404);
    for (const path of ["/team2", "/teamx/a", "/"]) {
      const id = requestIds.get(path)!;
      t.equal((await call("GET", `/admin/requests/${id}`, master)).status, 200);
      const answer = await call("GET", `/admin/requests/${id}`, teamAdmin);
      t.equal(answer.status, 404);
      t.equal(answer.text, none.text.replace("none", id), "as an unknown request");
    }
    const { refusals } = (await call("GET", "/admin/refusals", master)).body as {
      readonly refusals: readonly { readonly request_id: string }[];
    };
    const refused = { request_id: refusals[0]!.request_id };
    t.equal((await call("POST", "/admin/explain", master, refused)).status, 200);
    t.equal((await call("POST", "/admin/explain", teamAdmin, refused)).status, 404);
  },
);

t.test(
  "a role for a subtree changes limits below it, and none on it, beside it or above it",
  async (t) => {
    const state = async (): Promise<string> =>
      (await call("GET", "/admin/limits?all=true", master)).text;
    const before = await state();
    const raise = { for_seconds: 60, reason: "x" };
    for (const target of [
      { user_path: "/" },
      { user_path: "/team" },
      { subject: "/team" },
      { scope: "user_path", subject: "/team/" },
      { user_path: "/team2" },
      { user_path: "/teamx/a" },
      {},
      { scope: "provider", subject: "test" },
      { scope: "model", subject: "test/model" },
      // Of two, the subject counts.
      { user_path: "/team/a", subject: "/team2" },
    ]) {
      for (const [method, path, body] of [
        ["PUT", "/admin/rate-limits", { ...day, max_requests: 8000 }],
        ["PUT", "/admin/rate-limits", { ...day, max_requests: 8000, per_child: true }],
        ["DELETE", "/admin/rate-limits", day],
        ["DELETE", "/admin/rate-limits", { ...day, revert: true }],
        ["POST", "/admin/rate-limits/raise", { ...day, ...raise, max_requests: 99000 }],
        ["DELETE", "/admin/rate-limits/raise", day],
        ["POST", "/admin/rate-limits/reset-one", { period: "day" }],
        ["PUT", "/admin/budgets", { ...daily, amount: 8000 }],
        ["DELETE", "/admin/budgets", daily],
        ["POST", "/admin/budgets/raise", { ...daily, ...raise, amount: 99000 }],
        ["DELETE", "/admin/budgets/raise", daily],
        ["POST", "/admin/budgets/reset-one", { period: "daily" }],
      ] as const) {
        if (path.startsWith("/admin/budgets") && target.scope === "model") continue;
        const answer = await call(method, path, teamAdmin, { ...target, ...body });
        t.equal(answer.status, 403, `${method} ${path} ${JSON.stringify(target)}: ${answer.text}`);
      }
    }
    const moved = {
      user_path: "/team/new",
      ...day,
      max_requests: 5,
      replaces: { user_path: "/team2", ...day },
    };
    t.equal((await call("PUT", "/admin/rate-limits", teamAdmin, moved)).status, 403, "moves");
    const child = {
      user_path: "/team/b",
      limit_key: { period: "hour" },
      ...raise,
      max_requests: 99000,
    };
    const raised = await call("POST", "/admin/rate-limits/raise", teamAdmin, child);
    t.equal(raised.status, 403, "a child of a template that stands above");
    t.match(raised.body, { message: /^a role for \/team can.t raise the template on \/team$/ });
    t.equal((await call("POST", "/admin/rate-limits/raise", master, child)).status, 200);
    const { max_requests: _, ...ended } = child;
    t.equal(
      (
        await call("DELETE", "/admin/rate-limits/raise", teamAdmin, {
          user_path: ended.user_path,
          limit_key: ended.limit_key,
        })
      ).status,
      403,
      "and its raise isn't ended",
    );
    t.equal(await state(), before, "nothing was changed");

    for (const [role, { value }] of ofTeam) {
      const status = role === "viewer" ? 403 : 200;
      const rule = { user_path: "/team/own", ...day, max_requests: 9 };
      const made = await call("PUT", "/admin/rate-limits", value, rule);
      t.equal(made.status, status, `${role}: ${made.text}`);
      t.notMatch(made.text, /team2/, "the answer to a change is confined, too");
      const budget = { user_path: "/team/own", ...daily, amount: 9 };
      t.equal((await call("PUT", "/admin/budgets", value, budget)).status, status, role);
      const template = { user_path: "/team/own", per_child: true, limit_key: { period: "hour" } };
      const put = await call("PUT", "/admin/rate-limits", value, { ...template, max_requests: 1 });
      t.equal(put.status, status, put.text);
      const spent = { user_path: "/team/a", ...daily, ...raise, amount: 99100 };
      t.equal((await call("POST", "/admin/budgets/raise", value, spent)).status, status, role);
      const { status: reset } = await call("POST", "/admin/budgets/reset-one", value, {
        user_path: "/team/a",
        period: "daily",
      });
      t.equal(reset, status, role);
      t.equal(
        (await call("DELETE", "/admin/rate-limits", value, { user_path: "/team/own", ...day }))
          .status,
        status,
        role,
      );
    }
  },
);

t.test("a role for a subtree sets no loops where those above it apply", async (t) => {
  const write = (token: string, user_path: string, fields: object): Promise<Answer> =>
    call("PUT", "/admin/rate-limits", token, {
      user_path,
      limit_key: { period: "concurrent" },
      ...fields,
    });
  const none = { loops: { warn_after: 0 } };
  const strict = { loops: { refuse_after: 3 } };
  t.equal((await write(teamAdmin, "/team/loops", none)).status, 200, "no path above has any");
  t.equal((await write(master, "/team/loops", strict)).status, 200);
  for (const perChild of [false, true]) {
    const above = { ...strict, per_child: perChild };
    t.equal((await write(master, "/team", above)).status, 200);
    for (const path of ["/team/other", "/team/loops"])
      t.match(await write(teamAdmin, path, none), {
        status: 403,
        body: {
          param: "loops",
          message: /^a role for \/team can't set loops: those of \/team apply /,
        },
      });
    const kept = await write(teamAdmin, "/team/loops", { max_requests: 50 });
    t.equal(kept.status, 200, kept.text);
    t.match(kept.text, '"refuse_after":3');
    await call("DELETE", "/admin/rate-limits", master, {
      user_path: "/team",
      limit_key: { period: "concurrent" },
    });
  }
  await call("DELETE", "/admin/rate-limits", master, {
    user_path: "/team/loops",
    limit_key: { period: "concurrent" },
  });
});

t.test("a session's agent is of its own path: another path may have the name, too", async (t) => {
  upstream.answer = (one) => replyCompletion(one, 7);
  for (const [path, agent] of [
    ["/team2", "agent-of-others/1"],
    ["/team/a", "own-agent/1"],
  ] as const) {
    const headers = {
      authorization: `Bearer ${apps.get(path)!.value}`,
      "session-id": "same-session",
      "user-agent": agent,
    };
    const body = JSON.stringify({
      model: "test/model",
      messages: [{ role: "user", content: "x" }],
    });
    const sent = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
    t.equal(sent.status, 200);
  }
  for (const [token, agents] of [
    [teamAdmin, ["own-agent/1"]],
    [master, ["own-agent/1", "agent-of-others/1"]],
  ] as const) {
    const named = (answer: Answer) =>
      answer.body["sessions"] as readonly { agent: string | null }[];
    // Proxies report agents a little later.
    const listed = await until(
      () => call("GET", "/admin/sessions?session=same-session", token),
      (answer) => named(answer).every(({ agent }) => agent !== null),
    );
    t.same(
      named(listed).map(({ agent }) => agent),
      agents,
    );
  }
});

t.test("a subtree's admin issues keys in it, with roles in it, and none beyond", async (t) => {
  for (const body of [
    {},
    { user_path: "/" },
    { user_path: "/team2" },
    { user_path: "/teamx" },
    { role: "viewer" },
    { role: "admin", user_path: "/" },
    { role: "admin", user_path: "/team2" },
    { user_path: "/team/b", labels: ["green"] },
  ]) {
    const answer = await call("POST", "/admin/auth-keys", teamAdmin, body);
    t.equal(answer.status, 403, `${JSON.stringify(body)}: ${answer.text}`);
  }
  for (const role of ["viewer", "operator"] as const)
    t.equal(
      (await call("POST", "/admin/auth-keys", ofTeam.get(role)!.value, { user_path: "/team" }))
        .status,
      403,
      `${role}s issue no keys`,
    );
  const app = await issue({ user_path: "/team/b" }, teamAdmin);
  t.equal((await call("GET", "/v1/usage", app.value)).status, 200);
  const below = await issue({ user_path: "/team/b", role: "admin" }, teamAdmin);
  t.equal(
    (await call("POST", "/admin/auth-keys", below.value, { user_path: "/team" })).status,
    403,
  );
  t.equal((await call("GET", "/admin/rate-limits?user_path=/team", below.value)).status, 403);
  const rotated = `/admin/auth-keys/${below.id}/rotate`;
  t.match(await call("POST", rotated, master, { models: ["*"] }), {
    status: 400,
    body: { param: "models" },
  });
  const narrow = await issue({ user_path: "/team/b", models: ["test/a"], labels: ["green"] });
  for (const models of [["*"], null]) {
    const widened = await call("POST", `/admin/auth-keys/${narrow.id}/rotate`, teamAdmin, {
      models,
    });
    t.match(widened, {
      status: 403,
      body: { message: /^models can't be set by a role for \/team: /, param: "models" },
    });
  }
  const again = await call("POST", `/admin/auth-keys/${narrow.id}/rotate`, teamAdmin, {});
  const { models: kept, labels } = again.body;
  t.same([again.status, kept, labels], [200, ["test/a"], ["green"]]);
  const taken = await call("POST", rotated, teamAdmin, {});
  t.equal(taken.status, 200);
  const [entry] = (await call("GET", `/admin/audit?subject=${below.id}`, master)).body[
    "entries"
  ] as readonly object[];
  t.match(entry, { who: `key ${ofTeam.get("admin")!.id}`, operation: "keys.rotate" });
  t.equal((await call("POST", `/admin/auth-keys/${below.id}/deactivate`, teamAdmin)).status, 204);
  t.equal((await call("GET", "/admin/auth-keys", below.value)).status, 401, "ended at once");
  for (const [body, param] of [
    [{ role: "root" }, "role"],
    [{ role: "admin", models: ["*"] }, "models"],
    [{ role: "admin", labels: ["x"] }, "labels"],
    [{ role: "admin", hash: "a".repeat(64) }, "hash"],
  ] as const)
    t.match(await call("POST", "/admin/auth-keys", master, body), { status: 400, body: { param } });
});

t.test("a request's id that others chose, too, hides no request of the subtree", async (t) => {
  const body = JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "hi" }] });
  const send = async (path: string, fails: boolean): Promise<void> => {
    upstream.answer = (one) =>
      fails ? void one.response.writeHead(400).end("{}") : replyCompletion(one, 7);
    const headers = { authorization: `Bearer ${apps.get(path)!.value}`, "x-request-id": "same" };
    await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
  };
  for (const fails of [false, true])
    for (const path of ["/team/a", "/team2"]) {
      await send(path, fails);
      const { status, text } = await call("GET", "/admin/requests/same", teamAdmin);
      t.equal(status, 200, `${path} ${text}`);
      t.notMatch(text, "/team2");
      t.match(text, '"user_path":"/team/a"');
    }
  for (const [token, user_path] of [
    [master, "/team2"],
    [teamAdmin, "/team/a"],
  ] as const) {
    // Proxies report the details of requests a little later.
    const { body: found } = await until(
      () => call("GET", "/admin/requests/same", token),
      (answer) => isObject(answer.body["request"]),
    );
    t.match(found, { request: { user_path, kind: "failed" } });
  }
});

t.test("a key of administration calls no models", async (t) => {
  const asked = upstream.calls.length;
  const body = { model: "test/model", messages: [{ role: "user", content: "hi" }] };
  for (const { value } of [...ofTeam.values(), ...ofAll.values()]) {
    for (const [method, path, sent] of [
      ["POST", "/v1/chat/completions", body],
      ["POST", "/v1/messages", { ...body, max_tokens: 9 }],
      ["POST", "/v1/responses", { model: "test/model", input: "hi" }],
      ["GET", "/v1/models", undefined],
      ["GET", "/v1/files", undefined],
      ["GET", "/v1/usage", undefined],
      ["GET", "/p/test/models", undefined],
    ] as const) {
      const answer = await call(method, path, value, sent);
      t.equal(answer.status, 403, `${path} ${answer.text}`);
      t.match(answer.text, /key of administration|passthrough/);
    }
    t.equal((await call("GET", "/metrics", value)).status, 401);
  }
  t.equal(upstream.calls.length, asked);
});

t.test(
  "a session that a key of administration opens has its role, and ends with the key",
  async (t) => {
    const { id, value } = await issue({ role: "viewer", user_path: "/team", name: "Ann" });
    const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    const opened = await fetch(`${url}/dashboard/session`, {
      method: "POST",
      headers,
      body: JSON.stringify({ key: value }),
    });
    t.equal(opened.status, 204);
    const cookie = opened.headers.get("set-cookie")!.split(";", 1)[0]!;
    const get = async (path: string): Promise<Answer> => {
      const response = await fetch(url + path, { headers: { ...headers, cookie } });
      const text = await response.text();
      return { status: response.status, text, body: JSON.parse(text) as Answer["body"] };
    };
    t.match((await get("/dashboard/session")).body, {
      kind: "admin",
      role: "viewer",
      path: "/team",
      name: "Ann",
    });
    const limits = await get("/admin/rate-limits");
    t.equal(limits.status, 200);
    t.notMatch(limits.text, /team2/);
    t.equal((await get("/admin/rate-limits?user_path=/team2")).status, 403);
    for (const path of ["/admin/config", "/admin/traffic", "/v1/usage"])
      t.equal((await get(path)).status, 403, path);
    t.same(await get("/health"), { status: 200, text: '{"status":"ok"}', body: { status: "ok" } });
    const put = await fetch(`${url}/admin/rate-limits`, {
      method: "PUT",
      headers: { ...headers, cookie },
      body: JSON.stringify({ user_path: "/team/a", ...day, max_requests: 1 }),
    });
    t.equal(put.status, 403, "a viewer changes nothing");
    await call("POST", `/admin/auth-keys/${id}/deactivate`, master);
    t.equal((await get("/admin/rate-limits")).status, 401);
  },
);

t.test("the audit log names the key, and each sees the changes of its subtree", async (t) => {
  const { id, value } = ofTeam.get("operator")!;
  const rule = { user_path: "/team/audited", ...day, max_requests: 9 };
  await call("PUT", "/admin/rate-limits", value, rule);
  await call("PUT", "/admin/rate-limits", master, { ...rule, user_path: "/team2/audited" });
  const entries = async (token: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await call("GET", "/admin/audit?subject=audited", token)).body["entries"] as [];
  const [own, ...others] = await entries(value);
  t.match(own, { who: `key ${id}`, operation: "rate-limits.put" });
  t.same(others, []);
  t.equal((await entries(master)).length, 2);
});

t.test(
  "the command line works with a key of administration, and says which role is needed",
  async (t) => {
    const file = join(site.directory, "operator.key");
    writeFileSync(file, ofTeam.get("operator")!.value, { mode: 0o600 });
    const flags = ["--url", url, "--key-file", file];
    const listed = await run(["limits", "list", ...flags], {});
    t.equal(listed.exitCode, 0, listed.err);
    t.match(listed.out, "/team/a");
    t.notMatch(listed.out, "/team2");
    const set = await run(["limits", "set", "/team/cli", "--rpm", "5", ...flags], {});
    t.equal(set.exitCode, 0, set.err);
    const beside = await run(["limits", "set", "/team2", "--rpm", "5", ...flags], {});
    t.match(beside, { exitCode: 1, err: /\/team2 isn't in the subtree of this role, \/team/ });
    const issued = await run(["keys", "issue", "--path", "/team/cli", ...flags], {});
    t.match(issued.err, /needs the role admin for \/team: this is operator of \/team/);
    const made = await run(
      ["keys", "issue", "--role", "viewer", "--path", "/team", "--socket", site.socket],
      {},
    );
    t.match(made, { exitCode: 0, err: /issued key_\d+, viewer of \/team, without expiry/ });
    t.equal((await call("GET", "/admin/rate-limits", made.out.trim())).status, 200);
    const table = await run(["keys", "list", "--socket", site.socket], {});
    t.match(table.out, /none: viewer/);
  },
);
