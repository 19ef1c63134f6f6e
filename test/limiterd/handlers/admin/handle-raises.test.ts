/** Raises of rules and budgets: how they apply, end, and are refused. Time is set. */
import t from "tap";
import {
  applyRaises,
  endRaises,
  raisesDefinition,
} from "../../../../limiterd/handlers/definitions/apply-raises.js";
import type { BudgetPage } from "../../../../shared/api/budget-item.js";
import type { Explanation } from "../../../../shared/api/explanation.js";
import type { RulePage } from "../../../../shared/api/rule-item.js";
import type { UsageStatus } from "../../../../shared/api/usage-report.js";
import type { AdminOp } from "../../../../shared/wire/admin-op.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { budget, noon, usd } from "../../budgets/budget-fixture.js";
import {
  ask,
  askFor,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../../in-memory-daemon.js";

const hourMs = 3_600_000;
const rule = { user_path: "/team", limit_key: { period: "minute" } };
const raised = { for_seconds: 7200, reason: "launch day", by: "ann" };

const rules = async (daemon: TestDaemon): Promise<RulePage["rate_limits"]> =>
  ((await ask(daemon, "rate-limits.list", null)) as unknown as RulePage).rate_limits;

/** The message and field of a refused operation. */
async function refused(daemon: TestDaemon, op: AdminOp, body: unknown): Promise<string> {
  return ask(daemon, op, body).then(
    () => "it is accepted",
    (error: { failure?: { message: string; param?: string | null } }) =>
      `${error.failure?.param}: ${error.failure?.message}`,
  );
}

/** How many of so many requests are admitted now; each ends at once. */
function admitted(peer: TestPeer, userPath: string, requests: number): number {
  let count = 0;
  for (let i = 0; i < requests; i++) {
    const id = ++sequence;
    const lease = askFor(peer, id, userPath);
    if (lease === null) continue;
    count++;
    peer.send(settleOf(lease, ++settles, 0));
  }
  return count;
}
let sequence = 1;
let settles = 0;

t.beforeEach(() => {
  sequence = 1;
  settles = 0;
});

t.test("a raise applies to its rule until its moment, and not a millisecond longer", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2 })], { nowMs: noon });
  const peer = daemon.proxy("p");
  t.equal(admitted(peer, "/team/app", 9), 2);
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, ...raised });
  t.equal(admitted(peer, "/team/app", 9), 3, "the same window has room for three more");
  t.match(peer.received.at(-1), { kind: "refused", cap: 5 });
  daemon.nowMs = noon + 2 * hourMs - 1;
  t.equal(admitted(peer, "/team/app", 9), 5, "the last millisecond");
  daemon.nowMs = noon + 2 * hourMs;
  t.equal(admitted(peer, "/team/app", 1), 0);
  t.match(peer.received.at(-1), { kind: "refused", cap: 2 });
  daemon.nowMs += 2 * 60_000;
  t.equal(admitted(peer, "/team/app", 9), 2, "as declared again");
});

t.test("caps of measures are raised, and shown raised, for rules and for children", async (t) => {
  const caps = { max_input_tokens: 30, max_output_tokens: 30, max_cost: 1e-10 };
  const higher = { max_input_tokens: 90, max_output_tokens: 90, max_cost: 9e-10 };
  for (const perChild of [false, true]) {
    const daemon = startDaemon([], { nowMs: noon });
    const key = { ...rule, user_path: perChild ? "/" : "/team" };
    await ask(daemon, "rate-limits.put", { ...key, ...caps, per_child: perChild });
    const peer = daemon.proxy("p");
    const uses = (requests: number): number => {
      let count = 0;
      for (let i = 0; i < requests; i++) {
        const lease = askFor(peer, ++sequence, "/team");
        if (lease === null) continue;
        count++;
        peer.send({ ...settleOf(lease, ++settles, 30), record: executed() });
      }
      return count;
    };
    t.equal(uses(9), 2, "40 of 30 input tokens, and 180 of 100 pico-dollars");
    await ask(daemon, "rate-limits.raise", { ...rule, ...higher, ...raised });
    t.equal(uses(9), 3, "until 100 of 90 input tokens");
    t.match(peer.received.at(-1), { kind: "refused", cap: 90, dimension: "input_tokens" });
    const explained = (await ask(daemon, "explain", {
      user_path: "/team",
      targets: [target],
    })) as unknown as Explanation;
    t.match(
      explained.rules,
      exactly([{ ...higher, output_tokens_remaining: 40, raises: [higher] }]),
    );
    const { store } = daemon;
    await daemon.commit();
    const again = startDaemon([], { store, nowMs: noon });
    t.match(await rules(again), exactly([{ ...caps, raises: [higher] }]), "after a restart");
    daemon.nowMs = noon + 2 * hourMs;
    t.equal(uses(9), 2, "as declared again");
  }
  const daemon = startDaemon([], { nowMs: noon });
  await ask(daemon, "rate-limits.put", { ...rule, max_input_tokens: 30 });
  const refusedWith = (fields: object): Promise<string> =>
    refused(daemon, "rate-limits.raise", { ...rule, ...raised, ...fields });
  t.match(await refusedWith({ max_input_tokens: 30 }), /^max_input_tokens: .* must be above 30/);
  t.match(await refusedWith({ max_cost: 1 }), /^max_cost: .* has no max_cost to raise/);
  t.match(await refusedWith({ max_cost: -1 }), /^max_cost: max_cost must be a number/);
  t.match(
    await refusedWith({}),
    /^max_requests: one of max_requests, max_tokens, max_input_tokens/,
  );
});

