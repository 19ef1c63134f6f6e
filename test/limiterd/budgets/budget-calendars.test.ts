/** Budgets with a calendar: in a time zone, rolling, and with a remainder that is carried over. */
import t from "tap";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { clusterOf } from "../cluster/spend/hosts-fixture.js";
import { startDaemon, type TestDaemon } from "../in-memory-daemon.js";
import {
  admin,
  ask,
  budget,
  type Client,
  client,
  hour,
  listed,
  noon,
  restarted,
  spend,
  usd,
} from "./budget-fixture.js";

const [daily, monthly, yearly] = [86_400, 2_592_000, 31_536_000];
const day = 24 * hour;
const at = (text: string): number => Date.parse(text);

/** The budgets of a daemon, and of one that starts on its disk. */
async function nowAndRestarted(daemon: TestDaemon, to: Client) {
  const items = await listed(daemon, to);
  const again = await restarted(daemon);
  return [items, await listed(again, client(again))];
}

function put(body: object): object {
  return { user_path: "/team", budget_key: { period: "monthly" }, amount: 10, ...body };
}

t.test("a day of 23 or 25 hours is one period", async (t) => {
  const berlin = budget("/team", daily, 1, { timeZone: "Europe/Berlin" });
  for (const [from, seconds] of [
    ["2026-03-28T23:00:00Z", 23 * 3600],
    ["2026-10-24T22:00:00Z", 25 * 3600],
  ] as const) {
    const daemon = startDaemon([], { nowMs: at(from) - 1, budgets: [berlin] });
    const to = client(daemon);
    spend(to, "/team", usd);
    t.equal(ask(to, "/team"), "/team 86400: 1 of 1, 1", "the last millisecond of the day before");
    daemon.nowMs++;
    t.equal(ask(to, "/team"), "admitted");
    spend(to, "/team", usd);
    t.equal(ask(to, "/team"), `/team 86400: 1 of 1, ${seconds}`);
    daemon.nowMs += seconds * 1000 - 1;
    t.equal(ask(to, "/team"), "/team 86400: 1 of 1, 1");
    const [item] = await listed(daemon, to);
    t.match(item, { time_zone: "Europe/Berlin", period_start: from.replace(".000", "") });
    daemon.nowMs++;
    t.equal(ask(to, "/team"), "admitted");
  }
});

t.test("a zone for all budgets, which a budget's own overrides", async (t) => {
  const budgets = [budget("/", daily, 1), budget("/team", yearly, 1, { timeZone: "Asia/Tokyo" })];
  const daemon = startDaemon([], { nowMs: noon, budgets });
  const to = client(daemon);
  spend(to, "/team", 0.25 * usd);
  t.match(await admin(daemon, to, "budgets.put-settings", { time_zone: "America/New_York" }), {
    time_zone: "America/New_York",
    daily_reset_hour: 0,
  });
  for (const items of await nowAndRestarted(daemon, to))
    t.match(
      items,
      exactly([
        { spent: 0.25, period_end: "2026-11-22T05:00:00Z" },
        { spent: 0.25, period_end: "2026-12-31T15:00:00Z", period_label: "yearly" },
      ]),
    );
  t.match(await admin(daemon, to, "budgets.put-settings", { time_zone: "Mars/Olympus" }), {
    param: "time_zone",
  });
  t.match(await admin(daemon, to, "budgets.put-settings", { time_zone: "UTC" }), {
    daily_reset_hour: 0,
    time_zone: undefined,
  });
});

t.test("another calendar recalculates the spend; other edits keep the calendar", async (t) => {
  const daemon = startDaemon([], { nowMs: at("2026-11-20T12:00:00Z") });
  const to = client(daemon);
  spend(to, "/team", 4 * usd);
  daemon.nowMs += day;
  await admin(daemon, to, "budgets.put", put({}));
  spend(to, "/team", usd);
  const item = async () => (await listed(daemon, to))[0];
  t.match(await item(), { spent: 5, period_start: "2026-11-01T00:00:00Z" });
  await admin(daemon, to, "budgets.put", put({ anchor_day: 21, time_zone: "Asia/Tokyo" }));
  const moved = { spent: 1, period_start: "2026-11-20T15:00:00Z", anchor_day: 21 };
  t.match(await item(), moved);
  await admin(daemon, to, "budgets.put", put({ amount: 20 }));
  t.match(await item(), { ...moved, amount: 20, time_zone: "Asia/Tokyo" });
  t.match(await admin(daemon, to, "budgets.put", put({ rolling: true })), { param: "time_zone" });
  t.match(await item(), { ...moved, amount: 20 }, "nothing is half applied");
  const rolling = put({ rolling: true, time_zone: null, anchor_day: null });
  await admin(daemon, to, "budgets.put", rolling);
  t.match(await item(), { spent: 5, rolling: true, period_label: "rolling 30d" });
  for (const items of await nowAndRestarted(daemon, to))
    t.match(items, exactly([{ spent: 5, rolling: true }]));
});

