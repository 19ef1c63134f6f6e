import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { BudgetBook } from "../../../limiterd/budgets/budget-book.js";
import { type BudgetMatching, judgeBudgets } from "../../../limiterd/budgets/judge-budgets.js";
import { budgetStatuses, explainBudgets } from "../../../limiterd/lists/list-budgets.js";
import { admit } from "../../../limiterd/rules/admit.js";
import { noRules } from "../../../limiterd/rules/rule-book.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { askFor, pathRule, startDaemon, target } from "../in-memory-daemon.js";
import {
  admin,
  ask,
  budget,
  type Client,
  client,
  edgeStep,
  listed,
  noon,
  second,
  settle,
  spend,
  spentOf,
  usd,
} from "./budget-fixture.js";

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
  "of several exceeded budgets the one with the longest wait is reported; on a tie the first in order",
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
  "in whatever order they are met, the longest wait wins, then the first in order",
  async (t) => {
    const met = (subject: string, endMs: number) => ({
      subject,
      endMs,
      budget: {
        definition: budget(subject, 86_400, 1),
        amount: { microUsd: 1, picoUsd: 0 },
        raises: null,
      },
    });
    const spent = { spent: { microUsd: 5, picoUsd: 0 } };
    const [a, b, late] = [met("/a", noon + 1000), met("/b", noon + 1000), met("/c", noon + 2000)];
    for (const [accounts, subject] of [
      [[a, b], "/a"],
      [[b, a], "/a"],
      [[a, late, b], "/c"],
      [[late, a], "/c"],
    ] as const) {
      const book = {
        match: () => accounts,
        runningPeriod: () => spent,
        hasNoRoom: () => false,
        boundsOf: (of: unknown) => accounts.find(({ budget }) => budget === of),
      } as unknown as BudgetMatching;
      t.equal(judgeBudgets(book, { userPath: "/", labels: [] }, noon)?.subject, subject);
    }
  },
);

t.test(
  "where a rule and a budget both refuse, the rule is reported; a budget's refusal counts in no window and has its headers",
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
  "each child of a template has its own account, deeper paths use their child's, the template's path has none",
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
    t.same(spentOf(budgetStatuses(daemon.state, { userPath: "/team/a/x" }, [], daemon.nowMs)), [
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
  t.same(spentOf(budgetStatuses(daemon.state, { userPath: "/a" }, ["research"], daemon.nowMs)), [
    ["research", "daily", 0.25],
  ]);
});

t.test(
  "usage without a price counts as usage and costs nothing; a cache hit is neither",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 86_400, 0.000001)] });
    const proxy = client(daemon);
    spend(proxy, "/a", 1000, { cacheHit: true });
    t.match(await listed(daemon, proxy), exactly([{ has_usage: false, spent: 0 }]));
    spend(proxy, "/a", null);
    t.match(
      await listed(daemon, proxy),
      exactly([{ has_usage: true, spent: 0, remaining: 0.000001 }]),
    );
    t.equal(ask(proxy, "/a"), "admitted");
  },
);

t.test(
  "many proxies at the edge: while anything is left all requests are admitted, then none is, and what exceeds the amount is less than what was in flight at that moment",
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
  "a full template refuses further children as one of rules does, and goes on with those it has",
  async (t) => {
    const { state } = startDaemon([], { nowMs: noon });
    const book = new BudgetBook(
      { spentOnDays: () => null, lastRecordKey: () => 0 },
      defaultAnchors,
      2,
    );
    const hourly = budget("/team", 3600, 1, { perChild: true });
    book.put(hourly, { source: "manual", nowMs: noon - 9_000_000 });
    const charge = (userPath: string, atMs: number, usdSpent: number): void =>
      book.charge(
        { userPath, atMs, totalCost: usdSpent * usd, cacheHit: false } as UsageRecord,
        [],
        atMs,
      );
    const verdict = (userPath: string, nowMs = noon) =>
      admit(
        noRules,
        { userPath, targets: [target], submission: false },
        { nowMs, tokensEnforced: true, budgets: { book, labels: [] } },
      );
    charge("/team/a", noon, 2);
    t.equal(verdict("/team/b").kind, "admitted");
    charge("/team/b", noon, 0.5);
    const refused = verdict("/team/c");
    t.match(refused, {
      kind: "refused",
      breach: { subject: "/team/c", dimension: "children", cap: 2, waitSeconds: 60 },
    });
    if (refused.kind === "refused")
      t.equal(
        refusalMessage(refused.breach),
        "rate limit exceeded for /team/c: the hour template has 2 children already",
      );
    t.match(
      explainBudgets({ ...state, budgets: book }, { userPath: "/team/c" }, [], noon),
      exactly([{ subject: "/team/c", template: "/team", breached: ["children"], retry_after: 60 }]),
    );
    t.equal(verdict("/team/a").kind, "exceeded");
    t.equal(verdict("/team/b").kind, "admitted", "a child that it has");
    t.equal(verdict("/team").kind, "admitted", "the path itself isn't covered");
    // What was admitted before is charged, whatever the bound.
    charge("/team/c", noon, 0.5);
    t.equal(verdict("/team/c").kind, "admitted");
    book.put(budget("/", 86_400, 0.001), { source: "manual", nowMs: noon });
    charge("/x", noon, 1);
    t.equal(verdict("/team/d").kind, "exceeded", "the longer wait");
    // However often a full template is asked, it keeps no account.
    t.equal(book.find(hourly)!.children.size, 3);
    book.takeDirty();
    t.equal(book.forgetIdle(noon + 9_000_000, 10).length, 3);
    t.equal(verdict("/team/d", noon + 90_000_000).kind, "admitted", "once others are forgotten");
  },
);
