/**
 * What the tests of the flush share: random steps, and the comparison of the sums of usage and the
 * accounts of budgets with the records on the disk.
 */
import fc from "fast-check";
import { recordsFromStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { dayMs } from "../../../shared/time.js";
import type { MemoryStore } from "../../support/memory-store.js";
import { executed, settleOf, type TestDaemon, type TestPeer, target } from "../in-memory-daemon.js";
import { accountsOf, picosOf, type RollupOracle, rollupsOf } from "../usage/usage-oracle.js";

export const noonMs = Date.parse("2026-03-10T12:00:00Z");
export const usd = 1_000_000_000_000;
export const labelsOf = (keyId: string): readonly string[] =>
  ({ k1: ["prod", "eu"], k2: ["prod"] })[keyId] ?? [];
export const daily = (subject: string, rest: Partial<BudgetDefinition> = {}): BudgetDefinition => ({
  scope: "user_path",
  subject,
  periodSeconds: 86_400,
  amountUsd: 1e6,
  perChild: false,
  ...rest,
});
export const paths = ["/", "/a", "/a/b", "/a/b/c", "/a/d", "/e"] as const;
export const budgets = [
  daily("/"),
  daily("/a", { perChild: true }),
  daily("prod", { scope: "label" }),
];

export function recordsIn(store: MemoryStore): UsageRecord[] {
  return [...store.entries("usage")].flatMap(({ value }) => recordsFromStored(value)!);
}

/**
 * What the daemon's sums say, for each key that there is on the disk, in memory or in the
 * reckoning.
 */
export function sumsOf({ state, store }: TestDaemon, expected: RollupOracle): RollupOracle {
  const { rollups } = state.usage;
  const keys = new Set([
    ...expected.keys(),
    ...rollups.unstoredKeys(),
    ...[...store.entries("rollups")].map(({ key }) => String(key)),
  ]);
  return new Map(
    [...keys].map((key) => {
      const { requests, inputTokens, outputTokens, unpricedRequests, totalCost } =
        rollups.find(key)!;
      return [
        key,
        {
          requests,
          tokens: inputTokens + outputTokens,
          cost: picosOf(totalCost),
          unpriced: unpricedRequests,
        },
      ];
    }),
  );
}

export function spentIn({ state, nowMs }: TestDaemon): Record<string, bigint> {
  const spent: Record<string, bigint> = {};
  for (const path of paths) {
    for (const account of state.budgets.match({ userPath: path }, ["prod", "eu"], nowMs)) {
      const picos = picosOf(state.budgets.runningPeriod(account, nowMs).spent);
      if (picos > 0n)
        spent[
          `${account.budget.definition.scope} ${account.budget.definition.subject} ${account.subject}`
        ] = picos;
    }
  }
  return spent;
}

export function mustAgree(daemon: TestDaemon, records: readonly UsageRecord[], when: string): void {
  const expected = rollupsOf(records, labelsOf);
  const sums = sumsOf(daemon, expected);
  for (const [key, sum] of expected)
    if (
      JSON.stringify(sums.get(key), (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      ) !==
      JSON.stringify(sum, (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      )
    )
      throw new Error(`${when}: ${JSON.stringify(key)} isn't what its records add up to`);
  if (sums.size !== expected.size)
    throw new Error(`${when}: ${sums.size} sums, not ${expected.size}`);
  const spent = JSON.stringify(Object.entries(spentIn(daemon)).map(String).sort());
  const owed = JSON.stringify(
    [...accountsOf(records, daemon.state.budgets.sorted(), labelsOf, daemon.nowMs)]
      .map(String)
      .sort(),
  );
  if (spent !== owed) throw new Error(`${when}: spent is ${spent}, not ${owed}`);
}

export interface Settled {
  readonly kind: "settle";
  readonly path: string;
  readonly model: string;
  readonly keyId: string;
  readonly cost: number | null;
  readonly agoMs: number;
}
export type Step =
  | Settled
  | { readonly kind: "commit" }
  | { readonly kind: "crash"; readonly again: boolean }
  | { readonly kind: "disk"; readonly broken: boolean }
  | { readonly kind: "clock"; readonly byMs: number }
  | {
      readonly kind: "flush";
      readonly perSlice: number;
      readonly diesAfter: number | null;
      readonly during: readonly Settled[];
    }
  | {
      readonly kind: "budget";
      readonly op: "put" | "delete" | "reset-one";
      readonly subject: string;
      readonly perChild: boolean;
      readonly meanwhile: Settled | null;
    };

export const settle = fc.record({
  kind: fc.constant("settle" as const),
  path: fc.constantFrom(...paths),
  model: fc.constantFrom("m1", "m2"),
  keyId: fc.constantFrom("", "k1", "k2"),
  cost: fc.option(fc.integer({ min: 0, max: 3 * usd }), { freq: 5 }),
  agoMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * dayMs })),
});
export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: settle },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("commit" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("flush" as const),
      perSlice: fc.constantFrom(1, 5, 20),
      diesAfter: fc.option(fc.integer({ min: 0, max: 12 })),
      during: fc.array(settle, { maxLength: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), again: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disk" as const), broken: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("clock" as const),
      byMs: fc.constantFrom(1, 1000, 3_600_000, dayMs),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("budget" as const),
      op: fc.constantFrom("put", "put", "delete", "reset-one"),
      subject: fc.constantFrom("/a", "/a/b", "/e"),
      perChild: fc.boolean(),
      meanwhile: fc.option(settle),
    }),
  },
);

/** Everything is committed, and the past of budgets that were made is looked up. */
export async function atRest({ state, commit }: TestDaemon): Promise<void> {
  do {
    state.writer.closeBatch();
    let written = false;
    void state.writer.write([]).then(() => {
      written = true;
    });
    while (!written) await commit();
  } while (state.budgets.sorted().some(({ isBackfilling }) => isBackfilling));
}

/**
 * A commit takes a turn of the event loop, and before it ends something may happen: records come
 * while sums are being written.
 */
export function slow(store: MemoryStore, meanwhile: () => void): MemoryStore {
  const { commit } = store;
  store.commit = async (changes) => {
    await new Promise((resolve) => setImmediate(resolve));
    meanwhile();
    return commit.call(store, changes);
  };
  return store;
}

export function tell(
  peer: TestPeer,
  seq: number,
  { path, model, keyId, cost }: Settled,
  endedAgoMs: number,
): void {
  const lease = {
    lease: 0,
    userPath: path,
    admittedAtMs: 0,
    lsn: 0,
    target: { provider: "openai", model },
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  peer.send({
    ...settleOf(lease, seq, 0, { ended: endedAgoMs }),
    record: executed({
      model,
      keyId,
      inputCost: cost === null ? null : 0,
      outputCost: cost === null ? null : 0,
      totalCost: cost,
    }),
  });
}

export function recordOn(userPath: string, changes: Partial<UsageRecord> = {}): UsageRecord {
  return {
    ...executed(),
    atMs: noonMs,
    userPath,
    provider: target.provider,
    model: target.model,
    estimated: false,
    ...changes,
  };
}

/** Settles one request, let through unasked. */
export function settleOne(peer: TestPeer, seq: number, path = "/a"): void {
  tell(peer, seq, { kind: "settle", path, model: "m1", keyId: "", cost: 1, agoMs: 0 }, 0);
}
