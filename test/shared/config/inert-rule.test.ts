import t from "tap";
import { startState } from "../../../limiterd/lifecycle/start-state.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { createInertReason, type Inert } from "../../../shared/config/inert-rule.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { RuleDefinition, Scope } from "../../../shared/domain/rule.js";
import { ask, pathRule, startDaemon } from "../../limiterd/in-memory-daemon.js";
import { noCopies } from "../../support/no-copies.js";
import { exactly } from "../../support/patterns/exactly.js";
import { providerConfig } from "../../support/provider-config.js";

const provider = (name: string, models: readonly string[] | null): ProviderConfig =>
  providerConfig({ name, models });
const rule = (scope: Scope, subject: string): RuleDefinition => ({
  scope,
  subject,
  periodSeconds: 60,
  maxRequests: 1,
  maxTokens: null,
  perChild: false,
});
const virtual = {
  source: "smart",
  strategy: "failover",
  targets: [{ provider: "openai", model: "o3", weight: 1 }],
} as const;

t.test(
  "a provider rule does nothing without that provider, a model rule when nothing routes to the model; names compare without case",
  async (t) => {
    const listed = createInertReason({
      usageEnabled: true,
      providers: [provider("openai", ["gpt-4o", "meta/llama-3"]), provider("azure", ["openai/z"])],
      virtualModels: [virtual],
    });
    const learning = createInertReason({
      usageEnabled: true,
      providers: [provider("openai", ["gpt-4o"]), provider("groq", null)],
      virtualModels: [],
    });
    const anything = createInertReason({
      usageEnabled: true,
      providers: [provider("local", ["x", "*"])],
      virtualModels: [],
    });
    const aliased = createInertReason({
      usageEnabled: true,
      providers: [provider("openai", null)],
      virtualModels: [virtual, { ...virtual, source: "O3" }],
    });
    const begun = createInertReason({
      usageEnabled: true,
      providers: [provider("openai", ["gpt-4o"])],
      virtualModels: [virtual],
      aliases: [
        { name: "llama-*", to: { kind: "target", provider: "openai", model: null } },
        { name: "best", to: { kind: "target", provider: "openai", model: "o1" } },
      ],
    });
    const moving = createInertReason({
      usageEnabled: true,
      providers: [
        providerConfig({ name: "google", type: "gemini", models: ["gemini-flash-latest"] }),
        provider("openai", null),
      ],
      virtualModels: [],
    });
    const withoutProviders = createInertReason({
      usageEnabled: true,
      providers: [],
      virtualModels: [],
    });
    const table: readonly (readonly [
      name: string,
      reason: (of: RuleDefinition) => string | null,
      scope: Scope,
      subject: string,
      inert: boolean,
    ])[] = [
      ["a configured provider", listed, "provider", "OpenAI", false],
      ["another", listed, "provider", "opnai", true],
      ["a provider without a rule on its models", listed, "provider", "azure", false],
      ["a listed model", listed, "model", "GPT-4o", false],
      ["the same, qualified", listed, "model", "OPENAI/gpt-4o", false],
      ["another's id that begins with a provider's name", listed, "model", "openai/z", true],
      ["the same, qualified", listed, "model", "azure/openai/z", false],
      ["another provider's", listed, "model", "azure/gpt-4o", true],
      ["a listed id with a slash", listed, "model", "meta/llama-3", false],
      ["the same, qualified", listed, "model", "openai/meta/llama-3", false],
      ["a virtual model's target", listed, "model", "o3", false],
      ["the same, qualified", listed, "model", "openai/O3", false],
      ["a virtual model's name is no model", listed, "model", "smart", true],
      ["a misspelt model", listed, "model", "gpt-4oo", true],
      ["any path", listed, "user_path", "/nobody", false],
      ["whatever a provider may yet list", learning, "model", "llama-9", false],
      ["the same, as a qualified id", learning, "model", "groq/llama-9", false],
      ["a provider is known at once", learning, "provider", "grok", true],
      ["whatever a provider takes", anything, "model", "y", false],
      ["a virtual model's name, whatever a provider may list", aliased, "model", "Smart", true],
      ["one that is its target's too", aliased, "model", "o3", false],
      ["what a name that begins as an alias may be", begun, "model", "llama-3", false],
      ["a virtual model's name beside such an alias", begun, "model", "smart", true],
      ["an alias that moves, though listed", moving, "model", "gemini-flash-latest", true],
      ["the same, qualified", moving, "model", "Google/models/gemini-flash-latest", true],
      ["the same name elsewhere", moving, "model", "openai/gemini-flash-latest", false],
      ["no provider at all", withoutProviders, "model", "gpt-4o", true],
    ];
    for (const [name, reason, scope, subject, inert] of table)
      t.equal(reason(rule(scope, subject)) !== null, inert, `${name}: ${scope} ${subject}`);
    for (const [reason, models, inert] of [
      [listed, "gpt-4* claude-*", false],
      [listed, "claude-* azure/gpt-4o", true],
      [listed, "openai/*", false],
      [listed, "* !gpt-4o", false],
      [learning, "claude-*", false],
    ] as const)
      t.equal(reason({ ...rule("user_path", "/a"), models }) !== null, inert, models);
    t.match(listed(rule("provider", "Opnai")), "no provider Opnai is configured");
    t.match(
      moving(rule("model", "gemini-flash-latest")),
      /^gemini-flash-latest is an alias that its provider moves/,
    );
    t.match(
      aliased(rule("model", "Smart")),
      /^Smart is a virtual model, and rules count the model that is executed/,
    );
  },
);

