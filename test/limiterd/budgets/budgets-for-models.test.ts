/** Budgets on user paths that are for some models: where they differ from the others. */
import t from "tap";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { type Target, unknownModelName } from "../../../shared/domain/target-name.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { providerConfig } from "../../support/provider-config.js";
import {
  ask,
  executed,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";
import { budget, noon, usd } from "./budget-fixture.js";

const image = { provider: "openai", model: "gpt-image-1" };
const chat = { provider: "openai", model: "gpt-4o" };
const images: BudgetDefinition = { ...budget("/team", 86_400, 1), models: "gpt-image-* o3" };
const path = "/team/ann";

let sequence = 0;

function admit(
  peer: TestPeer,
  targets: readonly Target[],
  { userPath = path, submission = false } = {},
): FromDaemon {
  const id = ++sequence;
  const credential = "authenticated";
  peer.send({ kind: "admit", id, userPath, credential, targets, submission, read: 0 });
  return peer.received.at(-1)!;
}

/** A request that cost this many dollars. */
function spend(
  peer: TestPeer,
  target: Target,
  dollars: number,
  { userPath = path, recorded = target } = {},
): void {
  const answer = admit(peer, [target], { userPath });
  if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
  const cost = { inputCost: dollars * usd, outputCost: 0, totalCost: dollars * usd };
  peer.send({
    ...settleOf(leaseOf(answer, userPath, target), ++sequence, 10),
    record: executed({ requestId: `r${sequence}`, ...recorded, ...cost }),
  });
}

/** What each budget has spent, by its name. */
async function spent(daemon: TestDaemon): Promise<Record<string, unknown>> {
  const { budgets } = await ask(daemon, "budgets.list", null);
  return Object.fromEntries(
    (budgets as readonly { subject: string; models?: readonly string[]; spent: number }[]).map(
      (each) => [[each.subject, ...(each.models ?? [])].join(" "), each.spent],
    ),
  );
}

t.test("it is charged for its models alone, and refuses these alone", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 9), images] });
  const peer = daemon.proxy("p");
  spend(peer, chat, 2);
  spend(peer, image, 1.5);
  t.same(await spent(daemon), { "/team": 3.5, "/team gpt-image-* o3": 1.5 });
  t.match(admit(peer, [image]), {
    kind: "exceeded",
    subject: "/team",
    spentUsd: 1.5,
    amountUsd: 1,
    models: images.models,
  });
  t.match(admit(peer, [chat]), { kind: "admitted" });
  t.match(admit(peer, [image, chat]), { kind: "admitted", target: 1 }, "the next target");
  t.match(admit(peer, [image], { submission: true }), { kind: "admitted" }, "a submission");
  t.match(admit(peer, [image], { userPath: "/other" }), { kind: "admitted" });
});

t.test(
  "the shortest wait of the targets is reported, and the path's if it is longer",
  async (t) => {
    const full: [ReturnType<typeof pathRule>] = [
      { ...pathRule("/team", 3600, { requests: 1 }), models: "gpt-4o" },
    ];
    const daemon = startDaemon(full, { nowMs: noon, budgets: [images] });
    const peer = daemon.proxy("p");
    spend(peer, image, 1);
    t.match(admit(peer, [chat]), { kind: "admitted" });
    t.match(
      admit(peer, [image, chat]),
      { kind: "refused", models: "gpt-4o" },
      "an hour, not a day",
    );
    const longer = { ...pathRule("/team", 7 * 86_400, { requests: 1 }) };
    await ask(daemon, "rate-limits.put", {
      user_path: "/team",
      limit_key: { period_seconds: longer.periodSeconds },
      max_requests: 1,
    });
    t.match(admit(peer, [{ provider: "openai", model: "other" }]), { kind: "admitted" });
    t.match(admit(peer, [image]), { kind: "refused", periodSeconds: longer.periodSeconds });
  },
);

t.test("a model that is recorded as unknown is charged under its own name", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [images] });
  const peer = daemon.proxy("p");
  spend(peer, image, 0.4);
  spend(peer, image, 0.6, { recorded: { ...image, model: unknownModelName } });
  t.same(await spent(daemon), { "/team gpt-image-* o3": 1 });
  spend(peer, chat, 2, { recorded: { ...chat, model: unknownModelName } });
  t.same(await spent(daemon), { "/team gpt-image-* o3": 1 });
  t.match(admit(peer, [image]), { kind: "exceeded", spentUsd: 1 });
});

t.test("a reroute passes over its models, whether rules are on or off", async (t) => {
  for (const rateLimitsEnabled of [true, false]) {
    const daemon = startDaemon([], { nowMs: noon, budgets: [images], rateLimitsEnabled });
    const peer = daemon.proxy("p");
    spend(peer, image, 1);
    const answer = admit(peer, [chat]);
    t.equal(answer.kind, "admitted");
    const lease = (answer as { id: number }).id;
    const reroute = (targets: readonly Target[]): FromDaemon => {
      peer.send({ kind: "reroute", id: ++sequence, lease, targets, read: 0 });
      return peer.received.at(-1)!;
    };
    t.match(reroute([image, { ...chat, provider: "azure" }]), { kind: "admitted", target: 1 });
    t.match(reroute([image]), { kind: "exceeded", models: images.models });
  }
});

