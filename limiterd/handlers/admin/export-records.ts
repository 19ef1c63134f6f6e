/**
 * The usage records, page by page in the order in which they were recorded: for the command line,
 * in bounded memory on both sides.
 */
import { recordLatenessMs, recordsPerTurn } from "../../../shared/bounds.js";
import { costUsd } from "../../../shared/domain/money.js";
import { formatMillis } from "../../../shared/time.js";
import type { DaemonState } from "../../state.js";
import { StoreFailingError, throwMalformed } from "../../store/store.js";
import { recordsFromStored, type UsageRecord, usageKey } from "../../usage/usage-records.js";
import type { ExportPage } from "./usage-query.js";

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
): Promise<Record<string, unknown>> {
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
  const before = Math.min(
    usage.lastKey + 1,
    page.beforeMs === null ? Infinity : usageKey(page.beforeMs + recordLatenessMs),
  );
  const first = Number(
    store.keys("usage", { from: usageKey(page.fromMs ?? 0), before, limit: 1 })[0] ?? before,
  );
  const records: Record<string, unknown>[] = [];
  let cursor = page.after ?? { key: first, index: 0 };
  let sinceTurn = 0;
  for (let examined = 0; ; ) {
    const [entry] = store.range("usage", { from: cursor.key, before, limit: 1 });
    if (entry === undefined) return answer(records, null, 1, nowMs);
    const key = Number(entry.key);
    const batch = recordsFromStored(entry.value) ?? throwMalformed(store, "usage", key);
    let index = key === cursor.key ? cursor.index : 0;
    for (; index < batch.length && records.length < page.limit; index++) {
      if (isWanted(batch[index]!, page)) records.push(recordItem(`${key}.${index}`, batch[index]!));
    }
    examined += batch.length;
    cursor = index < batch.length ? { key, index } : { key: key + 1, index: 0 };
    if (records.length >= page.limit || examined >= examinedMax) {
      return answer(
        records,
        `${cursor.key}.${cursor.index}`,
        Math.min(1, (cursor.key - first) / Math.max(1, before - first)),
        nowMs,
      );
    }
    sinceTurn += batch.length;
    if (sinceTurn < recordsPerTurn) continue;
    sinceTurn = 0;
    await state.yieldToEventLoop();
  }
}

function answer(
  records: readonly unknown[],
  next: string | null,
  progress: number,
  nowMs: number,
): Record<string, unknown> {
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

/** Costs are US dollars, null where there was no price. */
function recordItem(id: string, record: UsageRecord): Record<string, unknown> {
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
  };
}
