import t from "tap";
import { restoreUsage } from "../../../limiterd/usage/restore-usage.js";
import { readRecords } from "../../../limiterd/usage/usage-reader.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { createMemoryStore } from "../../support/memory-store.js";

const midnightMs = Date.parse("2026-03-01T00:00:00Z");

function recordAt(atMs: number, requestId: string): UsageRecord {
  return {
    atMs,
    requestId,
    userPath: "/team",
    provider: "openai",
    model: "gpt-4o",
    estimated: false,
    endpoint: "/v1/chat/completions",
    providerType: "openai",
    status: 200,
    inputTokens: 1,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: 1,
    outputCost: 1,
    totalCost: 2,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 1,
    firstByteMs: 1,
    requestedModel: "",
    details: null,
    keyId: "",
  };
}

t.test(
  "a batch that was opened before a moment is found by a reader of the time since, for the records that ended after it",
  async (t) => {
    const store = createMemoryStore();
    const usage = restoreUsage(
      { store, labelsOf: () => [], onDamaged: (error) => t.fail(error.message) },
      midnightMs,
    );
    // The store failed over midnight, so one batch gathered all of it; a clock that steps back
    // changes nothing.
    for (const [afterMs, id] of [
      [-90_000, "before"],
      [70_000, "after"],
      [-5, "back"],
    ] as const)
      usage.add(recordAt(midnightMs + afterMs, id), midnightMs + afterMs);
    await store.commit(usage.changes(1));
    usage.committed(1);
    const found: string[] = [];
    await readRecords(
      { store, usage, yieldToEventLoop: () => Promise.resolve() },
      { fromMs: midnightMs, lastKey: usage.lastKey },
      ({ requestId }) => found.push(requestId),
    );
    t.same(found, ["after"]);
  },
);