t.test("the list, the explanation, the headers and the caller's usage show it", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2, tokens: 100 })], {
    nowMs: noon,
  });
  const peer = daemon.proxy("p");
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, max_tokens: 300, ...raised });
  const raises = [
    {
      subject: "/team",
      max_requests: 5,
      max_tokens: 300,
      from: "2026-11-21T12:00:00.000Z",
      until: "2026-11-21T14:00:00.000Z",
      by: "ann",
      reason: "launch day",
    },
  ];
  t.match((await rules(daemon))[0], exactly({ max_requests: 2, requests_remaining: 5, raises }));
  const asked = { user_path: "/team", targets: [target] };
  const { rules: explained } = (await ask(daemon, "explain", asked)) as unknown as Explanation;
  t.match(explained[0], exactly({ max_requests: 5, max_tokens: 300, raises, breached: [] }));
  askFor(peer, 2, "/team");
  t.match(peer.received.at(-1), { headers: { requests: { limit: 5, remaining: 4 } } });
  const status = (await ask(daemon, "usage.status", {
    start_date: "2026-11-21",
    end_date: "2026-11-21",
    user_path: "/team",
  })) as unknown as UsageStatus;
  t.match(status.rate_limits[0], exactly({ max_requests: 5, requests_usage_ratio: 1 / 5, raises }));
  daemon.nowMs += 2 * hourMs;
  t.notOk((await rules(daemon))[0]!.raises, "no request and no timer was needed");
});

t.test("a raise of one child of a template is for that child alone", async (t) => {
  const template = { ...pathRule("/users", 60, { requests: 1 }), perChild: true };
  const daemon = startDaemon([template], { nowMs: noon });
  const peer = daemon.proxy("p");
  await ask(daemon, "rate-limits.raise", {
    user_path: "/users/ann",
    limit_key: { period: "minute" },
    max_requests: 3,
    ...raised,
  });
  t.equal(admitted(peer, "/users/ann/x", 9), 3);
  t.equal(admitted(peer, "/users/bob", 9), 1);
  t.match((await rules(daemon))[0]!.raises, exactly([{ subject: "/users/ann", max_requests: 3 }]));
  await ask(daemon, "rate-limits.raise", {
    user_path: "/users",
    limit_key: { period: "minute" },
    max_requests: 2,
    ...raised,
  });
  t.equal(admitted(peer, "/users/bob", 9), 1, "each child");
  t.equal(admitted(peer, "/users/ann", 9), 0);
  await ask(daemon, "rate-limits.end-raise", {
    user_path: "/users/ann",
    limit_key: { period: "minute" },
  });
  t.match((await rules(daemon))[0]!.raises, exactly([{ subject: "/users", max_requests: 2 }]));
});

t.test("a gauge and a ban can be raised", async (t) => {
  const gauge = pathRule("/team", 0, { requests: 1 });
  const ban = { ...pathRule("/team", 60, { requests: 0 }), models: "gpt-4o" };
  const daemon = startDaemon([gauge, ban], { nowMs: noon });
  const peer = daemon.proxy("p");
  t.equal(askFor(peer, 2, "/team"), null);
  await ask(daemon, "rate-limits.raise", {
    ...rule,
    models: ["gpt-4o"],
    max_requests: 9,
    ...raised,
  });
  t.ok(askFor(peer, 3, "/team"));
  t.equal(askFor(peer, 4, "/team"), null);
  await ask(daemon, "rate-limits.raise", {
    user_path: "/team",
    limit_key: { period: "concurrent" },
    max_requests: 2,
    ...raised,
  });
  t.ok(askFor(peer, 5, "/team"));
  t.equal(askFor(peer, 6, "/team"), null);
  t.match(await rules(daemon), exactly([{ requests_remaining: 0 }, { requests_remaining: 7 }]));
});

