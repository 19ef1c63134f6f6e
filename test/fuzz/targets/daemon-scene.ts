/** The rules and budgets of the daemons that are fuzzed: every scope, templates, gauges. */
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { pathRule } from "../../limiterd/in-memory-daemon.js";

const rule = { maxRequests: 50, maxTokens: 5000, perChild: false };

export const configuredRules: readonly RuleDefinition[] = [
  pathRule("/", 86_400, { requests: 1_000_000, tokens: 1_000_000_000 }),
  pathRule("/team", 60, { requests: 100, tokens: 10_000 }),
  pathRule("/", 0, { requests: 100 }),
  { ...pathRule("/team", 300, { requests: 10 }), perChild: true },
  { ...pathRule("/team", 0, { requests: 5 }), perChild: true },
  { scope: "provider", subject: "openai", periodSeconds: 60, ...rule },
  { scope: "model", subject: "openai/gpt-4o", periodSeconds: 3600, ...rule },
  { scope: "model", subject: "llama-3", periodSeconds: 0, ...rule, maxTokens: null },
];

export const configuredBudgets: readonly BudgetDefinition[] = [
  { scope: "user_path", subject: "/", periodSeconds: 86_400, amountUsd: 1000, perChild: false },
  { scope: "user_path", subject: "/team", periodSeconds: 604_800, amountUsd: 1, perChild: true },
  { scope: "label", subject: "research", periodSeconds: 86_400, amountUsd: 5, perChild: false },
];
