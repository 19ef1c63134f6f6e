import t from "tap";
import type { Counter, Rule } from "../../../limiterd/counters/counter.js";
import { listChildren } from "../../../limiterd/lists/list-children.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, client, noon, spend, usd } from "../budgets/budget-fixture.js";
import { ask, askFor, pathRule, refusal, startDaemon } from "../in-memory-daemon.js";
import { wholeList } from "./whole-list.js";

const day = { period: "day" };

t.test("the fullest children of a template are listed first", async (t) => {
  const users = { ...pathRule("/users", 86_400, { requests: 10, tokens: 1000 }), perChild: true };
  const daemon = startDaemon([users, pathRule("/team", 86_400, { requests: 5 })]);
  const peer = daemon.proxy("p1");
  let id = 1;
  for (const [child, times] of [
    ["ann", 2],
    ["bob", 7],
    ["cy", 1],
    ["Anton", 3],
  ] as const)
    for (let i = 0; i < times; i++) askFor(peer, ++id, `/users/${child}/app`);
  const top = async (query: object): Promise<unknown> => {
    const { children, total } = await ask(daemon, "rate-limits.children", {
      user_path: "/users",
      ...day,
      ...query,
    });
    return [(children as { subject: string }[]).map(({ subject }) => subject), total];
  };
  t.match(
    await ask(daemon, "rate-limits.children", { user_path: "/users", ...day, limit: 1 }),
    exactly({
      children: [
        {
          subject: "/users/bob",
          requests_used: 7,
          requests_remaining: 3,
          tokens_used: 0,
          in_flight: 7,
          used_ratio: 0.7,
        },
      ],
      total: 4,
      server_time: "2026-01-01T00:00:00.000Z",
    }),
  );
  t.same(await top({}), [["/users/bob", "/users/Anton", "/users/ann", "/users/cy"], 4]);
  t.same(await top({ search: "an" }), [["/users/Anton", "/users/ann"], 4]);
  const failures: readonly (readonly [body: object, expected: object])[] = [
    [
      { user_path: "/gone", ...day },
      { status: 404, code: "rate_limit_not_found" },
    ],
    [
      { user_path: "/team", ...day },
      { param: "subject", message: /is no template/ },
    ],
    [{ user_path: "/users" }, { param: "period" }],
    [{ user_path: "/users", ...day, limit: 500 }, { param: "limit" }],
    [{ user_path: "/users", ...day, after: "x" }, { param: "after" }],
  ];
  for (const [body, expected] of failures)
    t.match(await refusal(ask(daemon, "rate-limits.children", body)), expected);
});

t.test("a list by use has the children of templates among rules and budgets", async (t) => {
  const users = { ...pathRule("/users", 86_400, { requests: 10 }), perChild: true };
  const daemon = startDaemon([users, pathRule("/team", 86_400, { requests: 10 })], {
    nowMs: noon,
    budgets: [budget("/users", 86_400, 10, { perChild: true }), budget("/team", 86_400, 10)],
  });
  const proxy = client(daemon);
  for (const [path, times] of [
    ["/users/ann/app", 2],
    ["/users/bob", 7],
    ["/team", 5],
  ] as const)
    for (let i = 0; i < times; i++) askFor(proxy.peer, ++proxy.id, path);
  for (const path of ["/users/ann", "/users/ann", "/users/bob", "/team"]) spend(proxy, path, usd);
  const listed = async (op: "rate-limits.list" | "budgets.list", query: object) => {
    const body = await ask(daemon, op, { order: "use", ...query });
    const items = (body["rate_limits"] ?? body["budgets"]) as Readonly<Record<string, unknown>>[];
    t.equal(body["next"], null);
    return items.map(({ subject, template, requests_used, spent }) => [
      subject,
      ...(template === undefined ? [] : [template]),
      requests_used ?? spent,
    ]);
  };
  t.same(await listed("rate-limits.list", {}), [
    ["/users/bob", "/users", 8],
    ["/team", 6],
    ["/users/ann", "/users", 4],
    ["/users", 0],
  ]);
  t.same(await listed("budgets.list", {}), [
    ["/users/ann", "/users", 2],
    ["/team", 1],
    ["/users/bob", "/users", 1],
    ["/users", 0],
  ]);
  t.same(await listed("rate-limits.list", { search: "users/BOB" }), [["/users/bob", "/users", 8]]);
  t.same(await listed("budgets.list", { search: "ann", scope: "user_path" }), [
    ["/users/ann", "/users", 2],
  ]);
  t.same(await listed("budgets.list", { search: "ann", scope: "label" }), []);
  t.same(await listed("rate-limits.list", { limit: 1 }), [["/users/bob", "/users", 8]]);
  const [child] = (await ask(daemon, "rate-limits.list", { order: "use", limit: 1 }))[
    "rate_limits"
  ] as object[];
  t.match(child, { per_child: true, user_path: "/users/bob", max_requests: 10, source: "config" });
});

t.test("of many children, looked at in slices, the fullest are found", async (t) => {
  const users = { ...pathRule("/u", 60, { requests: 10_000 }), perChild: true };
  const daemon = startDaemon([users]);
  const peer = daemon.proxy("p1");
  let id = 1;
  for (let n = 0; n < 5000; n++) askFor(peer, ++id, `/u/n${n}`);
  for (const child of ["n4999", "n17", "n17"]) askFor(peer, ++id, `/u/${child}`);
  const list = await ask(daemon, "rate-limits.children", {
    user_path: "/u",
    period: "minute",
    limit: 2,
  });
  t.match(
    list,
    exactly({ children: [{ subject: "/u/n17" }, { subject: "/u/n4999" }], total: 5000 }),
  );
});

