/**
 * Admits a request: judges it, and counts it on every rule that applies to it or on none. This is
 * one synchronous step; the clock is an argument. Not here: the decision itself (`judge.ts`).
 */
import type { Measure } from "../../shared/domain/rule.js";
import type {
  Breach,
  BudgetBreach,
  Remaining,
  SuccessHeaders,
} from "../../shared/domain/verdict.js";
import { append } from "../../shared/long-lists.js";
import {
  type Counter,
  capsAt,
  countsOf,
  isOff,
  keepChild,
  type Rule,
  shareOf,
} from "../counters/counter.js";
import { estimateRequests, rollWindow, slidingTokens, wholeSeconds } from "../counters/window.js";
import { demandAt } from "./hard-limits.js";
import {
  type AdmissionOptions,
  type BreachOptions,
  exhaustedRules,
  type JudgedRequest,
  type Judgement,
  judge,
  longestBreach,
  type RefusedVerdict,
} from "./judge.js";
import { sharerOf } from "./judge-share.js";
import { isShown } from "./limits-above.js";
import {
  byRule,
  hasWindow,
  inRuleOrder,
  type Matching,
  type RuleBook,
  TargetRules,
} from "./rule-book.js";
import type { ShadowedRequest } from "./shadow-rules.js";

export interface AdmittedVerdict {
  readonly kind: "admitted";
  readonly target: number;
  readonly counters: readonly Counter[];
  readonly headers: SuccessHeaders | null;
  /** The exhausted rules that don't refuse it. */
  readonly exhausted: readonly Breach[];
}

/** A budget refuses the request; the headers are those of the rules, which would admit it. */
export interface ExceededVerdict {
  readonly kind: "exceeded";
  readonly breach: BudgetBreach;
  readonly headers: SuccessHeaders | null;
}

export type Verdict = AdmittedVerdict | RefusedVerdict | ExceededVerdict;

/** This host must ask the other hosts' engine before it can decide; nothing was counted. */
export interface UnsureVerdict {
  readonly kind: "unsure";
  /** The judgement by the counts that this host knows. */
  readonly judgement: Judgement | ExceededVerdict;
}

/**
 * Admits a request to the first target with room and counts it; or returns the rule or budget that
 * refuses it, and for how long.
 */
export function admit(
  book: Matching & Pick<RuleBook, "count" | "shared">,
  request: JudgedRequest,
  options: Omit<AdmissionOptions, "turn"> & { readonly turn?: never },
): Verdict;
/** As above, with counters that hosts share. */
export function admit(
  book: Matching & Pick<RuleBook, "count" | "shared">,
  request: JudgedRequest,
  options: AdmissionOptions,
): Verdict | UnsureVerdict;
export function admit(
  book: Matching & Pick<RuleBook, "count" | "shared">,
  request: JudgedRequest,
  options: AdmissionOptions,
): Verdict | UnsureVerdict {
  const judgement = judge(book, request, options);
  if (options.turn?.isUnsure === true) return { kind: "unsure", judgement };
  if (book.shared.size > 0) noteDemand(book, request, judgement, options);
  if (judgement.kind === "refused") return judgement;
  const { counters } = judgement;
  if (judgement.kind === "exceeded")
    return {
      kind: "exceeded",
      breach: judgement.breach,
      headers: headersOfCounters(counters, options),
    };
  const exhausted = exhaustedRules(counters, options);
  if (request.targets.length > 0)
    countRequest(book, counters, { slots: !request.submission, nowMs: options.nowMs });
  if (request.targets.length > 0 && !request.submission)
    options.upstream
      ?.targetOf(request.targets[judgement.target]!, options.nowMs)
      ?.noteAdmission(options.nowMs);
  return {
    kind: "admitted",
    target: judgement.target,
    counters,
    headers: headersOfCounters(counters, options),
    exhausted,
  };
}

/**
 * Admits a request whose target has failed to the first of `targets` with room. Only that target's
 * rules count it, and `counters` are only theirs: the path's rules counted it at the admission and
 * aren't judged again, and neither are the budgets for all models. The headers cover both with
 * their current counts.
 */
