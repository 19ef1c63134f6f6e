/** Records and sums of usage in the daemon: what counts, once, and what of it a crash leaves. */
import t from "tap";
import { rollupFromStored } from "../../../limiterd/usage/rollup.js";
import {
  labelPrefix,
  modelSuffix,
  modelsPrefix,
  totalPrefix,
} from "../../../limiterd/usage/rollup-keys.js";
import { Rollups } from "../../../limiterd/usage/rollups.js";
import { recordsFromStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { modelsPerDayMax, rollupCellsMax, subjectBytesMax } from "../../../shared/bounds.js";
import type { MoneySum } from "../../../shared/domain/money.js";
import { dayOf } from "../../../shared/utc-day.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../daemon.js";
import { type RollupOracle, rollupKeysOf } from "./usage-oracle.js";

const dayMs = 86_400_000;
const noonMs = Date.parse("2026-03-10T12:00:00Z");
const today = { user_path: "/", start_date: "2026-03-10", end_date: "2026-03-10" };

/** Settles one request on a path, let through unasked. */
function spend(
  peer: TestPeer,
  seq: number,
  userPath: string,
  changes: Parameters<typeof executed>[0] = {},
  { model = target.model, endedAgoMs = 0, estimated = false } = {},
): void {
  const lease = {
    lease: 0,
    userPath,
    admittedAtMs: 0,
    lsn: 0,
    target: { provider: target.provider, model },
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  const record = executed({ model, ...changes });
  t.ok(
    peer.send({
      ...settleOf(lease, seq, record.inputTokens + record.outputTokens, { ended: endedAgoMs }),
      estimated,
      record,
    }),
    "the settle is taken",
  );
}

async function usageOf(
  daemon: TestDaemon,
  userPath: string,
  startDate = "2026-03-10",
  endDate = startDate,
): Promise<Record<string, unknown>> {
  const { usage } = await ask(daemon, "usage.status", {
    user_path: userPath,
    start_date: startDate,
    end_date: endDate,
  });
  return usage as Record<string, unknown>;
}

function recordsIn(store: MemoryStore): UsageRecord[] {
  return [...store.entries("usage")].flatMap(({ value }) => recordsFromStored(value)!);
}

t.test("a record is kept whole, and counts for its path and all above it", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  spend(
    peer,
    1,
    "/team/app",
    {
      cachedInputTokens: 4,
      cacheWriteInputTokens: 5,
      requestId: "req_9",
      keyId: "key_1",
      rewriteTokensSaved: 8,
      rewriteCostSaved: 2_000_000,
    },
    { estimated: true, endedAgoMs: 1500 },
  );
  t.match(
    await usageOf(daemon, "/team"),
    { total_requests: 1, total_tokens: 30 },
    "it counts before it is written",
  );
  await daemon.commit();
  t.same(recordsIn(daemon.store), [
    {
      ...executed({
        cachedInputTokens: 4,
        cacheWriteInputTokens: 5,
        requestId: "req_9",
        keyId: "key_1",
        rewriteTokensSaved: 8,
        rewriteCostSaved: 2_000_000,
      }),
      atMs: noonMs - 1500,
      userPath: "/team/app",
      provider: "openai",
      model: "gpt-4o",
      estimated: true,
    },
  ]);
  for (const path of ["/", "/team", "/team/app"]) {
    t.same(
      await usageOf(daemon, path),
      {
        start_date: "2026-03-10",
        end_date: "2026-03-10",
        total_requests: 1,
        total_input_tokens: 20,
        total_output_tokens: 10,
        total_tokens: 30,
        cached_input_tokens: 4,
        cache_write_input_tokens: 5,
        uncached_input_tokens: 11,
        total_input_cost: 0,
        total_output_cost: 0,
        total_cost: 0,
        unpriced_requests: 0,
        rewrite_tokens_saved: 8,
        rewrite_cost_saved: 0.000002,
      },
      path,
    );
  }
  for (const path of ["/team/app/deeper", "/team/ap", "/tea", "/other"])
    t.match(await usageOf(daemon, path), { total_requests: 0, total_cost: 0 }, path);
  t.notOk(
    "rewrite_cost_saved" in (await usageOf(daemon, "/other")),
    "a saving that nobody priced isn't 0",
  );
});

t.test(
  "what has no price is counted as unpriced; cache hits and what wasn't executed count nothing",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", { inputCost: 1_000_000, outputCost: 2_000_000, totalCost: 3_500_000 });
    spend(peer, 2, "/a", { inputCost: null, outputCost: null, totalCost: null });
    spend(peer, 3, "/a", { cacheHit: true, totalCost: 0, inputCost: 0, outputCost: 0 });
    const lease = askFor(peer, 9, "/a")!;
    peer.send(settleOf(lease, 4, 0));
    t.match(await usageOf(daemon, "/"), {
      total_requests: 2,
      unpriced_requests: 1,
      total_tokens: 60,
      total_input_cost: 0.000001,
      total_output_cost: 0.000002,
      total_cost: 0.000004,
    });
    await daemon.commit();
    t.same(
      recordsIn(daemon.store).map(({ cacheHit, totalCost }) => [cacheHit, totalCost]),
      [
        [false, 3_500_000],
        [false, null],
        [true, 0],
      ],
      "the hit has its record, and what wasn't executed has none",
    );
  },
);

