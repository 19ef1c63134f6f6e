/**
 * The admin operations on budgets, for the HTTP API and the command line alike. Each checks its
 * whole body before it changes anything, and is answered once the change is committed.
 */

import type { BudgetSettings } from "../../../shared/api/budget-item.js";
import { parseConfirmation } from "../../../shared/checked.js";
import { budgetsInert, inertBudget } from "../../../shared/config/inert-rule.js";
import {
  budgetGrammar,
  budgetId,
  parseBudgetKey,
  parseBudgetResetOne,
  parseBudgetWrite,
} from "../../../shared/domain/budget.js";
import { parseAnchors } from "../../../shared/domain/reset-anchors.js";
import { failure, invalid } from "../../../shared/error-code.js";
import { formatMillis } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { beginBackfill } from "../../budgets/backfill-budget.js";
import type { Budget } from "../../budgets/budget-account.js";
import { removeSpends, spendKeys } from "../../budgets/remove-spends.js";
import { anchorsChange, budgetChange, resetChange } from "../../budgets/stored-budget.js";
import {
  listBudgetChildren,
  nameOfBudget,
  unknownBudget,
} from "../../lists/list-budget-children.js";
import { budgetChoices, listBudgets, listFullestBudgets } from "../../lists/list-budgets.js";
import { isByUse, parseListQuery } from "../../lists/list-query.js";
import { type DaemonState, isLimited } from "../../state.js";
import type { Change } from "../../store/store.js";
import {
  type AdminPorts,
  type AdminRequest,
  answerWritten,
  checkedValue,
} from "./admin-operation.js";
import { countInertBudgets } from "./daemon-status.js";
import { parseMove } from "./parse-move.js";

type BudgetOp = Extract<AdminOp, `budgets.${string}`>;

/** One operation: it checks its body, makes its changes, and answers. */
type Handler = (state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts) => void;

const handlers: Readonly<Record<BudgetOp, Handler>> = {
  "budgets.list": list,
  "budgets.children": listTop,
  "budgets.put": put,
  "budgets.delete": remove,
  "budgets.reset-one": resetOne,
  "budgets.reset": resetAll,
  "budgets.settings": (state, _body, nowMs, ports) => ports.answer(settings(state, nowMs)),
  "budgets.put-settings": putSettings,
};

