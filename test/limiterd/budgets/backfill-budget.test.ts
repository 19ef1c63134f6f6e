import t from "tap";
import { beginBackfill, createSpentOnDays } from "../../../limiterd/budgets/backfill-budget.js";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import { StoreUnreadableError } from "../../../limiterd/store/store.js";
import { windowsPerSlice } from "../../../shared/bounds.js";
import { interimStatus } from "../../../shared/wire/execution.js";
import { exactly } from "../../support/patterns/exactly.js";
import { startDaemon } from "../in-memory-daemon.js";
import { admin, ask, budget, client, listed, noon, second, spend, usd } from "./budget-fixture.js";

t.test(
  "a reset restarts the period at its moment, keeps the end, and isn't undone by earlier requests or a deletion",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/", 86_400, 1), budget("/a", 86_400, 1)],
    });
    const proxy = client(daemon);
    spend(proxy, "/a", 2 * usd);
    daemon.nowMs = noon + 10 * second;
    t.same(await admin(daemon, proxy, "budgets.reset-one", { subject: "/a", period: "daily" }), {});
    t.match(
      await listed(daemon, proxy),
      exactly([
        { subject: "/", spent: 2, period_start: "2026-11-21T00:00:00Z" },
        {
          subject: "/a",
          spent: 0,
          period_start: "2026-11-21T12:00:10Z",
          period_end: "2026-11-22T00:00:00Z",
          last_reset_at: "2026-11-21T12:00:10Z",
          has_usage: false,
          period_ratio: 0,
        },
      ]),
    );
    await admin(daemon, proxy, "budgets.delete", { subject: "/", budget_key: { period: "daily" } });
    daemon.nowMs += second;
    spend(proxy, "/a", 0.25 * usd, { endedAgo: 1001 });
    t.match(
      await listed(daemon, proxy),
      exactly([{ subject: "/a", spent: 0 }]),
      "it ended a millisecond before the reset",
    );
    spend(proxy, "/a", 0.5 * usd, { endedAgo: 1000 });
    t.match(await listed(daemon, proxy), exactly([{ subject: "/a", spent: 0.5 }]));
    await admin(daemon, proxy, "budgets.delete", {
      subject: "/a",
      budget_key: { period: "daily" },
    });
    spend(proxy, "/a", 0.125 * usd);
    await admin(daemon, proxy, "budgets.put", {
      subject: "/a",
      budget_key: { period: "daily" },
      amount: 3,
    });
    await admin(daemon, proxy, "budgets.put", {
      subject: "/",
      budget_key: { period: "daily" },
      amount: 3,
    });
    t.match(
      await listed(daemon, proxy),
      exactly([
        { subject: "/", spent: 2.875, source: "manual" },
        {
          subject: "/a",
          spent: 0.625,
          source: "manual",
          last_reset_at: "2026-11-21T12:00:10Z",
          period_start: "2026-11-21T12:00:10Z",
        },
      ]),
      "made again, they begin with what was spent since the last reset, also while there was no budget",
    );
  },
);

t.test(
  "a budget that is created finds what its period has cost, whatever the length and the anchors, and counts on from there",
  async (t) => {
    const daemon = startDaemon([], { nowMs: Date.parse("2026-11-19T22:30:00Z") });
    const proxy = client(daemon);
    for (const [at, cost] of [
      ["2026-11-19T22:30:00Z", 1],
      ["2026-11-20T05:59:59.999Z", 2],
      ["2026-11-20T06:00:00Z", 4],
      ["2026-11-20T23:00:00Z", 8],
      ["2026-11-21T11:15:00Z", 16],
      ["2026-11-21T11:40:00Z", 32],
    ] as const) {
      daemon.nowMs = Date.parse(at);
      spend(proxy, at.includes("T11") ? "/team/b" : "/team/a", cost * usd);
      await daemon.commit();
    }
    await admin(daemon, proxy, "budgets.put-settings", {
      daily_reset_hour: 6,
      weekly_reset_weekday: 5,
      weekly_reset_hour: 6,
      monthly_reset_day: 20,
    });
    const table = [
      ["hourly", false, 48],
      ["daily", false, 48],
      ["weekly", false, 60],
      ["monthly", false, 62],
      ["345600", false, 63],
      ["108000", false, 56],
      ["158400", true, 0],
    ] as const;
    for (const [period, perChild] of table) {
      const body = { subject: "/team", budget_key: { period }, amount: 1000, per_child: perChild };
      // What isn't committed yet, and what comes while the budget looks up the past, counts once
      // too.
      proxy.peer.send({ kind: "admin", id: ++proxy.id, op: "budgets.put", body });
      spend(proxy, "/team/b", 0.5 * usd);
      for (let turns = 0; turns < 30; turns++) await daemon.commit();
    }
    const items = new Map(
      (await listed(daemon, proxy)).map(({ period_label: label, spent }) => [label, spent]),
    );
    for (const [period, perChild, cost] of table)
      t.equal(
        items.get(/^\d/.test(period) ? `${period}s` : period),
        perChild ? 0 : cost + table.length / 2,
        period,
      );
    const ofChild = (path: string): unknown =>
      budgetStatuses(daemon.state, { userPath: path }, [], daemon.nowMs).find(
        ({ per_child: perChild }) => perChild,
      )?.["spent"];
    t.same(
      [ofChild("/team/a"), ofChild("/team/b/x"), ofChild("/team/c")],
      [14, 48 + table.length / 2, 0],
      "44 hours from 04:00 the day before",
    );
  },
);