t.test(
  "an answer from a proxy's cache is recorded and counts nowhere else: no window, slot, sum or budget, before and after a crash",
  async (t) => {
    const rule = pathRule("/", 60, { requests: 2, tokens: 100 });
    const daemon = startDaemon([rule], {
      nowMs: noonMs,
      budgets: [
        { scope: "user_path", subject: "/", periodSeconds: 86_400, amountUsd: 1, perChild: false },
      ],
    });
    const peer = daemon.proxy("p");
    const lease = {
      lease: 0,
      userPath: "/a",
      admittedAtMs: 0,
      lsn: 0,
      target: null,
      targetAtMs: 0,
      targetLsn: 0,
      submission: false,
    };
    const hit = {
      ...settleOf(lease, 1, 0),
      part: "cached" as const,
      record: executed({ cacheHit: true, inputCost: 0, outputCost: 0, totalCost: 0 }),
    };
    t.ok(peer.send(hit));
    t.ok(peer.send(hit), "a repeat");
    const untouched = { requests: 0, tokens: 0, inFlight: 0 };
    t.same(counts(daemon, rule), untouched);
    await daemon.commit();
    t.match(peer.received.at(-1), { kind: "settled", seq: 1 });
    const again = startDaemon([rule], { store: daemon.store.crash(), nowMs: noonMs + 1 });
    t.same(counts(again, rule), untouched, "after a replay");
    t.match(recordsIn(again.store), [
      {
        userPath: "/a",
        provider: "openai",
        model: "gpt-4o",
        cacheHit: true,
        inputTokens: 20,
        totalCost: 0,
      },
    ]);
    t.match(await usageOf(again, "/"), {
      total_requests: 0,
      total_tokens: 0,
      unpriced_requests: 0,
    });
  },
);

t.test(
  "with usage off nothing is recorded, token rules do nothing, and the summary is null",
  async (t) => {
    const daemon = startDaemon([pathRule("/", 60, { tokens: 1 })], {
      nowMs: noonMs,
      usageEnabled: false,
    });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a");
    t.ok(askFor(peer, 5, "/a"), "30 tokens are no breach of 1");
    await daemon.commit();
    t.same(recordsIn(daemon.store), []);
    t.same([...daemon.store.entries("rollups")], []);
    const status = await ask(daemon, "usage.status", today);
    t.equal(status["usage"], null);
    t.match(status["rate_limits"], [
      { subject: "/", max_tokens: 1, exhausted: false, inert: /usage tracking/ },
    ]);
    for (const op of ["usage.summary", "usage.export"] as const)
      t.match(await refusal(ask(daemon, op, today)), { code: "feature_unavailable" });
  },
);