t.test("a rolling budget has room when enough of its spend is older than its length", async (t) => {
  const store = createMemoryStore();
  const rolling = budget("/team", monthly, 10, { rolling: true });
  const first = at("2026-11-01T06:00:00Z");
  let daemon = startDaemon([], { nowMs: first, budgets: [rolling], store });
  let to = client(daemon);
  spend(to, "/team", 4 * usd);
  daemon.nowMs = first + 10 * day;
  spend(to, "/team", 5 * usd);
  daemon.nowMs = first + 20 * day;
  spend(to, "/team", 1 * usd);
  // The first of them counts through day 31; its slice of a day ends at midnight.
  const wait = (at("2026-12-02T00:00:00Z") - daemon.nowMs) / 1000;
  const refused = `/team ${monthly}: 10 of 10, ${wait}`;
  t.equal(ask(to, "/team"), refused);
  t.match(await listed(daemon, to), exactly([{ spent: 10, period_ratio: 1, usage_ratio: 1 }]));
  const nowMs = daemon.nowMs;
  daemon = startDaemon([], { nowMs, budgets: [rolling], store: store.crash() });
  to = client(daemon);
  t.equal(ask(to, "/team"), refused, "after a restart");
  daemon.nowMs += wait * 1000 - 1;
  t.match(ask(to, "/team"), / 1$/, "not a second earlier");
  daemon.nowMs++;
  t.equal(ask(to, "/team"), "admitted");
  t.match(await listed(daemon, to), exactly([{ spent: 6 }]));
  daemon.nowMs -= 5 * day;
  t.match(ask(to, "/team"), /10 of 10/, "a clock that steps back loses nothing");
});

t.test("a reset of a rolling budget forgets all that counts", async (t) => {
  const rolling = budget("/team", monthly, 10, { rolling: true });
  const daemon = startDaemon([], { nowMs: noon, budgets: [rolling] });
  const to = client(daemon);
  spend(to, "/team", 4 * usd);
  daemon.nowMs += 3 * day;
  spend(to, "/team", 6 * usd);
  t.match(ask(to, "/team"), /10 of 10/);
  await admin(daemon, to, "budgets.reset-one", { user_path: "/team", period: "monthly" });
  t.equal(ask(to, "/team"), "admitted");
  spend(to, "/team", usd);
  for (const items of await nowAndRestarted(daemon, to)) t.match(items, exactly([{ spent: 1 }]));
});

t.test("children of a rolling template count for themselves, also what was before", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const to = client(daemon);
  spend(to, "/customers/acme", 3 * usd);
  daemon.nowMs += 2 * day;
  spend(to, "/customers/acme", 2 * usd);
  spend(to, "/customers/other", usd);
  await admin(daemon, to, "budgets.put", {
    ...put({ rolling: true, per_child: true, amount: 5 }),
    user_path: "/customers",
  });
  t.match(ask(to, "/customers/acme"), /5 of 5/);
  t.equal(ask(to, "/customers/other"), "admitted");
  daemon.nowMs = at("2026-12-22T00:00:00Z");
  t.equal(ask(to, "/customers/acme"), "admitted", "the first three dollars are over");
});

