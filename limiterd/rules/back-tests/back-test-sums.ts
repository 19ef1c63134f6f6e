/**
 * The result of a back-test so far: how many requests the rule would have refused, why, when, and
 * of which paths.
 */
import type { BackTestReport, RefusedFor, RuleCaps } from "../../../shared/api/rule-item.js";
import { costUsd } from "../../../shared/domain/money.js";
import type { Measure, RuleDefinition } from "../../../shared/domain/rule.js";
import type { Breach, RuleDimension } from "../../../shared/domain/verdict.js";
import { dayOf, formatMillis } from "../../../shared/time.js";
import { pathsMax } from "../../bounds.js";
import type { Counter } from "../../counters/counter.js";
import { estimateRequests, slidingTokens } from "../../counters/window.js";
import { nextEnd } from "../rule-index.js";
import type { PastRequest } from "./replayed-rule.js";

const pathsListed = 10;

type Sums = Pick<
  BackTestReport,
  | "requests"
  | "refused"
  | "refused_for"
  | "went_on"
  | "first_refused_at"
  | "last_refused_at"
  | "days"
  | "paths"
  | "lowest_caps"
>;

export class BackTestSums {
  readonly #definition: RuleDefinition;
  readonly #refusedFor: { -readonly [Dimension in keyof RefusedFor]: number } = {
    requests: 0,
    tokens: 0,
    concurrent: 0,
    children: 0,
    banned: 0,
  };
  readonly #days = new Map<string, { requests: number; refused: number }>();
  readonly #paths = new Map<string, number>();
  #requests = 0;
  #refused = 0;
  #wentOn = 0;
  #firstMs: number | null = null;
  #lastMs: number | null = null;
  /**
   * The highest count of requests so far, including the judged request; below, those of tokens and
   * measures.
   */
  #mostRequests = 0;
  readonly #most: Record<"tokens" | Measure, number> = {
    tokens: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost: 0,
    tool_calls: 0,
  };

  constructor(definition: RuleDefinition) {
    this.#definition = definition;
  }

  /** Adds a judged request; `breach` is null if the rule would have admitted it. */
  add({ userPath }: PastRequest, breach: Breach | null, nowMs: number): void {
    const day = dayOf(nowMs);
    const daySums = this.#days.get(day) ?? { requests: 0, refused: 0 };
    this.#days.set(day, daySums);
    this.#requests++;
    daySums.requests++;
    if (breach === null) return;
    this.#refused++;
    daySums.refused++;
    // Only rules are tested.
    const dimension = breach.dimension as RuleDimension;
    this.#refusedFor[dimension] = (this.#refusedFor[dimension] ?? 0) + 1;
    this.#firstMs ??= nowMs;
    this.#lastMs = nowMs;
    const path = this.#groupOf(userPath);
    const existing = this.#paths.get(path);
    if (existing !== undefined || this.#paths.size < pathsMax)
      this.#paths.set(path, (existing ?? 0) + 1);
  }

  /** Adds a request that the exhausted rule would have let pass, because it is lenient. */
  addWentOn(): void {
    this.#wentOn++;
  }

  /** Notes the counts of the rule without caps; they already include the request. */
  addUse(counters: readonly Counter[], nowMs: number): void {
    for (const { rule, window, inFlight } of counters) {
      const { periodMs, measure } = rule;
      const counted = measure ?? "tokens";
      const requests = periodMs === 0 ? inFlight : estimateRequests(window, periodMs, nowMs);
      this.#mostRequests = Math.max(this.#mostRequests, requests);
      if (periodMs > 0)
        this.#most[counted] = Math.max(this.#most[counted], slidingTokens(window, periodMs, nowMs));
    }
  }

  get sums(): Sums {
    const moment = (ms: number | null): string | null => (ms === null ? null : formatMillis(ms));
    return {
      requests: this.#requests,
      refused: this.#refused,
      refused_for: { ...this.#refusedFor },
      ...(this.#definition.onExhausted === undefined ? {} : { went_on: this.#wentOn }),
      first_refused_at: moment(this.#firstMs),
      last_refused_at: moment(this.#lastMs),
      days: [...this.#days].map(([date, sums]) => ({ date, ...sums })),
      paths: [...this.#paths]
        .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
        .slice(0, pathsListed)
        .map(([user_path, refused]) => ({ user_path, refused })),
      lowest_caps: this.#lowestCaps(),
    };
  }

  /**
   * The lowest caps that refuse nothing. A request is refused once tokens or cost have reached the
   * cap, so the lowest cap is one above the highest count.
   */
  #lowestCaps(): RuleCaps {
    if (this.#requests === 0) return {};
    const { maxRequests, maxTokens, measureCaps } = this.#definition;
    const { cost } = this.#most;
    return {
      ...(maxRequests === null ? {} : { max_requests: this.#mostRequests }),
      ...(maxTokens === null ? {} : { max_tokens: this.#most.tokens + 1 }),
      ...(measureCaps?.input_tokens === undefined
        ? {}
        : { max_input_tokens: this.#most.input_tokens + 1 }),
      ...(measureCaps?.output_tokens === undefined
        ? {}
        : { max_output_tokens: this.#most.output_tokens + 1 }),
      ...(measureCaps?.cost === undefined ? {} : { max_cost: costUsd(cost + 1) }),
      ...(measureCaps?.tool_calls === undefined
        ? {}
        : { max_tool_calls: this.#most.tool_calls + 1 }),
    };
  }

  /**
   * The direct child of the rule's path, or that path itself; for rules on models and providers,
   * the path's first segment.
   */
  #groupOf(userPath: string): string {
    const { scope, subject } = this.#definition;
    const base = scope === "user_path" && subject !== "/" ? subject.length : 0;
    const end = nextEnd(userPath, base);
    return end === -1 ? userPath : userPath.slice(0, end);
  }
}
