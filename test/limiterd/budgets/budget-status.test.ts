import t from "tap";
import { budgetStatuses, listBudgets } from "../../../limiterd/lists/list-budgets.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask as askDaemon, startDaemon, target } from "../in-memory-daemon.js";
import { wholeList } from "../lists/whole-list.js";
import {
  admin,
  ask,
  budget,
  client,
  hour,
  listed,
  noon,
  second,
  spend,
  spentOf,
  usd,
} from "./budget-fixture.js";

t.test("a list item has every field of the specification", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 8)] });
  const proxy = client(daemon);
  spend(proxy, "/team", 10 * usd);
  const forecast = {
    rate_usd_per_hour: 0.833333,
    exhausts_at: "2026-11-21T12:00:00Z",
    projected_usd: 20,
    basis: "period",
    basis_seconds: 43_200,
  };
  const expected = {
    scope: "user_path",
    subject: "/team",
    effective_subject: "/team",
    user_path: "/team",
    per_child: false,
    amount: 8,
    spent: 10,
    remaining: -2,
    usage_ratio: 1.25,
    period_ratio: 0.5,
    period_label: "daily",
    period_seconds: 86_400,
    period_start: "2026-11-21T00:00:00Z",
    period_end: "2026-11-22T00:00:00Z",
    last_reset_at: null,
    forecast,
    has_usage: true,
    source: "config",
    created_at: "2026-11-21T12:00:00Z",
    updated_at: "2026-11-21T12:00:00Z",
  };
  t.same(await listed(daemon, proxy), [expected]);
  t.same(budgetStatuses(daemon.state, { userPath: "/team/x" }, [], daemon.nowMs), [
    {
      scope: "user_path",
      subject: "/team",
      user_path: "/team",
      per_child: false,
      amount: 8,
      spent: 10,
      remaining: -2,
      usage_ratio: 1.25,
      exceeded: true,
      period_label: "daily",
      period_seconds: 86_400,
      period_start: "2026-11-21T00:00:00Z",
      period_end: "2026-11-22T00:00:00Z",
      resets_in_seconds: 43_200,
      forecast,
    },
  ]);
});

t.test(
  "each child has a forecast, from its recent spend once there is half an hour of it",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/users", 86_400, 8, { perChild: true })],
    });
    const proxy = client(daemon);
    spend(proxy, "/users/ann", usd);
    daemon.nowMs += hour;
    spend(proxy, "/users/ann", usd);
    const [ann] = budgetStatuses(daemon.state, { userPath: "/users/ann" }, [], daemon.nowMs);
    t.match(ann?.forecast, {
      rate_usd_per_hour: 2,
      exhausts_at: "2026-11-21T16:00:00Z",
      projected_usd: 24,
      basis: "recent",
      basis_seconds: 3600,
    });
    t.match(await askDaemon(daemon, "budgets.children", { user_path: "/users", period: "daily" }), {
      children: exactly([{ subject: "/users/ann", forecast: { basis: "recent" } }]),
    });
    t.notOk(
      "forecast" in budgetStatuses(daemon.state, { userPath: "/users/bob" }, [], daemon.nowMs)[0]!,
    );
  },
);

t.test(
  "what remains is the amount without what was spent, however large or overspent",
  async (t) => {
    const table: readonly (readonly [amount: number, spent: number, remaining: number])[] = [
      [8, 0, 8],
      [8, 8 * usd, 0],
      [8, 9.5 * usd, -1.5],
      [0.3, 0.1 * usd, 0.2],
      [1, usd + 1, 0],
      [1e-12, usd, -1],
      [1e-12, 0, 0],
      [1e15, 2 * usd, 1e15 - 2],
    ];
    for (const [amount, spent, remaining] of table) {
      const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, amount)] });
      await daemon.commit();
      const again = startDaemon([], { nowMs: noon, store: daemon.store.crash(), budgets: null });
      const proxy = client(again);
      if (spent > 0) spend(proxy, "/team", spent);
      const [item] = await listed(again, proxy);
      t.equal(item!["remaining"], remaining, `${spent} of ${amount}`);
      const [status] = budgetStatuses(again.state, { userPath: "/team" }, [], again.nowMs);
      t.equal(status!["remaining"], remaining);
      t.equal(status!["exceeded"], spent >= amount * usd);
    }
  },
);

t.test("GET /v1/usage lists the budgets on the labels of the caller's key", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [
      budget("research", 86_400, 1, { scope: "label" }),
      budget("sales", 86_400, 1, { scope: "label" }),
      budget("/team", 86_400, 1),
    ],
    labelsOf: (keyId) => (keyId === "key_7" ? ["research"] : []),
  });
  const proxy = client(daemon);
  const window = {
    user_path: "/team",
    start_date: "2026-11-21",
    end_date: "2026-11-21",
  };
  const listedFor = async (keyId?: unknown): Promise<unknown> => {
    const { budgets } = (await admin(daemon, proxy, "usage.status", {
      ...window,
      key_id: keyId,
    })) as { budgets: Record<string, unknown>[] };
    return budgets.map(({ scope, subject, user_path: path }) => [scope, subject, path]);
  };
  const ofPath = ["user_path", "/team", "/team"];
  t.same(await listedFor("key_7"), [["label", "research", undefined], ofPath]);
  for (const keyId of ["", "key_8", "key_", 7, null, undefined])
    t.same(await listedFor(keyId), [ofPath], String(keyId));
});

