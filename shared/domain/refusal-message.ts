/**
 * The text of a refusal (`docs/reference/http-api.md`, "429: a limit is reached"): the same in the
 * 429, the log line and `sluice explain`.
 */

import { budgetPeriodLabel, isPerSession } from "./budget.js";
import { isForTools, subjectWithModels } from "./limited-models.js";
import { usdText } from "./money.js";
import { periodLabel } from "./rule.js";
import type { Breach, BudgetBreach, Dimension } from "./verdict.js";

const kinds: Readonly<Record<Dimension, string>> = {
  requests: "request",
  tokens: "token",
  concurrent: "concurrency",
  children: "template",
  banned: "request",
  upstream: "provider's own",
  adaptive: "adaptive concurrency",
  input_tokens: "input token",
  output_tokens: "output token",
  cost: "cost",
  tool_calls: "tool call",
};

/**
 * `rate limit exceeded for <subject>: <label> request limit of <n> reached`, `budget exceeded for
 * <subject> <label> limit: spent <x> of <y>`, or `model not allowed for <subject>: <label> rule
 * with max_requests 0`.
 */
export function refusalMessage(breach: Breach | BudgetBreach): string {
  if (breach.above !== undefined) return messageOfAbove(breach, breach.above);
  if (breach.dimension === "budget") {
    const period = budgetPeriodLabel(breach.periodSeconds, breach.rolling);
    const limit = `${budgetSubject(breach)} ${period} limit`;
    const advice = isPerSession(breach) ? "; start a new session" : "";
    return `budget exceeded for ${limit}: spent ${breach.spentUsd} of ${breach.amountUsd}${advice}`;
  }
  if (breach.dimension === "upstream") return upstreamMessage(breach);
  if (breach.dimension === "adaptive")
    return `model ${breach.subject} is at its adaptive concurrency of ${breach.cap}: more requests would only make it slower`;
  const subject = limitedBy(breach);
  if (breach.dimension === "banned")
    return `${isForTools(breach.models) ? "tool" : "model"} not allowed for ${subject}: ${periodLabel(breach.periodSeconds)} rule with max_requests 0`;
  if (breach.dimension === "children")
    return `rate limit exceeded for ${subject}: the ${periodLabel(breach.periodSeconds)} template has ${breach.cap} children already`;
  const limit =
    breach.dimension === "concurrent"
      ? "concurrent request"
      : `${periodLabel(breach.periodSeconds)} ${kinds[breach.dimension]}`;
  const cap = breach.dimension === "cost" ? `$${usdText(breach.cap)}` : breach.cap;
  if (breach.share !== undefined)
    return `rate limit exceeded for ${subject}: ${breach.share} has its share of the ${limit} limit of ${cap}, and others may claim the rest`;
  return `rate limit exceeded for ${subject}: ${limit} limit of ${cap} reached`;
}

/** The message for a limit that the caller may not see. */
function messageOfAbove({ dimension, models }: Breach | BudgetBreach, path: string): string {
  if (dimension === "budget") return `${aboveMessages["budget exceeded"]} ${path} is used up`;
  if (dimension !== "banned") return `${aboveMessages["rate limit exceeded"]} ${path} is reached`;
  return `${aboveMessages[isForTools(models) ? "tool not allowed" : "model not allowed"]} ${path}`;
}

const aboveMessages = {
  "rate limit exceeded": "rate limit exceeded: a limit above",
  "budget exceeded": "budget exceeded: a budget above",
  "model not allowed": "model not allowed: by a rule above",
  "tool not allowed": "tool not allowed: by a rule above",
} as const;

const namesLimit =
  /(rate limit exceeded|budget exceeded|model not allowed|tool not allowed) for |is at its adaptive concurrency of /;
const upstreamCount = /(: its own limit of )\d+ /g;

/**
 * A recorded text with a `refusalMessage`, for a reader who may see only limits on `path` and below
 * it: without the names and figures of other limits.
 */
export function recordedMessageShownTo(path: string, text: string): string {
  const match = namesLimit.exec(text);
  if (match === null) return text.replaceAll(upstreamCount, "$1");
  const kind = (match[1] ?? "rate limit exceeded") as keyof typeof aboveMessages;
  if (isNamedWithin(path, text.slice(match.index + match[0].length))) return text;
  const before = match[1] === undefined ? "" : text.slice(0, match.index);
  const ending = { "rate limit exceeded": " is reached", "budget exceeded": " is used up" };
  return `${before}${aboveMessages[kind]} ${path}${kind in ending ? ending[kind as keyof typeof ending] : ""}`;
}

/** Whether a text begins with the path or one below it. */
export function isNamedWithin(path: string, text: string): boolean {
  return text.startsWith(path) && /^(?:$|[\s/:])/.test(text.slice(path.length));
}

/** `provider openai: its own limit of 500 requests for gpt-4o is reached`. */
function upstreamMessage({ subject, limitName, cap }: Breach): string {
  const slash = subject.indexOf("/");
  const provider = `provider ${subject.slice(0, slash)}`;
  const model = subject.slice(slash + 1);
  const forModel = model === "" ? "" : ` for ${model}`;
  if (limitName === undefined) return `${provider}: its own rate limit${forModel} is reached`;
  const limitText = limitName.replaceAll("_", " ");
  return cap === 0
    ? `${provider}: its own limit of ${limitText}${forModel} is reached`
    : `${provider}: its own limit of ${cap} ${limitText}${forModel} is reached`;
}

/**
 * The limit in words: `the day request limit of /team`, `a's share of the day token limit of
 * /team`, or `the monthly budget of /team`.
 */
export function limitInWords(breach: Breach | BudgetBreach): string {
  const { dimension, periodSeconds, above } = breach;
  if (above !== undefined) return `a ${dimension === "budget" ? "budget" : "limit"} above ${above}`;
  if (dimension === "budget")
    return `the ${budgetPeriodLabel(periodSeconds, breach.rolling)} budget of ${budgetSubject(breach)}`;
  const isOfNow = dimension === "concurrent" || periodSeconds === 0;
  const period = isOfNow ? "" : `${periodLabel(periodSeconds)} `;
  const share = breach.share === undefined ? "" : `${breach.share}'s share of `;
  return `${share}the ${period}${kinds[dimension]} limit of ${limitedBy(breach)}`;
}

function limitedBy(breach: Breach): string {
  const subject = subjectWithModels(breach);
  return breach.scope === "user_path" ? subject : `${breach.scope} ${subject}`;
}

/** The subject, with its scope if it is a provider or a model. */
function budgetSubject(breach: BudgetBreach): string {
  const subject = subjectWithModels(breach);
  const { scope } = breach;
  return scope === "provider" || scope === "model" ? `${scope} ${subject}` : subject;
}