export function readmit(
  book: Matching & Pick<RuleBook, "count" | "shared">,
  rerouted: Pick<JudgedRequest, "userPath" | "session" | "targets" | "demands">,
  options: AdmissionOptions,
): Verdict | UnsureVerdict {
  const { userPath, targets } = rerouted;
  const { budgets = null, upstream = null } = options;
  const targetRules = new TargetRules(book);
  const request = { ...rerouted, submission: false };
  const judgement = judge(targetRules, request, {
    nowMs: options.nowMs,
    tokensEnforced: options.tokensEnforced,
    uses: options.uses,
    tokenWeights: options.tokenWeights ?? null,
    upstream,
    budgets: budgets === null ? null : { book: budgets.book, labels: null },
  });
  if (options.turn?.isUnsure === true) return { kind: "unsure", judgement };
  if (book.shared.size > 0) noteDemand(targetRules, request, judgement, options);
  if (judgement.kind === "refused") return judgement;
  if (judgement.kind === "exceeded")
    return { kind: "exceeded", breach: judgement.breach, headers: null };
  countRequest(book, judgement.counters, { slots: true, nowMs: options.nowMs });
  upstream?.targetOf(targets[judgement.target]!, options.nowMs)?.noteAdmission(options.nowMs);
  const pathCounters = book.matchPath(userPath, options.nowMs);
  for (const { rule, window } of pathCounters) rollWindow(window, rule.periodMs, options.nowMs);
  const { target, counters } = judgement;
  return {
    kind: "admitted",
    target,
    counters,
    headers: headersOfCounters(inRuleOrder(counters, pathCounters), options),
    exhausted: [],
  };
}

/**
 * The numbers of the success headers; the proxy adds names and texts. Requests are those of the
 * rule with the fewest left after this request, tokens likewise; on a tie those of the earlier
 * rule. The windows must be rolled to now.
 */
export function headersOfCounters(
  counters: readonly Counter[],
  { nowMs: ownNowMs, tokensEnforced, viewer = null }: BreachOptions,
): SuccessHeaders | null {
  let requests: SuccessHeaders["requests"] = null;
  let tokens: SuccessHeaders["tokens"] = null;
  let leftByMeasure: Partial<Record<Measure, Remaining>> | undefined;
  for (const counter of counters) {
    const { rule } = counter;
    if (rule.periodMs === 0 || isOff(rule, ownNowMs)) continue;
    if (viewer !== null && !isShown(scopeAndSubject(counter), viewer)) continue;
    const { window, nowMs } = countsOf(counter, ownNowMs);
    const { maxRequests, maxTokens } = capsAt(rule, counter.child, nowMs);
    if (maxRequests !== null) {
      const remaining = Math.max(0, maxRequests - estimateRequests(window, rule.periodMs, nowMs));
      if (requests === null || remaining < requests.remaining)
        requests = {
          limit: maxRequests,
          remaining,
          resetSeconds: wholeSeconds(window.startMs + rule.periodMs - nowMs),
        };
    }
    if (maxTokens !== null && tokensEnforced) {
      const heldTokens = rule.held === null ? 0 : rule.held.of(counter.child);
      const used = heldTokens + slidingTokens(window, rule.periodMs, nowMs);
      const remaining = Math.max(0, maxTokens - used);
      const { measure } = rule;
      const least = measure === null ? tokens : (leftByMeasure?.[measure] ?? null);
      if (least === null || remaining < least.remaining) {
        const resetSeconds = wholeSeconds(window.startMs + rule.periodMs - nowMs);
        const measureLeft = { limit: maxTokens, remaining, resetSeconds };
        if (measure === null) tokens = measureLeft;
        else leftByMeasure = { ...leftByMeasure, [measure]: measureLeft };
      }
    }
  }
  if (leftByMeasure !== undefined) return { requests, tokens, measures: leftByMeasure };
  return requests === null && tokens === null ? null : { requests, tokens };
}

function scopeAndSubject({ rule, subject }: Counter): {
  readonly scope: string;
  readonly subject: string;
} {
  return { scope: rule.definition.scope, subject };
}

