/** Rules and budgets that were edited by hand, and what the configuration declares. */
import t from "tap";
import { createMemoryStore } from "../support/memory-store.js";
import { exactly } from "../support/patterns/exactly.js";
import { ask, pathRule, refusal, startDaemon } from "./in-memory-daemon.js";

const minute = { user_path: "/team", limit_key: { period: "minute" } };

t.test(
  "a rule that was edited by hand says what the file has; reverted, the file's is back at once, with its counters, and after a start too",
  async (t) => {
    const store = createMemoryStore();
    const rules = [pathRule("/team", 60, { requests: 100 })];
    let daemon = startDaemon(rules, { store });
    const listed = async (): Promise<unknown> =>
      ((await ask(daemon, "rate-limits.list", null)) as { rate_limits: unknown[] }).rate_limits;
    t.match(
      await listed(),
      exactly([{ source: "config", max_requests: 100, overrides: undefined }]),
    );
    await ask(daemon, "rate-limits.put", { ...minute, max_requests: 5, max_tokens: 7 });
    const edited = {
      source: "manual",
      max_requests: 5,
      max_tokens: 7,
      overrides: {
        per_child: false,
        max_requests: 100,
        max_tokens: undefined,
        host_only: undefined,
      },
    };
    t.match(await listed(), exactly([edited]));
    daemon = startDaemon(rules, { store });
    t.match(await listed(), exactly([edited]), "after a start");
    await ask(daemon, "rate-limits.delete", { ...minute, revert: true });
    const back = { source: "config", max_requests: 100, max_tokens: undefined };
    t.match(await listed(), exactly([{ ...back, overrides: undefined }]));
    daemon = startDaemon(rules, { store });
    t.match(await listed(), exactly([back]), "after another");
    t.match(await refusal(ask(daemon, "rate-limits.delete", { ...minute, revert: true })), {
      code: "rate_limit_not_found",
      message: "the configuration has no other minute rule on user_path /team",
    });
    await ask(daemon, "rate-limits.put", { ...minute, max_requests: 5 });
    await ask(daemon, "rate-limits.delete", minute);
    t.same(await listed(), [], "deleted, it is gone until the next start, edited or not");
  },
);

t.test(
  "a rule that is reverted right after a start gives way to the file's, though the store isn't read",
  async (t) => {
    const store = createMemoryStore();
    const rules = [pathRule("/team", 60, { requests: 100 }), pathRule("/other", 60, { tokens: 1 })];
    await ask(startDaemon(rules, { store }), "rate-limits.put", { ...minute, max_requests: 5 });
    const daemon = startDaemon(rules, { store, loads: false });
    await ask(daemon, "rate-limits.delete", { ...minute, revert: true });
    t.match(daemon.state.book.find(rules[0]!), {
      source: "config",
      definition: { maxRequests: 100 },
    });
  },
);

t.test("a budget that was edited by hand gives way to the file's in the same way", async (t) => {
  const monthly = { user_path: "/team", budget_key: { period: "monthly" } };
  const budgets = [
    {
      scope: "user_path",
      subject: "/team",
      periodSeconds: 2_592_000,
      amountUsd: 20,
      perChild: false,
    },
  ] as const;
  const daemon = startDaemon([], { budgets });
  const listed = async (): Promise<unknown> => (await ask(daemon, "budgets.list", null))["budgets"];
  await ask(daemon, "budgets.put", { ...monthly, amount: 50 });
  t.match(await listed(), exactly([{ source: "manual", amount: 50, overrides: { amount: 20 } }]));
  await ask(daemon, "budgets.delete", { ...monthly, revert: true });
  t.match(await listed(), exactly([{ source: "config", amount: 20, overrides: undefined }]));
});