t.test("a budget's amount is raised, and what it refuses says so", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 1)] });
  const peer = daemon.proxy("p");
  const spend = (id: number): boolean => {
    const lease = askFor(peer, id, "/team");
    if (lease === null) return peer.received.at(-1)?.kind === "admitted";
    const cost = { inputCost: usd, outputCost: 0, totalCost: usd };
    peer.send({ ...settleOf(lease, id, 1), record: executed({ requestId: `r${id}`, ...cost }) });
    return true;
  };
  t.ok(spend(2));
  t.notOk(spend(3));
  const key = { user_path: "/team", budget_key: { period: "daily" } };
  await ask(daemon, "budgets.raise", { ...key, amount: 2.5, ...raised });
  t.ok(spend(4));
  const listed = async () =>
    ((await ask(daemon, "budgets.list", null)) as unknown as BudgetPage).budgets[0]!;
  t.match(
    await listed(),
    exactly({
      amount: 1,
      spent: 2,
      remaining: 0.5,
      raises: [{ amount: 2.5, by: "ann" }],
    }),
  );
  t.ok(spend(5));
  t.match(spend(6), false);
  t.match(peer.received.at(-1), { kind: "exceeded", amountUsd: 2.5, spentUsd: 3 });
  daemon.nowMs += 2 * hourMs;
  t.notOk(spend(7));
  t.match(peer.received.at(-1), { kind: "exceeded", amountUsd: 1 });
  t.notOk((await listed()).raises);
});

t.test("what can't be raised is refused with the reason", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 100 })], {
    nowMs: noon,
    budgets: [budget("/team", 86_400, 10)],
  });
  const table: readonly (readonly [AdminOp, object, string])[] = [
    [
      "rate-limits.raise",
      { max_requests: 50, ...raised },
      "max_requests: max_requests must be above 100, which the minute rule on user_path /team has, not 50: a raise lowers nothing",
    ],
    [
      "rate-limits.raise",
      { max_requests: 100, ...raised },
      "max_requests: max_requests must be above 100, which the minute rule on user_path /team has, not 100: a raise lowers nothing",
    ],
    [
      "rate-limits.raise",
      { max_tokens: 5, ...raised },
      "max_tokens: the minute rule on user_path /team has no max_tokens to raise",
    ],
    [
      "rate-limits.raise",
      { ...raised },
      "max_requests: one of max_requests, max_tokens, max_input_tokens, max_output_tokens, max_cost, max_tool_calls, max_enqueued_tokens is required",
    ],
    [
      "rate-limits.raise",
      { max_requests: 200, ...raised, for_seconds: 0 },
      "for_seconds: for_seconds must be an integer from 1 to 2678400, not 0",
    ],
    [
      "rate-limits.raise",
      { max_requests: 200, ...raised, reason: " " },
      'reason: reason must be a text, not " "',
    ],
    [
      "rate-limits.raise",
      { max_requests: 200, ...raised, user_path: "/else" },
      "null: no minute rule on user_path /else",
    ],
    [
      "rate-limits.raise",
      { max_requests: 200, ...raised, user_path: "/team/app" },
      "null: no minute rule on user_path /team/app; there is one on /team",
    ],
    [
      "budgets.raise",
      { amount: 9, ...raised, user_path: "/team/app", budget_key: { period: "daily" } },
      "null: no daily budget on user_path /team/app; there is one on /team",
    ],
    [
      "rate-limits.end-raise",
      {},
      "null: no raise of the minute rule on user_path /team is in force",
    ],
    [
      "budgets.raise",
      { amount: 9, ...raised, user_path: "/team", budget_key: { period: "daily" } },
      "amount: amount must be above 10, which the daily budget on user_path /team has, not 9: a raise lowers nothing",
    ],
  ];
  for (const [op, body, expected] of table)
    t.equal(await refused(daemon, op, { ...(op.startsWith("b") ? {} : rule), ...body }), expected);
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 200, ...raised });
  t.equal(
    await refused(daemon, "rate-limits.raise", { ...rule, max_requests: 150, ...raised }),
    "max_requests: max_requests must be at least 200, to which the minute rule on user_path /team is raised already, not 150: end that raise first",
  );
  await ask(daemon, "rate-limits.raise", {
    ...rule,
    max_requests: 200,
    ...raised,
    for_seconds: 9000,
  });
  t.match(
    (await rules(daemon))[0]!.raises,
    exactly([{ until: "2026-11-21T14:30:00.000Z" }]),
    "it is extended",
  );
});

