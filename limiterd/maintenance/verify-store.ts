/**
 * Reads everything in a store and reports its contents and its problems. It checks the checksums,
 * the form of each entry, everything that a start would read, the index of records by day, and sums
 * against records. Nothing is changed.
 */
import { isCount } from "../../shared/checked.js";
import { emptySum } from "../../shared/domain/money.js";
import { raisesFromStored } from "../../shared/domain/raise.js";
import { anchorsFromStored } from "../../shared/domain/reset-anchors.js";
import { isMoment } from "../../shared/time.js";
import { markedSettings } from "../../shared/wire/settings-report.js";
import { entryOf } from "../audit/audit-log.js";
import { isConfigurationKey } from "../audit/describe-settings.js";
import { isProxySettingsKey, proxySettingsFromStored } from "../audit/proxy-settings.js";
import { restoreBudgets } from "../budgets/restore-budgets.js";
import { resetFromStored, spendFromStored } from "../budgets/stored-budget.js";
import { windowFromStored } from "../counters/window.js";
import { isRaisesKey } from "../handlers/definitions/apply-raises.js";
import { restoreDenials } from "../keys/jwt-denials.js";
import { restoreKeys } from "../keys/stored-key.js";
import { restore } from "../lifecycle/restore.js";
import { proxyFromStored } from "../peer.js";
import { holdFromStored } from "../rules/stored-hold.js";
import { ruleFromStored } from "../rules/stored-rule.js";
import { type Store, StoreUnreadableError, type Table, tables } from "../store/store.js";
import { storeIdsFromStored } from "../usage/followers/store-ids.js";
import { itemOf } from "../usage/reconciliations.js";
import { rollupFromStored } from "../usage/rollup.js";
import { restoreUsage } from "../usage/usage-log.js";
import { RecordCheck } from "./record-check.js";
import type { StoreReport } from "./store-report.js";

interface VerifyOptions {
  readonly schema: number;
  readonly entries: number;
  readonly nowMs: number;
  /** Called with the completed part, from 0 to 1. */
  onProgress(ratio: number): void;
}

/** Entries between two reports of progress. */
const entriesPerReport = 5_000;

/**
 * Whether a value has the form of its table. Other tables are checked by the same functions as at a
 * start, `usage` by `RecordCheck`.
 */
const forms: Partial<Record<Table, (value: readonly unknown[], key: string | number) => boolean>> =
  {
    rules: (value) => ruleFromStored(value) !== null,
    windows: (value) => windowFromStored(value) !== null,
    proxies: (value) => proxyFromStored(value) !== null,
    holds: (value, key) => holdFromStored(String(key), value) !== null,
    objects: ([path, expiresAtMs]) => typeof path === "string" && isMoment(expiresAtMs),
    rollups: (value) => rollupFromStored(value) !== null,
    marks: (value) => isCount(value[0]) || storeIdsFromStored(value) !== null,
    spends: (value) => spendFromStored(value) !== null,
    resets: (value) => resetFromStored(value) !== null,
    settings: (value, key) =>
      (isConfigurationKey(key)
        ? markedSettings(value)
        : isProxySettingsKey(key)
          ? proxySettingsFromStored(value)
          : isRaisesKey(key)
            ? raisesFromStored(value)
            : anchorsFromStored(value)) !== null,
    audit: (value, key) => entryOf(key, value) !== null,
    reconciliations: (value, key) => itemOf(key, value) !== null,
  };

/**
 * Returns a report, which has the problems of a damaged store. Severe damage may end the process
 * instead.
 */
export function verifyStore(store: Store, options: VerifyOptions): StoreReport {
  const problems: string[] = [];
  const records = new RecordCheck(store);
  const counts = new Map<Table, number>();
  let entriesChecked = 0;
  for (const table of tables) {
    let malformed = 0;
    collectProblem(problems, () => {
      for (const { key, value } of store.entries(table)) {
        counts.set(table, (counts.get(table) ?? 0) + 1);
        if (++entriesChecked % entriesPerReport === 0)
          options.onProgress(Math.min(1, entriesChecked / Math.max(1, options.entries)));
        if (forms[table]?.(value, key) === false && ++malformed === 1)
          problems.push(`the entry ${JSON.stringify(key)} of ${table} is not what it should be`);
        if (table === "usage") records.take(key, value);
      }
    });
    if (malformed > 1) problems.push(`and ${malformed - 1} more entries of ${table} like it`);
  }
  collectProblem(problems, () => records.finish());
  collectProblem(problems, () => readAsAtStart(store, options.nowMs));
  const { count, firstMs, lastMs, daysCompared } = records;
  return {
    schema: options.schema,
    bytes: store.sizeBytes() ?? 0,
    entries: entriesChecked,
    rules: counts.get("rules") ?? 0,
    budgets: counts.get("budgets") ?? 0,
    keys: keysIn(store),
    records: count,
    firstRecordMs: firstMs,
    lastRecordMs: lastMs,
    daysCompared,
    problems: [...new Set(problems)],
  };
}

/** Reads what every start reads, in the same way. Throws `StoreUnreadableError`. */
function readAsAtStart(store: Store, nowMs: number): void {
  restore(store, null, { nowMs, uptime: unusedUptime });
  restoreDenials(store);
  const usage = restoreUsage({
    store,
    labelsOf: () => [],
    onDamaged(error) {
      throw error;
    },
  });
  restoreBudgets(
    store,
    null,
    { spentOnDays: () => ({ spent: emptySum(), requests: 0 }), lastRecordKey: () => usage.lastKey },
    nowMs,
  );
}

/** For the number of the next epoch, which this process doesn't write. */
const unusedUptime = { boot: "", upMs: 0 };

function keysIn(store: Store): number {
  try {
    const keys = restoreKeys(store);
    return keys.size - keys.deletedCount;
  } catch {
    // The error is already among the problems.
    return 0;
  }
}

/** Runs a check, and adds to `problems` why the store can't be read. */
function collectProblem(problems: string[], check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof StoreUnreadableError)) throw error;
    problems.push(error.message);
  }
}