t.test("a settle that comes again adds nothing, before and after a crash", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  spend(peer, 1, "/a");
  spend(peer, 1, "/a");
  await daemon.commit();
  spend(peer, 1, "/a");
  t.match(await usageOf(daemon, "/a"), { total_requests: 1 });
  const next = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
  const again = next.proxy("p");
  spend(again, 1, "/a");
  spend(again, 2, "/a");
  await next.commit();
  t.match(await usageOf(next, "/a"), { total_requests: 2 });
  t.equal(recordsIn(next.store).length, 2);
});

t.test(
  "what wasn't acknowledged is gone after a crash as a whole, and counts once when it is sent again",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a");
    await daemon.commit();
    spend(peer, 2, "/a/b");
    const next = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.match(
      await usageOf(next, "/"),
      { total_requests: 1 },
      "neither the record nor a part of its sums",
    );
    t.equal(recordsIn(next.store).length, 1);
    const again = next.proxy("p");
    for (const seq of [1, 2]) spend(again, seq, seq === 1 ? "/a" : "/a/b");
    await next.commit();
    t.match(await usageOf(next, "/"), { total_requests: 2 });
    t.match(await usageOf(next, "/a/b"), { total_requests: 1 });
  },
);

t.test(
  "while commits fail everything gathers; when they work again it is written once, and a crash in between loses no more than what was never acknowledged",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a");
    await daemon.commit();
    daemon.store.broken = true;
    for (let seq = 2; seq <= 40; seq++) {
      spend(peer, seq, seq % 2 === 0 ? "/a" : "/b");
      await daemon.commit();
    }
    t.match(await usageOf(daemon, "/"), { total_requests: 40 }, "told all the same");
    t.match(
      await refusal(ask(daemon, "usage.export", {})),
      {
        status: 503,
        code: "usage_status_failed",
        message: /the store can't be written \(the disk is broken\)/,
      },
      "an export, which is of what is on the disk, is refused at once",
    );
    const crashed = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.match(await usageOf(crashed, "/"), { total_requests: 1 });
    t.same(
      peer.received.filter(({ kind }) => kind === "settled"),
      [{ kind: "settled", seq: 1 }],
    );
    daemon.store.broken = false;
    for (let i = 0; i < 4; i++) await daemon.commit();
    t.same(peer.received.filter(({ kind }) => kind === "settled").at(-1), {
      kind: "settled",
      seq: 40,
    });
    const next = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.match(await usageOf(next, "/"), { total_requests: 40 });
    t.match(await usageOf(next, "/a"), { total_requests: 21 });
    t.equal(recordsIn(next.store).length, 40);
  },
);

