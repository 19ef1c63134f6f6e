/**
 * Budgets in the daemon's steps: spend, refusal, admin operations, crashes. Time is set by hand.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { budgetStatuses } from "../../../limiterd/handlers/admin/list-budgets.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { AdminOp, FromDaemon, Lease } from "../../../shared/wire/message.js";
import {
  askFor,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../daemon.js";

const usd = 1_000_000_000_000;
const noon = Date.parse("2026-11-21T12:00:00Z");
const second = 1000;
const hour = 3_600_000;

const budget = (
  subject: string,
  period: number,
  amountUsd: number,
  rest: Partial<BudgetDefinition> = {},
): BudgetDefinition => ({
  scope: "user_path",
  subject,
  periodSeconds: period,
  amountUsd,
  perChild: false,
  ...rest,
});

function execution(cost: number | null, rest: Partial<Execution> = {}): Execution {
  return {
    requestId: "r",
    endpoint: "/v1/chat/completions",
    provider: target.provider,
    providerType: "openai",
    model: target.model,
    status: 200,
    inputTokens: 1,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: cost,
    outputCost: cost === null ? null : 0,
    totalCost: cost,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 1,
    firstByteMs: 1,
    keyId: "",
    ...rest,
  };
}

interface Client {
  readonly peer: TestPeer;
  seq: number;
  id: number;
}

const client = (daemon: TestDaemon, name = "p"): Client => ({
  peer: daemon.proxy(name),
  seq: 0,
  id: 1,
});

function settle(
  to: Client,
  lease: Lease,
  cost: number | null,
  { endedAgo = 0, ...rest }: { endedAgo?: number } & Partial<Execution> = {},
): void {
  to.peer.send({
    ...settleOf(lease, ++to.seq, 0, { ended: endedAgo }),
    record: execution(cost, rest),
  });
}

/** One request from its admission to its settle. */
function spend(
  to: Client,
  path: string,
  cost: number | null,
  rest: { endedAgo?: number } & Partial<Execution> = {},
): void {
  const lease = askFor(to.peer, ++to.id, path);
  if (lease === null) throw new Error(`refused: ${JSON.stringify(to.peer.received.at(-1))}`);
  settle(to, lease, cost, rest);
}

function ask(to: Client, path: string): string {
  to.peer.send({
    kind: "admit",
    id: ++to.id,
    userPath: path,
    credential: "authenticated",
    targets: [target],
    submission: false,
  });
  const answer = to.peer.received.at(-1)!;
  if (answer.kind === "exceeded")
    return `${answer.subject} ${answer.periodSeconds}: ${answer.spentUsd} of ${answer.amountUsd}, ${answer.waitSeconds}`;
  return answer.kind;
}

/** Calls an admin operation and lets its commits end. */
async function admin(daemon: TestDaemon, to: Client, op: AdminOp, body: unknown): Promise<unknown> {
  const id = ++to.id;
  to.peer.send({ kind: "admin", id, op, body });
  let answer: FromDaemon | undefined;
  for (let turns = 0; turns < 50 && answer === undefined; turns++) {
    await daemon.commit();
    answer = to.peer.received.find(
      (message) => (message.kind === "answer" || message.kind === "failed") && message.id === id,
    );
  }
  return answer?.kind === "answer"
    ? answer.body
    : answer?.kind === "failed"
      ? answer.failure
      : undefined;
}

async function listed(daemon: TestDaemon, to: Client): Promise<readonly Record<string, unknown>[]> {
  return (
    (await admin(daemon, to, "budgets.list", { after: null })) as {
      budgets: Record<string, unknown>[];
    }
  ).budgets;
}

const spentOf = (items: readonly Record<string, unknown>[]): unknown[] =>
  items.map(({ subject, period_label: label, spent }) => [subject, label, spent]);

t.test(
  "what is spent at or below a path counts until the amount is reached, and the refusal waits for the end of the period",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 1)] });
    const proxy = client(daemon);
    spend(proxy, "/team/app", 0.4 * usd);
    spend(proxy, "/team", 0.5 * usd);
    spend(proxy, "/team-alpha", 5 * usd);
    t.equal(ask(proxy, "/team"), "admitted", "0.9 of 1");
    settle(
      proxy,
      {
        lease: proxy.id,
        userPath: "/team",
        admittedAtMs: noon,
        lsn: 1,
        target,
        targetAtMs: noon,
        targetLsn: 1,
        submission: false,
      },
      0.1 * usd,
    );
    t.equal(
      ask(proxy, "/team/app/deep"),
      "/team 86400: 1 of 1, 43200",
      "spent is the amount: nothing is left",
    );
    t.equal(ask(proxy, "/other"), "admitted");
    daemon.nowMs = Date.parse("2026-11-21T23:59:59.999Z");
    t.equal(ask(proxy, "/team"), "/team 86400: 1 of 1, 1", "the last millisecond of the day");
    daemon.nowMs += 1;
    t.equal(ask(proxy, "/team"), "admitted", "and the first of the next, as the wait said");
    t.equal(daemon.state.counts.overBudget, 2);
    t.equal(daemon.state.counts.refused, 2);
  },
);