/** What may make accounts of the store stale, which therefore must be known. */
const beginsAnew: ReadonlySet<BudgetOp> = new Set<BudgetOp>([
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
  if (!state.settings.budgetsEnabled)
    return ports.fail(
      failure("feature_unavailable", "budgets are disabled: BUDGETS_ENABLED is false"),
    );
  if (state.accountsLoading && beginsAnew.has(op))
    return ports.fail(
      failure(
        "overloaded",
        "the daemon has just started and still reads what budgets have spent: try again in some seconds",
      ),
    );
  handlers[op](state, body, nowMs, ports);
}

function list(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const query = checkedValue(parseListQuery(body, budgetChoices), ports);
  if (query === null) return;
  if (isByUse(query)) return void listFullestBudgets(state, query, nowMs).then(ports.answer);
  ports.answer(listBudgets(state, query, nowMs));
}

function listTop(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const listed = checkedValue(listBudgetChildren(state, body, nowMs), ports);
  void listed?.then(ports.answer);
}

function put(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const move = checkedValue(parseMove(budgetGrammar, body), ports);
  if (move === null) return;
  const definition = checkedValue(
    parseBudgetWrite(move.body, { perChildEntitled: state.settings.quotaTemplatesEntitled }),
    ports,
  );
  if (definition === null) return;
  const known = state.budgets.find(definition);
  const moved =
    move.replaced === null || budgetId(move.replaced) === budgetId(definition)
      ? null
      : move.replaced;
  if (moved !== null && state.budgets.find(moved) === null) return ports.fail(unknownBudget(moved));
  if (moved !== null && known !== null)
    return ports.fail(
      invalid(
        `there is a ${nameOfBudget(definition)} already: it can't replace another`,
        "replaces",
      ),
    );
  const before = isLimited(state);
  // What was settled until now is in the batch that closes here.
  state.writer.closeBatch();
  const { budget, made } = state.budgets.put(definition, { source: "manual", nowMs });
  const replaced = moved === null ? null : state.budgets.delete(moved);
  ports.limitedMayHaveChanged(before);
  const backfill = made ? beginBackfill(state, [budget], nowMs) : null;
  const inert = budgetsInert(state.settings.usageEnabled);
  if (inert !== null) {
    state.onInert(inertBudget(definition, inert));
    ports.inertChanged("inert_budgets", countInertBudgets(state));
  }
  commit(
    state,
    {
      changes: [budgetChange(budget), ...(replaced === null ? [] : [removal(replaced)])],
      stale:
        replaced !== null ? spendKeys(replaced) : made && known !== null ? spendKeys(known) : [],
      backfill,
    },
    ports,
    inert === null ? {} : { inert },
  );
}

function remove(state: DaemonState, body: unknown, _nowMs: number, ports: AdminPorts): void {
  const key = checkedValue(parseBudgetKey(body), ports);
  if (key === null) return;
  const before = isLimited(state);
  if (state.budgets.find(key) === null) return ports.fail(unknownBudget(key));
  state.writer.closeBatch();
  const budget = state.budgets.delete(key)!;
  ports.limitedMayHaveChanged(before);
  if (budgetsInert(state.settings.usageEnabled) !== null)
    ports.inertChanged("inert_budgets", countInertBudgets(state));
  commit(
    state,
    {
      changes: [removal(budget)],
      stale: spendKeys(budget),
    },
    ports,
  );
}

function resetOne(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const key = checkedValue(parseBudgetResetOne(body), ports);
  if (key === null) return;
  const budget = state.budgets.find(key);
  if (budget === null) return ports.fail(unknownBudget(key));
  state.writer.closeBatch();
  reset(state, [budget], nowMs, ports);
}

function removal({ id }: Budget): Change {
  return { table: "budgets", key: id, value: undefined };
}

function resetAll(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  if (checkedValue(parseConfirmation(body), ports) === null) return;
  state.writer.closeBatch();
  reset(state, [...state.budgets.budgets.values()], nowMs, ports);
}

function reset(
  state: DaemonState,
  budgets: readonly Budget[],
  nowMs: number,
  ports: AdminPorts,
): void {
  for (const budget of budgets) state.budgets.reset(budget, nowMs);
  // Accounts in the store that were written before are reset when they are read.
  commit(
    state,
    {
      changes: budgets.flatMap((budget) => [resetChange(budget, nowMs), budgetChange(budget)]),
      stale: [],
    },
    ports,
  );
}

function settings({ budgets }: DaemonState, nowMs: number): BudgetSettings {
  return { ...budgets.anchors, server_time: formatMillis(nowMs) };
}

/** Budgets whose running period has other bounds now look up what it has cost. */
function putSettings(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const { budgets: book, writer } = state;
  const anchors = checkedValue(parseAnchors(body, book.anchors), ports);
  if (anchors === null) return;
  writer.closeBatch();
  const before = new Map(
    [...book.budgets.values()].map((budget) => [budget, book.boundsOf(budget, nowMs)]),
  );
  book.setAnchors(anchors);
  const changes: Change[] = [anchorsChange(anchors)];
  const stale: Iterable<string>[] = [];
  const moved: Budget[] = [];
  for (const [budget, { startMs, endMs }] of before) {
    const now = book.boundsOf(budget, nowMs);
    if (now.startMs === startMs && now.endMs === endMs) continue;
    stale.push(spendKeys(budget));
    book.clear(budget, nowMs);
    moved.push(budget);
  }
  const backfill = beginBackfill(state, moved, nowMs);
  for (const budget of moved) changes.push(budgetChange(budget));
  commit(state, { changes, stale: allOf(stale), backfill }, ports, settings(state, nowMs));
}

function* allOf<T>(lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}

interface Written {
  /** What it is, in one commit. */
  readonly changes: readonly Change[];
  /**
   * The accounts that it makes stale, removed in slices: one that a crash leaves is dropped at the
   * next start, or replaced by the backfill's.
   */
  readonly stale: Iterable<string>;
  /** The backfill of the budgets that changed. */
  readonly backfill?: ReturnType<typeof beginBackfill>;
}

/** Answers when the changes are in the store, and so is what they look up. */
function commit(
  state: DaemonState,
  { changes, stale, backfill = null }: Written,
  ports: AdminPorts,
  answer: object = {},
): void {
  const written = state.writer.tryWrite(changes);
  const followed = removeSpends(state, stale).then(() =>
    backfill?.finish().catch(state.onUnreadable),
  );
  answerWritten(written, ports, () => void followed.then(() => ports.answer(answer)));
}
