/**
 * The admin operations on budgets, for the HTTP API and the command line. Each checks its whole
 * body before it changes anything, and is answered once the change is committed.
 */

import type { BudgetSettings } from "../../../shared/api/budget-item.js";
import { limitsPerTurn } from "../../../shared/bounds.js";
import { parseConfirmation } from "../../../shared/checked.js";
import { budgetsInert } from "../../../shared/config/inert-rule.js";
import {
  type BudgetDefinition,
  budgetGrammar,
  budgetId,
  parseBudgetKey,
  parseBudgetResetOne,
  parseBudgetWrite,
} from "../../../shared/domain/budget.js";
import { calendarBody } from "../../../shared/domain/budget-calendar.js";
import { holdField } from "../../../shared/domain/hold.js";
import { exhaustedField } from "../../../shared/domain/on-exhausted.js";
import { parseAnchors } from "../../../shared/domain/reset-anchors.js";
import { type Failure, failure, invalid } from "../../../shared/error-code.js";
import { formatMillis } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Budget } from "../../budgets/budget-account.js";
import {
  listBudgetChildren,
  nameOfBudget,
  unknownBudget,
} from "../../lists/list-budget-children.js";
import { budgetChoices, listFreshBudgets, listFullestBudgets } from "../../lists/list-budgets.js";
import { isByUse, parseListQuery } from "../../lists/list-query.js";
import type { DaemonState } from "../../state.js";
import {
  anchorsDefinition,
  budgetDefinition,
  budgetDeletion,
  budgetReset,
  budgetReversion,
} from "../definitions/apply-budgets.js";
import { applyDefinitions } from "../definitions/apply-definitions.js";
import { parseMove, parseRemoval } from "../limit-files/parse-move.js";
import {
  type AdminPorts,
  type AdminRequest,
  answerOnceWritten,
  checkedValue,
  failOperation,
  makeChange,
  subjectAbove,
} from "./admin-operation.js";
import { endBudgetRaise, raiseBudget } from "./handle-raises.js";
import { notOverridden } from "./handle-rules.js";

type BudgetOp = Extract<AdminOp, `budgets.${string}`>;

/** One operation: it checks its body, makes its changes, and answers. */
type Handler = (state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts) => void;

const handlers: Readonly<Record<BudgetOp, Handler>> = {
  "budgets.list": list,
  "budgets.children": listChildren,
  "budgets.put": putBudget,
  "budgets.delete": remove,
  "budgets.raise": raiseBudget,
  "budgets.end-raise": endBudgetRaise,
  "budgets.reset-one": resetOne,
  "budgets.reset": resetAll,
  "budgets.settings": (state, _body, nowMs, ports) => ports.answer(settings(state, nowMs)),
  "budgets.put-settings": putSettings,
};

/** Operations that may make stored accounts stale. They need all accounts in memory. */
const needsAllAccounts: ReadonlySet<BudgetOp> = new Set<BudgetOp>([
  "budgets.put",
  "budgets.delete",
  "budgets.put-settings",
]);

export function handleBudgets(
  state: DaemonState,
  { op, body }: AdminRequest<BudgetOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  if (!state.settings.budgetsEnabled) return ports.fail(budgetsDisabledFailure(state));
  if (state.accountsLoading && needsAllAccounts.has(op)) return ports.fail(accountsAreLoading);
  handlers[op](state, body, nowMs, ports);
}

export function budgetsDisabledFailure({ settings }: Pick<DaemonState, "settings">): Failure {
  const why = settings.settingText("budgets.enabled");
  return failure("feature_unavailable", `budgets are disabled: ${why}`);
}

export const accountsAreLoading = failure(
  "overloaded",
  "the daemon has just started and is loading the spend of budgets: try again in a few seconds",
);

function list(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const query = checkedValue(parseListQuery(body, budgetChoices), ports);
  if (query === null) return;
  const listBudgets = isByUse(query) ? listFullestBudgets : listFreshBudgets;
  void listBudgets(state, query, nowMs).then(ports.answer);
}

function listChildren(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const children = checkedValue(listBudgetChildren(state, body, nowMs), ports);
  void children?.then(ports.answer);
}