t.test(
  "of several exceeded budgets the one with the longest wait is told; on a tie the first in order",
  async (t) => {
    const budgets = [
      budget("/team", 3600, 1),
      budget("/team", 2_592_000, 1),
      budget("/", 2_592_000, 1),
      budget("/team", 86_400, 1),
    ];
    const daemon = startDaemon([], { nowMs: noon, budgets });
    const proxy = client(daemon);
    spend(proxy, "/team", 2 * usd);
    t.equal(
      ask(proxy, "/team"),
      `/ 2592000: 2 of 1, ${(Date.parse("2026-12-01T00:00:00Z") - noon) / second}`,
    );
  },
);

t.test(
  "where a rule and a budget both refuse, the rule is told; a budget's refusal counts in no window and carries its headers",
  async (t) => {
    const rule = pathRule("/team", 60, { requests: 2 });
    const daemon = startDaemon([rule], { nowMs: noon, budgets: [budget("/team", 86_400, 1)] });
    const proxy = client(daemon);
    spend(proxy, "/team", 1 * usd);
    t.match(ask(proxy, "/team"), /^\/team 86400/);
    t.match(
      proxy.peer.received.at(-1),
      { headers: { requests: { limit: 2, remaining: 1, resetSeconds: 60 }, tokens: null } },
      "as it stands, with nothing taken for this request",
    );
    t.match(ask(proxy, "/team"), /^\/team 86400/, "and again: the refusal took nothing");
    await admin(daemon, proxy, "budgets.reset", { confirmation: "reset" });
    t.equal(ask(proxy, "/team"), "admitted");
    t.equal(ask(proxy, "/team"), "refused", "now the rule");
  },
);

t.test(
  "each child of a template spends for itself, deeper paths for their child, the template's path for nobody",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noon,
      budgets: [
        budget("/team", 86_400, 1, { perChild: true }),
        budget("/", 3600, 100, { perChild: true }),
      ],
    });
    const proxy = client(daemon);
    spend(proxy, "/team/a/deep", 1 * usd);
    spend(proxy, "/team", 5 * usd);
    t.equal(ask(proxy, "/team/a"), "/team/a 86400: 1 of 1, 43200");
    t.equal(ask(proxy, "/team/ab"), "admitted");
    t.equal(ask(proxy, "/team"), "admitted");
    t.same(spentOf(budgetStatuses(daemon.state, "/team/a/x", [], daemon.nowMs)), [
      ["/team", "hourly", 6],
      ["/team/a", "daily", 1],
    ]);
    const items = await listed(daemon, proxy);
    t.match(items[1], {
      subject: "/team",
      per_child: true,
      spent: 0,
      usage_ratio: 0,
      has_usage: false,
    });
    t.notOk("remaining" in items[1]!);
  },
);

t.test("a label's budget counts the keys that carry it, letter by letter", async (t) => {
  const labels: Record<string, readonly string[]> = { k1: ["research", "eu"], k2: ["Research"] };
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [
      budget("research", 86_400, 1, { scope: "label" }),
      budget("eu", 86_400, 1, { scope: "label" }),
    ],
    labelsOf: (keyId) => labels[keyId] ?? [],
  });
  const proxy = client(daemon);
  spend(proxy, "/a", 0.25 * usd, { keyId: "k1" });
  spend(proxy, "/b", 7 * usd, { keyId: "k2" });
  spend(proxy, "/b", 7 * usd);
  t.same(spentOf(await listed(daemon, proxy)), [
    ["eu", "daily", 0.25],
    ["research", "daily", 0.25],
  ]);
  t.same(spentOf(budgetStatuses(daemon.state, "/a", ["research"], daemon.nowMs)), [
    ["research", "daily", 0.25],
  ]);
});

