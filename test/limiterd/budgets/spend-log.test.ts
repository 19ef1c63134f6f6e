/** Accounts that no request meets any more: what they had spent is written nowhere. */
import t from "tap";
import { newAccount } from "../../../limiterd/budgets/budget-account.js";
import { BudgetBook } from "../../../limiterd/budgets/budget-book.js";
import { SpendLog, spendLogFromStored } from "../../../limiterd/budgets/spend-log.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import { exactly } from "../../support/patterns/exactly.js";
import { startDaemon } from "../in-memory-daemon.js";
import { budget, client, noon, spend, usd } from "./budget-fixture.js";

const at = { source: "manual", nowMs: noon } as const;
const own = budget("/a", 86_400, 100);
const template = budget("/a", 86_400, 100, { perChild: true });
const record = (userPath: string): UsageRecord =>
  ({ userPath, atMs: noon, totalCost: usd, cacheHit: false }) as UsageRecord;

function logged() {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const usage = { lastKey: 0 };
  const log = new SpendLog(book, usage, { keys: [], behind: new Set() });
  return {
    book,
    log,
    charge: (path: string) => book.charge(record(path), [], noon),
    close() {
      usage.lastKey++;
      return log.changes().flatMap(({ value }) => (value as unknown[][]).map(([key]) => key));
    },
  };
}

t.test("a batch logs each account that it charged, once", async (t) => {
  const { book, log, charge, close } = logged();
  const { budget } = book.put(own, at);
  charge("/a");
  charge("/a/b");
  t.same(close(), [`${budget.id}\n`]);
  t.same(close(), [], "the next has nothing to say");
  charge("/a");
  t.same(close(), [`${budget.id}\n`]);
  t.equal(log.takeBehind().size, 1);
  t.equal(log.takeBehind().size, 0);
  t.same(
    log.removals(1).map(({ key }) => key),
    [1],
  );
  t.same(log.removals(2), []);
  t.same(
    log.removals(3).map(({ key }) => key),
    [3],
  );
});

t.test("what was charged to an account that is gone is never logged", async (t) => {
  const table = {
    deleted: ({ book }: ReturnType<typeof logged>) => void book.delete(own),
    "deleted and made again": ({ book }: ReturnType<typeof logged>) => {
      book.delete(own);
      book.put(own, at);
    },
    "made a template": ({ book }: ReturnType<typeof logged>) => void book.put(template, at),
    forgotten: ({ book }: ReturnType<typeof logged>) => book.clear(book.find(own)!, noon),
  };
  for (const [what, change] of Object.entries(table)) {
    const daemon = logged();
    daemon.book.put(own, at);
    daemon.charge("/a");
    change(daemon);
    t.same(daemon.close(), [], what);
    t.equal(daemon.log.takeBehind().size, 0, what);
  }
  const daemon = logged();
  daemon.book.put(template, at);
  daemon.charge("/a/b");
  daemon.charge("/a/c");
  daemon.book.find(template)!.children.delete("b");
  t.same(daemon.close(), [`${daemon.book.find(template)!.id}\nc`], "a child that is gone");
});

t.test("an amount that is edited changes no account", async (t) => {
  const { book, charge, close } = logged();
  const { budget } = book.put(own, at);
  charge("/a");
  book.put({ ...own, amountUsd: 3 }, at);
  t.same(close(), [`${budget.id}\n`]);
});

t.test("an account that is deleted or recreated during a flush isn't written", async (t) => {
  for (const change of ["deleted", "made anew"]) {
    const daemon = startDaemon([], { nowMs: noon, budgets: [own] });
    const proxy = client(daemon);
    while (daemon.state.budgets.find(own)!.isBackfilling) await daemon.commit();
    spend(proxy, "/a", usd);
    await daemon.commit();
    const { book, flushed } = { book: daemon.state.budgets, flushed: daemon.flush() };
    // The sums are being written; the accounts come behind them.
    book.delete(own);
    if (change === "made anew") book.put(own, { source: "manual", nowMs: noon });
    await flushed;
    t.same([...daemon.store.entries("spends")], [], change);
    t.same([...daemon.store.entries("spendlog")], [], `${change}: and its log is removed`);
  }
});

t.test("what was never logged isn't read", async (t) => {
  const spends = [noon, 1, 2, 3];
  t.match(
    spendLogFromStored([["b\n", ...spends]]),
    exactly([{ key: "b\n", spends: [{ startMs: noon }] }]),
  );
  for (const value of [["b\n"], [[]], [[1, ...spends]], [["b\n"]], [["b\n", noon, 1, 2]]])
    t.equal(spendLogFromStored(value), null, JSON.stringify(value));
});

/** Counts how often its items are looked at. */
class Watched<T> extends Set<T> {
  looks = 0;

  override *[Symbol.iterator](): SetIterator<T> {
    for (const item of super[Symbol.iterator]()) {
      this.looks++;
      yield item;
    }
  }
}

t.test("however many accounts are behind, handing them out looks at none", async (t) => {
  const { book } = logged();
  const { budget: team } = book.put(template, at);
  const accounts = Array.from({ length: 1000 }, (_, i) => newAccount(team, `c${i}`));
  const behind = new Watched(accounts);
  const log = new SpendLog(book, { lastKey: 0 }, { keys: [], behind });
  t.equal(log.takeBehind().size, 1000);
  t.equal(behind.looks, 0);
  t.equal(log.takeBehind().size, 0);
});
