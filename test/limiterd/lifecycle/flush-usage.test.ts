/**
 * Sums of usage and accounts of budgets are written now and then: whenever the daemon dies, they
 * are what the records on the disk add up to.
 */
import fc from "fast-check";
import t from "tap";
import { startTimers } from "../../../limiterd/lifecycle/start-timers.js";
import { restoreUsage } from "../../../limiterd/usage/restore-usage.js";
import { rolledUpChange } from "../../../limiterd/usage/rolled-up-mark.js";
import { createUsageTrimmer } from "../../../limiterd/usage/trim-usage.js";
import { recordsFromStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { modelsPerDayMax, rollupRecordsMax, rollupsDirtyMax } from "../../../shared/bounds.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { dayMs } from "../../../shared/utc-day.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";
import {
  ask,
  executed,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../daemon.js";
import { accountsOf, picosOf, type RollupOracle, rollupsOf } from "../usage/usage-oracle.js";

const noonMs = Date.parse("2026-03-10T12:00:00Z");
const usd = 1_000_000_000_000;
const labelsOf = (keyId: string): readonly string[] =>
  ({ k1: ["prod", "eu"], k2: ["prod"] })[keyId] ?? [];
const daily = (subject: string, rest: Partial<BudgetDefinition> = {}): BudgetDefinition => ({
  scope: "user_path",
  subject,
  periodSeconds: 86_400,
  amountUsd: 1e6,
  perChild: false,
  ...rest,
});
const paths = ["/", "/a", "/a/b", "/a/b/c", "/a/d", "/e"] as const;
const budgets = [daily("/"), daily("/a", { perChild: true }), daily("prod", { scope: "label" })];

function recordsIn(store: MemoryStore): UsageRecord[] {
  return [...store.entries("usage")].flatMap(({ value }) => recordsFromStored(value)!);
}

/**
 * What the daemon's sums say, for each key that there is on the disk, in memory or in the
 * reckoning.
 */
function sumsOf({ state, store }: TestDaemon, expected: RollupOracle): RollupOracle {
  const { rollups } = state.usage;
  const keys = new Set([
    ...expected.keys(),
    ...rollups.unstored(),
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

function spentIn({ state, nowMs }: TestDaemon): Record<string, bigint> {
  const spent: Record<string, bigint> = {};
  for (const path of paths) {
    for (const account of state.budgets.match(path, ["prod", "eu"])) {
      const picos = picosOf(state.budgets.running(account, nowMs).spent);
      if (picos > 0n)
        spent[
          `${account.budget.definition.scope} ${account.budget.definition.subject} ${account.subject}`
        ] = picos;
    }
  }
  return spent;
}

function mustAgree(daemon: TestDaemon, records: readonly UsageRecord[], when: string): void {
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

interface Settled {
  readonly kind: "settle";
  readonly path: string;
  readonly model: string;
  readonly keyId: string;
  readonly cost: number | null;
  readonly agoMs: number;
}
type Step =
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

const settle = fc.record({
  kind: fc.constant("settle" as const),
  path: fc.constantFrom(...paths),
  model: fc.constantFrom("m1", "m2"),
  keyId: fc.constantFrom("", "k1", "k2"),
  cost: fc.option(fc.integer({ min: 0, max: 3 * usd }), { freq: 5 }),
  agoMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * dayMs })),
});
const step: fc.Arbitrary<Step> = fc.oneof(
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

t.test(
  "whenever the daemon dies, between any two commits of a flush too, sums and accounts are what the records on the disk add up to",
  async (t) => {
    let crashes = 0;
    let inFlush = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 90 }), async (steps) => {
        let onCommit = (): void => {};
        let daemon = startDaemon([], {
          store: slow(createMemoryStore(), () => onCommit()),
          nowMs: noonMs,
          budgets,
          labelsOf,
        });
        let peer = daemon.proxy("p");
        let flushing: Promise<void> | null = null;
        let seq = 0;
        const sent: (() => void)[] = [];
        const acknowledged = (): number =>
          Math.max(
            0,
            ...peer.received.map((message) =>
              message.kind === "settled"
                ? message.seq
                : message.kind === "welcome"
                  ? message.settledSeq
                  : 0,
            ),
          );
        const settleNow = (one: Settled): void => {
          const number = ++seq;
          const atMs = Math.max(noonMs - 3 * dayMs, daemon.nowMs - one.agoMs);
          sent.push(() => void tell(peer, number, one, daemon.nowMs - atMs));
          sent.at(-1)!();
        };
        const crash = async (): Promise<void> => {
          crashes++;
          const known = acknowledged();
          daemon = startDaemon([], {
            store: slow(daemon.store.crash(), () => onCommit()),
            nowMs: daemon.nowMs,
            budgets,
            labelsOf,
          });
          await atRest(daemon);
          flushing = null;
          mustAgree(daemon, recordsIn(daemon.store), "after a crash");
          peer = daemon.proxy("p");
          if (acknowledged() < known) throw new Error("an acknowledged settle is gone");
          for (const again of sent.slice(acknowledged())) again();
        };
        for (const one of steps) {
          switch (one.kind) {
            case "settle":
              settleNow(one);
              break;
            case "commit":
              await daemon.commit();
              break;
            case "disk":
              daemon.store.broken = one.broken;
              break;
            case "clock":
              daemon.nowMs += one.byMs;
              break;
            case "flush": {
              daemon.store.commitsLeft = one.diesAfter ?? Infinity;
              flushing ??= daemon.flush(one.perSlice).then(() => {
                flushing = null;
              });
              if (one.diesAfter === null) break;
              const during = [...one.during];
              onCommit = () => {
                const record = during.shift();
                if (record !== undefined) settleNow(record);
              };
              for (let turns = 0; turns < 15; turns++) await daemon.commit();
              onCommit = () => {};
              inFlush++;
              await crash();
              break;
            }
            case "crash": {
              await crash();
              if (!one.again) break;
              await daemon.flush();
              await crash();
              break;
            }
            case "budget": {
              if (daemon.store.broken) break;
              const key =
                one.op === "reset-one"
                  ? { period: "daily" }
                  : {
                      budget_key: { period: "daily" },
                      ...(one.op === "put" ? { amount: 1e6, per_child: one.perChild } : {}),
                    };
              // What was settled in the millisecond of a reset would lie behind it.
              daemon.nowMs++;
              // One that isn't there can't be deleted.
              const asked = ask(daemon, `budgets.${one.op}`, {
                subject: one.subject,
                ...key,
              }).catch(() => {});
              if (one.meanwhile !== null) settleNow(one.meanwhile);
              await asked;
              break;
            }
          }
        }
        daemon.store.broken = false;
        await atRest(daemon);
        if (recordsIn(daemon.store).length !== seq)
          throw new Error(`${recordsIn(daemon.store).length} records of ${seq} settles`);
        mustAgree(daemon, recordsIn(daemon.store), "at last");
      }),
      { numRuns: 100, seed: 20_260_310 },
    );
    t.ok(crashes > 300 && inFlush > 100, `${crashes} crashes, ${inFlush} of them in a flush`);
  },
);