t.test(
  "usage without a price counts as usage and costs nothing; a cache hit is neither",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 86_400, 0.000001)] });
    const proxy = client(daemon);
    spend(proxy, "/a", 1000, { cacheHit: true });
    t.match(await listed(daemon, proxy), [{ has_usage: false, spent: 0 }]);
    spend(proxy, "/a", null);
    t.match(await listed(daemon, proxy), [{ has_usage: true, spent: 0, remaining: 0.000001 }]);
    t.equal(ask(proxy, "/a"), "admitted");
  },
);

t.test("a list item has every field of the specification", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 8)] });
  const proxy = client(daemon);
  spend(proxy, "/team", 10 * usd);
  const expected = {
    scope: "user_path",
    subject: "/team",
    effective_subject: "/team",
    user_path: "/team",
    per_child: false,
    amount: 8,
    spent: 10,
    remaining: 0,
    usage_ratio: 1.25,
    period_ratio: 0.5,
    period_label: "daily",
    period_seconds: 86_400,
    period_start: "2026-11-21T00:00:00Z",
    period_end: "2026-11-22T00:00:00Z",
    last_reset_at: null,
    has_usage: true,
    source: "config",
    created_at: "2026-11-21T12:00:00Z",
    updated_at: "2026-11-21T12:00:00Z",
  };
  t.same(await listed(daemon, proxy), [expected]);
  t.same(budgetStatuses(daemon.state, "/team/x", [], daemon.nowMs), [
    {
      scope: "user_path",
      subject: "/team",
      user_path: "/team",
      per_child: false,
      amount: 8,
      spent: 10,
      remaining: 0,
      usage_ratio: 1.25,
      exceeded: true,
      period_label: "daily",
      period_seconds: 86_400,
      period_start: "2026-11-21T00:00:00Z",
      period_end: "2026-11-22T00:00:00Z",
      resets_in_seconds: 43_200,
    },
  ]);
});

t.test("a settle that comes late counts in the period in which its request ended", async (t) => {
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

t.test(
  "a reset begins anew at its moment, keeps the end, and isn't undone by what ended before it, nor by deleting",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/", 86_400, 1), budget("/a", 86_400, 1)],
    });
    const proxy = client(daemon);
    spend(proxy, "/a", 2 * usd);
    daemon.nowMs = noon + 10 * second;
    t.same(await admin(daemon, proxy, "budgets.reset-one", { subject: "/a", period: "daily" }), {});
    t.match(await listed(daemon, proxy), [
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
    ]);
    await admin(daemon, proxy, "budgets.delete", { subject: "/", budget_key: { period: "daily" } });
    daemon.nowMs += second;
    spend(proxy, "/a", 0.25 * usd, { endedAgo: 1001 });
    t.match(
      await listed(daemon, proxy),
      [{ subject: "/a", spent: 0 }],
      "it ended a millisecond before the reset",
    );
    spend(proxy, "/a", 0.5 * usd, { endedAgo: 1000 });
    t.match(await listed(daemon, proxy), [{ subject: "/a", spent: 0.5 }]);
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
      [
        { subject: "/", spent: 2.875, source: "manual" },
        {
          subject: "/a",
          spent: 0.625,
          source: "manual",
          last_reset_at: "2026-11-21T12:00:10Z",
          period_start: "2026-11-21T12:00:10Z",
        },
      ],
      "made again, they begin with what was spent since the last reset, also while there was no budget",
    );
  },
);

t.test(
  "a budget that is made finds what its period has cost, whatever the length and the anchors, and counts on from there",
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
      budgetStatuses(daemon.state, path, [], daemon.nowMs).find(
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
  "an edit of the amount keeps what was spent; the last budget that goes is told to the proxies",
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
    t.match(await listed(daemon, proxy), [{ amount: 1.5, spent: 1, remaining: 0.5 }]);
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
    t.same(
      await admin(daemon, proxy, "budgets.reset-one", { subject: "/a", period: "daily" }),
      {},
      "a reset of what isn't there is done",
    );
    t.match(await admin(daemon, proxy, "budgets.reset", { confirmation: "yes" }), {
      status: 400,
      message: "confirmation must be reset",
    });
  },
);

t.test(
  "after a crash, records and spend agree: what was committed is there, the rest comes again and counts once",
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
    const statuses = (): unknown[] => spentOf(budgetStatuses(after.state, "/a", [], after.nowMs));
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
          "/a",
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
    t.same(spentOf(budgetStatuses(after.state, "/a", [], after.nowMs)), [["/a", "hourly", 3]]);
    const last = startDaemon([], { nowMs: noon + 62 * second, store: after.store.crash() });
    t.same(
      spentOf(budgetStatuses(last.state, "/a", [], last.nowMs)),
      [["/a", "hourly", 3]],
      "and what was found is kept",
    );
  },
);