t.test(
  "a record counts for the day in which its response ended, at most a week back",
  async (t) => {
    const nowMs = Date.parse("2026-03-10T00:00:00.500Z");
    const daemon = startDaemon([], { nowMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", {}, { endedAgoMs: 500 });
    spend(peer, 2, "/a", {}, { endedAgoMs: 501 });
    spend(peer, 3, "/a", {}, { endedAgoMs: 30 * dayMs });
    t.match(await usageOf(daemon, "/a", "2026-03-10"), { total_requests: 1 });
    t.match(await usageOf(daemon, "/a", "2026-03-09"), { total_requests: 1 }, "23:59:59.999");
    t.match(await usageOf(daemon, "/a", "2026-03-03"), { total_requests: 1 });
    t.match(await usageOf(daemon, "/a", "2026-02-01", "2026-03-10"), { total_requests: 3 });
  },
);

t.test("a clock that steps back keeps the order of recording", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  for (const [seq, ms] of [noonMs, noonMs - 3 * dayMs, noonMs - 3 * dayMs, noonMs].entries()) {
    daemon.nowMs = ms;
    spend(peer, seq + 1, `/n${seq}`);
    await daemon.commit();
  }
  t.same(
    recordsIn(daemon.store).map(({ userPath }) => userPath),
    ["/n0", "/n1", "/n2", "/n3"],
  );
  t.match(await usageOf(daemon, "/", "2026-03-07"), { total_requests: 2 });
  const { records } = await ask(daemon, "usage.export", {});
  t.same(
    (records as { user_path: string }[]).map(({ user_path: path }) => path),
    ["/n0", "/n1", "/n2", "/n3"],
  );
});

t.test(
  "sums that were dropped from memory are read again, and labels have sums of their own",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noonMs,
      labelsOf: (keyId) => (keyId === "key_1" ? ["prod", "eu"] : []),
    });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", { keyId: "key_1" });
    // Each path is two sums of its own.
    const others = rollupCellsMax / 2;
    for (const [seq, wave] of [
      [2, "x"],
      [3, "y"],
    ] as const) {
      t.ok(daemon.state.usage.rollups.held(`${totalPrefix("/a")}2026-03-10`));
      spend(peer, seq, "/b");
      for (let i = 0; i < others; i++) daemon.state.usage.add(recordOn(`/${wave}${i}`), noonMs);
      await daemon.flush();
    }
    t.equal(
      daemon.state.usage.rollups.held(`${totalPrefix("/a")}2026-03-10`),
      undefined,
      "dropped",
    );
    t.match(await usageOf(daemon, "/x7"), { total_requests: 1 }, "and so are these, soon");
    spend(peer, 4, "/a", { keyId: "key_1" });
    t.match(await usageOf(daemon, "/a"), { total_requests: 2 });
    t.match(await usageOf(daemon, "/"), { total_requests: 4 + 2 * others });
    await daemon.flush();
    for (const label of ["prod", "eu"])
      t.equal(
        rollupFromStored(daemon.store.get("rollups", `l\n${label}\n2026-03-10`)!)!.requests,
        2,
      );
  },
);

const picoOf = ({ microUsd, picoUsd }: MoneySum): bigint =>
  BigInt(microUsd) * 1_000_000n + BigInt(picoUsd);

function recordOn(userPath: string, changes: Partial<UsageRecord> = {}): UsageRecord {
  return {
    ...executed(),
    atMs: noonMs,
    userPath,
    provider: "openai",
    model: "gpt-4o",
    estimated: false,
    ...changes,
  };
}

t.test(
  "models of a day have sums of their own up to a bound; names as long as they may be fit into a key",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const longest = `/${"x".repeat(1023)}`;
    for (let i = 0; i < modelsPerDayMax + 5; i++)
      daemon.state.usage.add(recordOn("/a", { model: `made-up-${i}` }), noonMs);
    spend(daemon.proxy("p"), 1, "/a");
    daemon.state.usage.add(
      recordOn(longest, {
        provider: "é".repeat(subjectBytesMax),
        model: "大".repeat(subjectBytesMax),
      }),
      noonMs,
    );
    await daemon.flush();
    for (const { key } of daemon.store.entries("rollups"))
      t.ok(Buffer.byteLength(String(key)) < 1970);
    const keys = [...daemon.store.entries("rollups")]
      .map(({ key }) => String(key))
      .filter((key) => key.startsWith("m\n/a\n"));
    t.equal(keys.length, modelsPerDayMax + 1, "and one for the rest");
    const { groups, usage } = await ask(daemon, "usage.summary", {
      ...today,
      user_path: "/a",
      by: "model",
    });
    t.equal(
      (groups as { requests: number }[]).reduce((sum, { requests }) => sum + requests, 0),
      modelsPerDayMax + 6,
      "nothing is lost in it",
    );
    t.match(usage, { total_requests: modelsPerDayMax + 6 });
  },
);

