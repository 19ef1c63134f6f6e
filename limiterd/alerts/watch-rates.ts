/**
 * Finds rate limits that cross a threshold: whenever a snapshot writes changed windows, and when a
 * batch is enqueued.
 */
import type { RuleCounts } from "../../shared/api/rule-item.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { costUsd } from "../../shared/domain/money.js";
import { idOfRule, isTenantsId, periodLabel } from "../../shared/domain/rule.js";
import { formatSeconds } from "../../shared/time.js";
import { type Counter, capsOf } from "../counters/counter.js";
import { windowKey } from "../counters/window.js";
import { countersOnBatches } from "../lists/list-queues.js";
import { enqueuedUse, liveCounts, usedRatio } from "../lists/list-rules.js";
import { countersOf, type RuleBook } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";
import type { AlertBook } from "./alert-book.js";

/** A limit per minute is reported at most once in this time. */
const periodMsMin = 3_600_000;

/**
 * Call for each changed window of a rule or its parts, if any destination has alerts of rate
 * limits.
 */
export function noteWindow(
  alerts: AlertBook,
  book: RuleBook,
  { ruleId, child }: { readonly ruleId: string; readonly child: string },
  nowMs: number,
): void {
  if (isTenantsId(ruleId)) return;
  const loadedRule = book.ruleSet.get(idOfRule(ruleId));
  if (loadedRule === undefined || loadedRule.wouldRefuse !== null) return;
  const rule = book.fresh(loadedRule);
  const counter = child === "" ? rule.own : rule.children.copy(child);
  if (counter !== null && counter !== undefined) noteCounter(alerts, counter, nowMs);
}

/** Call when the batches of a path have more tokens. */
export function noteBatches(
  state: Pick<DaemonState, "alerts" | "book" | "settings">,
  userPath: string,
  nowMs: number,
): void {
  const { alerts } = state;
  if (alerts.lowestOfRates === Number.POSITIVE_INFINITY) return;
  for (const counter of countersOnBatches(state, userPath, nowMs))
    noteCounter(alerts, counter, nowMs);
}

function noteCounter(alerts: AlertBook, counter: Counter, nowMs: number): void {
  const ratio = usedRatio(countersOf(counter), nowMs);
  // Without a cap, as in a rule that is only about loops, the ratio is 0.
  if (ratio === 0 || ratio < alerts.lowestOfRates * (1 - 1e-12)) return;
  const periodMs = Math.max(counter.rule.periodMs, periodMsMin);
  const startMs = nowMs - (nowMs % periodMs);
  alerts.note(
    {
      // Distinct from the keys of budgets.
      key: `rule ${windowKey(counter.rule.id, counter.child)}`,
      startMs,
      endMs: startMs + periodMs,
      usageRatio: ratio,
      isRateLimit: true,
      describe: () => describe(counter, nowMs),
    },
    nowMs,
  );
}

function describe(counter: Counter, nowMs: number) {
  const { scope, subject, periodSeconds, models } = counter.rule.definition;
  const counts = liveCounts(countersOf(counter), nowMs);
  const fullest = usesOf(counter, counts, nowMs).reduce((most, use) =>
    use.used / use.limit > most.used / most.limit ? use : most,
  );
  return {
    type: "rate_limit.threshold" as const,
    scope,
    subject: counter.subject,
    ...(counter.child === "" ? {} : { template: subject }),
    ...modelsField(models),
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    period_start: counts.window_start ?? formatSeconds(nowMs),
    period_end: counts.window_end ?? formatSeconds(nowMs),
    ...fullest,
  };
}

interface Use {
  readonly dimension: string;
  readonly used: number;
  readonly limit: number;
}

/** The use of each cap, with raises; at least one. */
function usesOf(counter: Counter, counts: RuleCounts, nowMs: number): readonly Use[] {
  const { maxRequests, maxTokens } = capsOf(counter, nowMs);
  const uses: Use[] = [];
  if (maxRequests !== null)
    uses.push({ dimension: "requests", used: counts.requests_used, limit: maxRequests });
  if (maxTokens !== null)
    uses.push({ dimension: "tokens", used: counts.tokens_used, limit: maxTokens });
  const enqueued = enqueuedUse(counter, nowMs);
  if (enqueued !== null)
    uses.push({ dimension: "enqueued_tokens", used: enqueued.used, limit: enqueued.cap });
  for (const part of countersOf(counter).parts) {
    const { rule } = part;
    const cap = capsOf(part, nowMs).maxTokens!;
    uses.push({
      dimension: rule.measure!,
      used: Number(counts[`${rule.measure}_used` as keyof RuleCounts] ?? 0),
      limit: rule.measure === "cost" ? costUsd(cap) : cap,
    });
  }
  return uses;
}
