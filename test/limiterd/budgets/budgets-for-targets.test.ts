/** Budgets on providers and models: what all callers together may spend there. */
import t from "tap";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ask,
  executed,
  leaseOf,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";
import { budget, noon, usd } from "./budget-fixture.js";

const gpt = { provider: "openai", model: "gpt-4o" };
const other = { provider: "azure", model: "gpt-4o" };
const opus = { provider: "anthropic", model: "claude-opus-4" };
const ofProvider: BudgetDefinition = { ...budget("OpenAI", 86_400, 2), scope: "provider" };
const ofModel: BudgetDefinition = { ...budget("GPT-4o", 86_400, 30), scope: "model" };
const ofOne: BudgetDefinition = { ...budget("azure/gpt-4o", 86_400, 1), scope: "model" };

let sequence = 0;

function admit(peer: TestPeer, targets: readonly Target[], userPath = "/a"): FromDaemon {
  const id = ++sequence;
  const credential = "authenticated";
  peer.send({ kind: "admit", id, userPath, credential, targets, submission: false, read: 0 });
  return peer.received.at(-1)!;
}

function spend(peer: TestPeer, target: Target, dollars: number, userPath = "/a"): void {
  const answer = admit(peer, [target], userPath);
  if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
  const cost = { inputCost: dollars * usd, outputCost: 0, totalCost: dollars * usd };
  peer.send({
    ...settleOf(leaseOf(answer, userPath, target), ++sequence, 10),
    record: executed({ requestId: `r${sequence}`, ...target, ...cost }),
  });
}

async function spent(daemon: TestDaemon): Promise<Record<string, unknown>> {
  const { budgets } = await ask(daemon, "budgets.list", null);
  return Object.fromEntries(
    (budgets as readonly { scope: string; subject: string; spent: number }[]).map((each) => [
      `${each.scope} ${each.subject}`,
      each.spent,
    ]),
  );
}

t.test("all callers together, names in any case; the next target is taken", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [ofProvider, ofModel, ofOne] });
  const peer = daemon.proxy("p");
  spend(peer, gpt, 1.5, "/a");
  spend(peer, opus, 5, "/b");
  t.match(admit(peer, [gpt], "/b"), { kind: "admitted" });
  spend(peer, gpt, 0.5, "/b");
  t.same(await spent(daemon), { "model azure/gpt-4o": 0, "model GPT-4o": 2, "provider OpenAI": 2 });
  const exceeded = { kind: "exceeded", scope: "provider", subject: "OpenAI", spentUsd: 2 };
  t.match(admit(peer, [gpt], "/c"), exceeded);
  t.match(admit(peer, [gpt, other], "/c"), { kind: "admitted", target: 1 });
  spend(peer, other, 1, "/c");
  t.match(admit(peer, [other], "/c"), { kind: "exceeded", scope: "model" });
  t.match(admit(peer, [opus], "/c"), { kind: "admitted" });
  t.match(await ask(daemon, "explain", { user_path: "/c", targets: [gpt, opus] }), {
    verdict: { admitted: true, target: "anthropic/claude-opus-4" },
    targets: exactly([
      {
        admits: false,
        message: "budget exceeded for provider OpenAI daily limit: spent 2 of 2",
      },
      { admits: true },
    ]),
  });
  const today = { start_date: "2026-01-01", end_date: "2026-01-01" };
  t.match(
    await ask(daemon, "usage.status", { user_path: "/c", ...today }),
    { budgets: exactly([]) },
    "they aren't the caller's",
  );
});

t.test("one that is made later begins with the cost of its period", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const peer = daemon.proxy("p");
  spend(peer, gpt, 2, "/a");
  spend(peer, opus, 1, "/b/c");
  await daemon.commit();
  await daemon.flush();
  for (const [scope, subject] of [
    ["provider", "OPENAI"],
    ["model", "claude-opus-4"],
  ])
    await ask(daemon, "budgets.put", {
      scope,
      subject,
      budget_key: { period: "daily" },
      amount: 2,
    });
  for (let i = 0; i < 5; i++) await daemon.commit();
  t.same(await spent(daemon), { "model claude-opus-4": 1, "provider OPENAI": 2 });
  t.match(admit(peer, [gpt]), { kind: "exceeded" });
  await daemon.flush();
  const { store, nowMs } = daemon;
  const next = startDaemon([], { store, nowMs });
  t.same(await spent(next), { "model claude-opus-4": 1, "provider OPENAI": 2 });
  await ask(next, "budgets.delete", {
    scope: "provider",
    subject: "openai",
    budget_key: { period: "daily" },
  });
  t.match(admit(next.proxy("p"), [gpt]), { kind: "admitted" });
});

t.test("a provider's name, no template, no models", async (t) => {
  const daemon = startDaemon([]);
  const key = { budget_key: { period: "daily" }, amount: 1 };
  for (const [body, param] of [
    [{ scope: "provider", subject: "a/b" }, "subject"],
    [{ scope: "model", subject: "/b" }, "subject"],
    [{ scope: "provider" }, "subject"],
    [{ scope: "provider", subject: "openai", per_child: true }, "per_child"],
    [{ scope: "model", subject: "gpt-4o", models: ["x"] }, "models"],
    [{ scope: "model", subject: "gpt-4o", user_path: "/x" }, "user_path"],
  ] as const)
    t.match(await refusal(ask(daemon, "budgets.put", { ...key, ...body })), { param });
});