/**
 * Notes on each shared cap that a child asks for it, and whether the cap or its shares refuse the
 * child.
 */
function noteDemand(
  matching: Matching,
  { userPath, targets, submission, demands }: JudgedRequest,
  judgement: Judgement,
  options: AdmissionOptions,
): void {
  if (judgement.kind !== "refused") return noteCapDemand(judgement.counters, false, options);
  const { nowMs } = options;
  const askedOf = (target: number): AdmissionOptions =>
    demands === undefined ? options : { ...options, demand: demandAt(demands, target) };
  noteCapDemand(matching.matchPath(userPath, nowMs), true, askedOf(0));
  for (const [i, target] of submission ? [] : targets.entries())
    noteCapDemand(matching.matchTarget(target, userPath, nowMs), true, askedOf(i));
}

function noteCapDemand(
  counters: readonly Counter[],
  isRefused: boolean,
  options: AdmissionOptions,
): void {
  const { nowMs } = options;
  for (const [i, childCounter] of counters.entries()) {
    const { sharing } = childCounter.rule;
    if (sharing === null || isOff(childCounter.rule, nowMs)) continue;
    const counter = counters[i - 1]!;
    const cap = sharing.findOrMake(counter.child, nowMs);
    const name = sharerOf({ counter, childCounter });
    if (cap === undefined) continue;
    const breach = isRefused ? longestBreach([counter, childCounter], options) : null;
    cap.dropCredit(name, nowMs);
    if (breach === null || options.waits === true) cap.noteRequest(name, nowMs);
    else cap.noteRefusal(name, nowMs);
    if (breach !== null) cap.isLastRefusalByShare = breach.share !== undefined;
  }
}

/**
 * All windows and gauges change together. Every rule has a gauge; only those of `concurrent` rules
 * are judged.
 */
function countRequest(
  book: Pick<RuleBook, "count">,
  counters: readonly Counter[],
  { slots, nowMs }: { readonly slots: boolean; readonly nowMs: number },
): void {
  for (const counter of counters) {
    keepChild(counter);
    if (slots) counter.inFlight++;
    counter.rule.sharing?.addRequests(counter.child, 1);
    if (counter.rule.periodMs > 0 && isOff(counter.rule, nowMs)) continue;
    shareOf(counter)?.counted(counter.window);
    if (counter.rule.periodMs === 0) continue;
    book.count(counter, Math.max(nowMs, counter.window.startMs), 1, 0);
  }
}

/** The result for the shadow rules of one admission. */
export interface ShadowVerdict {
  /** The counters that count the request. */
  readonly counters: readonly Counter[];
  /** The rules that would refuse it, and don't count it. */
  readonly refusing: readonly Rule[];
}

/**
 * Judges an admitted request by each shadow rule that covers it. A rule that would refuse the
 * request notes that and doesn't count it, as if it were enforced; the others count it. Call this
 * after the verdict has counted the request. Null if no shadow rule covers it.
 */
export function admitShadows(
  book: Pick<RuleBook, "shadows" | "shared" | "count" | "noteRefused">,
  request: ShadowedRequest & { readonly submission: boolean },
  options: BreachOptions,
): ShadowVerdict | null {
  if (book.shadows === null) return null;
  const matched = book.shadows.match(request, options.nowMs);
  if (matched.length === 0) return null;
  const { submission } = request;
  const refusing: Rule[] = [];
  const admitting: Counter[] = [];
  const judgedCounters = submission ? matched.filter(hasWindow) : matched;
  for (const { counter } of byRule(judgedCounters)) {
    // The counters of the rule's parts, and of the children that share its caps.
    const ofRule = judgedCounters.filter(({ rule }) => rule.ruleId === counter.rule.ruleId);
    const isRefused = longestBreach(ofRule, options) !== null;
    if (book.shared.size > 0) noteCapDemand(ofRule, isRefused, options);
    if (!isRefused) append(admitting, ofRule);
    else {
      book.noteRefused(counter.rule, options.nowMs);
      refusing.push(counter.rule);
    }
  }
  countRequest(book, admitting, { slots: !submission, nowMs: options.nowMs });
  return { counters: admitting, refusing };
}
