/**
 * Usage records for GET /admin/usage/records (docs/reference/admin-api.md): newest first, including
 * unwritten ones. It reads backwards in slices, so that no admission waits for it, and examines a
 * bounded number of records per page.
 */
import type { RecordItem, RecordPage } from "../../shared/api/record-item.js";
import { recordsPerTurn } from "../../shared/bounds.js";
import { Turns } from "../../shared/long-lists.js";
import { formatMillis } from "../../shared/time.js";
import type { DaemonState } from "../state.js";
import { newestBatches } from "../usage/usage-reader.js";
import type { UsageRecord } from "../usage/usage-records.js";
import { isWanted, type RecordQuery } from "./record-query.js";
import { recordItem } from "./show-record.js";

/**
 * Maximum number of records that one page examines; each entry of the store counts as a few more.
 */
const examinedMax = 20_000;
/** The cost of finding an entry of the store, in records. */
const recordsPerEntry = 4;

/**
 * One page, from the record before `after` on. Pages stay consistent if records are added or old
 * ones removed between them. Rejects with `StoreUnreadableError`.
 */
export async function listRecords(
  state: Pick<DaemonState, "store" | "usage" | "keys" | "labelsOf" | "yieldToEventLoop">,
  query: RecordQuery,
  nowMs: number,
): Promise<RecordPage> {
  const { after, limit } = query;
  const records: RecordItem[] = [];
  let last: UsageRecord | null = null;
  let examined = 0;
  const turns = new Turns(recordsPerTurn);
  const page = (next: string | null): RecordPage => ({
    records,
    looked_back_to: last === null ? null : formatMillis(last.atMs),
    server_time: formatMillis(nowMs),
    next,
    ...(state.usage.otherHosts === null ? {} : { scope: "this_host" }),
  });
  const batches = newestBatches(state, query, after?.key ?? Number.POSITIVE_INFINITY);
  for (const { key, records: batch } of batches) {
    const from = key === after?.key ? Math.min(after.index, batch.length) : batch.length;
    for (let index = from - 1; index >= 0; index--) {
      last = batch[index]!;
      examined++;
      if (isWanted(last, query)) records.push(recordItem(state, `${key}.${index}`, last));
      if (records.length >= limit || examined >= examinedMax) return page(`${key}.${index}`);
    }
    examined += recordsPerEntry;
    if (turns.isOver(batch.length + recordsPerEntry)) await state.yieldToEventLoop();
  }
  return page(null);
}
