/**
 * What a daemon finds at its start, for `npm run heavy -- bench:start`: a configuration with many
 * rules, and stores with many entries, written through the store's port.
 */
import { spendsToStored } from "../../../limiterd/budgets/spend.js";
import { spendKey } from "../../../limiterd/budgets/stored-budget.js";
import { windowKey, windowToStored } from "../../../limiterd/counters/window.js";
import { denialChange } from "../../../limiterd/keys/jwt-denials.js";
import { ruleChange } from "../../../limiterd/rules/stored-rule.js";
import { writtenChange } from "../../../limiterd/store/epochs.js";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Change } from "../../../limiterd/store/store.js";
import { rollupProgressChange } from "../../../limiterd/usage/usage-log.js";
import { recordsToStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { budgetId } from "../../../shared/domain/budget.js";
import { monthlySeconds } from "../../../shared/domain/budget-calendar.js";
import { hashKey } from "../../../shared/domain/make-managed-key.js";
import { managedKeyOf, redactKey } from "../../../shared/domain/managed-key.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { dayMs } from "../../../shared/time.js";
import { scaleCap } from "./scale-rules.js";

/** How many there are of each. */
export interface StoreSize {
  readonly windows: number;
  readonly accounts: number;
  readonly keys: number;
  readonly denials: number;
  readonly objects: number;
  readonly records: number;
}

const entriesPerCommit = 20_000;
const recordsPerBatch = 1000;
/** Children are of this path, which has a template among the rules, and a budget's. */
const parent = "/users";
const rule = { scope: "user_path", subject: parent, periodSeconds: 3600 } as const;
const budget = { scope: "user_path", subject: parent, periodSeconds: monthlySeconds } as const;
const amountUsd = 1_000_000;

/** `budgets` of a configuration. */
export const startBudgets = {
  user_paths: [
    { path: parent, per_child: true, limits: [{ period: "monthly", amount: amountUsd }] },
  ],
};

/** Fills the store of a data directory that has none. */
export async function fillStore(dataDir: string, size: StoreSize, nowMs: number): Promise<void> {
  const store = await openLmdbStore(dataDir);
  let waiting: Change[] = [writtenChange(1), ...progress(size)];
  for (const change of entries(size, nowMs)) {
    waiting.push(change);
    if (waiting.length < entriesPerCommit) continue;
    await store.commit(waiting);
    waiting = [];
  }
  await store.commit(waiting);
  await store.close();
}

/** Half of the records came after all sums were last written, as after a crash. */
function progress({ records }: StoreSize): Change[] {
  return records === 0 ? [] : [rollupProgressChange(Math.ceil(records / recordsPerBatch / 2))];
}

function* entries(size: StoreSize, nowMs: number): Generator<Change> {
  const made = { source: "config", createdAtMs: nowMs, updatedAtMs: nowMs } as const;
  yield ruleChange({
    ...made,
    id: ruleId(rule),
    // The configuration says the same, so that the rule stays.
    definition: { ...rule, maxRequests: scaleCap, maxTokens: 1000 * scaleCap, perChild: true },
    sinceLsn: 0,
  });
  yield {
    table: "budgets",
    key: budgetId(budget),
    value: [...Object.values(budget), amountUsd, true, "config", nowMs, nowMs, 0, 0, false],
  };
  const window = {
    startMs: nowMs - (nowMs % 3_600_000),
    previousRequests: 0,
    currentRequests: 3,
    previousTokens: 0,
    currentTokens: 300,
  };
  for (let i = 0; i < size.windows; i++)
    yield {
      table: "windows",
      key: windowKey(ruleId(rule), childName(i)),
      value: windowToStored(window, 1),
    };
  const now = new Date(nowMs);
  const spent = { microUsd: 1000, picoUsd: 0 };
  const month = { startMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth()), spent, requests: 3 };
  for (let i = 0; i < size.accounts; i++)
    yield {
      table: "spends",
      key: spendKey(budgetId(budget), childName(i)),
      value: [1, ...spendsToStored([month])],
    };
  for (let i = 1; i <= size.keys; i++) {
    const key = managedKeyOf(String(i).padStart(43, "0"));
    const stored = [hashKey(key), redactKey(key), `key ${i}`, `/team/${i}`, [], nowMs, null, null];
    yield { table: "keys", key: i, value: [...stored, null, []] };
  }
  for (let i = 0; i < size.denials; i++)
    yield denialChange({
      claim: "jti",
      value: `token-${i}`,
      issuer: null,
      deniedAtMs: nowMs,
      expiresAtMs: nowMs + 30 * dayMs,
    });
  for (let i = 0; i < size.objects; i++)
    yield {
      table: "objects",
      key: `file-${i} openai`,
      value: [`/team/${i % 1000}`, nowMs + 30 * dayMs],
    };
  for (let at = 0, key = 1; at < size.records; at += recordsPerBatch, key++)
    yield {
      table: "usage",
      key,
      value: recordsToStored(
        key,
        Array.from({ length: recordsPerBatch }, (_, i) => record(at + i, nowMs)),
      ),
    };
}

function childName(n: number): string {
  return `user-${String(n).padStart(8, "0")}`;
}

function record(n: number, nowMs: number): UsageRecord {
  return {
    atMs: nowMs,
    userPath: `/team-${n % 100}/app-${n % 10_000}`,
    estimated: false,
    requestId: `req_${n}`,
    endpoint: "/v1/chat/completions",
    provider: "bench",
    providerType: "openai",
    model: "bench-model",
    status: 200,
    inputTokens: 100,
    outputTokens: 10,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: 1_000_000,
    outputCost: 1_000_000,
    totalCost: 2_000_000,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 5,
    firstByteMs: 1,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    keyId: "",
  };
}