t.test("each child of a template has its own; it outlives a restart", async (t) => {
  const each = { ...images, perChild: true };
  const daemon = startDaemon([], { nowMs: noon, budgets: [each] });
  const peer = daemon.proxy("p");
  spend(peer, image, 2);
  spend(peer, image, 0.5, { userPath: "/team/bob" });
  t.match(admit(peer, [image]), { kind: "exceeded", subject: path });
  const key = { subject: "/team", period: "daily", models: "o3,gpt-image-*" };
  const { children } = await ask(daemon, "budgets.children", key);
  t.match(children, exactly([{ spent: 2 }, { spent: 0.5 }]));
  await daemon.commit();
  const { store } = daemon;
  const next = startDaemon([], { nowMs: noon, budgets: [each], store: store.crash() });
  t.match(admit(next.proxy("p"), [image]), { kind: "exceeded", spentUsd: 2 });
});

t.test("one that is made later begins with what its models have cost", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [] });
  const peer = daemon.proxy("p");
  spend(peer, image, 2);
  spend(peer, chat, 4);
  spend(peer, image, 0.5, { userPath: "/team/bob" });
  await daemon.flush();
  const key = { user_path: "/team", models: ["gpt-image-*"], amount: 1 };
  await ask(daemon, "budgets.put", { ...key, budget_key: { period: "monthly" } });
  await ask(daemon, "budgets.put", { ...key, budget_key: { period: "hourly" } });
  await ask(daemon, "budgets.put", {
    ...{ ...key, models: ["*", "!gpt-image-1"] },
    budget_key: { period: "weekly" },
    per_child: true,
  });
  await daemon.commit();
  const { budgets } = await ask(daemon, "budgets.list", null);
  const made = [
    { period_label: "hourly", spent: 2.5 },
    { period_label: "weekly", spent: 0 },
    { period_label: "monthly", spent: 2.5 },
  ];
  t.match(budgets, exactly(made));
  const weekly = { subject: "/team", period: "weekly", models: "*,!gpt-image-1" };
  const { children } = await ask(daemon, "budgets.children", weekly);
  t.match(children, exactly([{ subject: "/team/ann", spent: 4 }]));
});

t.test("what is recorded without a model counts if it is the budget's for sure", async (t) => {
  const providers = ["openai", "azure"].map((name) => providerConfig({ name }));
  const daemon = startDaemon([], { nowMs: noon, budgets: [], providers });
  const peer = daemon.proxy("p");
  spend(peer, image, 1);
  spend(peer, chat, 2, { recorded: { ...chat, model: unknownModelName } });
  await daemon.flush();
  // Since midnight from sums of days, and since the hour from records.
  for (const period of ["daily", "hourly"])
    for (const models of [["gpt-*"], ["openai/*"], ["azure/*"], ["*", "!gpt-4o"], ["o3", "*"]])
      await ask(daemon, "budgets.put", {
        user_path: "/team",
        ...{ models, amount: 9 },
        budget_key: { period },
      });
  await daemon.commit();
  const counted = { "/team gpt-*": 1, "/team openai/*": 3, "/team azure/*": 0 };
  t.same(await spent(daemon), { ...counted, "/team * !gpt-4o": 1, "/team * o3": 3 });
  t.same(
    daemon.unsureSpends,
    [86_400, 3600].flatMap((seconds) => [
      `user_path /team ${seconds} gpt-*: 2`,
      `user_path /team ${seconds} * !gpt-4o: 2`,
    ]),
    "the log says what isn't counted",
  );
});

t.test(
  "an explanation and the caller's own status have it; a target that it refuses says so",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 9), images] });
    const peer = daemon.proxy("p");
    spend(peer, image, 1);
    const models = images.models!.split(" ");
    const both = { user_path: path, targets: [image, chat] };
    const explained = exactly({
      verdict: { admitted: true, target: "openai/gpt-4o" },
      targets: [
        {
          admits: false,
          message: "budget exceeded for /team on gpt-image-*, o3 daily limit: spent 1 of 1",
          retry_after: 43_200,
        },
        { admits: true, message: null },
      ],
      budgets: [
        { subject: "/team", exceeded: false },
        { subject: "/team", exceeded: true, models },
      ],
    });
    t.match(await ask(daemon, "explain", both), explained);
    const one = { user_path: path, targets: [image] };
    t.match(await ask(daemon, "explain", one), {
      verdict: { admitted: false, budget: { subject: "/team", models } },
    });
    const today = { start_date: "2026-11-21", end_date: "2026-11-21" };
    const { budgets } = await ask(daemon, "usage.status", { user_path: path, ...today });
    t.match(budgets, exactly([{ spent: 1 }, { spent: 1, models, exceeded: true }]));
  },
);

t.test("it refuses models without a price among its own alone, if it says so", async (t) => {
  const strict = { ...images, amountUsd: 100, unpriced: "refuse" as const };
  const daemon = startDaemon([], { nowMs: noon, budgets: [strict] });
  const peer = daemon.proxy("p");
  const unpriced = true;
  t.match(admit(peer, [{ ...image, unpriced }]), {
    kind: "failed",
    failure: {
      code: "model_unpriced",
      message: /the budget \/team on gpt-image-\*, o3 daily refuses such models/,
    },
  });
  t.match(admit(peer, [{ ...chat, unpriced }]), { kind: "admitted" });
  t.match(admit(peer, [{ ...image, unpriced }, chat]), { kind: "admitted", target: 1 });
});
