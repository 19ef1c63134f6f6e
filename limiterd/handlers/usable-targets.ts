/**
 * The targets that an admission may use: budgets may refuse models without a price (`unpriced`).
 */
import { budgetName, type UnpricedChoice } from "../../shared/domain/budget.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import { type Failure, failure } from "../../shared/error-code.js";
import type { Admit } from "../../shared/wire/message-to-daemon.js";
import type { Account } from "../budgets/budget-account.js";
import type { BudgetBook } from "../budgets/budget-book.js";
import { isShown, type Viewer, viewerAt } from "../rules/limits-above.js";
import type { DaemonState } from "../state.js";

interface TargetsQuestion {
  readonly userPath: string;
  readonly session: string | undefined;
  readonly budgets: BudgetBook | null;
  readonly labels: readonly string[];
  readonly message: Admit;
}

/**
 * Leaves out the targets that the proxy has marked as unpriced if a budget refuses such models;
 * fails if none is left.
 */
export function usableTargets(
  state: DaemonState,
  question: TargetsQuestion,
  nowMs: number,
): UsableTargets {
  const { userPath, budgets, labels, message } = question;
  const { targets } = message;
  const byDefault = state.settings.unpriced;
  if (budgets === null || !targets.some(({ unpriced }) => unpriced)) return { ok: true, targets };
  if (byDefault === "allow" && budgets.refusingIds.size === 0) return { ok: true, targets };
  const findRefusing = (accounts: readonly Account[]): Account | undefined =>
    accounts.find(({ budget }) => (budget.definition.unpriced ?? byDefault) === "refuse");
  const pathRefuser = findRefusing(budgets.match(question, labels, nowMs));
  const refuserOf = (target: Target): Account | undefined =>
    target.unpriced === true
      ? (pathRefuser ?? findRefusing(budgets.matchTarget(target, question, nowMs)))
      : undefined;
  const usable = targets.filter((target) => refuserOf(target) === undefined);
  if (usable.length === targets.length) return { ok: true, targets };
  return usable.length > 0
    ? { ok: true, targets: usable }
    : {
        ok: false,
        failure: unpricedModel(targets[0]!, refuserOf(targets[0]!)!, {
          byDefault,
          viewer: viewerAt(state, userPath),
        }),
      };
}

type UsableTargets =
  | { readonly ok: true; readonly targets: readonly Target[] }
  | { readonly ok: false; readonly failure: Failure };

function unpricedModel(
  target: Target,
  { budget: { definition: budget }, subject }: Account,
  { byDefault, viewer }: { readonly byDefault: UnpricedChoice; readonly viewer: Viewer },
): Failure {
  const isNamed = isShown({ scope: budget.scope, subject }, viewer);
  const name = isNamed ? `the budget ${budgetName(budget)}` : `a budget above ${viewer}`;
  const setting =
    budget.unpriced === undefined ? `budgets.unpriced: ${byDefault}` : "unpriced: refuse";
  return failure(
    "model_unpriced",
    `the model ${targetName(target)} has no price, and ${name} refuses such models (${setting})`,
    "model",
  );
}