t.test("a raise survives a restart, and ends at its moment while the daemon is down", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2 })], { nowMs: noon });
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, ...raised });
  await daemon.commit();
  const again = (nowMs: number): TestDaemon =>
    startDaemon([pathRule("/team", 60, { requests: 2 })], { nowMs, store: daemon.store.crash() });
  const running = again(noon + hourMs);
  t.match((await rules(running))[0]!.raises, exactly([{ max_requests: 5 }]));
  const later = again(noon + 2 * hourMs);
  t.notOk((await rules(later))[0]!.raises);
  await later.commit();
  t.same([...later.store.entries("settings")], [], "nothing of it is left in the store");
});

t.test("it ends with its rule; new caps of the rule leave it", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const put = { user_path: "/team", limit_key: { period: "minute" } };
  await ask(daemon, "rate-limits.put", { ...put, max_requests: 2 });
  const raise = { ...rule, max_requests: 5, ...raised };
  await ask(daemon, "rate-limits.raise", raise);
  await ask(daemon, "rate-limits.put", { ...put, max_requests: 7 });
  t.match(
    (await rules(daemon))[0],
    exactly({ max_requests: 7, requests_remaining: 7, raises: [{}] }),
  );
  await ask(daemon, "rate-limits.put", { ...put, max_requests: 3 });
  t.match((await rules(daemon))[0], { requests_remaining: 5 });
  await ask(daemon, "rate-limits.delete", put);
  await ask(daemon, "rate-limits.put", { ...put, max_requests: 2 });
  t.notOk((await rules(daemon))[0]!.raises, "made again");
  await ask(daemon, "rate-limits.raise", raise);
  await ask(daemon, "rate-limits.put", { ...put, max_requests: 2, per_child: true });
  t.notOk((await rules(daemon))[0]!.raises, "another kind of rule");
  await daemon.commit();
  t.same([...daemon.store.entries("settings")], []);
});

t.test("the log has who raised what, and that it has ended", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2 })], { nowMs: noon });
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, ...raised });
  await ask(daemon, "rate-limits.end-raise", { ...rule, by: "bob" });
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, ...raised });
  daemon.nowMs += 2 * hourMs - 1;
  endRaises(daemon.state, daemon.nowMs);
  t.equal(daemon.raiseNotes.length, 3);
  endRaises(daemon.state, ++daemon.nowMs);
  t.match(
    daemon.raiseNotes,
    exactly([
      { event: "raised", raise: { by: "ann", maxRequests: 5 } },
      { event: "ended early", endedBy: "bob" },
      { event: "raised" },
      { event: "ended" },
    ]),
  );
  daemon.nowMs -= hourMs;
  t.notOk((await rules(daemon))[0]!.raises, "a clock that is set back doesn't bring it back");
  await daemon.commit();
  t.same([...daemon.store.entries("settings")], []);
});

t.test("a budget whose calendar is edited keeps its raise, over a restart too", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const put = { user_path: "/team", budget_key: { period: "daily" }, amount: 1 };
  const listed = async (of: TestDaemon) =>
    ((await ask(of, "budgets.list", null)) as unknown as BudgetPage).budgets[0];
  await ask(daemon, "budgets.put", put);
  await ask(daemon, "budgets.raise", { ...put, amount: 5, ...raised });
  await ask(daemon, "budgets.put", { ...put, time_zone: "Asia/Tokyo" });
  t.match(await listed(daemon), exactly({ remaining: 5, raises: [{ amount: 5 }] }));
  await daemon.commit();
  const again = startDaemon([], { nowMs: noon, store: daemon.store.crash() });
  t.match(await listed(again), exactly({ remaining: 5, raises: [{ amount: 5 }] }));
  await ask(again, "budgets.put", { ...put, per_child: true });
  t.notOk((await listed(again))!.raises, "another kind of budget");
  again.nowMs += 3 * hourMs;
  endRaises(again.state, again.nowMs);
  await again.commit();
  t.same([...again.store.entries("settings")], []);
});