t.test(
  "an edit of the amount keeps what was spent; the deletion of the last budget is reported to the proxies",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon });
    const proxy = client(daemon);
    const events = (): unknown[] =>
      proxy.peer.received.flatMap((message) =>
        message.kind === "event" && message.name === "limited" ? [message.value] : [],
      );
    t.match(proxy.peer.received[0], { kind: "welcome", limited: false });
    const body = { subject: "/a", budget_key: { period: "daily" }, amount: 1 };
    await admin(daemon, proxy, "budgets.put", body);
    t.same(events(), [true]);
    spend(proxy, "/a", 1 * usd);
    t.match(ask(proxy, "/a"), /: 1 of 1,/);
    await admin(daemon, proxy, "budgets.put", { ...body, amount: 1.5 });
    t.equal(ask(proxy, "/a"), "admitted");
    t.match(await listed(daemon, proxy), exactly([{ amount: 1.5, spent: 1, remaining: 0.5 }]));
    await admin(daemon, proxy, "budgets.delete", {
      subject: "/a",
      budget_key: { period: "daily" },
    });
    t.same(events(), [true, false]);
    t.match(
      await admin(daemon, proxy, "budgets.delete", {
        subject: "/a",
        budget_key: { period: "daily" },
      }),
      { status: 404, code: "budget_not_found", message: "no daily budget on user_path /a" },
    );
    t.match(await admin(daemon, proxy, "budgets.reset-one", { subject: "/a", period: "daily" }), {
      status: 404,
      code: "budget_not_found",
      message: "no daily budget on user_path /a",
    });
    t.match(await admin(daemon, proxy, "budgets.reset", { confirmation: "yes" }), {
      status: 400,
      message: "confirmation must be reset",
    });
  },
);

t.test("what a label, and the children of the root, had spent is found too", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon - 2 * 86_400_000,
    labelsOf: (keyId) => (keyId === "key_1" ? ["eu"] : []),
  });
  const proxy = client(daemon);
  for (const [days, path, keyId, cost] of [
    [2, "/a/b", "key_1", 1],
    [1, "/a", "", 2],
    [0, "/b", "key_1", 4],
    [0, "/", "key_1", 8],
    [0, "/a/c", "", 16],
  ] as const) {
    daemon.nowMs = noon - days * 86_400_000;
    spend(proxy, path, cost * usd, { keyId });
    await daemon.commit();
  }
  daemon.nowMs += 1;
  const put = (body: object): Promise<unknown> =>
    admin(daemon, proxy, "budgets.put", { amount: 100, ...body });
  await put({ scope: "label", subject: "eu", budget_key: { period: "monthly" } });
  await put({ scope: "label", subject: "eu", budget_key: { period: "hourly" } });
  await put({ subject: "/", budget_key: { period: "hourly" }, per_child: true });
  await put({ subject: "/", budget_key: { period: "weekly" } });
  await put({ subject: "/a", budget_key: { period: "monthly" } });
  for (let turns = 0; turns < 20; turns++) await daemon.commit();
  const spent = (path: string): unknown[] =>
    budgetStatuses(daemon.state, { userPath: path }, ["eu"], daemon.nowMs).map(
      ({ scope, subject, period_label: label, spent }) => `${scope} ${subject} ${label} ${spent}`,
    );
  t.same(spent("/a/x").sort(), [
    "label eu hourly 12",
    "label eu monthly 13",
    "user_path / weekly 31",
    "user_path /a hourly 16",
    "user_path /a monthly 19",
  ]);
  t.same(
    spent("/b").filter((text) => /^user_path .*hourly/.test(String(text))),
    ["user_path /b hourly 4"],
  );
});

