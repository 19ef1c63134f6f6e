/**
 * Exports the usage records in pages, in the order of recording, for the command line. Both sides
 * need only bounded memory.
 */
import type { RecordExport, RecordItem } from "../../../shared/api/record-item.js";
import { recordsPerTurn } from "../../../shared/bounds.js";
import { Turns } from "../../../shared/long-lists.js";
import { formatMillis } from "../../../shared/time.js";
import { isWithin, recordItem } from "../../lists/show-record.js";
import type { DaemonState } from "../../state.js";
import { StoreFailingError } from "../../store/store.js";
import type { ExportPage } from "../../usage/usage-query.js";
import { batchesIn } from "../../usage/usage-reader.js";

/**
 * Maximum number of records that one page examines, so that a page isn't delayed by a filter that
 * excludes most records.
 */
const examinedMax = 20_000;

/**
 * `next` is null after the last page; an empty page needn't be the last. Rejects with
 * `StoreUnreadableError`, or with `StoreFailingError` if records can't be written.
 */
export async function exportRecords(
  state: DaemonState,
  page: ExportPage,
  nowMs: number,
): Promise<RecordExport> {
  const { store, usage } = state;
  // Writes everything settled before the operation, so that the export includes it.
  if (page.after === null) await untilRecordsAreWritten(state);
  const ranges = usage.days.keysOf(page, usage.lastKey + 1);
  const first = ranges[0]?.from ?? 0;
  const end = ranges.at(-1)?.before ?? 0;
  const { key: fromKey, index: fromIndex } = page.after ?? { key: 0, index: 0 };
  const records: RecordItem[] = [];
  const answer = (next: string | null, progress: number): RecordExport => ({
    records,
    next,
    progress,
    server_time: formatMillis(nowMs),
    ...(usage.otherHosts === null ? {} : { scope: "this_host" }),
  });
  let examined = 0;
  const turns = new Turns(recordsPerTurn);
  for (const { key, records: batch } of batchesIn(store, ranges, fromKey)) {
    let index = key === fromKey ? fromIndex : 0;
    for (; index < batch.length && records.length < page.limit; index++) {
      if (isWithin(batch[index]!, page))
        records.push(recordItem(state, `${key}.${index}`, batch[index]!));
    }
    examined += batch.length;
    if (records.length >= page.limit || examined >= examinedMax) {
      const next = index < batch.length ? `${key}.${index}` : `${key + 1}.0`;
      return answer(next, (key - first) / (end - first));
    }
    if (turns.isOver(batch.length)) await state.yieldToEventLoop();
  }
  return answer(null, 1);
}

/**
 * Resolves when all records of arrived settles are in the store; rejects with `StoreFailingError`.
 */
export async function untilRecordsAreWritten({
  writer,
}: Pick<DaemonState, "writer">): Promise<void> {
  writer.closeBatch();
  const failing = await writer.tryWrite([]);
  if (failing !== null)
    throw new StoreFailingError(
      `the latest usage can't be read: the store can't be written (${failing.message})`,
    );
}
