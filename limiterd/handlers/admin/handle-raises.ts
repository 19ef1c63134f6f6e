/**
 * The admin operations that raise a rule or a budget for a time, and end a raise early
 * (docs/limit-options.md). If a path has no rule of its own, a raise of the path raises its child
 * in the template above it.
 */
import { raisesPerLimitMax } from "../../../shared/bounds.js";
import type { Checked } from "../../../shared/checked.js";
import { type BudgetKey, budgetGrammar } from "../../../shared/domain/budget.js";
import type { LimitKey } from "../../../shared/domain/limit-key.js";
import {
  parseBudgetRaise,
  parseRaiseEnd,
  parseRuleRaise,
  type Raise,
  type RaisedValues,
  type RaiseRequest,
  raisedAmount,
  raisedCaps,
} from "../../../shared/domain/raise.js";
import { cappedMeasures, type RuleKey, ruleGrammar } from "../../../shared/domain/rule.js";
import { isPathWithin } from "../../../shared/domain/user-path.js";
import { type Failure, failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { formatMillis } from "../../../shared/time.js";
import { nameOfBudget, unknownBudget } from "../../lists/list-budget-children.js";
import { nameOfRule, unknownRule } from "../../lists/list-children.js";
import type { Raisable, RaiseKind } from "../../raise-note.js";
import type { DaemonState } from "../../state.js";
import { activeRaises, raisesDefinition } from "../definitions/apply-raises.js";
import {
  type AdminPorts,
  checkedValue,
  failOperation,
  makeChange,
  subjectAbove,
  withinOf,
} from "./admin-operation.js";

/** How raises of rules and of budgets differ. */
interface Raising<K extends LimitKey<string>> {
  readonly kind: RaiseKind;
  find(key: K): Raisable | null;
  unknown(key: K, above: string | null): Failure;
  nameOf(key: K): string;
  /** The limit's values: as declared, and now with raises. */
  valuesOf(limit: Raisable, child: string, nowMs: number): readonly Value[];
}

interface Value {
  readonly field: string;
  /** The value in a raise; null if the raise leaves it alone. */
  readonly raisedTo: (values: RaisedValues) => number | null;
  /** Null: the rule has no such cap. */
  readonly declared: number | null;
  readonly now: number | null;
}

function ruleRaising({ book }: DaemonState): Raising<RuleKey> {
  return {
    kind: "rule_raises",
    find: (key) => book.find(key),
    unknown: unknownRule,
    nameOf: nameOfRule,
    valuesOf({ id, raises }, child, nowMs) {
      const { definition } = book.ruleSet.get(id)!;
      const now = raisedCaps(definition, raises ?? [], child, nowMs);
      return [
        {
          field: "max_requests",
          raisedTo: ({ maxRequests }) => maxRequests,
          ...declaredAndNow(definition.maxRequests, now.maxRequests),
        },
        {
          field: "max_tokens",
          raisedTo: ({ maxTokens }) => maxTokens,
          ...declaredAndNow(definition.maxTokens, now.maxTokens),
        },
        ...cappedMeasures.map(
          (measure): Value => ({
            field: `max_${measure}`,
            raisedTo: ({ measureCaps }) => measureCaps?.[measure] ?? null,
            ...declaredAndNow(
              definition.measureCaps?.[measure] ?? null,
              now.measureCaps?.[measure] ?? null,
            ),
          }),
        ),
      ];
    },
  };
}

function budgetRaising({ budgets }: DaemonState): Raising<BudgetKey> {
  return {
    kind: "budget_raises",
    find: (key) => budgets.find(key),
    unknown: unknownBudget,
    nameOf: nameOfBudget,
    valuesOf({ id, raises }, child, nowMs) {
      const { amountUsd } = budgets.budgets.get(id)!.definition;
      const now = raisedAmount(amountUsd, raises ?? [], child, nowMs);
      return [
        {
          field: "amount",
          raisedTo: (values) => values.amountUsd,
          ...declaredAndNow(amountUsd, now),
        },
      ];
    },
  };
}

function declaredAndNow(
  declared: number | null,
  now: number | null,
): Pick<Value, "declared" | "now"> {
  return { declared, now };
}

export function raiseRule(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  ports: AdminPorts,
): void {
  raise(state, ruleRaising(state), parseRuleRaise(body), { nowMs, ports });
}

export function raiseBudget(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  ports: AdminPorts,
): void {
  raise(state, budgetRaising(state), parseBudgetRaise(body), { nowMs, ports });
}

export function endRuleRaise(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  ports: AdminPorts,
): void {
  end(state, ruleRaising(state), parseRaiseEnd(ruleGrammar, body), { nowMs, ports });
}

export function endBudgetRaise(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  ports: AdminPorts,
): void {
  end(state, budgetRaising(state), parseRaiseEnd(budgetGrammar, body), { nowMs, ports });
}

interface AdminContext {
  readonly nowMs: number;
  readonly ports: AdminPorts;
}

function raise<S extends string>(
  state: DaemonState,
  raising: Raising<LimitKey<S>>,
  checked: Checked<RaiseRequest<S>>,
  { nowMs, ports }: AdminContext,
): void {
  const raiseRequest = checkedValue(checked, ports);
  if (raiseRequest === null) return;
  makeChange(state, nowMs, ports, () => {
    const { key, forMs, ...values } = raiseRequest;
    const raisable = findRaisable(raising, key);
    if (raisable === null) return failOperation(ports, unknownFailure(raising, key, ports));
    const { limit, child } = raisable;
    const above = aboveProblem(raisable, withinOf(ports));
    if (above !== null) return failOperation(ports, above);
    const problem = problemOf(raising, raiseRequest, raisable, nowMs);
    if (problem !== null) return failOperation(ports, problem);
    const kept = activeRaises(limit.raises, nowMs).filter((former) => former.child !== child);
    if (kept.length >= raisesPerLimitMax)
      return failOperation(
        ports,
        invalid(`the ${raising.nameOf(key)} has ${raisesPerLimitMax} raises already`, "subject"),
      );
    const newRaise: Raise = { ...values, child, fromMs: nowMs, untilMs: nowMs + forMs };
    return {
      definitions: [raisesDefinition(raising.kind, limit.id, [...kept, newRaise])],
      answer: () => {
        state.onRaise({ event: "raised", kind: raising.kind, limit, raise: newRaise });
        return { until: formatMillis(newRaise.untilMs) };
      },
    };
  });
}

function end<S extends string>(
  state: DaemonState,
  raising: Raising<LimitKey<S>>,
  checked: Checked<{ readonly key: LimitKey<S>; readonly by: string }>,
  { nowMs, ports }: AdminContext,
): void {
  const ending = checkedValue(checked, ports);
  if (ending === null) return;
  const { key, by } = ending;
  makeChange(state, nowMs, ports, () => {
    const raisable = findRaisable(raising, key);
    if (raisable === null) return failOperation(ports, unknownFailure(raising, key, ports));
    const { limit, child } = raisable;
    const above = aboveProblem(raisable, withinOf(ports));
    if (above !== null) return failOperation(ports, above);
    const raises = activeRaises(limit.raises, nowMs);
    const ended = raises.find((raise) => raise.child === child);
    if (ended === undefined) return failOperation(ports, notRaisedFailure(raising, key));
    const others = raises.filter((raise) => raise !== ended);
    return {
      definitions: [raisesDefinition(raising.kind, limit.id, others)],
      answer: () => {
        const note = { event: "ended early", endedBy: by } as const;
        state.onRaise({ ...note, kind: raising.kind, limit, raise: ended });
        return {};
      },
    };
  });
}

function unknownFailure<K extends LimitKey<string>>(
  { find, unknown }: Raising<K>,
  key: K,
  ports: AdminPorts,
): Failure {
  return unknown(key, subjectAbove(key, find, ports));
}

function notRaisedFailure<K extends LimitKey<string>>(
  { kind, nameOf }: Raising<K>,
  key: K,
): Failure {
  const code = kind === "rule_raises" ? "rate_limit_not_found" : "budget_not_found";
  return failure(code, `no raise of the ${nameOf(key)} is in force`);
}

interface RaisableLimit {
  readonly limit: Raisable;
  /** Empty: the rule or budget itself, or each child of the template. */
  readonly child: string;
}

/** The rule or budget of a key; else the template above its path, and the child. */
function findRaisable<K extends LimitKey<string>>(
  raising: Raising<K>,
  key: K,
): RaisableLimit | null {
  const limit = raising.find(key);
  if (limit !== null) return { limit, child: "" };
  if (key.scope !== "user_path" || key.subject === "/") return null;
  const slash = key.subject.lastIndexOf("/");
  const template = raising.find({ ...key, subject: key.subject.slice(0, slash) || "/" });
  return template?.definition.perChild === true
    ? { limit: template, child: key.subject.slice(slash + 1) }
    : null;
}

/** Why the holder of a role for a subtree may not raise a child of a template; null if it may. */
function aboveProblem({ limit, child }: RaisableLimit, within: string): Failure | null {
  const { subject } = limit.definition;
  const isBelow = within === "/" || (subject !== within && isPathWithin(subject, within));
  return child === "" || isBelow
    ? null
    : plainFailure(
        403,
        "permission_error",
        `a role for ${within} can't raise the template on ${subject}`,
      );
}

/** Why a limit can't be raised to these values. */
function problemOf<S extends string>(
  { valuesOf, nameOf }: Raising<LimitKey<S>>,
  raiseRequest: RaiseRequest<S>,
  { limit, child }: RaisableLimit,
  nowMs: number,
): Failure | null {
  const name = nameOf(raiseRequest.key);
  for (const { field, raisedTo, declared, now } of valuesOf(limit, child, nowMs)) {
    const value = raisedTo(raiseRequest);
    if (value === null) continue;
    if (declared === null || now === null)
      return invalid(`the ${name} has no ${field} to raise`, field);
    if (value > declared && value >= now) continue;
    return value < now && now > declared
      ? invalid(
          `${field} must be at least ${now}, to which the ${name} is raised already, not ${value}: end that raise first`,
          field,
        )
      : invalid(
          `${field} must be above ${declared}, which the ${name} has, not ${value}: a raise lowers nothing`,
          field,
        );
  }
  return null;
}