/** Everything is committed, and the past of budgets that were made is looked up. */
async function atRest({ state, commit }: TestDaemon): Promise<void> {
  do {
    state.writer.closeBatch();
    let written = false;
    void state.writer.write([]).then(() => {
      written = true;
    });
    while (!written) await commit();
  } while (state.budgets.sorted().some(({ backfill }) => backfill));
}

/**
 * A commit takes a turn of the event loop, and before it ends something may happen: records come
 * while sums are being written.
 */
function slow(store: MemoryStore, meanwhile: () => void): MemoryStore {
  const { commit } = store;
  store.commit = async (changes) => {
    await new Promise((resolve) => setImmediate(resolve));
    meanwhile();
    return commit.call(store, changes);
  };
  return store;
}

function tell(
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

function recordOn(userPath: string, changes: Partial<UsageRecord> = {}): UsageRecord {
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
function settleOne(peer: TestPeer, seq: number, path = "/a"): void {
  tell(peer, seq, { kind: "settle", path, model: "m1", keyId: "", cost: 1, agoMs: 0 }, 0);
}

t.test(
  "a day with too many models keeps each record in the sum that it was added to, wherever a flush was cut off",
  async (t) => {
    const before = startDaemon([], { nowMs: noonMs });
    const add = (from: number, to: number): void => {
      for (let i = from; i < to; i++)
        before.state.usage.add(
          recordOn("/a", { model: `m${(i * 7) % 1999}`, totalCost: i }),
          noonMs,
        );
      settleOne(before.proxy(`p${from}`), 1);
      before.state.writer.closeBatch();
    };
    add(0, 700);
    await before.flush(300);
    add(700, modelsPerDayMax + 400);
    await before.commit();
    const expected = sumsOf(before, new Map());
    t.ok(expected.has("m\n/a\n2026-03-10\nother\nother"));
    for (const commits of [0, 1, 3, 7, 11]) {
      const dying = startDaemon([], { store: before.store.crash(), nowMs: noonMs });
      await dying.commit();
      dying.store.commitsLeft = commits;
      void dying.flush(300);
      for (let turns = 0; turns < 3; turns++) await dying.commit();
      const after = startDaemon([], { store: dying.store.crash(), nowMs: noonMs });
      t.same(sumsOf(after, expected), expected, `after ${commits} commits`);
      t.equal(after.state.usage.rollups.find("t\n/\na\n2026-03-10")!.models, modelsPerDayMax);
    }
  },
);

t.test("a start reads the records since the sums were last written, and no others", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  for (let seq = 1; seq <= 20; seq++) {
    settleOne(peer, seq);
    await daemon.commit();
    if (seq === 17) await daemon.flush();
  }
  const store = daemon.store.crash();
  const { range } = store;
  let read = 0;
  store.range = (table, keys) => {
    const found = range.call(store, table, keys);
    if (table === "usage") read += found.length;
    return found;
  };
  const usage = restoreUsage({ store, labelsOf, onDamaged: (error) => t.fail(error.message) });
  t.equal(read, 3);
  t.equal(usage.rollups.find("t\n\n\n2026-03-10")!.requests, 20);
  t.equal(usage.lastKey, daemon.state.usage.lastKey);
  await store.commit([{ ...rolledUpChange(0), value: ["?"] }]);
  t.throws(() => restoreUsage({ store, labelsOf, onDamaged: () => {} }), {
    name: "StoreUnreadableError",
    message: /of marks/,
  });
});

t.test(
  "a record is never trimmed before its sums are written, however old the clock takes it for",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    const trimmer = createUsageTrimmer(daemon.store, 30);
    const years = noonMs + 1000 * dayMs;
    settleOne(peer, 1);
    await daemon.flush();
    settleOne(peer, 2);
    await daemon.commit();
    const trimmed = trimmer
      .next(years, daemon.state.usage.rolledUpKey)
      .filter(({ table }) => table === "usage");
    t.equal(trimmed.length, 1, "the second waits");
    await daemon.store.commit(trimmed);
    t.equal(
      startDaemon([], { store: daemon.store.crash(), nowMs: years }).state.usage.rollups.find(
        "t\n/\na\n2026-03-10",
      )!.requests,
      2,
    );
    await daemon.flush();
    t.equal(
      trimmer.next(years, daemon.state.usage.rolledUpKey).filter(({ table }) => table === "usage")
        .length,
      1,
    );
    const later = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.ok(
      later.state.usage.lastKey >= daemon.state.usage.lastKey,
      "and no number is given out twice",
    );
  },
);

