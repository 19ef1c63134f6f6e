/** Budgets with the period `session`: each session of an agent has the amount for itself. */
import t from "tap";
import { sessionOf } from "../../../limiterd/budgets/budget-account.js";
import { childSeries } from "../../../limiterd/lists/child-metrics.js";
import { perSession } from "../../../shared/domain/budget-calendar.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { wind } from "../clockwork.js";
import { ask, startDaemon, target } from "../in-memory-daemon.js";
import {
  admin,
  beginInSession,
  budget,
  type Client,
  client,
  noon,
  restarted,
  settle,
  spendInSession,
  usd,
} from "./budget-fixture.js";

const dayMs = 86_400_000;
const agents = budget("/agents", perSession, 5);

const isAdmitted = (to: Client, path: string, session?: string): boolean =>
  typeof beginInSession(to, path, session) !== "string";

t.test("each session has the amount for itself, and a session of another path, too", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  spendInSession(to, "/agents/ci", "s1", 4);
  spendInSession(to, "/agents/ci", "s1", 1.2);
  t.match(
    beginInSession(to, "/agents/ci", "s1"),
    /^budget exceeded for \/agents\/ci session limit: spent 5.2 of 5; start a new session, \d+$/,
  );
  t.ok(isAdmitted(to, "/agents/ci", "s2"), "another session");
  t.ok(isAdmitted(to, "/agents/dev", "s1"), "the same name on another path");
  t.ok(isAdmitted(to, "/agents", "s1"), "and on the budget's own path");
  t.ok(isAdmitted(to, "/agents/ci"), "a request without a session");
  t.ok(isAdmitted(to, "/other", "s1"), "a path without the budget");
});

t.test(
  "other budgets count the same requests, and the one that refuses longest is named",
  async (t) => {
    const daily = budget("/agents", 86_400, 8);
    const daemon = startDaemon([], { nowMs: noon, budgets: [agents, daily] });
    const to = client(daemon);
    spendInSession(to, "/agents", "s1", 5);
    spendInSession(to, "/agents", "s2", 3);
    t.match(beginInSession(to, "/agents", "s1"), /session limit: spent 5 of 5/);
    t.match(beginInSession(to, "/agents", "s2"), /daily limit: spent 8 of 8/);
    t.match(beginInSession(to, "/agents", undefined), /daily limit: spent 8 of 8/);
  },
);

t.test("below a template, its own path has no budget", async (t) => {
  const template = budget("/agents", perSession, 5, { perChild: true });
  const to = client(startDaemon([], { nowMs: noon, budgets: [template] }));
  spendInSession(to, "/agents", "s1", 6);
  t.ok(isAdmitted(to, "/agents", "s1"));
  spendInSession(to, "/agents/a/b", "s1", 6);
  t.match(
    beginInSession(to, "/agents/a/b", "s1"),
    /for \/agents\/a\/b session limit: spent 6 of 5/,
  );
});

t.test("a budget of sessions for some models counts these alone", async (t) => {
  const some = budget("/agents", perSession, 5, { models: "gpt-*" });
  const to = client(startDaemon([], { nowMs: noon, budgets: [some] }));
  spendInSession(to, "/agents", "s1", 5);
  t.match(beginInSession(to, "/agents", "s1"), /session limit/);
  const lease = beginInSession(to, "/agents", "s2") as Lease;
  settle(to, lease, 9 * usd, { session: "s2", model: "o3" });
  t.ok(isAdmitted(to, "/agents", "s2"), "what another model cost doesn't count");
});