t.test("a reversion that makes another kind of limit ends its raise", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2 })], {
    nowMs: noon,
    budgets: [budget("/team", 86_400, 1)],
  });
  const spent = { user_path: "/team", budget_key: { period: "daily" } };
  await ask(daemon, "rate-limits.put", { ...rule, max_requests: 2, per_child: true });
  await ask(daemon, "budgets.put", { ...spent, amount: 1, per_child: true });
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, ...raised });
  await ask(daemon, "budgets.raise", { ...spent, amount: 5, ...raised });
  await daemon.commit();
  t.equal([...daemon.store.entries("settings")].length, 2);
  await ask(daemon, "rate-limits.delete", { ...rule, revert: true });
  await ask(daemon, "budgets.delete", { ...spent, revert: true });
  await daemon.commit();
  t.same([...daemon.store.entries("settings")], []);
  t.notOk((await rules(daemon))[0]!.raises);
});

t.test("a ban that is raised, or whose hours are over, isn't listed as one", async (t) => {
  const ban = { ...pathRule("/team", 60, { requests: 0 }), models: "gpt-4o" };
  const night = { ...ban, models: "o3", when: "mon,tue,wed,thu,fri,sat,sun 22:00-06:00 UTC" };
  const daemon = startDaemon([ban, night], { nowMs: noon });
  const banned = async (): Promise<unknown> =>
    (await ask(daemon, "rate-limits.banned", { user_path: "/team/app" }))["banned"];
  t.same(await banned(), [["gpt-4o"]]);
  await ask(daemon, "rate-limits.raise", {
    ...rule,
    models: ["gpt-4o"],
    max_requests: 9,
    ...raised,
  });
  t.same(await banned(), []);
  daemon.nowMs += 11 * hourMs;
  t.same(await banned(), [["gpt-4o"], ["o3"]]);
});

t.test("a child in the order of use has its own raises, not those of the others", async (t) => {
  const template = { ...pathRule("/users", 60, { requests: 2 }), perChild: true };
  const daemon = startDaemon([template], {
    nowMs: noon,
    budgets: [budget("/users", 86_400, 1, { perChild: true })],
  });
  const peer = daemon.proxy("p");
  const ann = { user_path: "/users/ann" };
  await ask(daemon, "rate-limits.raise", {
    ...{ ...ann, limit_key: { period: "minute" }, max_requests: 3 },
    ...raised,
  });
  await ask(daemon, "budgets.raise", {
    ...{ ...ann, budget_key: { period: "daily" }, amount: 5 },
    ...raised,
  });
  for (const path of ["/users/ann", "/users/bob"]) {
    const id = ++sequence;
    const cost = { inputCost: usd, outputCost: 0, totalCost: usd };
    const record = executed({ requestId: path, ...cost });
    peer.send({ ...settleOf(askFor(peer, id, path)!, ++settles, 1), record });
  }
  for (const [op, list] of [
    ["rate-limits.list", "rate_limits"],
    ["budgets.list", "budgets"],
  ] as const) {
    const page = await ask(daemon, op, { order: "use" });
    const items = page[list] as readonly { readonly subject: string; readonly raises?: unknown }[];
    const raisesOf = (subject: string) => items.find((item) => item.subject === subject)!.raises;
    t.match(raisesOf("/users/ann"), exactly([{ subject: "/users/ann" }]), op);
    t.equal(raisesOf("/users/bob"), undefined, op);
    t.match(raisesOf("/users"), exactly([{ subject: "/users/ann" }]), op);
  }
});

t.test("a shared rule keeps its raise while the engine's clock may be behind", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2 })], { nowMs: noon });
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 5, ...raised });
  const { book } = daemon.state;
  const [limit] = book.raised;
  const { id, raises } = limit!;
  Object.assign(limit!, { shares: {} });
  const definition = raisesDefinition("rule_raises", id, raises!);
  daemon.nowMs += 2 * hourMs + 59_999;
  const { nowMs } = daemon;
  const applying = { lsn: 0, stale: [], incomplete: [], denied: [], allowed: [], changes: [] };
  const deletedRules = new Set<string>();
  applyRaises(daemon.state, "rule_raises", definition, { ...applying, deletedRules, nowMs });
  endRaises(daemon.state, nowMs);
  t.equal(book.raised.size, 1);
  endRaises(daemon.state, nowMs + 1);
  t.equal(book.raised.size, 0);
});
