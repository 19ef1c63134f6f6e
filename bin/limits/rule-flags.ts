/** The flags of `sluice limits set`. Pure. */

import { amountOf } from "../../shared/config/kinds/number-kinds.js";
import { sharesOfText } from "../../shared/domain/child-shares.js";
import { loopsOfText } from "../../shared/domain/loop-rule.js";
import { parseRuleWrite, ruleGrammar, type Scope } from "../../shared/domain/rule.js";
import { weightsOfText } from "../../shared/domain/token-weights.js";
import { type FlagForm, holdFlag, onExhaustedFlag } from "./limit-flags.js";

const periods = [
  { letter: "m", seconds: 60, word: "minute" },
  { letter: "h", seconds: 3600, word: "hour" },
  { letter: "d", seconds: 86_400, word: "day" },
];

/** The short flags are named like the environment variables (docs/reference/configuration.md). */
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
    { name: "input-tokens", field: "max_input_tokens", meaning: "input tokens per period" },
    { name: "output-tokens", field: "max_output_tokens", meaning: "output tokens per period" },
    { name: "cost", field: "max_cost", meaning: "US dollars per period" },
    {
      name: "tool-calls",
      field: "max_tool_calls",
      meaning: "tool calls per period; needs --models such as tool:web_search",
    },
    {
      name: "enqueued-tokens",
      field: "max_enqueued_tokens",
      meaning: "tokens of unfinished batches; needs --period concurrent",
    },
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
    ...(["input", "output"] as const).flatMap((part) =>
      periods.map(({ letter, seconds, word }) => ({
        name: `${part[0]}tp${letter}`,
        period: { period_seconds: seconds },
        field: `max_${part}_tokens`,
        meaning: `${part} tokens per ${word}`,
      })),
    ),
    {
      name: "concurrent",
      period: { period_seconds: 0 },
      field: "max_requests",
      meaning: "requests in flight",
    },
    {
      name: "enqueued",
      period: { period_seconds: 0 },
      field: "max_enqueued_tokens",
      meaning: "tokens of unfinished batches",
    },
  ],
  switches: [
    {
      flag: "--host-only",
      key: "hostOnly",
      field: "host_only",
      meaning: "each host counts for itself, although hosts share other limits",
    },
    {
      flag: "--token-weights <weights>",
      key: "tokenWeights",
      field: "token_weights",
      meaning:
        "how many tokens a token of each kind counts as, such as 'cached=0.1,cache_write=1.25'",
      read: weightsOfText,
      form: "weights from 0 to 100 such as 'cached=0.1,cache_write=1.25'",
    },
    onExhaustedFlag,
    holdFlag,
    {
      flag: "--shares <shares>",
      key: "shares",
      field: "shares",
      meaning:
        "how children of the path share the caps, such as 'a: weight=3, floor=0.2; *: weight=1', or equal",
      read: sharesOfText,
      form: "shares such as 'a: weight=3, floor=0.2; *: weight=1', or equal",
    },
    {
      flag: "--loops <numbers>",
      key: "loops",
      field: "loops",
      meaning:
        "when to warn of agents that repeat themselves or work on without end, and refuse them, such as 'warn_after=5, refuse_after_turns=500', or none",
      read: loopsOfText,
      form: "numbers such as 'warn_after=5, refuse_after_turns=500', or none",
      period: { period_seconds: 0 },
    },
  ],
  readNumber: amountOf,
  parse: parseRuleWrite,
};
