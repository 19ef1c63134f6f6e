/** The flags of `sluice limits set`. Pure. */
import { numberOf } from "../../shared/config/kinds/number-kinds.js";
import { parseRuleWrite, ruleGrammar, type Scope } from "../../shared/domain/rule.js";
import type { FlagForm } from "./limit-flags.js";

/** The short flags have the names that the variables use too (docs/reference/configuration.md). */
export const ruleFlags: FlagForm<Scope> = {
  grammar: ruleGrammar,
  otherScopes: "for a provider or a model add --scope provider or --scope model",
  longFlags: [
    {
      name: "requests",
      field: "max_requests",
      meaning:
        "requests per period; with --period concurrent, requests in flight; 0 with --models bans them",
    },
    { name: "tokens", field: "max_tokens", meaning: "tokens per period" },
  ],
  shortFlags: [
    {
      name: "rpm",
      period: { period_seconds: 60 },
      field: "max_requests",
      meaning: "requests per minute",
    },
    {
      name: "tpm",
      period: { period_seconds: 60 },
      field: "max_tokens",
      meaning: "tokens per minute",
    },
    {
      name: "rph",
      period: { period_seconds: 3600 },
      field: "max_requests",
      meaning: "requests per hour",
    },
    {
      name: "tph",
      period: { period_seconds: 3600 },
      field: "max_tokens",
      meaning: "tokens per hour",
    },
    {
      name: "rpd",
      period: { period_seconds: 86_400 },
      field: "max_requests",
      meaning: "requests per day",
    },
    {
      name: "tpd",
      period: { period_seconds: 86_400 },
      field: "max_tokens",
      meaning: "tokens per day",
    },
    {
      name: "concurrent",
      period: { period_seconds: 0 },
      field: "max_requests",
      meaning: "requests in flight",
    },
  ],
  switches: [
    {
      flag: "--host-only",
      key: "hostOnly",
      field: "host_only",
      meaning: "each host counts for itself, although hosts share other limits",
    },
  ],
  readNumber: numberOf,
  parse: parseRuleWrite,
};
