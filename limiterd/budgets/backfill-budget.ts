/**
 * Backfills a budget: a new budget, and each child of a new template, begins with what was spent in
 * its period so far (docs/budgets.md). Whole days are read from the sums of usage, a partial first
 * day from its records, both in slices. So no verdict has to read the store.
 */

import { windowsPerSlice } from "../../shared/bounds.js";
import { budgetPath, budgetTargets, isPerSession } from "../../shared/domain/budget.js";
import { addCost, addSum, emptySum, type MoneySum, sumUsd } from "../../shared/domain/money.js";
import { type Target, unknownModelName } from "../../shared/domain/target-name.js";
import { childPath } from "../../shared/domain/user-path.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { type Change, StoreUnreadableError } from "../store/store.js";
import type { Writer } from "../store/writer.js";
import { type DaySpan, readChildDays, readDays, readModelDays } from "../usage/read-days.js";
import type { Rollup } from "../usage/rollup.js";
import { labelPrefix, totalPrefix } from "../usage/rollup-keys.js";
import type { RollupView } from "../usage/rollups.js";
import type { UsageLog } from "../usage/usage-log.js";
import { readRecords, sumDays, type UsageReader } from "../usage/usage-reader.js";
import type { SpentOnDays } from "./account-periods.js";
import {
  type Account,
  type Budget,
  childOf,
  type RecordedSpend,
  startOf,
} from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";
import { addFoundSpend } from "./spend.js";
import { budgetChange, spendChange } from "./stored-budget.js";

/** The ports of a backfill. */
interface BackfillPorts extends UsageReader {
  readonly settings: { readonly usageEnabled: boolean };
  readonly budgets: BudgetBook;
  readonly writer: Writer;
  /**
   * Called, for the log, with spend that isn't counted because its records don't say whether it is
   * of the budget's models.
   */
  readonly onUnsureSpend: (budgetId: string, cost: MoneySum) => void;
  /** The labels of a managed key; none for the empty id. */
  labelsOf(keyId: string): readonly string[];
}

/** The first midnight at or after a moment. */
function midnightFrom(ms: number): number {
  return Math.ceil(ms / dayMs) * dayMs;
}

/**
 * Creates the look-up that accounts use after the clock was set back beyond the periods that they
 * keep. Budgets for some models have none. A damaged sum is reported, and not counted.
 */
export function createSpentOnDays(usage: UsageLog, onDamaged: (error: Error) => void): SpentOnDays {
  return ({ budget, subject }, fromMs, toMs) => {
    // Finding the sums of its models would take a search.
    if (budgetTargets(budget.definition) !== null) return null;
    const days: string[] = [];
    for (let dayStartMs = midnightFrom(fromMs); dayStartMs <= toMs; dayStartMs += dayMs)
      days.push(dayOf(dayStartMs));
    try {
      const { totalCost, requests } = sumDays(
        usage,
        budget.definition.scope === "label" ? labelPrefix(subject) : totalPrefix(subject),
        days,
      );
      return { spent: totalCost, requests };
    } catch (error) {
      if (!(error instanceof StoreUnreadableError)) throw error;
      onDamaged(error);
      return null;
    }
  };
}

/** A running backfill. Both promises reject with `StoreUnreadableError`. */
interface Backfill {
  /** Resolves when verdicts count all that was found. */
  readonly lookedUp: Promise<void>;
  /**
   * Writes the accounts, then marks the budget as complete. Call it after the former accounts are
   * removed from the store.
   */
  finish(): Promise<void>;
}

/**
 * Begins to look up what was already spent in the running periods of new, reset or cleared budgets.
 * Call it when the batch of the journal is closed; records that arrive later are charged as usual.
 * Until the look-up is done, verdicts count the spend since the budget was made and what was found
 * so far. `isBackfilling` stays true in the store until the result is written, so that a daemon
 * that starts before then repeats the look-up. Null if there is nothing to look up.
 */
export function beginBackfill(
  ports: BackfillPorts,
  budgets: readonly Budget[],
  nowMs: number,
): Backfill | null {
  const { budgets: book, settings, usage } = ports;
  const gaps: Gap[] = [];
  for (const budget of budgets) {
    // There are no sums by session.
    if (isPerSession(budget.definition)) continue;
    const fromMs = startOf(budget, book.boundsOf(budget, nowMs), nowMs);
    if (fromMs > budget.sinceMs) continue;
    budget.isBackfilling = true;
    gaps.push({ budget, generation: budget.generation, fromMs, nowMs });
  }
  // If usage tracking is off, a later start with usage tracking looks it up.
  if (!settings.usageEnabled || gaps.length === 0) return null;
  const view = usage.rollups.open();
  const lastKey = usage.lastKey;
  const lookedUp = (async () => {
    for (const gap of gaps) await lookUp(ports, gap, { view, lastKey });
  })().finally(() => view.close());
  // `finish` reports the error.
  lookedUp.catch(() => {});
  return {
    lookedUp,
    async finish() {
      await lookedUp;
      await write(ports, gaps);
    },
  };
}

interface Gap {
  readonly budget: Budget;
  /**
   * The budget's generation when the backfill began; if it differs later, the budget was reset or
   * cleared.
   */
  readonly generation: number;
  readonly fromMs: number;
  readonly nowMs: number;
}

/** The records and sums as they were when the backfill began. */
interface Snapshot {
  readonly view: RollupView;
  readonly lastKey: number;
}