t.test("a session goes on over midnight, and ends seven days after its spend", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  spendInSession(to, "/agents", "s1", 5);
  daemon.nowMs = noon + dayMs;
  t.notOk(isAdmitted(to, "/agents", "s1"), "the next day");
  daemon.nowMs = noon + 7 * dayMs - 1;
  const refused = beginInSession(to, "/agents", "s1");
  t.match(refused, /session limit/);
  const waitSeconds = Number(/\d+$/.exec(String(refused))![0]);
  t.ok(waitSeconds <= 0.3 * 86_400, "at most a thirtieth of seven days is left");
  daemon.nowMs += waitSeconds * 1000;
  t.ok(isAdmitted(to, "/agents", "s1"), "as the wait says");
});

t.test("refused sessions and those without a cost leave no account behind", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  for (const name of ["a", "b", "c"]) beginInSession(to, "/agents", name);
  t.equal(daemon.state.budgets.find(agents)!.children.size, 0);
  spendInSession(to, "/agents", "a", 1);
  t.equal(daemon.state.budgets.find(agents)!.children.size, 1);
});

t.test("an idle session is forgotten, in memory and in the store", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const { ring } = wind(daemon, 0);
  const to = client(daemon);
  spendInSession(to, "/agents", "old", 1);
  const turn = async (timer: number): Promise<void> => {
    ring(timer);
    for (let i = 0; i < 6; i++) await daemon.commit();
  };
  await turn(10_000);
  const sessions = (): unknown[] =>
    [...daemon.state.budgets.find(agents)!.children.values()].map(sessionOf);
  const stored = (): number => [...daemon.store.entries("spends")].length;
  daemon.nowMs = noon + 6 * dayMs;
  for (let i = 0; i < 2; i++) await turn(1000);
  t.same([sessions(), stored()], [["old"], 1]);
  daemon.nowMs = noon + 8 * dayMs;
  for (let i = 0; i < 2; i++) await turn(1000);
  t.same([sessions(), stored()], [[], 0]);
});

t.test("beyond the bound, new sessions aren't limited, and known ones are", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  spendInSession(to, "/agents", "s1", 5);
  const { children } = daemon.state.budgets.find(agents)!;
  Object.defineProperty(children, "size", { value: 2_000_000 });
  spendInSession(to, "/agents", "s2", 5);
  t.ok(isAdmitted(to, "/agents", "s2"));
  t.notOk(isAdmitted(to, "/agents", "s1"));
  t.same([...children.keys()].length, 1);
});

t.test("what sessions have spent survives a crash", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  spendInSession(to, "/agents/ci", "s1", 5);
  spendInSession(to, "/agents/ci", "s2", 3);
  await daemon.commit();
  const again = { ...client(await restarted(daemon)), seq: to.seq };
  t.match(beginInSession(again, "/agents/ci", "s1"), /spent 5 of 5/);
  t.ok(isAdmitted(again, "/agents/ci", "s2"));
  spendInSession(again, "/agents/ci", "s2", 2);
  t.match(beginInSession(again, "/agents/ci", "s2"), /spent 5 of 5/);
});

t.test("a new amount lets sessions go on, and a reset clears all of them", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const to = client(daemon);
  const key = { user_path: "/agents", budget_key: { period: "session" } };
  await admin(daemon, to, "budgets.put", { ...key, amount: 5 });
  spendInSession(to, "/agents", "s1", 6);
  await admin(daemon, to, "budgets.put", { ...key, amount: 10 });
  t.ok(isAdmitted(to, "/agents", "s1"));
  spendInSession(to, "/agents", "s1", 4);
  t.notOk(isAdmitted(to, "/agents", "s1"));
  await admin(daemon, to, "budgets.reset-one", { user_path: "/agents", period: "session" });
  t.match(
    await ask(daemon, "budgets.children", { user_path: "/agents", period: "session" }),
    { children: exactly([{ session: "s1", spent: 0 }]) },
    "lists show it at once",
  );
  t.ok(isAdmitted(to, "/agents", "s1"));
});

