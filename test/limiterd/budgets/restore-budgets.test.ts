import t from "tap";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import type { MemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { startDaemon, target } from "../in-memory-daemon.js";
import {
  admin,
  ask,
  budget,
  type Client,
  client,
  listed,
  noon,
  second,
  settle,
  spend,
  spentOf,
  usd,
} from "./budget-fixture.js";

t.test(
  "after a crash, records and spend agree: what was committed is there, the rest is sent again and counts once",
  async (t) => {
    const before = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/", 86_400, 100), budget("/", 3600, 100, { perChild: true })],
    });
    const proxy = client(before);
    spend(proxy, "/a", 1 * usd);
    await before.commit();
    spend(proxy, "/a", 2 * usd);
    const store = before.store.crash();
    const after = startDaemon([], {
      nowMs: noon + second,
      store,
      budgets: [budget("/", 86_400, 100), budget("/", 3600, 100, { perChild: true })],
    });
    const again: Client = { peer: after.proxy("p"), seq: 0, id: 50 };
    const statuses = (): unknown[] =>
      spentOf(budgetStatuses(after.state, { userPath: "/a" }, [], after.nowMs));
    t.same(statuses(), [
      ["/a", "hourly", 1],
      ["/", "daily", 1],
    ]);
    const lease: Lease = {
      lease: 0,
      userPath: "/a",
      admittedAtMs: 0,
      lsn: 0,
      target,
      targetAtMs: 0,
      targetLsn: 0,
      submission: false,
    };
    settle(again, lease, 1 * usd);
    settle(again, lease, 2 * usd);
    t.same(
      statuses(),
      [
        ["/a", "hourly", 3],
        ["/", "daily", 3],
      ],
      "the first is known by its number",
    );
    await after.commit();
    t.same(
      spentOf(
        budgetStatuses(
          startDaemon([], {
            nowMs: noon + second,
            store: store.crash(),
            budgets: [budget("/", 86_400, 100), budget("/", 3600, 100, { perChild: true })],
          }).state,
          { userPath: "/a" },
          [],
          noon + second,
        ),
      ),
      [
        ["/a", "hourly", 3],
        ["/", "daily", 3],
      ],
    );
  },
);

t.test(
  "a crash while the past is looked up doesn't lose it: the next start looks it up again",
  async (t) => {
    const before = startDaemon([], { nowMs: noon });
    const proxy = client(before);
    spend(proxy, "/a", 1 * usd);
    await before.commit();
    before.nowMs += 60 * second;
    const put = {
      kind: "admin",
      id: 99,
      op: "budgets.put",
      body: { subject: "/a", budget_key: { period: "hourly" }, amount: 5 },
    } as const;
    const state = before.state as { yieldToEventLoop: () => Promise<void> };
    state.yieldToEventLoop = () => new Promise(() => {});
    proxy.peer.send(put);
    spend(proxy, "/a", 2 * usd);
    await before.commit();
    await before.commit();
    const after = startDaemon([], { nowMs: noon + 61 * second, store: before.store.crash() });
    for (let turns = 0; turns < 10; turns++) await after.commit();
    t.same(spentOf(budgetStatuses(after.state, { userPath: "/a" }, [], after.nowMs)), [
      ["/a", "hourly", 3],
    ]);
    const last = startDaemon([], { nowMs: noon + 62 * second, store: after.store.crash() });
    t.same(
      spentOf(budgetStatuses(last.state, { userPath: "/a" }, [], last.nowMs)),
      [["/a", "hourly", 3]],
      "and what was found is kept",
    );
  },
);

t.test(
  "configured budgets are written at the start, undeclared ones are removed, manual ones stay as they are",
  async (t) => {
    const first = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/a", 86_400, 1), budget("/b", 86_400, 1)],
    });
    const proxy = client(first);
    spend(proxy, "/a", 0.5 * usd);
    await admin(first, proxy, "budgets.put", {
      subject: "/b",
      budget_key: { period: "daily" },
      amount: 9,
    });
    const second = startDaemon([], {
      nowMs: noon,
      store: first.store.crash(),
      budgets: [budget("/a", 86_400, 2), budget("/b", 86_400, 3), budget("/c", 86_400, 4)],
    });
    t.match(
      await listed(second, client(second)),
      exactly([
        { subject: "/a", amount: 2, spent: 0.5, source: "config" },
        { subject: "/b", amount: 9, source: "manual" },
        { subject: "/c", amount: 4, source: "config" },
      ]),
    );
    const third = startDaemon([], { nowMs: noon, store: second.store.crash() });
    t.match(await listed(third, client(third)), exactly([{ subject: "/b" }]));
    t.same(
      [...third.store.crash().entries("spends")].map(({ key }) => key),
      [],
      "and so does what they had spent",
    );
  },
);

t.test(
  "a reset of a template with many children takes one entry, and holds for each of them, before and after a crash",
  async (t) => {
    const template = budget("/team", 86_400, 1, { perChild: true });
    const daemon = startDaemon([], { nowMs: noon, budgets: [template] });
    const proxy = client(daemon);
    const children = 1_000;
    for (let i = 0; i < children; i++) spend(proxy, `/team/${i}`, 2 * usd);
    await daemon.commit();
    await daemon.flush();
    spend(proxy, "/team/late", 2 * usd);
    await daemon.commit();
    const written: string[] = [];
    const { commit } = daemon.store;
    daemon.store.commit = (changes) => {
      written.push(...changes.map(({ table }) => table));
      return commit.call(daemon.store, changes);
    };
    t.equal(ask(proxy, "/team/7"), "/team/7 86400: 2 of 1, 43200");
    const answered = admin(daemon, proxy, "budgets.reset-one", {
      subject: "/team",
      period: "daily",
    });
    t.same(await answered, {});
    t.same(
      written.filter((table) => table === "spends"),
      [],
    );
    const crashed = daemon.store.crash();
    const restarted = startDaemon([], { nowMs: noon, store: crashed, budgets: [template] });
    for (const [name, of, other] of [
      ["running", daemon, proxy],
      ["restarted", restarted, { ...client(restarted), seq: proxy.seq }],
    ] as const) {
      for (const path of ["/team/0", "/team/7", "/team/late"])
        t.equal(ask(other, path), "admitted", `${path} in the daemon ${name}`);
      spend(other, "/team/7", 3 * usd);
      await of.commit();
      t.equal(ask(other, "/team/7"), "/team/7 86400: 3 of 1, 43200");
    }
    await daemon.flush();
    const later = startDaemon([], {
      nowMs: noon,
      store: daemon.store.crash(),
      budgets: [template],
    });
    const again = client(later);
    t.equal(ask(again, "/team/7"), "/team/7 86400: 3 of 1, 43200");
    t.equal(ask(again, "/team/8"), "admitted");
  },
);

t.test(
  "a budget that the configuration no longer declares is gone from the store, too",
  async (t) => {
    const keys = ({ store }: { store: MemoryStore }): unknown[] =>
      [...store.entries("budgets")].map(({ key }) => key);
    const first = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/a", 86_400, 5), budget("/b", 86_400, 5)],
    });
    await first.commit();
    t.equal(keys(first).length, 2);
    const second = startDaemon([], {
      nowMs: noon,
      store: first.store.crash(),
      budgets: [budget("/b", 86_400, 5)],
    });
    await second.commit();
    t.equal(keys(second).length, 1);
    const third = startDaemon([], { nowMs: noon, store: second.store.crash() });
    await third.commit();
    t.same(keys(third), []);
  },
);
