/** What the commands of `sluice budgets` do. */
import { budgetPeriodLabel } from "../../shared/budget.js";
import { failure } from "../../shared/error-code.js";
import { normalizeUserPath } from "../../shared/user-path.js";
import { anchorsFromFlags, type BudgetKeyFlags, budgetKeyFromFlags, type BudgetSetFlags, budgetWritesFromFlags } from "../budget-flags.js";
import { budgetsOn, filterBudgets, renderBudgets } from "../budget-table.js";
import { refusal, usageFailure } from "../command-failure.js";
import { confirmReset } from "../confirm-reset.js";
import { listBudgets } from "../list-budgets.js";
import { answered } from "../list-rules.js";
import type { Problem } from "../rule-flags.js";
import { statusFields } from "../status-fields.js";
import { renderFields } from "../table.js";
import type { Session } from "../terminal.js";
import { withDaemon } from "../with-daemon.js";
import type { CommandFlags } from "./command-flags.js";

export interface BudgetListFlags {
  readonly scope?: string;
  readonly path?: string;
}

export interface BudgetResetFlags extends BudgetKeyFlags {
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** Prints the budgets; with `--json` exactly the API's object. */
export async function showBudgets(session: Session, flags: CommandFlags & BudgetListFlags): Promise<void> {
  const problems: Problem[] = [];
  const scope = flags.scope?.trim().toLowerCase() ?? null;
  if (scope !== null && scope !== "user_path" && scope !== "label") problems.push({ message: `--scope must be user_path or label, not ${JSON.stringify(flags.scope)}`, param: "--scope" });
  const path = flags.path === undefined ? null : normalizeUserPath(flags.path);
  if (path !== null && !path.ok) problems.push({ message: `--path ${path.reason}, not ${JSON.stringify(flags.path)}`, param: "--path" });
  if (path !== null && scope === "label") problems.push({ message: "--path is for user-path budgets and can't be combined with --scope label", param: "--path" });
  if (problems.length > 0) throw usageFailure(problems);
  const list = filterBudgets(await withDaemon(session, flags, listBudgets), { scope, path: path !== null && path.ok ? path.path : null });
  session.terminal.out(flags.json === true ? JSON.stringify(list) : renderBudgets(list));
}

/** Writes the budgets, every one checked before the first is sent, and prints what now stands on the subject. */
export async function setBudgets(session: Session, subject: string, flags: CommandFlags & BudgetSetFlags): Promise<void> {
  const writes = budgetWritesFromFlags(subject, flags);
  if (!writes.ok) throw usageFailure(writes.problems);
  const list = await withDaemon(session, flags, async (client) => {
    const written: string[] = [];
    for (const { body, budget } of writes.value) {
      answered(await client.call("budgets.put", body), written.length > 0 ? ` (written before it: ${written.join(", ")})` : "");
      written.push(budgetPeriodLabel(budget.periodSeconds));
    }
    return listBudgets(client);
  });
  session.terminal.out(flags.json === true ? JSON.stringify(list) : renderBudgets(budgetsOn(list, { scope: writes.value[0]!.budget.scope, subject: writes.value[0]!.budget.subject })));
}

/** Removes one budget; an unknown one ends with exit code 3. */
export async function deleteBudget(session: Session, subject: string, flags: CommandFlags & BudgetKeyFlags): Promise<void> {
  const key = budgetKeyFromFlags(subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normal, periodSeconds } = key.value;
  const list = await withDaemon(session, flags, async (client) => {
    answered(await client.call("budgets.delete", { scope, subject: normal, budget_key: { period_seconds: periodSeconds } }));
    return flags.json === true ? listBudgets(client) : null;
  });
  session.terminal.out(list !== null ? JSON.stringify(list) : `deleted: ${scope} ${normal} ${budgetPeriodLabel(periodSeconds)}`);
}

/** Begins the period of the budget that is named anew, or of every budget. */
export async function resetBudgets(session: Session, subject: string | undefined, flags: CommandFlags & BudgetResetFlags): Promise<void> {
  const named = subject !== undefined || flags.scope !== undefined || flags.period !== undefined || flags.periodSeconds !== undefined;
  if (flags.all === true && named) throw usageFailure([{ message: "--all resets every budget: give neither a subject nor --scope nor --period beside it", param: "--all" }]);
  if (flags.all === true) return resetAll(session, flags);
  if (subject === undefined) throw usageFailure([{ message: "subject is required: the budget's user path or label; or --all for every budget", param: "subject" }]);
  const key = budgetKeyFromFlags(subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normal, periodSeconds } = key.value;
  const list = await withDaemon(session, flags, async (client) => {
    answered(await client.call("budgets.reset-one", { scope, subject: normal, period_seconds: periodSeconds }));
    return listBudgets(client);
  });
  const one = budgetsOn(list, key.value);
  // The API takes an unknown budget as done; whoever types a name wants to hear that it is misspelt.
  if (one.budgets.length === 0) throw refusal(failure("budget_not_found", `no ${budgetPeriodLabel(periodSeconds)} budget on ${scope} ${normal}: nothing was reset`, "subject"));
  session.terminal.out(flags.json === true ? JSON.stringify(list) : renderBudgets(one));
}

async function resetAll(session: Session, flags: CommandFlags & BudgetResetFlags): Promise<void> {
  if (flags.yes !== true) await confirmReset(session, "budgets", "Reset what every budget has spent?");
  const list = await withDaemon(session, flags, async (client) => {
    answered(await client.call("budgets.reset", { confirmation: "reset" }));
    return flags.json === true ? listBudgets(client) : null;
  });
  session.terminal.out(list !== null ? JSON.stringify(list) : "reset: the running period of every budget");
}

/** Prints the anchors, after changing those that are given. */
export async function settleAnchors(session: Session, flags: CommandFlags & Readonly<Record<string, unknown>>): Promise<void> {
  const anchors = anchorsFromFlags(flags);
  if (!anchors.ok) throw usageFailure(anchors.problems);
  const change = Object.keys(anchors.value).length > 0;
  const settings = await withDaemon(session, flags, async (client) => answered(await (change ? client.call("budgets.put-settings", anchors.value) : client.call("budgets.settings", null))));
  session.terminal.out(flags.json === true ? JSON.stringify(settings) : renderFields(statusFields(settings)));
}