function isStale({ budgets }: BackfillPorts, { budget, generation }: Gap): boolean {
  return budgets.budgets.get(budget.id) !== budget || budget.generation !== generation;
}

/** Adds the found spend to the accounts in memory. */
async function lookUp(ports: BackfillPorts, gap: Gap, { view, lastKey }: Snapshot): Promise<void> {
  const { budget, fromMs, nowMs } = gap;
  const { scope } = budget.definition;
  const subject = budgetPath(budget.definition) ?? budget.definition.subject;
  const add = (child: string, { spent, requests }: RecordedSpend, atMs: number): void => {
    if (isStale(ports, gap)) return;
    const account = budget.own ?? childOf(budget, child);
    addFoundSpend(ports.budgets.lookedUpPeriod(account, atMs, nowMs), { spent, requests });
  };
  // A rolling budget counts a day's spend as if it had been spent at its end.
  const endOf = (day: string): number => Date.parse(day) + dayMs - 1;
  const ofSum = ({ totalCost, requests }: Rollup): RecordedSpend => ({
    spent: totalCost,
    requests,
  });
  const untilMs = midnightFrom(fromMs);
  const span = { fromMs: untilMs, toMs: nowMs };
  const filter = ports.budgets.filterOf(budget);
  const unsureSpend = emptySum();
  const isOfBudget = (target: Target, cost: MoneySum): boolean => {
    if (filter === null) return true;
    if (target.model !== unknownModelName) return filter.covers(target);
    const covers = filter.coversProvider(target.provider);
    if (covers === null) addSum(unsureSpend, cost);
    return covers === true;
  };
  if (filter !== null) {
    for (const child of budget.own === null ? await childrenOn(ports, view, subject, span) : [""])
      await readModelDays(
        ports,
        view,
        { path: childPath(subject, child), span },
        (target, sum, day) => {
          if (isOfBudget(target, sum.totalCost)) add(child, ofSum(sum), endOf(day));
        },
      );
  } else if (budget.own === null)
    await readChildDays(ports, view, { parent: subject, span }, (child, sum, day) =>
      add(child, ofSum(sum), endOf(day)),
    );
  else {
    const prefix = scope === "label" ? labelPrefix(subject) : totalPrefix(subject);
    await readDays(ports, view, { prefix, span }, (sum, day) => add("", ofSum(sum), endOf(day)));
  }
  if (untilMs !== fromMs && !isStale(ports, gap))
    await readRecords(ports, { fromMs, lastKey }, (record) => {
      if (record.cacheHit || record.atMs >= untilMs) return;
      const child = childIn(budget, record.userPath, ports.labelsOf(record.keyId));
      if (child === null) return;
      const spent = emptySum();
      if (record.totalCost !== null) addCost(spent, record.totalCost);
      if (isOfBudget(record, spent)) add(child, { spent, requests: 1 }, record.atMs);
    });
  if (!isStale(ports, gap) && sumUsd(unsureSpend) !== 0)
    ports.onUnsureSpend(budget.id, unsureSpend);
}

/** The direct children of a path that have usage on these days. */
async function childrenOn(
  ports: BackfillPorts,
  view: RollupView,
  parent: string,
  span: DaySpan,
): Promise<Iterable<string>> {
  const children = new Set<string>();
  await readChildDays(ports, view, { parent, span }, (child) => void children.add(child));
  return children;
}

/**
 * Writes the accounts of each budget, and then marks the budget as complete. One slice may have
 * accounts of many budgets.
 */
async function write(ports: BackfillPorts, gaps: readonly Gap[]): Promise<void> {
  const { writer } = ports;
  let slice: (readonly [Gap, Account | null])[] = [];
  const writeSlice = (): Promise<void> => {
    writer.closeBatch();
    const changes = slice
      .filter(([gap]) => !isStale(ports, gap))
      .map(([gap, account]) =>
        account === null
          ? completedChange(gap, ports.budgets)
          : spendChange(account, ports.usage.lastKey),
      );
    slice = [];
    return writer.write(changes);
  };
  for (const gap of gaps) {
    const { own, children } = gap.budget;
    for (const account of own === null ? children.values() : [own]) {
      if (isStale(ports, gap)) break;
      if (account.spends.length > 0) slice.push([gap, account]);
      if (slice.length >= windowsPerSlice) await writeSlice();
    }
    slice.push([gap, null]);
    if (slice.length >= windowsPerSlice) await writeSlice();
  }
  if (slice.length > 0) await writeSlice();
}

/** Marks the spend of all accounts of a budget as known since the start of the period. */
function completedChange({ budget, fromMs }: Gap, { others }: BudgetBook): Change {
  budget.isBackfilling = false;
  budget.sinceMs = Math.max(0, fromMs - 1);
  others?.lookedUp(budget);
  return budgetChange(budget);
}

/**
 * Which account of the budget a record belongs to: a child's name, `""` for the budget's own
 * account, or null for none.
 */
function childIn(
  { definition, own }: Budget,
  userPath: string,
  labels: readonly string[],
): string | null {
  const subject = budgetPath(definition);
  if (subject === null) return labels.includes(definition.subject) ? "" : null;
  if (own !== null && userPath === subject) return "";
  const prefix = subject === "/" ? "/" : `${subject}/`;
  if (!userPath.startsWith(prefix) || userPath.length === prefix.length)
    return own !== null && subject === "/" ? "" : null;
  if (own !== null) return "";
  const end = userPath.indexOf("/", prefix.length);
  return end === -1 ? userPath.slice(prefix.length) : userPath.slice(prefix.length, end);
}
