/**
 * The decision on one request: its path's rules and those of the first target with room must all
 * admit it, and then its budgets. One synchronous step that changes no count; the clock is an
 * argument. `admit.ts` counts what is admitted here, and `explain-verdict.ts` judges copies of the
 * counters by this same function, so an explanation can't differ from an admission.
 */
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import { type BudgetMatching, judgeBudgets } from "../budgets/judge-budgets.js";
import type { Counter } from "../counters/counter.js";
import {
  type BreachOptions,
  type FoundBreach,
  longerBreach,
  longestBreach,
  reportBreach,
  shorterBreach,
} from "./longest-breach.js";
import { hasWindow, inOrder, type Matching } from "./match-counters.js";

export interface JudgedRequest {
  readonly userPath: string;
  /** In order of preference; none: it is judged by its path and budgets, and not admitted. */
  readonly targets: readonly Target[];
  /**
   * Counted as one request of the path, at no target, and without a slot: work that is done
   * elsewhere, such as a batch.
   */
  readonly submission: boolean;
}

export interface AdmissionOptions extends BreachOptions {
  /**
   * The budgets, and the labels of the caller's key. Null, or left out, where no budget is judged:
   * they are off, or have admitted this request before.
   */
  readonly budgets?: { readonly book: BudgetMatching; readonly labels: readonly string[] } | null;
  /**
   * Where counters are shared with other hosts: whether one of them couldn't tell what this
   * judgement needed. Left out, they tell what they know.
   */
  readonly turn?: { readonly isUnsure: boolean } | null;
}

/** A rule refuses the request, or a template of rules or budgets that is full. */
export interface Refused {
  readonly kind: "refused";
  readonly breach: Breach;
}

/**
 * What is decided before anything is counted: the index of the target, and the counters that a
 * request to it would increment, even if a budget refuses it.
 */
export type Judgement =
  | { readonly kind: "admitted"; readonly target: number; readonly counters: readonly Counter[] }
  | Refused
  | {
      readonly kind: "exceeded";
      readonly breach: BudgetBreach;
      readonly counters: readonly Counter[];
    };

/**
 * The decision alone. It advances the windows that it reads to the current time and changes no
 * count.
 */
export function judge(
  matching: Matching,
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  if (request.submission) return judgeSubmission(matching, request, options);
  const ofPath = matching.matchPath(request.userPath, options.nowMs);
  const pathBreach = longestBreach(ofPath, options);
  if (request.targets.length === 0)
    return pathBreach === null
      ? judgeByBudgets(0, ofPath, request, options)
      : { kind: "refused", breach: reportBreach(pathBreach) };
  let targetBreach: FoundBreach | null = null;
  for (let i = 0; i < request.targets.length; i++) {
    const ofTarget = matching.matchTarget(request.targets[i]!);
    const breach = longestBreach(ofTarget, options);
    if (breach === null)
      return pathBreach === null
        ? judgeByBudgets(i, inOrder(ofTarget, ofPath), request, options)
        : { kind: "refused", breach: reportBreach(pathBreach) };
    targetBreach = targetBreach === null ? breach : shorterBreach(targetBreach, breach);
  }
  // None of its targets admits.
  const ofTargets = targetBreach!;
  const worst = pathBreach === null ? ofTargets : longerBreach(ofTargets, pathBreach);
  return { kind: "refused", breach: reportBreach(worst) };
}

/** The gauges of its path don't count a submission. */
function judgeSubmission(
  matching: Matching,
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  const windows = matching.matchPath(request.userPath, options.nowMs).filter(hasWindow);
  const breach = longestBreach(windows, options);
  return breach === null
    ? judgeByBudgets(0, windows, request, options)
    : { kind: "refused", breach: reportBreach(breach) };
}

/** The budgets are judged once the rules admit: where both refuse, the rule is reported. */
function judgeByBudgets(
  target: number,
  counters: readonly Counter[],
  { userPath }: JudgedRequest,
  { budgets = null, nowMs }: AdmissionOptions,
): Judgement {
  const breach =
    budgets === null ? null : judgeBudgets(budgets.book, userPath, budgets.labels, nowMs);
  if (breach === null) return { kind: "admitted", target, counters };
  return breach.dimension === "budget"
    ? { kind: "exceeded", breach, counters }
    : { kind: "refused", breach };
}