t.test(
  "a record names its own target, whatever the settle counts; one that names no model is a group of its own",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", { provider: "one", model: "told", status: 503 }, { model: "last" });
    spend(peer, 2, "/a", { provider: "one", model: "" });
    spend(peer, 3, "/a", { provider: "one", model: "" }, { model: "" });
    peer.send({
      ...settleOf(
        {
          lease: 0,
          userPath: "/a",
          admittedAtMs: 0,
          lsn: 0,
          target: null,
          targetAtMs: 0,
          targetLsn: 0,
          submission: false,
        },
        4,
        0,
      ),
      record: executed({ provider: "two", model: "b" }),
    });
    const { records } = await ask(daemon, "usage.export", {});
    t.match(records, [
      { provider: "one", model: "told", status: 503 },
      { provider: "one", model: null },
      { provider: "one", model: null },
      { provider: "two", model: "b" },
    ]);
    const keys = async (by: string): Promise<unknown> =>
      (
        (await ask(daemon, "usage.summary", { ...today, by }))["groups"] as {
          key: string;
          requests: number;
        }[]
      )
        .map(({ key, requests }) => `${key} ${requests}`)
        .sort();
    for (const _ of ["from memory", "from the store"]) {
      t.same(await keys("model"), ["one/- 2", "one/told 1", "two/b 1"]);
      t.same(await keys("provider"), ["one 3", "two 1"]);
      await daemon.commit();
    }
  },
);

t.test(
  "a damaged sum isn't written over: it is told, and who asks for it gets a 503",
  async (t) => {
    const store = createMemoryStore();
    await store.commit([
      { table: "rollups", key: `${totalPrefix("/a")}2026-03-10`, value: ["no sum"] },
    ]);
    const daemon = startDaemon([], { store, nowMs: noonMs });
    spend(daemon.proxy("p"), 1, "/a");
    spend(daemon.proxy("q"), 1, "/a");
    await daemon.commit();
    t.equal(daemon.damageReports.length, 1, "once");
    t.same(store.get("rollups", `${totalPrefix("/a")}2026-03-10`), ["no sum"]);
    t.match(await refusal(usageOf(daemon, "/a")), { status: 503, code: "usage_status_failed" });
    t.match(await usageOf(daemon, "/"), { total_requests: 2 }, "all others are right");
  },
);

t.test(
  "sums and records agree with a slow and obvious reckoning, whatever is settled, crashes and fails",
  async (t) => {
    const oracle: RollupOracle = new Map();
    let seed = 7;
    const dice = (sides: number): number => (seed = (seed * 48_271) % 2_147_483_647) % sides;
    let daemon = startDaemon([], { nowMs: noonMs });
    let peer = daemon.proxy("p");
    let unacknowledged: (() => void)[] = [];
    for (let seq = 1; seq <= 400; seq++) {
      const path = ["/", "/a", "/a/b", "/a/b/c", "/d", "/a-b"][dice(6)]!;
      const priced = dice(4) > 0;
      const cost = dice(2_000_000_000);
      const changes = {
        inputTokens: dice(5000),
        outputTokens: dice(5000),
        ...(priced
          ? { inputCost: cost, outputCost: 1, totalCost: cost + 8 }
          : { inputCost: null, outputCost: null, totalCost: null }),
      };
      const model = `m${dice(3)}`;
      const endedAgoMs = dice(2) * dice(3 * dayMs);
      const atMs = daemon.nowMs - endedAgoMs;
      for (const key of rollupKeysOf(path, dayOf(atMs), `openai\n${model}`)) {
        const sum = oracle.get(key) ?? { requests: 0, tokens: 0, cost: 0n, unpriced: 0 };
        oracle.set(key, {
          requests: sum.requests + 1,
          tokens: sum.tokens + changes.inputTokens + changes.outputTokens,
          cost: sum.cost + BigInt(changes.totalCost ?? 0),
          unpriced: sum.unpriced + (priced ? 0 : 1),
        });
      }
      const startedAtMs = daemon.nowMs;
      const settle = (): void =>
        spend(peer, seq, path, changes, {
          model,
          endedAgoMs: endedAgoMs + daemon.nowMs - startedAtMs,
        });
      settle();
      unacknowledged.push(settle);
      if (dice(5) === 0) daemon.store.broken = dice(2) === 0;
      if (dice(3) === 0) await daemon.commit();
      if (dice(20) === 0) void daemon.flush();
      const durable = peer.received.filter(({ kind }) => kind === "settled").at(-1);
      if (durable?.kind === "settled" && durable.seq === seq) unacknowledged = [];
      if (dice(15) > 0) continue;
      daemon = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs + dice(dayMs) });
      peer = daemon.proxy("p");
      for (const again of unacknowledged) again();
    }
    daemon.store.broken = false;
    for (let i = 0; i < 6; i++) await daemon.commit();
    await daemon.flush();
    const found = new Map(
      [...daemon.store.entries("rollups")].map(({ key, value }) => [
        String(key),
        rollupFromStored(value)!,
      ]),
    );
    t.same([...found.keys()].sort(), [...oracle.keys()].sort());
    for (const [key, sum] of oracle) {
      const { requests, inputTokens, outputTokens, unpricedRequests, totalCost } = found.get(key)!;
      t.same(
        {
          requests,
          tokens: inputTokens + outputTokens,
          unpriced: unpricedRequests,
          cost: picoOf(totalCost),
        },
        sum,
        JSON.stringify(key),
      );
    }
    t.equal(recordsIn(daemon.store).length, 400);
  },
);