t.test("a raise of a budget, or of a template's child, is one of each session", async (t) => {
  const template = budget("/agents", perSession, 5, { perChild: true });
  const daemon = startDaemon([], { nowMs: noon, budgets: [template] });
  const to = client(daemon);
  for (const path of ["/agents/a/b", "/agents/c"]) spendInSession(to, path, "s1", 6);
  const raise = { budget_key: { period: "session" }, amount: 9, for_seconds: 60, reason: "more" };
  await ask(daemon, "budgets.raise", { user_path: "/agents/a", ...raise });
  t.ok(isAdmitted(to, "/agents/a/b", "s1"));
  t.notOk(isAdmitted(to, "/agents/c", "s1"));
  await ask(daemon, "budgets.raise", { user_path: "/agents", ...raise });
  t.ok(isAdmitted(to, "/agents/c", "s1"));
});

t.test(
  "a hard budget of sessions holds what running requests of the session may use",
  async (t) => {
    const hard = budget("/agents", perSession, 0.008, { hold: "hard" });
    const daemon = startDaemon([], { nowMs: noon, budgets: [hard] });
    const to = client(daemon);
    // 1000 tokens of input and 200 of output cost 0.6 cents.
    const rates = { input: 3_000_000, output: 15_000_000 };
    const metered = { promptTokens: 1000, outputMax: 200, isStreamed: false, rates: [rates] };
    const lease = beginInSession(to, "/agents", "s1", { metered });
    t.ok(typeof lease !== "string");
    t.match(beginInSession(to, "/agents", "s1", { metered }), /session limit: spent 0 of 0.008/);
    t.ok(typeof beginInSession(to, "/agents", "s2", { metered }) !== "string");

    await daemon.commit();
    const again = await restarted(daemon);
    const holding = { promptTokens: 1000, output: 200, rates, keyId: "", session: "s1" };
    const peer = again.proxy("p", [{ ...(lease as Lease), holding }]);
    const back: Client = { peer, seq: to.seq, id: to.id };
    t.match(beginInSession(back, "/agents", "s1", { metered }), /session limit/, "after a restart");
    t.ok(typeof beginInSession(back, "/agents", "s2", { metered }) !== "string");
  },
);

t.test("another target is judged by the session's budget, too", async (t) => {
  const some = budget("/agents", perSession, 5, { models: "gpt-*" });
  const to = client(startDaemon([], { nowMs: noon, budgets: [some] }));
  spendInSession(to, "/agents", "s1", 6);
  const other = { provider: "openai", model: "o3" };
  const lease = beginInSession(to, "/agents", "s1", { targets: [other] }) as Lease;
  const reroute = (session: string | undefined): string => {
    to.peer.send({
      ...{ kind: "reroute", id: ++to.id, lease: lease.lease, targets: [target], read: 0 },
      session,
    } as never);
    return to.peer.received.at(-1)!.kind;
  };
  t.equal(reroute("s1"), "exceeded");
  t.equal(reroute("s2"), "admitted");
});

t.test("a budget counts what sessions spend from its beginning on", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const to = client(daemon);
  spendInSession(to, "/agents", "s1", 9);
  const key = { user_path: "/agents", budget_key: { period: "session" } };
  await admin(daemon, to, "budgets.put", { ...key, amount: 5 });
  t.ok(isAdmitted(to, "/agents", "s1"));
  t.equal(daemon.state.budgets.find(agents)!.isBackfilling, false, "nothing is looked up");
});

t.test(
  "proxies learn when the first budget of sessions is made and the last deleted",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon });
    const to = client(daemon);
    const heard = (): unknown[] =>
      to.peer.received.flatMap((message) =>
        message.kind === "event" && message.name === "session_budgets" ? message.value : [],
      );
    const key = { user_path: "/agents", budget_key: { period: "session" } };
    await admin(daemon, to, "budgets.put", { ...key, amount: 5 });
    t.same(heard(), [true]);
    const later = client(daemon, "q").peer.received.at(0);
    t.match(later, { kind: "welcome", sessionBudgets: true });
    await admin(daemon, to, "budgets.delete", key);
    t.same(heard(), [true, false]);
  },
);

