import t from "tap";
import { emptyRollup } from "../../../limiterd/usage/rollup.js";
import type { TenantItem, TenantList } from "../../../shared/api/tenant-item.js";
import type { RequestReport } from "../../../shared/wire/request-report.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, client, hour, noon, spend, usd } from "../budgets/budget-fixture.js";
import {
  ask,
  askFor,
  pathRule,
  refusal,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const day = 86_400;

async function tenants(daemon: TestDaemon, query: object = {}): Promise<readonly TenantItem[]> {
  return (await listOf(daemon, query)).tenants;
}

async function listOf(daemon: TestDaemon, query: object): Promise<TenantList> {
  const window = { start_date: "2026-10-24", end_date: "2026-11-22" };
  return (await ask(daemon, "tenants.list", { ...window, ...query })) as unknown as TenantList;
}

const pathsOf = (items: readonly TenantItem[]): readonly string[] =>
  items.map(({ user_path }) => user_path);

/** Three tenants of a template, of which each has something that the others lack. */
function startTenants(): TestDaemon {
  const daemon = startDaemon(
    [
      { ...pathRule("/users", day, { requests: 4 }), perChild: true },
      pathRule("/ops", 60, { requests: 9 }),
    ],
    { nowMs: noon, budgets: [budget("/users", day, 10, { perChild: true })] },
  );
  const proxy = client(daemon);
  spend(proxy, "/users/ann", 8 * usd);
  spend(proxy, "/users/bob/app", 2 * usd);
  const peer = daemon.proxy("p2");
  for (const id of [2, 3, 4, 5, 6, 7]) askFor(peer, id, "/users/cy");
  return daemon;
}

const failed = (id: string, path: string): RequestReport => ({
  request_id: id,
  kind: "failed",
  status: 502,
  outcome: "provider_error",
  method: "POST",
  path: "/v1/chat/completions",
  user_path: path,
  duration_ms: 3,
  error_message: "overloaded",
});

t.test("direct children are rows with everything below them, the fullest first", async (t) => {
  const daemon = startTenants();
  t.match(
    await tenants(daemon),
    exactly([
      {
        user_path: "/users",
        has_children: true,
        nearest: { kind: "limit", subject: "/users/cy", period_label: "day", used_ratio: 1 },
        runs_out: { subject: "/users/cy", exhausts_at: "2026-11-21T12:00:00Z" },
        refusals: 2,
        usage: { requests: 2, total_cost: 10 },
      },
      { user_path: "/ops", has_children: false, nearest: { used_ratio: 0 }, runs_out: null },
    ]),
  );
  t.match(
    await tenants(daemon, { under: "/users" }),
    exactly([
      { user_path: "/users/cy", refusals: 2, usage: { requests: 0 } },
      {
        user_path: "/users/ann",
        nearest: { kind: "budget", period_label: "daily", used_ratio: 0.8 },
        // 8 dollars in 12 hours: the other 2 last for 3 hours.
        runs_out: { kind: "budget", exhausts_at: "2026-11-21T15:00:00Z" },
        usage: { total_cost: 8, unpriced_requests: 0 },
      },
      { user_path: "/users/bob", has_children: true, runs_out: null, usage: { total_cost: 2 } },
    ]),
  );
});

t.test("a rule that only finds loops is no limit of a tenant", async (t) => {
  const daemon = startTenants();
  const key = { user_path: "/agents", limit_key: { period: "concurrent" } };
  await ask(daemon, "rate-limits.put", { ...key, loops: { warn_after: 5 } });
  t.notOk(pathsOf(await tenants(daemon)).includes("/agents"));
  await ask(daemon, "rate-limits.put", { ...key, loops: { warn_after: 5 }, max_requests: 3 });
  t.ok(pathsOf(await tenants(daemon)).includes("/agents"));
});

t.test("a list has each tenant in a row of its own, in each order", async (t) => {
  const daemon = startTenants();
  daemon.nowMs += hour;
  daemon.state.requests.add(failed("r1", "/users/bob/app"), daemon.nowMs);
  for (const [sort, expected] of [
    ["used", ["/users/cy", "/users/ann", "/users/bob", "/ops", "/users/bob/app"]],
    ["runs_out", ["/users/cy", "/users/ann", "/users/bob", "/ops", "/users/bob/app"]],
    ["spend", ["/users/ann", "/users/bob", "/users/cy", "/ops", "/users/bob/app"]],
    ["refusals", ["/users/cy", "/users/ann", "/users/bob", "/ops", "/users/bob/app"]],
    ["failures", ["/users/bob/app", "/users/cy", "/users/ann", "/users/bob", "/ops"]],
    ["keys", ["/users/cy", "/users/ann", "/users/bob", "/ops", "/users/bob/app"]],
    ["errors", ["/users/bob/app", "/users/cy", "/users/ann", "/users/bob", "/ops"]],
    ["path", ["/ops", "/users/ann", "/users/bob", "/users/bob/app", "/users/cy"]],
  ] as const)
    t.same(pathsOf(await tenants(daemon, { flat: "true", sort })), expected, sort);
  t.match(
    await tenants(daemon, { search: "BOB/" }),
    exactly([
      {
        user_path: "/users/bob/app",
        failures: 1,
        last_error: { request_id: "r1", message: "overloaded" },
        usage: { total_cost: 2 },
      },
    ]),
  );
});

t.test("a flat list and a search have no rows to open", async (t) => {
  const daemon = startTenants();
  for (const query of [{ flat: "true" }, { search: "bob" }])
    for (const { user_path, has_children } of await tenants(daemon, query))
      t.equal(has_children, false, user_path);
});

t.test(
  "usage of other hosts is in all rows or in none, and the list says of which hosts",
  async (t) => {
    const daemon = startTenants();
    const one = { ...emptyRollup(), requests: 1, totalCost: 1 * usd };
    const hosts = { count: 2, oldest_seconds: 0, complete: true } as const;
    let reads = 0;
    let isAway = false;
    Object.assign(daemon.state.usage, {
      otherHosts: {
        async withOtherHosts(report: (otherHosts: unknown) => Promise<unknown>) {
          const read = async (_: unknown, each: (key: string, sum: unknown) => void) => {
            if (isAway && ++reads === 2) throw new Error("away");
            each("", one);
          };
          try {
            return { answer: await report({ read }), hosts: { scope: "all_hosts", ...hosts } };
          } catch {
            return { answer: await report(null), hosts: { scope: "this_host", ...hosts } };
          }
        },
      },
    });
    const requests = (list: TenantList) => list.tenants.map(({ usage }) => usage?.requests);
    const both = await listOf(daemon, { under: "/users" });
    t.match(both.hosts, { scope: "all_hosts" });
    t.same(requests(both), [1, 2, 2]);
    isAway = true;
    const own = await listOf(daemon, { under: "/users" });
    t.match(own.hosts, { scope: "this_host" });
    t.same(requests(own), [0, 1, 1]);
  },
);

t.test("usage is that of the asked days", async (t) => {
  const daemon = startTenants();
  daemon.nowMs += 24 * hour;
  spend(client(daemon, "p3"), "/users/ann", 1 * usd);
  const costs = async (query: object) =>
    (await tenants(daemon, { search: "ann", ...query })).map(({ usage }) => usage?.total_cost);
  t.same(await costs({}), [9]);
  t.same(await costs({ start_date: "2026-11-22" }), [1]);
  t.same(await costs({ end_date: "2026-11-21" }), [8]);
});

t.test("a range with times has the usage, refusals and failures within it alone", async (t) => {
  const daemon = startTenants();
  daemon.state.requests.add(failed("r1", "/users/ann"), daemon.nowMs);
  daemon.nowMs += 2 * hour;
  spend(client(daemon, "p3"), "/users/bob/app", 5 * usd);
  daemon.state.requests.add(failed("r2", "/users/bob"), daemon.nowMs);
  daemon.nowMs += hour;
  const at = (hours: number): string => new Date(noon + hours * hour).toISOString();
  const within = async (query: object): Promise<TenantList> =>
    (await ask(daemon, "tenants.list", { sort: "spend", ...query })) as unknown as TenantList;
  const figures = ({ tenants: items }: TenantList) =>
    items.map(({ user_path, usage, refusals, failures }) => [
      ...[user_path, usage?.requests, usage?.total_cost, refusals, failures],
    ]);
  const early = { start: at(-1), end: at(1) };
  const list = await within({ under: "/users", ...early });
  t.match(list, { ...early, start_date: "2026-11-21", end_date: "2026-11-21" });
  t.same(figures(list), [
    ["/users/ann", 1, 8, 0, 1],
    ["/users/bob", 1, 2, 0, 0],
    ["/users/cy", 0, 0, 2, 0],
  ]);
  t.same(figures(await within({ under: "/users", start: at(1) })), [
    ["/users/bob", 1, 5, 0, 1],
    ["/users/cy", 0, 0, 0, 0],
    ["/users/ann", 0, 0, 0, 0],
  ]);
  t.same(figures(await within({ flat: "true", start: at(1), end: at(2.5) })).slice(0, 2), [
    ["/users/bob", 1, 5, 0, 1],
    ["/users/cy", 0, 0, 0, 0],
  ]);
  t.same(figures(await within(early))[0], ["/users", 2, 10, 2, 1]);
  const [bob] = (await within({ under: "/users", start: at(1) })).tenants;
  t.equal(bob?.has_children, true);
  const days = { start_date: "2026-11-20", end_date: "2026-11-20" };
  t.same(figures(await within(days))[0]?.slice(1), [0, 0, 0, 0], "days end, too");
});

t.test("of more tenants than are held at a time, the fullest are complete", async (t) => {
  const daemon = startDaemon([{ ...pathRule("/users", day, { requests: 10 }), perChild: true }], {
    nowMs: noon,
    budgets: [budget("/users", day, 10, { perChild: true })],
  });
  const peer = daemon.proxy("p1");
  for (let i = 0; i < 5_000; i++) askFor(peer, i + 2, `/users/u${i}`);
  for (let i = 0; i < 9; i++) askFor(peer, 6_000 + i, "/users/u17");
  spend(client(daemon), "/users/u4001", 5 * usd);
  const first = async (query: object) =>
    pathsOf(await tenants(daemon, { under: "/users", limit: 4, ...query }));
  const equallyFull = ["/users/u0", "/users/u1"];
  for (const flat of ["true", "false"])
    t.same(await first({ flat }), ["/users/u17", "/users/u4001", ...equallyFull]);
  t.same((await first({ sort: "path" })).slice(0, 2), equallyFull);
  t.equal((await first({ sort: "keys" }))[0], "/users/u17");
  t.equal((await first({ sort: "spend" }))[0], "/users/u4001");
  const list = await listOf(daemon, { under: "/users", limit: 2 });
  t.match(list, {
    more: true,
    tenants: exactly([
      { user_path: "/users/u17", nearest: { used_ratio: 1 } },
      { user_path: "/users/u4001", nearest: { kind: "budget", used_ratio: 0.5 }, refusals: 0 },
    ]),
  });
});

t.test("a wrong query is refused with the parameter's name", async (t) => {
  const daemon = startDaemon([]);
  for (const [body, param] of [
    [{ sort: "size" }, "sort"],
    [{ under: "/a/.." }, "under"],
    [{ flat: "maybe" }, "flat"],
    [{ limit: 1000 }, "limit"],
    [{ start_date: "2026-02-30" }, "start_date"],
    [{ start_date: "2026-02-20" }, "end_date"],
    [{ search: 7 }, "search"],
    [{ path: "/a" }, "path"],
    [{ end: "2026-01-01T00:00:00Z" }, "start"],
    [{ start: "2025-12-20T00:00:00Z", end: "2025-12-30T00:00:00Z" }, "start"],
    [{ start: "noon" }, "start"],
  ] as const)
    t.match(await refusal(ask(daemon, "tenants.list", body)), { param });
});