t.test(
  "a million records add up to the pico-dollar: all of them, each team's, each key's, each model's, each label's",
  async (t) => {
    const rollups = new Rollups({
      store: createMemoryStore(),
      labelsOf: (keyId) => [keyId],
      onDamaged: (error) => t.fail(error.message),
    });
    const [teams, keys, models, labels] = [7, 91, 5, 2].map((length) =>
      Array<bigint>(length).fill(0n),
    ) as [bigint[], bigint[], bigint[], bigint[]];
    let [input, total, floating] = [0n, 0n, 0];
    // One object, filled anew for each record: what takes the time is to be the sums.
    const record: { -readonly [field in keyof UsageRecord]: UsageRecord[field] } = recordOn("/");
    let seed = 1;
    for (let i = 0; i < 1_000_000; i++) {
      seed = (seed * 48_271) % 2_147_483_647;
      // Less than a nano-dollar, and now and then up to 2,000 dollars.
      const inputCost = i % 1000 === 0 ? seed * 1_000_003 : seed % 37_501;
      const outputCost = (seed * 7) % 3_000_000;
      record.userPath = `/t${i % 7}/k${i % 91}`;
      record.model = `m${i % 5}`;
      record.keyId = `l${i % 2}`;
      record.inputCost = inputCost;
      record.outputCost = outputCost;
      record.totalCost = inputCost + outputCost;
      rollups.add(record);
      const cost = BigInt(inputCost + outputCost);
      input += BigInt(inputCost);
      total += cost;
      floating += (inputCost + outputCost) / 1e12;
      teams[i % 7]! += cost;
      keys[i % 91]! += cost;
      models[i % 5]! += cost;
      labels[i % 2]! += cost;
    }
    const found = (prefix: string, suffix = ""): bigint =>
      picoOf(rollups.find(`${prefix}2026-03-10${suffix}`)!.totalCost);
    t.equal(found(totalPrefix("/")), total);
    t.equal(picoOf(rollups.find(`${totalPrefix("/")}2026-03-10`)!.inputCost), input);
    t.same(
      teams.map((_, i) => found(totalPrefix(`/t${i}`))),
      teams,
    );
    t.same(
      keys.map((_, i) => found(totalPrefix(`/t${i % 7}/k${i}`))),
      keys,
    );
    t.same(
      models.map((_, i) => found(modelsPrefix("/"), modelSuffix("openai", `m${i}`))),
      models,
    );
    t.same(
      labels.map((_, i) => found(labelPrefix(`l${i}`))),
      labels,
    );
    t.not(floating, Number(total) / 1e12, "a sum of floating point numbers would not have done");
  },
);