function putBudget(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const move = checkedValue(parseMove(budgetGrammar, body), ports);
  if (move === null) return;
  const parse = (body: unknown): BudgetDefinition | null =>
    checkedValue(
      parseBudgetWrite(body, { perChildEntitled: state.settings.quotaTemplatesEntitled }),
      ports,
    );
  const written = parse(move.body);
  if (written === null) return;
  const unknownModel = state.settings.useProblem(written);
  if (unknownModel !== null) return ports.fail(unknownModel);
  const formerKey =
    move.replaced === null || budgetId(move.replaced) === budgetId(written) ? null : move.replaced;
  const { budgets, settings: configured } = state;
  makeChange(state, nowMs, ports, () => {
    const existing = budgets.find(written);
    if (formerKey !== null && budgets.find(formerKey) === null)
      return failOperation(ports, unknownBudget(formerKey));
    if (formerKey !== null && existing !== null)
      return failOperation(
        ports,
        invalid(
          `there is a ${nameOfBudget(written)} already: it can't replace another`,
          "replaces",
        ),
      );
    const inert = budgetsInert(configured.usageEnabled);
    const edited = formerKey === null ? existing : budgets.find(formerKey);
    // What the body leaves out is kept only if the budget exists now, so it is read again.
    const definition =
      edited === null ? written : parse({ ...keptFields(edited), ...(move.body as object) });
    if (definition === null) return null;
    return {
      definitions: [
        budgetDefinition(definition, existing, nowMs),
        ...(formerKey === null ? [] : [budgetDeletion(formerKey)]),
      ],
      answer: () => (inert === null ? {} : { inert }),
    };
  });
}

/** The fields that an edited budget keeps unless the body has them. */
function keptFields({ definition }: Budget): object {
  const { unpriced } = definition;
  return {
    ...(unpriced === undefined ? {} : { unpriced }),
    ...calendarBody(definition),
    ...exhaustedField(definition),
    ...holdField(definition),
  };
}

function remove(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const removal = checkedValue(parseRemoval(body), ports);
  if (removal === null) return;
  const key = checkedValue(parseBudgetKey(removal.body), ports);
  if (key === null) return;
  makeChange(state, nowMs, ports, () => {
    const budget = state.budgets.find(key);
    if (budget === null)
      return failOperation(
        ports,
        unknownBudget(
          key,
          subjectAbove(key, (above) => state.budgets.find(above), ports),
        ),
      );
    if (!removal.revert) return { definitions: [budgetDeletion(key)], answer: () => ({}) };
    return budget.source === "manual" && state.declared.budgets.find(budget.id) !== null
      ? { definitions: [budgetReversion(budget, nowMs)], answer: () => ({}) }
      : failOperation(ports, failure("budget_not_found", notOverridden(nameOfBudget(key))));
  });
}

function resetOne(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const key = checkedValue(parseBudgetResetOne(body), ports);
  if (key === null) return;
  makeChange(state, nowMs, ports, () =>
    state.budgets.find(key) === null
      ? failOperation(
          ports,
          unknownBudget(
            key,
            subjectAbove(key, (above) => state.budgets.find(above), ports),
          ),
        )
      : { definitions: [budgetReset(budgetId(key), nowMs)], answer: () => ({}) },
  );
}

function resetAll(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  if (checkedValue(parseConfirmation(body), ports) === null) return;
  const ids = [...state.budgets.budgets.keys()];
  if (state.sharedDefinitions === null) return void resetInSlices(state, ids, ports);
  const definitions = ids.map((id) => budgetReset(id, nowMs));
  makeChange(state, nowMs, ports, () => ({ definitions, answer: () => ({}) }));
}

/**
 * Resets budgets in slices. It needn't be atomic: a crash may leave some budgets reset and others
 * not. Each reset clears what was spent before its own turn.
 */
async function resetInSlices(
  state: DaemonState,
  ids: readonly string[],
  ports: AdminPorts,
): Promise<void> {
  const auditedChanges = [{ subject: "all budgets", before: null, after: null }];
  let written = Promise.resolve<Error | null>(null);
  for (let i = 0; i < ids.length; i += limitsPerTurn) {
    if (i > 0) await state.yieldToEventLoop();
    if (state.isStopping) return;
    const nowMs = state.wallMs();
    const resets = ids.slice(i, i + limitsPerTurn).map((id) => budgetReset(id, nowMs));
    const audit = i === 0 ? state.audit.record(auditedChanges, ports.request, nowMs) : [];
    ({ written } = applyDefinitions(state, resets, nowMs, audit));
  }
  // Commits are in order, so it is enough to wait for the last one.
  answerOnceWritten(written, ports, () => ports.answer({}));
}

function settings({ budgets }: DaemonState, nowMs: number): BudgetSettings {
  return { ...budgets.anchors, server_time: formatMillis(nowMs) };
}

function putSettings(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  makeChange(state, nowMs, ports, () => {
    const anchors = checkedValue(parseAnchors(body, state.budgets.anchors), ports);
    return anchors === null
      ? null
      : { definitions: [anchorsDefinition(anchors)], answer: () => settings(state, nowMs) };
  });
}
