/**
 * The settings of rules and budgets, besides the rules and budgets themselves, which are in
 * `../limits/`.
 */
import { boolean } from "../kinds/choice-kinds.js";
import { names } from "../kinds/list-kinds.js";
import { seconds } from "../kinds/number-kinds.js";
import { setting } from "./setting.js";

export const ruleSettings = {
  entitlements: setting({
    path: "entitlements",
    env: "SLUICE_ENTITLEMENTS",
    flag: null,
    kind: names(["quota_templates"]),
    defaultValue: [],
    defaultText: "none",
    unit: null,
    meaning:
      "The features this installation is entitled to; quota_templates (per_child rules) is the only one.",
  }),
  rateLimitsEnabled: setting({
    path: "rate_limits.enabled",
    env: "RATE_LIMITS_ENABLED",
    flag: null,
    kind: boolean,
    defaultValue: true,
    defaultText: "true",
    unit: null,
    meaning: "Enforces rate limits; false keeps the rules and enforces none.",
  }),
  flushIntervalMs: setting({
    path: "rate_limits.flush_interval",
    env: "RATE_LIMITS_FLUSH_INTERVAL",
    flag: null,
    kind: seconds({ min: 0.01, max: 3600, zero: true }),
    defaultValue: 1000,
    defaultText: "1",
    unit: "seconds",
    meaning:
      "How often the counters are written to the store, fractions allowed; 0 writes them on a clean stop only.",
  }),
  budgetsEnabled: setting({
    path: "budgets.enabled",
    env: "BUDGETS_ENABLED",
    flag: null,
    kind: boolean,
    defaultValue: true,
    defaultText: "true",
    unit: null,
    meaning: "Enforces budgets; false keeps them, with what was spent, and enforces none.",
  }),
} as const;