t.test("lists name the sessions below their budget, and nowhere else", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  spendInSession(to, "/agents/ci", "s1", 4);
  spendInSession(to, "/agents/ci", "s2", 1);
  t.match(
    await ask(daemon, "budgets.children", { user_path: "/agents", period: "session" }),
    exactly({
      total: 2,
      children: [
        { subject: "/agents/ci", session: "s1", spent: 4, remaining: 1, usage_ratio: 0.8 },
        { subject: "/agents/ci", session: "s2", spent: 1 },
      ],
    }),
  );
  const fullest = await ask(daemon, "budgets.list", { order: "use" });
  t.match(
    fullest["budgets"],
    exactly([{ subject: "/agents", period_label: "session", period_seconds: 0, spent: 0 }]),
  );
  t.equal((fullest["budgets"] as unknown[]).length, 1);
  t.same(await childSeries(daemon.state, noon), []);
});

t.test("a template's child isn't listed as if it had the amount of its sessions", async (t) => {
  const template = budget("/agents", perSession, 5, { perChild: true });
  const daemon = startDaemon([], { nowMs: noon, budgets: [template] });
  spendInSession(client(daemon), "/agents/a", "s1", 4);
  for (const order of ["name", "use"])
    t.match(
      await ask(daemon, "budgets.list", { user_path: "/agents/a", order }),
      { budgets: exactly([]) },
      order,
    );
});

t.test("a caller's own usage has the budget of the session that it names", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  spendInSession(client(daemon), "/agents/ci", "s1", 4);
  const days = { start_date: "2026-11-21", end_date: "2026-11-21" };
  const of = (more: object) =>
    ask(daemon, "usage.status", { user_path: "/agents/ci", ...days, ...more });
  t.match(await of({ session: "s1" }), {
    budgets: exactly([{ subject: "/agents/ci", session: "s1", spent: 4, remaining: 1 }]),
  });
  t.match(await of({ session: "s2" }), {
    budgets: exactly([{ session: "s2", spent: 0 }]),
  });
  for (const session of [undefined, "", 7, "x".repeat(129)])
    t.match(await of({ session }), { budgets: exactly([]) });
});

t.test("an explanation has the session's budget", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [agents] });
  const to = client(daemon);
  spendInSession(to, "/agents/ci", "s1", 5);
  const of = (session?: string) =>
    ask(daemon, "explain", { user_path: "/agents/ci", session, targets: [target] });
  t.match(
    await of("s1"),
    exactly({
      verdict: { admitted: false },
      budgets: [{ subject: "/agents/ci", template: "/agents", session: "s1", spent: 5 }],
    }),
  );
  t.match(
    await of("s2"),
    exactly({ verdict: { admitted: true }, budgets: [{ session: "s2", spent: 0 }] }),
  );
  t.match(await of(), exactly({ verdict: { admitted: true }, budgets: [] }));
});

t.test("only user paths have budgets of sessions, without a calendar", async (t) => {
  const daemon = startDaemon([]);
  const refused = async (body: object): Promise<unknown> => {
    try {
      return await ask(daemon, "budgets.put", { budget_key: { period: "session" }, ...body });
    } catch (error) {
      return (error as Error).message;
    }
  };
  const at = { user_path: "/agents", amount: 5 };
  t.equal(
    await refused({ scope: "provider", subject: "openai", amount: 5 }),
    "budget_key.period session is for user-path budgets only",
  );
  t.match(await refused({ ...at, rollover: 0.5 }), /^rollover can't be combined with the period/);
  t.match(await refused({ ...at, rolling: true }), /^rolling can't be combined with the period/);
  t.match(await refused({ ...at, time_zone: "UTC" }), /^time_zone can't be combined/);
  t.match(await refused({ ...at, anchor_day: 3 }), /^anchor_day can't be combined/);
});