t.test("a child that is forgotten while others are looked at isn't listed", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [budget("/many", 3600, 1, { perChild: true })],
  });
  const proxy = client(daemon);
  for (let n = 0; n < 5000; n++) spend(proxy, `/many/n${n}`, (n < 2 ? 0.5 : 0.001) * usd);
  const { children } = [...daemon.state.budgets.budgets.values()][0]!;
  const { yieldToEventLoop } = daemon.state;
  Object.assign(daemon.state, {
    yieldToEventLoop: () => {
      children.delete("n0");
      return yieldToEventLoop();
    },
  });
  t.match(
    await ask(daemon, "budgets.children", { user_path: "/many", period: "hourly", limit: 2 }),
    exactly({ children: [{ subject: "/many/n1", spent: 0.5 }], total: 5000 }),
  );
});

t.test("the children of a budget that have spent most are listed first", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [
      budget("/users", 86_400, 2, { perChild: true }),
      budget("/team", 86_400, 1),
      budget("/many", 3600, 1, { perChild: true }),
    ],
  });
  const proxy = client(daemon);
  spend(proxy, "/users/ann/app", 0.5 * usd);
  spend(proxy, "/users/bob", 3 * usd);
  spend(proxy, "/users/Anton", 1 * usd);
  for (let n = 0; n < 5000; n++) spend(proxy, `/many/n${n}`, 0.001 * usd);
  spend(proxy, "/many/n4321", 0.5 * usd);
  const users = { user_path: "/users", period: "daily" };
  t.match(
    await ask(daemon, "budgets.children", { ...users, limit: 1 }),
    exactly({
      children: [{ subject: "/users/bob", spent: 3, remaining: -1, usage_ratio: 1.5 }],
      total: 3,
      server_time: "2026-11-21T12:00:00.000Z",
    }),
  );
  t.match(
    await ask(daemon, "budgets.children", { ...users, search: "AN" }),
    exactly({
      children: [
        { subject: "/users/Anton", spent: 1 },
        { subject: "/users/ann", usage_ratio: 0.25 },
      ],
      total: 3,
    }),
  );
  t.match(
    await ask(daemon, "budgets.children", { user_path: "/many", period: "hourly", limit: 2 }),
    exactly({
      children: [
        { subject: "/many/n4321", spent: 0.501 },
        { subject: "/many/n0", spent: 0.001 },
      ],
      total: 5000,
    }),
  );
  const [many] = [...daemon.state.budgets.budgets.values()].filter(
    ({ definition }) => definition.subject === "/many",
  );
  many!.loadSpend = () => null;
  for (const [body, expected] of [
    [
      { user_path: "/gone", period: "daily" },
      { status: 404, code: "budget_not_found" },
    ],
    [
      { user_path: "/many", period: "hourly" },
      { status: 503, code: "overloaded", message: /has just started/ },
    ],
    [
      { user_path: "/team", period: "daily" },
      { param: "subject", message: /is no template/ },
    ],
    [{ user_path: "/users" }, { param: "period" }],
    [{ ...users, limit: 0 }, { param: "limit" }],
    [{ ...users, after: "x" }, { param: "after" }],
  ] as const)
    t.match(await refusal(ask(daemon, "budgets.children", body)), expected);
});

t.test("children of a budget say how many other hosts share it, where any may", async (t) => {
  const users = { user_path: "/users", period: "daily" };
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [budget("/users", 86_400, 2, { perChild: true })],
  });
  spend(client(daemon), "/users/ann", usd);
  t.equal((await ask(daemon, "budgets.children", users))["other_hosts"], undefined);
  Object.assign(daemon.state, { shares: { turn: { otherHosts: 4 }, enter: () => {} } });
  t.match(await ask(daemon, "budgets.children", users), { other_hosts: 4 });
});

t.test(
  "a child of a rule that is forgotten meanwhile is neither asked about nor listed",
  async (t) => {
    const daemon = startDaemon([{ ...pathRule("/u", 60, { requests: 9 }), perChild: true }]);
    const peer = daemon.proxy("p1");
    for (const [i, child] of ["ann", "bob"].entries()) askFor(peer, i + 2, `/u/${child}`);
    const [rule] = [...daemon.state.book.rules.values()];
    let isGone = false;
    const children = {
      size: 2,
      walk: () => rule!.children.walk(),
      name: (place: number) => rule!.children.name(place),
      copy: (name: string) => (isGone && name === "ann" ? undefined : rule!.children.copy(name)),
    };
    const asked: (readonly string[])[] = [];
    const others = {
      count: 3,
      refresh: async (counters: readonly Counter[]) => {
        asked.push(counters.map(({ subject }) => subject));
        isGone = true;
      },
    };
    const list = (shares: unknown, of: typeof others | null): Promise<unknown> => {
      isGone = false;
      return listChildren(
        {
          book: { uncountedChildren: () => [], copyOfKnown: (_, name) => children.copy(name) },
          rule: { children, shares } as unknown as Rule,
          query: wholeList,
        },
        { nowMs: daemon.nowMs, yieldToEventLoop: async () => {} },
        of,
      );
    };
    const bob = { children: [{ subject: "/u/bob" }], total: 2 };
    t.match(await list({}, others), { ...bob, other_hosts: 3 });
    t.match(await list({}, null), { children: { length: 2 }, other_hosts: undefined });
    t.match(await list(null, others), { ...bob, other_hosts: undefined }, "a rule of this host");
    const both = ["/u/ann", "/u/bob"];
    t.same(asked, [both, both]);
  },
);