t.test("half of what a month leaves is added to the next one, once", async (t) => {
  const carrying = budget("/team", monthly, 10, { rollover: 0.5 });
  const daemon = startDaemon([], { nowMs: at("2026-10-05T00:00:00Z"), budgets: [carrying] });
  await daemon.commit();
  const to = client(daemon);
  const item = async () => (await listed(daemon, to))[0];
  spend(to, "/team", 4 * usd);
  t.match(await item(), { amount: 10, remaining: 6, carried_over: 0 }, "there was none before");
  daemon.nowMs = at("2026-11-05T00:00:00Z");
  t.match(await item(), { amount: 10, remaining: 13, carried_over: 3, rollover: 0.5 });
  spend(to, "/team", 12 * usd);
  t.equal(ask(to, "/team"), "admitted");
  spend(to, "/team", 1 * usd);
  t.match(ask(to, "/team"), /13 of 13/);
  for (const items of await nowAndRestarted(daemon, to))
    t.match(items, exactly([{ spent: 13, carried_over: 3 }]));
  daemon.nowMs = at("2026-12-31T23:59:59Z");
  t.match(await item(), { remaining: 10, carried_over: 0 }, "November left nothing of its own");
  for (let i = 0; i < 100; i++) daemon.state.budgets.forgetIdle(daemon.nowMs, 10);
  daemon.nowMs = at("2027-01-31T23:59:59Z");
  t.match(await item(), { remaining: 15, carried_over: 5 });
});

t.test(
  "a template's idle child is forgotten when its last period can't leave anything",
  async (t) => {
    const carrying = budget("/customers", monthly, 10, { rollover: 1, perChild: true });
    const daemon = startDaemon([], { nowMs: at("2026-06-02T00:00:00Z"), budgets: [carrying] });
    const to = client(daemon);
    const left = (): unknown => ask(to, "/customers/acme");
    daemon.nowMs = at("2026-07-02T00:00:00Z");
    spend(to, "/customers/acme", 10 * usd);
    await daemon.commit();
    // 61 days after the beginning of July.
    daemon.nowMs = at("2026-08-31T12:00:00Z");
    daemon.state.budgets.takeDirty();
    for (let i = 0; i < 10; i++) daemon.state.budgets.forgetIdle(daemon.nowMs, 10);
    spend(to, "/customers/acme", 10 * usd);
    t.match(left(), /10 of 10/, "July left nothing");
  },
);

t.test("what a reset cleared stays cleared, however many resets follow", async (t) => {
  const carrying = budget("/customers", monthly, 10, { rollover: 1, perChild: true });
  const daemon = startDaemon([], { nowMs: at("2026-10-05T00:00:00Z"), budgets: [carrying] });
  await daemon.commit();
  const to = client(daemon);
  const { budgets } = daemon.state;
  const reset = (): void => budgets.reset(budgets.find(carrying)!, daemon.nowMs);
  spend(to, "/customers/acme", 10 * usd);
  reset();
  daemon.nowMs = at("2026-11-05T00:00:00Z");
  for (let i = 0; i < 3; i++) reset();
  spend(to, "/customers/acme", 15 * usd);
  t.equal(ask(to, "/customers/acme"), "admitted", "October left all of its amount");
  spend(to, "/customers/acme", 5 * usd);
  t.match(ask(to, "/customers/acme"), /20 of 20/);
});

t.test("hosts agree on a rolling budget and on what is carried over", async (t) => {
  const cluster = clusterOf(2, [
    budget("/team", monthly, 10, { rolling: true }),
    budget("/other", daily, 4, { rollover: 0.5, timeZone: "Europe/Berlin" }),
  ]);
  const [a, b] = cluster.hosts as [(typeof cluster.hosts)[0], (typeof cluster.hosts)[0]];
  const pass = async (ms: number): Promise<void> => {
    for (const { daemon } of cluster.hosts) daemon.nowMs += ms;
    cluster.monoMs += ms;
    await cluster.settle();
  };
  const both = (path: string): string[] => [a.proxy, b.proxy].map((to: Client) => ask(to, path));
  await pass(day);
  spend(a.proxy, "/team", 4 * usd);
  spend(a.proxy, "/other", usd);
  spend(b.proxy, "/other", usd);
  await pass(day);
  spend(b.proxy, "/team", 6 * usd);
  await pass(1000);
  const refused = both("/team");
  t.match(refused[0], /10 of 10/);
  t.equal(refused[0], refused[1], "the same wait");
  spend(a.proxy, "/other", 4.5 * usd);
  await pass(1000);
  t.strictSame(both("/other"), ["admitted", "admitted"]);
  spend(b.proxy, "/other", 0.5 * usd);
  await pass(1000);
  for (const answer of both("/other")) t.match(answer, /5 of 5/);
  await pass(30 * day);
  t.strictSame(both("/team"), ["admitted", "admitted"]);
});
