/**
 * Lists the existing limits, section by section and page by page, in the form of a file of limits.
 */
import { type Checked, good, isObject } from "../checked.js";
import type { BudgetDefinition } from "../domain/budget.js";
import type { JwtDenial } from "../domain/jwt-denial.js";
import type { RuleDefinition } from "../domain/rule.js";
import { type Failure, failure } from "../error-code.js";
import type { AdminOp } from "../wire/admin-op.js";
import { denialOfItem, type FileKey, parseKeyEntry } from "./credential-entry.js";
import { budgetOfItem, ruleOfItem } from "./limit-entry.js";

/** One section, as the daemon lists it. */
interface LimitLists<D> {
  readonly op: AdminOp;
  readonly items: "rate_limits" | "budgets" | "keys" | "denied_jwts";
  /** Whether the configuration declares some, too. */
  readonly hasSources: boolean;
  readonly parse: (item: Readonly<Record<string, unknown>>) => Checked<D>;
}

export const ruleLists: LimitLists<RuleDefinition> = {
  op: "rate-limits.list",
  items: "rate_limits",
  hasSources: true,
  parse: ruleOfItem,
};

export const budgetLists: LimitLists<BudgetDefinition> = {
  op: "budgets.list",
  items: "budgets",
  hasSources: true,
  parse: budgetOfItem,
};

/** Without keys of administration, and those that are deactivated or expired. */
export const keyLists: LimitLists<FileKey> = {
  op: "limits.keys",
  items: "keys",
  hasSources: false,
  parse: parseKeyEntry,
};

export const denialLists: LimitLists<JwtDenial> = {
  op: "jwts.list",
  items: "denied_jwts",
  hasSources: false,
  parse: denialOfItem,
};

type Call = (
  op: AdminOp,
  body: unknown,
) => Promise<
  { readonly ok: true; readonly body: unknown } | { readonly ok: false; readonly failure: Failure }
>;

/** `all`: also the limits that the configuration declares. Ends at the first failure. */
export async function* readLimits<D>(
  { op, items: name, hasSources, parse }: LimitLists<D>,
  { call, all }: { readonly call: Call; readonly all: boolean },
): AsyncGenerator<Checked<readonly D[]>> {
  const narrowed = all || !hasSources ? {} : { source: "manual" };
  for (let after: unknown = null; ; ) {
    const answer = await call(op, { ...narrowed, after });
    if (!answer.ok) return yield answer;
    const { [name]: items, next = null } = isObject(answer.body) ? answer.body : {};
    const limits: D[] = [];
    for (const item of Array.isArray(items) ? items : [null]) {
      const parsed = isObject(item) ? parse(item) : unreadableFailure(name);
      if (!parsed.ok) return yield parsed;
      limits.push(parsed.value);
    }
    yield good(limits);
    if (next === null) return;
    after = next;
  }
}

function unreadableFailure(name: string): { readonly ok: false; readonly failure: Failure } {
  return {
    ok: false,
    failure: failure("limiter_unavailable", `the list of ${name} can't be read`),
  };
}

/** Whether rules, or budgets, are switched off, so that a file of limits has no such section. */
export function isSwitchedOff({ code }: Failure): boolean {
  return code === "feature_unavailable";
}
