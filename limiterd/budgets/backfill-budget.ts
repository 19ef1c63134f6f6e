/**
 * What was spent before a budget existed: a budget that is created, or created again, begins with
 * what its period has cost so far (docs/budgets.md). Whole days come from the sums of usage, at
 * once; the partial day with which a period may begin is read from its records, in slices.
 */
import { addCost, emptySum } from "../../shared/domain/money.js";
import { dayMs, dayOf } from "../../shared/utc-day.js";
import { StoreUnreadableError } from "../store/store.js";
import { writeSlices } from "../store/write-slices.js";
import type { Writer } from "../store/writer.js";
import { labelPrefix, totalPrefix } from "../usage/rollup-keys.js";
import type { UsageLog } from "../usage/usage-log.js";
import { readRecords, sumDays, type UsageReader } from "../usage/usage-reader.js";
import type { SpentOnDays } from "./account-periods.js";
import { type Account, type Budget, childOf, type Found, startOf } from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";
import { addFound } from "./spend.js";
import { budgetChange, spendChange } from "./stored-budget.js";

/** What a backfill reads, and where it writes what it has found. */
interface BackfillPorts extends UsageReader {
  readonly settings: { readonly usageEnabled: boolean };
  readonly budgets: BudgetBook;
  readonly writer: Writer;
  /** The labels of a managed key; none for the empty id. */
  labelsOf(keyId: string): readonly string[];
}

/** The first midnight at or after a moment. */
function midnightFrom(ms: number): number {
  return Math.ceil(ms / dayMs) * dayMs;
}

/**
 * What the budget book needs of the sums of usage. A damaged sum counts nothing and is reported.
 */
export function createSpentOnDays(usage: UsageLog, onDamaged: (error: Error) => void): SpentOnDays {
  return ({ budget, subject }, fromMs, toMs) => {
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

/**
 * Begins to look up the partial first day of a budget's running period, if it has one. `backfill`
 * is true in the store until the result is there: a daemon that starts in between looks it up
 * again.
 */
export function beginBackfill(
  ports: BackfillPorts,
  budget: Budget,
  nowMs: number,
): Promise<void> | null {
  const { budgets: book, settings } = ports;
  const bounds = book.boundsOf(budget, nowMs);
  const fromMs = startOf(budget, bounds, nowMs);
  // The days before this moment are summed now; what arrives later is charged as it arrives.
  if (budget.own !== null) book.running(budget.own, nowMs);
  const untilMs = midnightFrom(fromMs);
  if (!settings.usageEnabled || untilMs === fromMs || fromMs > budget.sinceMs) return null;
  budget.backfill = true;
  return fill(ports, budget, { generation: budget.generation, fromMs, untilMs, nowMs });
}

interface Gap {
  /** The budget's when the backfill began; if it differs at the end, the budget began anew. */
  readonly generation: number;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly nowMs: number;
}

async function fill(
  ports: BackfillPorts,
  budget: Budget,
  { generation, fromMs, untilMs, nowMs }: Gap,
): Promise<void> {
  const { budgets: book, usage, writer } = ports;
  const byChild = new Map<string, { spent: Found["spent"]; requests: number }>();
  await readRecords(ports, fromMs, (record) => {
    if (record.cacheHit || record.atMs >= untilMs) return;
    const child = childIn(budget, record.userPath, ports.labelsOf(record.keyId));
    if (child === null) return;
    const found = byChild.get(child) ?? { spent: emptySum(), requests: 0 };
    byChild.set(child, found);
    found.requests++;
    if (record.totalCost !== null) addCost(found.spent, record.totalCost);
  });
  if (book.budgets.get(budget.id) !== budget || budget.generation !== generation) return;
  const filled: Account[] = [];
  for (const [child, found] of byChild) {
    const account = budget.own ?? childOf(budget, child);
    addFound(book.running(account, nowMs), found);
    filled.push(account);
  }
  writer.closeBatch();
  const written = writeSlices(
    writer,
    filled.map((account) => spendChange(account, usage.lastKey)),
  );
  budget.backfill = false;
  await Promise.all([written, writer.write([budgetChange(budget)])]);
}

/**
 * Which account of the budget a record belongs to: a child's, `""` for the budget's own, null for
 * none.
 */
function childIn(
  { definition, own }: Budget,
  userPath: string,
  labels: readonly string[],
): string | null {
  const { scope, subject } = definition;
  if (scope === "label") return labels.includes(subject) ? "" : null;
  if (own !== null && userPath === subject) return "";
  const prefix = subject === "/" ? "/" : `${subject}/`;
  if (!userPath.startsWith(prefix) || userPath.length === prefix.length)
    return own !== null && subject === "/" ? "" : null;
  if (own !== null) return "";
  const end = userPath.indexOf("/", prefix.length);
  return end === -1 ? userPath.slice(prefix.length) : userPath.slice(prefix.length, end);
}
