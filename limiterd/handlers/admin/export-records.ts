/**
 * The usage records, page by page in the order in which they were recorded: for the command line,
 * in bounded memory on both sides.
 */
import type { RecordItem, RecordPage } from "../../../shared/api/record-item.js";
import { recordsPerTurn } from "../../../shared/bounds.js";
import { keyNumber } from "../../../shared/domain/managed-key.js";
import { costUsd } from "../../../shared/domain/money.js";
import { formatMillis } from "../../../shared/time.js";
import { fieldsOfDetails, noDetailCounts } from "../../../shared/usage/usage-details.js";
import type { DaemonState } from "../../state.js";
import { StoreFailingError } from "../../store/store.js";
import type { ExportPage } from "../../usage/usage-query.js";
import { batchesIn } from "../../usage/usage-reader.js";
import type { UsageRecord } from "../../usage/usage-records.js";

/** How many records one page examines, so that a filter that leaves out most delays no page. */
const examinedMax = 20_000;

/**
 * `next` is null after the last page; a page may be empty and yet not be the last. Rejects with
 * `StoreUnreadableError`, or with `StoreFailingError` when records can't get there.
 */
export async function exportRecords(
  state: DaemonState,
  page: ExportPage,
  nowMs: number,
): Promise<RecordPage> {
  const { store, usage } = state;
  // What was settled before the operation is on the disk, and so among the records, before it is
  // answered.
  if (page.after === null) {
    state.writer.closeBatch();
    const failing = await state.writer.tryWrite([]);
    if (failing !== null)
      throw new StoreFailingError(
        `the latest usage can't be read: the store can't be written (${failing.message})`,
      );
  }
  const ranges = usage.days.keysOf(page, usage.lastKey + 1);
  const first = ranges[0]?.from ?? 0;
  const end = ranges.at(-1)?.before ?? 0;
  const { key: fromKey, index: fromIndex } = page.after ?? { key: 0, index: 0 };
  const records: RecordItem[] = [];
  let examined = 0;
  let sinceTurn = 0;
  for (const { key, records: batch } of batchesIn(store, ranges, fromKey)) {
    let index = key === fromKey ? fromIndex : 0;
    for (; index < batch.length && records.length < page.limit; index++) {
      if (isWanted(batch[index]!, page))
        records.push(recordItem(state, `${key}.${index}`, batch[index]!));
    }
    examined += batch.length;
    if (records.length >= page.limit || examined >= examinedMax) {
      const next = index < batch.length ? `${key}.${index}` : `${key + 1}.0`;
      return answer(records, next, (key - first) / (end - first), nowMs);
    }
    sinceTurn += batch.length;
    if (sinceTurn < recordsPerTurn) continue;
    sinceTurn = 0;
    await state.yieldToEventLoop();
  }
  return answer(records, null, 1, nowMs);
}

function answer(
  records: readonly RecordItem[],
  next: string | null,
  progress: number,
  nowMs: number,
): RecordPage {
  return { records, next, progress, server_time: formatMillis(nowMs) };
}

function isWanted({ atMs, userPath }: UsageRecord, page: ExportPage): boolean {
  if (
    (page.fromMs !== null && atMs < page.fromMs) ||
    (page.beforeMs !== null && atMs >= page.beforeMs)
  )
    return false;
  return (
    page.userPath === "/" || userPath === page.userPath || userPath.startsWith(`${page.userPath}/`)
  );
}

/**
 * Costs are US dollars, null where there was no price. The key's name and labels are those that it
 * has now: a deleted one has no name.
 */
function recordItem(
  { keys, labelsOf }: Pick<DaemonState, "keys" | "labelsOf">,
  id: string,
  record: UsageRecord,
): RecordItem {
  const { keyId, requestedModel, details } = record;
  const number = keyNumber(keyId);
  const dollars = (cost: number | null): number | null => (cost === null ? null : costUsd(cost));
  return {
    id,
    time: formatMillis(record.atMs),
    request_id: record.requestId,
    user_path: record.userPath,
    key_id: record.keyId === "" ? null : record.keyId,
    provider: record.provider,
    provider_type: record.providerType,
    model: record.model === "" ? null : record.model,
    endpoint: record.endpoint,
    status: record.status,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    total_tokens: record.inputTokens + record.outputTokens,
    cached_input_tokens: record.cachedInputTokens,
    cache_write_input_tokens: record.cacheWriteInputTokens,
    input_cost: dollars(record.inputCost),
    output_cost: dollars(record.outputCost),
    total_cost: dollars(record.totalCost),
    rewrite_tokens_saved: record.rewriteTokensSaved,
    rewrite_cost_saved: dollars(record.rewriteCostSaved),
    cache_hit: record.cacheHit,
    estimated: record.estimated,
    latency_ms: record.latencyMs,
    first_byte_ms: record.firstByteMs,
    requested_model: requestedModel || record.model || null,
    key_name: number === null ? null : (keys.byNumber(number)?.name ?? null),
    labels: labelsOf(keyId),
    service_tier: details === null ? null : details.serviceTier,
    ...fieldsOfDetails(details?.counts ?? noDetailCounts),
  };
}
