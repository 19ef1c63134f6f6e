import t from "tap";
import { observe } from "../../../../proxy/handlers/admin/observe-api.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { fakeGateway, operator, type Served, served } from "../../fake-gateway.js";

const fake = fakeGateway("providers: { openai: { type: openai, api_key: none, models: [m] } }");

async function get(
  endpoint: Parameters<typeof observe>[1],
  query = "",
): Promise<Served & { readonly asked: readonly unknown[] }> {
  const asked: unknown[] = [];
  const limiter = {
    call(op: string, body: unknown) {
      asked.push([op, body]);
      const list = { in_flight: [1], refusals: [2], server_time: "now", next: null };
      return Promise.resolve({ ok: true, body: op.endsWith(".list") ? list : { of: op } });
    },
  };
  const gateway = { ...fake.gateway, limiter } as unknown as typeof fake.gateway;
  const answer = await served({ ...fake, gateway }, (context) => observe(context, endpoint), {
    method: "GET",
    caller: operator,
    path: "/admin",
    query,
  });
  return { ...answer, asked };
}

t.test("each asks the daemon for one thing", async (t) => {
  t.match(
    await get("status"),
    exactly({ status: 200, body: { of: "status" }, asked: [["status", null]] }),
  );
  t.match(
    await get("rate-limits-children", "user_path=/users&period=300&limit=5"),
    exactly({
      body: { of: "rate-limits.children" },
      asked: [["rate-limits.children", { user_path: "/users", period: "300", limit: 5 }]],
    }),
  );
  t.match(
    await get("budgets-children", "user_path=/users&period=daily"),
    exactly({
      asked: [["budgets.children", { user_path: "/users", period: "daily" }]],
    }),
  );
  for (const which of ["rate-limits", "budgets"] as const)
    t.match(
      await get(`${which}-children`, "user_path=/users&period_seconds=60"),
      exactly({
        asked: [[`${which}.children`, { user_path: "/users", period_seconds: 60 }]],
      }),
    );
  t.match(
    await get("rate-limits-children", "user_path=/users&period_seconds=1m"),
    exactly({
      asked: [["rate-limits.children", { user_path: "/users", period_seconds: "1m" }]],
    }),
  );
  t.match(
    await get("in-flight"),
    exactly({
      body: { in_flight: [1], server_time: "now", next: null },
      asked: [["leases.list", { limit: 200 }]],
    }),
  );
  t.match((await get("upstream-limits")).asked, exactly([["upstream-limits.list", null]]));
  t.match(
    await get("refusals", "dimension=budget&limit=3"),
    exactly({
      body: { refusals: [2], server_time: "now", next: null },
      asked: [["refusals.list", { limit: 3, dimension: "budget" }]],
    }),
  );
});

t.test("a summary takes a path, a grouping and the days of GET /v1/usage", async (t) => {
  const days = { start_date: "1969-12-31", end_date: "1970-01-01" };
  t.same((await get("usage-summary", "user_path=/team&by=model&step=hour&days=2")).asked, [
    ["usage.summary", { user_path: "/team", by: "model", step: "hour", ...days }],
  ]);
  t.match(
    (await get("usage-summary")).asked,
    exactly([["usage.summary", { user_path: null, by: null, step: null }]]),
  );
  const table: readonly (readonly [query: string, param: string, message: RegExp])[] = [
    ["path=/team", "path", /unknown parameter path: expected one of user_path, by/],
    ["by=day&by=model", "by", /more than once/],
    ["days=0", "days", /integer greater than 0/],
  ];
  for (const [query, param, message] of table) {
    const { status, body, asked } = await get("usage-summary", query);
    t.match([status, body, asked], exactly([400, { param, message }, { length: 0 }]), query);
  }
});

t.test("tenants have the days of GET /v1/usage: a date takes precedence over days", async (t) => {
  for (const [query, startDate, endDate] of [
    ["days=2", "1969-12-31", "1970-01-01"],
    ["days=2&end_date=2026-02-28", "2026-01-30", "2026-02-28"],
    ["days=2&start_date=1969-12-01", "1969-12-01", "1970-01-01"],
  ] as const)
    t.same((await get("tenants", `under=/team&limit=5&${query}`)).asked, [
      ["tenants.list", { under: "/team", limit: 5, start_date: startDate, end_date: endDate }],
    ]);
  t.match(
    await get("tenants", "days=x"),
    exactly({ status: 400, body: { param: "days" }, asked: { length: 0 } }),
  );
  const start = "1969-12-31T22:00:00Z";
  t.same((await get("tenants", `limit=5&start=${start}`)).asked, [
    ["tenants.list", { limit: 5, start }],
  ]);
  t.match(
    await get("tenants", `start=${start}&days=2`),
    exactly({ status: 400, body: { param: "start" }, asked: { length: 0 } }),
  );
});
