/**
 * The kept results of `sluice reconcile`, newest last. The command line makes them: no key for
 * billing comes here.
 *
 * `reconciliations`: the key of its entry in the audit log → [time in ms, the result as JSON].
 */
import {
  parseReconciliation,
  type Reconciliation,
  type ReconciliationItem,
  type ReconciliationPage,
} from "../../shared/api/reconciliation-item.js";
import { reconciliationsMax } from "../../shared/bounds.js";
import { asQuery, bad, type Checked, good, isAbsent, parseJson } from "../../shared/checked.js";
import { formatMillis, isMoment } from "../../shared/time.js";
import type { AuditedChange } from "../audit/audit-log.js";
import { parseLimit, parsePosition } from "../lists/list-query.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";

const table = "reconciliations";
const lastKey = Number.MAX_SAFE_INTEGER;
/** Results that a page examines: about two milliseconds, since each may have 15 KiB. */
const examinedMax = 10;

/** The changes that keep a result, and remove the oldest. `key`: after those of all others. */
export function keepReconciliation(
  store: Store,
  result: Reconciliation,
  { key, nowMs }: { readonly key: number; readonly nowMs: number },
): readonly Change[] {
  const range = { from: 0, before: lastKey, limit: reconciliationsMax };
  const oldest = store.lastKeys(table, range)[reconciliationsMax - 1];
  const removal: Change[] = oldest === undefined ? [] : [{ table, key: oldest, value: undefined }];
  return [{ table, key, value: [nowMs, JSON.stringify(result)] }, ...removal];
}

/** For the audit log. */
export function describeReconciliation(result: Reconciliation): AuditedChange {
  const { provider, start_date, end_date, recorded_usd, billed_usd, gap_percent } = result;
  return {
    subject: `bill of ${provider}, ${start_date} to ${end_date}`,
    before: null,
    after: { recorded_usd, billed_usd, gap_percent },
  };
}

interface ReconciliationQuery {
  readonly provider: string | null;
  readonly after: number | null;
  readonly limit: number;
}

/** The body: {provider?, limit?, after?}. */
export function parseReconciliationQuery(body: unknown): Checked<ReconciliationQuery> {
  const fields = asQuery(body, ["provider", "limit", "after"]);
  if (!fields.ok) return fields;
  const { provider, limit, after } = fields.value;
  const size = parseLimit(limit);
  if (!size.ok) return size;
  if (!isAbsent(provider) && typeof provider !== "string")
    return bad("provider must be the name of a provider", "provider");
  const position = parsePosition(after);
  if (!position.ok) return position;
  return good({
    provider: isAbsent(provider) || provider === "" ? null : provider,
    after: position.value,
    limit: size.value,
  });
}

/** A page of results, newest first; it may be short, and even empty, before the last. */
export function listReconciliations(
  store: Store,
  { provider, after, limit }: ReconciliationQuery,
  nowMs: number,
): ReconciliationPage {
  const range = { from: 0, before: after ?? lastKey, limit: examinedMax + 1 };
  const keys = store.lastKeys(table, range);
  const reconciliations: ReconciliationItem[] = [];
  let examined = 0;
  while (examined < Math.min(keys.length, examinedMax) && reconciliations.length < limit) {
    const key = keys[examined++]!;
    const value = store.get(table, key);
    if (value === undefined) continue;
    const item = itemOf(key, value) ?? throwMalformed(store, table, key);
    if (provider === null || item.provider === provider) reconciliations.push(item);
  }
  const next = examined < keys.length ? String(keys[examined - 1]) : null;
  return { reconciliations, server_time: formatMillis(nowMs), next };
}

/** Null for what was never kept. */
export function itemOf(key: string | number, value: readonly unknown[]): ReconciliationItem | null {
  const [atMs, text] = value;
  if (!isMoment(atMs) || typeof text !== "string") return null;
  const result = parseReconciliation(parseJson(text));
  return result.ok ? reconciliationItem(result.value, Number(key), atMs) : null;
}

export function reconciliationItem(
  result: Reconciliation,
  key: number,
  atMs: number,
): ReconciliationItem {
  return { id: String(key), time: formatMillis(atMs), ...result };
}