t.test("of a part of a day, the records of a path and of those below it count alone", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const proxy = client(daemon);
  for (const [path, cost] of [
    ["/team", 1],
    ["/team/a", 2],
    ["/team/a/b", 4],
    ["/teams", 8],
    ["/", 16],
    ["/other/team", 32],
  ] as const) {
    spend(proxy, path, cost * usd);
    await daemon.commit();
  }
  daemon.nowMs += 1;
  for (const [subject, period, perChild] of [
    ["/", "hourly", false],
    ["/team", "hourly", false],
    ["/team/a", "hourly", false],
    ["/team", "7200", true],
    ["/", "7200", true],
  ] as const) {
    const body = { subject, budget_key: { period }, amount: 100, per_child: perChild };
    await admin(daemon, proxy, "budgets.put", body);
  }
  for (let turns = 0; turns < 20; turns++) await daemon.commit();
  const { budgets: book } = daemon.state;
  const found = [...book.budgets.values()].flatMap(({ own, children }) =>
    [own, ...children.values()].flatMap((account) => {
      if (account === null) return [];
      const { spent, requests } = book.runningPeriod(account, daemon.nowMs);
      const { subject, budget } = account;
      return [
        `${subject} ${budget.definition.periodSeconds}: ${spent.microUsd / 1e6}, ${requests}`,
      ];
    }),
  );
  t.same(found.sort(), [
    "/ 3600: 63, 6",
    "/other 7200: 32, 1",
    "/team 3600: 7, 3",
    "/team 7200: 7, 3",
    "/team/a 3600: 6, 2",
    "/team/a 7200: 6, 2",
    "/teams 7200: 8, 1",
  ]);
});

t.test(
  "what there is nothing of isn't looked up, and what waits for usage is remembered",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon });
    const { state } = daemon;
    const put = (period: number): ReturnType<typeof state.budgets.put>["budget"] =>
      state.budgets.put(budget("/a", period, 5), { source: "manual", nowMs: noon }).budget;
    for (const period of [3600, 86_400]) {
      const made = put(period);
      const looking = beginBackfill(state, [made], noon)!;
      t.equal(made.isBackfilling, true);
      await Promise.all([looking.finish(), daemon.commit(), daemon.commit()]);
      t.equal(made.isBackfilling, false);
      t.ok(made.sinceMs < state.budgets.boundsOf(made, noon).startMs, "all of its period is known");
    }
    const later = put(7200);
    t.equal(beginBackfill(state, [later], noon + 2 * 3_600_000), null, "it saw this period begin");
    const off = startDaemon([], { nowMs: noon, usageEnabled: false });
    const made = off.state.budgets.put(budget("/a", 3600, 5), { source: "manual", nowMs: noon });
    t.equal(beginBackfill(off.state, [made.budget], noon), null);
    t.equal(made.budget.isBackfilling, true, "the first start with usage on looks it up");
  },
);

t.test("that look-ups are complete is written in slices", async (t) => {
  const { state } = startDaemon([], { nowMs: noon });
  const made = Array.from(
    { length: windowsPerSlice + 1 },
    (_, i) =>
      state.budgets.put(budget(`/a${i}`, 3600, 5), { source: "manual", nowMs: noon }).budget,
  );
  const slices: number[] = [];
  const writer = {
    closeBatch: () => {},
    write: (changes: readonly unknown[]) => Promise.resolve(void slices.push(changes.length)),
  } as unknown as typeof state.writer;
  const ports = { ...state, writer, yieldToEventLoop: () => Promise.resolve() };
  await beginBackfill(ports, made, noon)!.finish();
  t.same(slices, [windowsPerSlice, 1]);
});

