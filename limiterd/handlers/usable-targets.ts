/** The targets that an admission may use: budgets may refuse those without a price. */
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
 * The targets that the caller may use. If a budget refuses models without a price, the targets that
 * the proxy marks are left out (`budgets.unpriced`).
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
  const refusing = (accounts: readonly Account[]): Account | undefined =>
    accounts.find(({ budget }) => (budget.definition.unpriced ?? byDefault) === "refuse");
  const ofAll = refusing(budgets.match(question, labels, nowMs));
  const refuser = (target: Target): Account | undefined =>
    target.unpriced === true
      ? (ofAll ?? refusing(budgets.matchTarget(target, question, nowMs)))
      : undefined;
  const usable = targets.filter((target) => refuser(target) === undefined);
  if (usable.length === targets.length) return { ok: true, targets };
  return usable.length > 0
    ? { ok: true, targets: usable }
    : {
        ok: false,
        failure: unpricedModel(targets[0]!, refuser(targets[0]!)!, {
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