t.test(
  "configured budgets are written at the start, undeclared ones go, manual ones stay as they are",
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
    t.match(await listed(second, client(second)), [
      { subject: "/a", amount: 2, spent: 0.5, source: "config" },
      { subject: "/b", amount: 9, source: "manual" },
      { subject: "/c", amount: 4, source: "config" },
    ]);
    const third = startDaemon([], { nowMs: noon, store: second.store.crash() });
    t.match(await listed(third, client(third)), [{ subject: "/b" }]);
    t.same(
      [...third.store.crash().entries("spends")].map(({ key }) => key),
      [],
      "and so does what they had spent",
    );
  },
);

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
  t.match(await listed(daemon, proxy), [
    { spent: 0, inert: "budgets need usage tracking, which is off" },
  ]);
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
  "disabled budgets refuse nobody and go on counting; their admin says that it isn't available",
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
    t.same(budgetStatuses(daemon.state, "/", [], noon), []);
    Object.assign(daemon.state.settings, { budgetsEnabled: true, rateLimitsEnabled: false });
    t.equal(
      ask(proxy, "/"),
      "/ 86400: 1 of 0.5, 43200",
      "and without rate limits budgets still hold",
    );
  },
);

const edgeStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ask" as const), peer: fc.nat(15) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(),
      micros: fc.nat(300_000),
    }),
  },
);

t.test(
  "many proxies at the edge: while anything is left all are admitted, then nobody is, and what goes beyond the amount is less than what was in flight at that moment",
  async (t) => {
    const seen = { refused: 0, beyond: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(edgeStep, { minLength: 50, maxLength: 400, size: "max" }),
        async (steps) => {
          const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 86_400, 1)] });
          const proxies = Array.from({ length: 16 }, (_, i) => client(daemon, `p${i}`));
          const inFlight: { readonly to: Client; readonly lease: Lease }[] = [];
          let spent = 0;
          /**
           * What those cost that were in flight when the last cent went, with the one that spent
           * it.
           */
          let bound = Number.POSITIVE_INFINITY;
          const end = (which: number, micros: number): void => {
            const [{ to, lease }] = inFlight.splice(which % inFlight.length, 1) as [
              { to: Client; lease: Lease },
            ];
            settle(to, lease, micros * 1_000_000);
            if (spent < 1_000_000 && spent + micros >= 1_000_000) bound = 0;
            if (spent + micros >= 1_000_000) bound += micros;
            spent += micros;
          };
          for (const step of steps) {
            if (step.kind === "settle") {
              if (inFlight.length > 0) end(step.which, step.micros);
              continue;
            }
            const to = proxies[step.peer]!;
            const lease = askFor(to.peer, ++to.id, "/");
            assert.equal(lease !== null, spent < 1_000_000, `${spent} spent`);
            if (lease !== null) inFlight.push({ to, lease });
            else seen.refused++;
          }
          while (inFlight.length > 0) end(0, 300_000);
          const [item] = (await listed(daemon, proxies[0]!)) as unknown as [{ spent: number }];
          assert.equal(item.spent, spent / 1e6, "exactly what was served");
          if (spent >= 1_000_000)
            assert.ok(spent - 1_000_000 < bound, `${spent} of 1000000, ${bound} in flight`);
          if (spent > 1_000_000) seen.beyond++;
        },
      ),
      { seed: 4, numRuns: 60 },
    );
    t.ok(seen.refused > 500 && seen.beyond > 40, JSON.stringify(seen));
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
    const told = (await admin(daemon, proxy, "explain", question)) as {
      verdict: object;
      budgets: object[];
    };
    t.match(told.verdict, {
      admitted: false,
      message: "budget exceeded for /team/a daily limit: spent 1.5 of 1",
      budget: { scope: "user_path", subject: "/team/a", period_label: "daily" },
      spent: 1.5,
      amount: 1,
      retry_after: 43_200,
      admitted_at: "2026-11-22T00:00:00.000Z",
      needs_slot: false,
    });
    t.match(told.budgets, [
      { subject: "/", spent: 1.5, retry_after: 0, exceeded: false },
      {
        subject: "/team/a",
        template: "/team",
        usage_ratio: 1.5,
        exceeded: true,
        retry_after: 43_200,
      },
    ]);
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