t.test(
  "no verdict reads the store: the spend of a new template's children is looked up immediately, in slices",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon - 20 * 86_400_000 });
    const proxy = client(daemon);
    const children = 60;
    for (let day = 20; day >= 0; day -= 4) {
      daemon.nowMs = noon - day * 86_400_000;
      for (let i = 0; i < children; i++) spend(proxy, `/users/u${i}/x`, usd);
      await daemon.commit();
    }
    await daemon.flush();
    const next = startDaemon([], { nowMs: noon, store: daemon.store.crash() });
    const caller = client(next);
    let yields = 0;
    let looking = false;
    const { store } = next;
    const reads: unknown[] = [];
    for (const name of ["get", "range", "keys"] as const) {
      const original = store[name] as (...args: unknown[]) => unknown;
      Object.assign(store, {
        [name](...args: unknown[]) {
          if (looking) reads.push([name, ...args]);
          return original.apply(store, args);
        },
      });
    }
    Object.assign(next.state, {
      yieldToEventLoop: () => {
        yields++;
        return new Promise((resolve) => setImmediate(resolve));
      },
    });
    const verdict = (path: string): string => {
      looking = true;
      const answer = ask(caller, path);
      looking = false;
      return answer;
    };
    const id = ++caller.id;
    const body = {
      subject: "/users",
      budget_key: { period: "2592001" },
      amount: 2,
      per_child: true,
    };
    caller.peer.send({ kind: "admin", id, op: "budgets.put", body });
    t.equal(verdict("/users/u5"), "admitted", "meanwhile what is known so far counts");
    for (let turn = 0; turn < 40; turn++) await next.commit();
    t.ok(caller.peer.received.some((message) => message.kind === "answer" && message.id === id));
    for (let i = 0; i < children; i++) t.match(verdict(`/users/u${i}/x`), /of 2,/);
    t.equal(verdict("/users/new"), "admitted");
    next.nowMs += 2_592_001_000;
    t.equal(verdict("/users/u5"), "admitted", "in the next period too");
    t.same(reads, []);
    t.ok(yields > 2, `${yields} turns`);
    const after = startDaemon([], { nowMs: noon, store: next.store.crash() });
    t.match(ask(client(after), "/users/u7"), /of 2,/, "a start finds all of it written");
  },
);

t.test("sums that are damaged count nothing and are reported; other errors are ours", async (t) => {
  const account = startDaemon([], {
    nowMs: noon,
    budgets: [budget("/a", 86_400, 5)],
  }).state.budgets.match({ userPath: "/a" }, [], noon)[0]!;
  const damaged: string[] = [];
  const summing = (error: Error) =>
    createSpentOnDays(
      {
        rollups: {
          find: () => {
            throw error;
          },
        },
      } as never,
      ({ message }) => damaged.push(message),
    );
  t.equal(summing(new StoreUnreadableError("torn"))(account, noon, noon + 86_400_000), null);
  t.same(damaged, ["torn"]);
  t.throws(() => summing(new TypeError("ours"))(account, noon, noon + 86_400_000), /ours/);
});

t.test(
  "what was spent on whole days is read from the sums of the path, or of the label",
  async (t) => {
    const { state } = startDaemon([], {
      nowMs: noon,
      budgets: [
        budget("/a", 86_400, 5),
        { scope: "label", subject: "red", periodSeconds: 86_400, amountUsd: 5, perChild: false },
      ],
    });
    const asked: string[] = [];
    const spentOnDays = createSpentOnDays(
      { rollups: { find: (key: string) => void asked.push(key) } } as never,
      (error) => t.fail(error.message),
    );
    const [label, path] = state.budgets.match({ userPath: "/a" }, ["red"], noon);
    const midnight = noon - 43_200_000;
    const day = new Date(noon).toISOString().slice(0, 10);
    const next = new Date(noon + 86_400_000).toISOString().slice(0, 10);
    t.same(spentOnDays(path!, midnight, noon), { spent: { microUsd: 0, picoUsd: 0 }, requests: 0 });
    t.same(asked.splice(0), [`t\n/\na\n${day}`]);
    spentOnDays(label!, midnight, noon);
    t.same(asked.splice(0), [`l\nred\n${day}`]);
    spentOnDays(label!, midnight + 1, noon);
    t.same(asked.splice(0), [], "the rest of a day isn't known");
    spentOnDays(label!, midnight, midnight + 86_400_000);
    t.same(asked.splice(0), [`l\nred\n${day}`, `l\nred\n${next}`]);
  },
);

t.test("a day with nothing but progress of a session that goes on counts too", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/x", 86_400, 1)] });
  const proxy = client(daemon);
  spend(proxy, "/a", 2 * usd, { status: interimStatus });
  await daemon.commit();
  daemon.nowMs += 86_400 * second;
  await admin(daemon, proxy, "budgets.put", {
    subject: "/a",
    budget_key: { period: "monthly" },
    amount: 3,
  });
  t.match(await listed(daemon, proxy), exactly([{ subject: "/a", spent: 2 }, { subject: "/x" }]));
});