t.test(
  "a token rule is inert while usage is off; a rule that also has a request cap reports it",
  async (t) => {
    const off = createInertReason({ usageEnabled: false, providers: [], virtualModels: [] });
    t.match(off(pathRule("/a", 60, { tokens: 1 })), /usage tracking/);
    t.match(off(pathRule("/a", 60, { tokens: 1, requests: 1 })), /token limits need/);
    t.equal(off(pathRule("/a", 60, { requests: 1 })), null);
  },
);

t.test(
  "every budget is inert while usage is off: the count follows every change, and the log and every proxy get it",
  async (t) => {
    const reason = "budgets need usage tracking, which is off";
    const daily: BudgetDefinition = {
      scope: "user_path",
      subject: "/a",
      periodSeconds: 86_400,
      amountUsd: 1,
      perChild: false,
    };
    const first = startDaemon([], { usageEnabled: false, budgets: [daily] });
    const peer = first.proxy("p1");
    t.match(peer.received[0], { kind: "welcome", inertRules: 0, inertBudgets: 1 });
    const label = { scope: "label", subject: "research", budget_key: { period: "monthly" } };
    await ask(first, "budgets.put", { ...label, amount: 5 });
    t.match(peer.received.at(-1), { name: "inert_budgets", value: 2 });
    t.same(first.inertReports, [`budget label research monthly: ${reason}`]);
    await ask(first, "budgets.put", { ...label, amount: 6 });
    t.match(
      await ask(first, "status", null),
      exactly({
        inert_rules: 0,
        inert_budgets: 2,
        inert: [`budget label research monthly: ${reason}`, `budget user_path /a daily: ${reason}`],
      }),
    );

    const reported: Inert[] = [];
    const store = first.store.crash();
    const ports = {
      store,
      schedule: () => {},
      onStoreState: () => {},
      onInert: (inert: Inert) => void reported.push(inert),
      onUnentitled: () => {},
      onUnreadable: () => {},
      onBroken: () => {},
      onDroppedRecord: () => {},
      onUnsupportedVersion: () => {},
      onLimitsApplied: () => {},
      onUnsureSpend: () => {},
      onRaise: () => {},
      beginCopy: noCopies,
      yieldToEventLoop: () => Promise.resolve(),
      wallMs: () => first.nowMs,
    };
    await startState(ports, {
      settings: first.state.settings,
      rules: [],
      digest: "",
      budgets: [daily],
      providers: new Map(),
      hashKey: [1, 2],
      host: "test",
      newStoreId: "test",
      nowMs: first.nowMs,
      uptime: { boot: "boot", upMs: 0 },
    });
    t.same(
      reported,
      [
        { kind: "budget", name: `label research monthly: ${reason}` },
        { kind: "budget", name: `user_path /a daily: ${reason}` },
      ],
      "at the start too, those of the API as well as those of the configuration",
    );

    await ask(first, "budgets.delete", label);
    t.match(peer.received.at(-1), { name: "inert_budgets", value: 1 });
    t.match(
      await ask(startDaemon([], { budgets: [daily] }), "status", null),
      { inert_budgets: 0, inert: { length: 0 } },
      "with usage on none is",
    );
  },
);

t.test(
  "the count of inert rules follows every change, and the log and every proxy get it",
  async (t) => {
    const daemon = startDaemon([pathRule("/a", 60, { tokens: 1 })], {
      usageEnabled: false,
      providers: [provider("openai", ["gpt-4o"])],
    });
    const peer = daemon.proxy("p1");
    t.match(peer.received[0], { kind: "welcome", inertRules: 1 });
    let id = 10;
    const admin = async (
      op: "rate-limits.put" | "rate-limits.delete" | "status",
      body: unknown,
    ): Promise<unknown> => {
      const from = peer.received.length;
      peer.send({ kind: "admin", id: ++id, op, body });
      await daemon.commit();
      return peer.received.slice(from);
    };
    const typo = { scope: "provider", subject: "opnai", limit_key: { period: "minute" } };
    t.match(
      await admin("rate-limits.put", { ...typo, max_requests: 1 }),
      exactly([
        { name: "inert_rules", value: 2 },
        { kind: "answer", body: { inert: "no provider opnai is configured" } },
      ]),
    );
    t.same(daemon.inertReports, ["rule provider opnai minute: no provider opnai is configured"]);
    t.match(
      await admin("rate-limits.put", { ...typo, max_requests: 2 }),
      exactly([{ kind: "answer" }]),
      "an edit doesn't count it twice",
    );
    t.match(
      await admin("rate-limits.put", {
        user_path: "/a",
        limit_key: { period: "minute" },
        max_requests: 5,
      }),
      exactly([
        { name: "inert_rules", value: 1 },
        { kind: "answer", body: {} },
      ]),
      "the token cap is gone",
    );
    t.match(
      await admin("status", null),
      exactly([
        {
          body: {
            inert_rules: 1,
            inert: ["provider opnai minute: no provider opnai is configured"],
          },
        },
      ]),
    );
    t.match(
      await admin("rate-limits.delete", typo),
      exactly([{ name: "inert_rules", value: 0 }, { kind: "answer" }]),
    );
    t.match(
      await admin("status", null),
      exactly([{ body: { inert_rules: 0, inert: { length: 0 } } }]),
    );
  },
);