t.test(
  "sums are written after a while, at once when there are many, and at a stop, whatever the flush interval",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const set = new Map<object, { readonly ms: number; readonly run: () => void }>();
    const add = (ms: number, run: () => void): (() => void) => {
      const key = {};
      set.set(key, { ms, run });
      return () => set.delete(key);
    };
    const ports = {
      nowMs: () => daemon.nowMs,
      every: add,
      after: add,
      onMissing: () => {},
      closeListener: () => Promise.resolve(),
    };
    let much = (): void => {};
    daemon.state.usage.onFlushDue = (run) => {
      much = run;
    };
    const timers = startTimers({ state: daemon.state, staleWindows: [] }, ports, {
      flushIntervalMs: 0,
      usageRetentionDays: 400,
      usageFlushMs: 5000,
    });
    const ring = async (ms: number): Promise<void> => {
      for (const timer of [...set.values()]) if (timer.ms === ms) timer.run();
      for (let turns = 0; turns < 3; turns++) await daemon.commit();
    };
    const peer = daemon.proxy("p");
    const { usage } = daemon.state;
    const stored = (): number =>
      daemon.store.keys("rollups", { from: "", before: "~", limit: Infinity }).length;
    settleOne(peer, 1);
    await ring(1000);
    t.equal(stored(), 0);
    await ring(5000);
    t.equal(stored(), 4);
    t.equal(usage.rolledUpKey, usage.lastKey);
    t.notOk(await daemon.flush(), "nothing is written while nothing comes");
    settleOne(peer, 2);
    await daemon.commit();
    t.not(usage.rolledUpKey, usage.lastKey);
    much();
    for (let turns = 0; turns < 3; turns++) await daemon.commit();
    t.equal(usage.rolledUpKey, usage.lastKey);
    settleOne(peer, 3);
    t.equal(await timers.stop(), true);
    t.equal(usage.rolledUpKey, usage.lastKey);
    t.equal(set.size, 0);
  },
);

t.test(
  "there is much to write when so many records have come, or have changed so many sums",
  async (t) => {
    const usage = restoreUsage({
      store: createMemoryStore(),
      labelsOf,
      onDamaged: (error) => t.fail(error.message),
    });
    let told = 0;
    usage.onFlushDue(() => told++);
    for (let i = 0; i < rollupRecordsMax; i++) usage.add(recordOn("/a"), noonMs);
    t.equal(told, 1);
    usage.takeDirty();
    // Each path and all but the root above it are two sums of their own.
    for (let i = 0; i < rollupsDirtyMax / 20; i++)
      usage.add(recordOn(`/b${i}/3/4/5/6/7/8/9/10/11`), noonMs);
    t.equal(told, 2);
  },
);