t.test("a settle that arrives late counts in the period in which its request ended", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 3600, 100)] });
  const proxy = client(daemon);
  spend(proxy, "/", 1 * usd);
  daemon.nowMs = noon + hour + 5 * second;
  spend(proxy, "/", 2 * usd, { endedAgo: 5 * second + 1 });
  spend(proxy, "/", 4 * usd, { endedAgo: 5 * second });
  t.same(
    spentOf(await listed(daemon, proxy)),
    [["/", "hourly", 4]],
    "the millisecond before the hour is the hour before",
  );
  daemon.nowMs = noon + 1;
  t.same(
    spentOf(await listed(daemon, proxy)),
    [["/", "hourly", 3]],
    "and a clock that steps back finds it there",
  );
});

t.test("without usage tracking budgets are inert: listed as such, and not enforced", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    usageEnabled: false,
    budgets: [budget("/", 86_400, 0.5)],
  });
  const proxy = client(daemon);
  t.match(proxy.peer.received[0], { kind: "welcome", limited: false });
  spend(proxy, "/", 1 * usd);
  t.equal(ask(proxy, "/"), "admitted");
  t.match(
    await listed(daemon, proxy),
    exactly([{ spent: 0, inert: "budgets need usage tracking, which is off" }]),
  );
  t.match(
    await admin(daemon, proxy, "budgets.put", {
      subject: "/x",
      budget_key: { period: "daily" },
      amount: 1,
    }),
    { inert: "budgets need usage tracking, which is off" },
  );
});

t.test(
  "disabled budgets refuse no request and continue to count; their admin API says that it isn't available",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 86_400, 0.5)] });
    Object.assign(daemon.state.settings, { budgetsEnabled: false });
    const proxy = client(daemon);
    spend(proxy, "/", 1 * usd);
    t.equal(ask(proxy, "/"), "admitted");
    t.match(await admin(daemon, proxy, "budgets.list", { after: null }), {
      status: 503,
      code: "feature_unavailable",
    });
    t.same(budgetStatuses(daemon.state, { userPath: "/" }, [], noon), []);
    Object.assign(daemon.state.settings, { budgetsEnabled: true, rateLimitsEnabled: false });
    t.equal(
      ask(proxy, "/"),
      "/ 86400: 1 of 0.5, 43200",
      "and without rate limits budgets still hold",
    );
  },
);

t.test(
  "explain shows the budgets that a request meets, agrees with the admission, and leaves no trace",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/team", 86_400, 1, { perChild: true }), budget("/", 3600, 100)],
    });
    const proxy = client(daemon);
    spend(proxy, "/team/a", 1.5 * usd);
    const question = { user_path: "/team/a/x", targets: [target] };
    const explained = (await admin(daemon, proxy, "explain", question)) as {
      verdict: object;
      budgets: object[];
    };
    t.match(explained.verdict, {
      admitted: false,
      message: "budget exceeded for /team/a daily limit: spent 1.5 of 1",
      budget: { scope: "user_path", subject: "/team/a", period_label: "daily" },
      spent: 1.5,
      amount: 1,
      retry_after: 43_200,
      admitted_at: "2026-11-22T00:00:00.000Z",
      needs_slot: false,
    });
    t.match(
      explained.budgets,
      exactly([
        { subject: "/", spent: 1.5, retry_after: 0, exceeded: false },
        {
          subject: "/team/a",
          template: "/team",
          usage_ratio: 1.5,
          exceeded: true,
          retry_after: 43_200,
        },
      ]),
    );
    t.equal(ask(proxy, "/team/a/x"), "/team/a 86400: 1.5 of 1, 43200");
    proxy.peer.send({ kind: "refusal", id: proxy.id, requestId: "req-7", model: "m" });
    t.match(await admin(daemon, proxy, "explain", { request_id: "req-7" }), {
      refusal: {
        message: "budget exceeded for /team/a daily limit: spent 1.5 of 1",
        retry_after: 43_200,
        admitted_at: "2026-11-22T00:00:00.000Z",
      },
    });
    t.match(await admin(daemon, proxy, "explain", { ...question, user_path: "/team/new" }), {
      verdict: { admitted: true },
    });
    Object.assign(daemon.state.settings, { rateLimitsEnabled: false });
    t.match(
      await admin(daemon, proxy, "explain", question),
      { verdict: { admitted: false, dimension: "budget" } },
      "where rate limits are off, budgets are explained still",
    );
    t.same(
      [...daemon.state.budgets.budgets.values()].flatMap(({ children }) => [...children.keys()]),
      ["a"],
    );
  },
);

t.test("a list goes on behind the last one of its page, which may be gone by then", async (t) => {
  const budgets = ["/a", "/b", "/c", "/d"].flatMap((path) => [
    budget(path, 3600, 1),
    budget(path, 86_400, 1),
  ]);
  const daemon = startDaemon([], { nowMs: noon, budgets });
  const after = (key: string): unknown[] =>
    listBudgets(daemon.state, { ...wholeList, after: key }, noon).budgets.map(
      ({ subject, period_seconds: seconds }) => `${String(subject)} ${String(seconds)}`,
    );
  t.same(after("user_path\n/c\n3600"), ["/c 86400", "/d 3600", "/d 86400"]);
  t.same(after("user_path\n/c\n7200"), ["/c 86400", "/d 3600", "/d 86400"]);
  t.same(after("user_path\n/d\n86400"), []);
  t.equal(after("label\nx\n60").length, 8, "user paths come behind labels");
});

t.test("deleting a budget that works tells the proxies nothing of those that don't", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 8)] });
  const proxy = daemon.proxy("p");
  await askDaemon(daemon, "budgets.delete", { subject: "/team", budget_key: { period: "daily" } });
  t.notOk(
    proxy.received.some((message) => message.kind === "event" && message.name === "inert_budgets"),
  );
});
