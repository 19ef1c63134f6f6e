/**
 * Stores with as many usage records as are wanted, through the product's own functions: 100 paths
 * in 10 teams, spread evenly over days.
 */
import { openLmdbStore } from "../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Change } from "../../limiterd/store/store.js";
import { restoreUsage, rollupProgressChange } from "../../limiterd/usage/usage-log.js";
import type { UsageRecord } from "../../limiterd/usage/usage-records.js";
import { dayMs } from "../../shared/time.js";

const recordsPerBatch = 1000;
const batchesPerCommit = 20;

export interface UsageSpan {
  readonly records: number;
  readonly days: number;
  /** When the last record ended. */
  readonly endMs: number;
  /** The record of a number, if not one of 100 paths in 10 teams. */
  readonly recordOf?: (i: number) => UsageRecord;
}

/**
 * As the daemon writes it when its batches wait for a slow disk: those of one commit share it. The
 * sums are written once, at the end.
 */
export async function seedUsage(
  dataDir: string,
  span: UsageSpan,
): Promise<{ readonly ms: number; readonly bytes: number }> {
  const { records } = span;
  const store = await openLmdbStore(dataDir);
  const usage = restoreUsage({ store, labelsOf: () => [], onDamaged: fail });
  const startedAt = performance.now();
  let lsn = 0;
  let changes: Change[] = [];
  for (let at = 0; at < records; at += recordsPerBatch) {
    for (let i = at; i < Math.min(records, at + recordsPerBatch); i++) {
      const record = span.recordOf?.(i) ?? recordAt(i, span);
      usage.add(record, record.atMs);
    }
    changes.push(...usage.changes(++lsn));
    if (lsn % batchesPerCommit > 0 && at + recordsPerBatch < records) continue;
    await store.commit(changes);
    usage.committed(lsn);
    changes = [];
  }
  await store.commit([
    ...usage.rollups.changes(usage.takeDirty(), usage.lastKey),
    rollupProgressChange(usage.lastKey),
  ]);
  const bytes = store.sizeBytes() ?? 0;
  await store.close();
  return { ms: performance.now() - startedAt, bytes };
}

export function recordAt(i: number, { records, days, endMs }: UsageSpan): UsageRecord {
  const inputTokens = 100 + (i % 900);
  return {
    atMs: endMs - Math.floor(((records - 1 - i) * days * dayMs) / records),
    requestId: `req_bench_${i.toString(36)}`,
    userPath: `/team${i % 10}/app${i % 100}`,
    keyId: "",
    provider: i % 3 === 0 ? "openai" : "anthropic",
    providerType: "openai",
    model: `model-${i % 6}`,
    endpoint: "/v1/chat/completions",
    status: 200,
    estimated: false,
    cacheHit: false,
    inputTokens,
    outputTokens: 50,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: inputTokens * 3_000_000,
    outputCost: 50 * 15_000_000,
    totalCost: inputTokens * 3_000_000 + 750_000_000,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 900,
    firstByteMs: 300,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
  };
}

function fail(error: Error): never {
  throw error;
}
