/** Fetches every budget from the daemon, page by page. What is shown of them is `budget-table.ts`'s matter. */
import { isObject } from "../shared/assert.js";
import type { DaemonClient } from "../shared/daemon-client.js";
import { plainFailure } from "../shared/error-code.js";
import { refusal } from "./command-failure.js";
import { answered } from "./list-rules.js";

/** A budget as the admin API lists it (SPEC "Budget record"). */
export type ListedBudget = Readonly<Record<string, unknown>>;

/** The API's list. Printed by `--json` as it stands, so its names are the API's. */
export interface BudgetList {
  readonly budgets: readonly ListedBudget[];
  readonly server_time: string;
}

/** All budgets in the API's order; throws `CommandFailure`. */
export async function listBudgets(client: DaemonClient): Promise<BudgetList> {
  const all: ListedBudget[] = [];
  for (let after: string | null = null; ; ) {
    const body = answered(await client.call("budgets.list", { after }));
    const { budgets, server_time: serverTime, next = null } = isObject(body) ? body : {};
    if (!Array.isArray(budgets) || !budgets.every(isObject) || typeof serverTime !== "string") throw unreadable();
    all.push(...budgets);
    if (next === null) return { budgets: all, server_time: serverTime };
    if (typeof next !== "string" || next === after || budgets.length === 0) throw unreadable();
    after = next;
  }
}

function unreadable(): Error {
  return refusal(plainFailure(500, "internal_error", "the daemon's list of budgets can't be read: daemon and command line are of different versions"));
}
