import t from "tap";
import { ask, startDaemon } from "../in-memory-daemon.js";
import { budget, client, listed, noon, spend, usd } from "./budget-fixture.js";

t.test(
  "a moved budget looks up what its new subject has cost, and the old one is gone",
  async (t) => {
    const day = 86_400;
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/a", day, 8)] });
    const proxy = client(daemon);
    spend(proxy, "/a", 3 * usd);
    spend(proxy, "/b/app", 2 * usd);
    await daemon.commit();
    await ask(daemon, "budgets.put", {
      user_path: "/b",
      amount: 9,
      budget_key: { period: "daily" },
      replaces: { user_path: "/a", budget_key: { period: "daily" } },
    });
    const budgets = await listed(daemon, proxy);
    t.match(budgets, [{ subject: "/b", amount: 9, spent: 2, remaining: 7 }]);
    t.equal(budgets.length, 1);
  },
);
