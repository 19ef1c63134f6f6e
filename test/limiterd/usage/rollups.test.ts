import t from "tap";
import type { Store } from "../../../limiterd/store/store.js";
import { emptyRollup, rollupFromStored, rollupToStored } from "../../../limiterd/usage/rollup.js";
import {
  labelPrefix,
  modelSuffix,
  modelsPrefix,
  originKey,
  totalPrefix,
} from "../../../limiterd/usage/rollup-keys.js";
import { RollupCache, Rollups, RollupsOfRecord } from "../../../limiterd/usage/rollups.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import {
  costPicoUsdMax,
  modelsPerDayMax,
  rollupCellsCrowded,
  rollupCellsMax,
  subjectBytesMax,
} from "../../../shared/bounds.js";
import { dayOf } from "../../../shared/time.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";
import {
  dayMs,
  noonMs,
  picoOf,
  recordOn,
  recordsIn,
  spend,
  today,
  usageOf,
} from "./usage-fixture.js";
import { type RollupOracle, rollupKeysOf } from "./usage-oracle.js";

t.test(
  "sums that were dropped from memory are read again, and labels have sums of their own",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noonMs,
      labelsOf: (keyId) => (keyId === "key_1" ? ["prod", "eu"] : []),
    });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", { keyId: "key_1" });
    // Each path and those above it are two sums of their own.
    const others = rollupCellsMax / 20;
    for (const [seq, wave] of [
      [2, "x"],
      [3, "y"],
    ] as const) {
      t.ok(daemon.state.usage.rollups.inMemory(`${totalPrefix("/a")}2026-03-10`));
      spend(peer, seq, "/b");
      for (let i = 0; i < others; i++)
        daemon.state.usage.add(recordOn(`/${wave}${i}/2/3/4/5/6/7/8/9/10`), noonMs);
      await daemon.flush();
    }
    t.equal(
      daemon.state.usage.rollups.inMemory(`${totalPrefix("/a")}2026-03-10`),
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
    const bytes = [...daemon.store.entries("rollups")].map(({ key }) =>
      Buffer.byteLength(String(key)),
    );
    t.ok(Math.max(...bytes) < 1970, `the longest key has ${Math.max(...bytes)} bytes`);
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
  "a damaged sum is reported and not overwritten, and a query for it fails with 503",
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
    t.match(await refusal(usageOf(daemon, "/a")), {
      status: 503,
      code: "usage_status_failed",
      message: "the recorded usage can't be read: the daemon's log says why",
    });
    t.match(await usageOf(daemon, "/"), { total_requests: 2 }, "all others are right");
  },
);

t.test(
  "sums and records agree with a slow and obvious calculation, whatever is settled, crashes and fails",
  async (t) => {
    const oracle: RollupOracle = new Map();
    let seed = 7;
    const dice = (sides: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % sides;
    };
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
        spend(peer, seq, path, {
          ...changes,
          settled: { model, endedAgoMs: endedAgoMs + daemon.nowMs - startedAtMs },
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
    t.same(
      [...oracle.keys()].map((key) => {
        const { requests, inputTokens, outputTokens, unpricedRequests, totalCost } =
          found.get(key)!;
        return [
          key,
          {
            requests,
            tokens: inputTokens + outputTokens,
            unpriced: unpricedRequests,
            cost: picoOf(totalCost),
          },
        ];
      }),
      [...oracle],
    );
    t.equal(recordsIn(daemon.store).length, 400);
  },
);

t.test(
  "200,000 records add up to the pico-dollar: all of them, each team's, each key's, each model's, each label's",
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
    for (let i = 0; i < 200_000; i++) {
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

t.test(
  "absurd costs fill a sum, which stops there and is counted, now and after a restart",
  async (t) => {
    const store = createMemoryStore();
    const first = startDaemon([], { store, nowMs: noonMs });
    const peer = first.proxy("p");
    const absurd = { inputCost: 0, outputCost: costPicoUsdMax, totalCost: costPicoUsdMax };
    spend(peer, 1, "/a", absurd);
    const key = `${totalPrefix("/a")}2026-03-10`;
    first.state.usage.rollups.find(key)!.totalCost.microUsd = Number.MAX_SAFE_INTEGER - 1;
    t.match(await ask(first, "status", null), { saturated_sums: 0 });
    spend(peer, 2, "/a", absurd);
    spend(peer, 3, "/a", absurd);
    t.match(await ask(first, "status", null), { saturated_sums: 1 });
    await first.flush();
    const second = startDaemon([], { store: store.crash(), nowMs: noonMs });
    second.state.usage.add(recordOn("/a", absurd), noonMs);
    t.match(await usageOf(second, "/a"), { total_cost: Number.MAX_SAFE_INTEGER / 1e6 });
  },
);

t.test("a sum is handed out once it changed, and is unstored until it was written", async (t) => {
  const store = createMemoryStore();
  const rollups = new Rollups({
    store,
    labelsOf: () => [],
    onDamaged: (error) => t.fail(error.message),
  });
  const key = `${totalPrefix("/")}2026-03-10`;
  rollups.add(recordOn("/"));
  t.equal([...rollups.unstoredKeys()].length, 3, "the total, the model's, the origin's");
  const cells = rollups.takeDirty();
  t.same([cells.length, rollups.dirtyCount], [3, 0]);
  await store.commit(rollups.changes(cells, 7));
  t.ok([...rollups.unstoredKeys()].includes(key), "the commit hasn't ended");
  rollups.committed(cells);
  t.same([...rollups.unstoredKeys()], []);
  rollups.add(recordOn("/"));
  t.equal(rollups.dirtyCount, 3);
  t.same([...rollups.unstoredKeys()], [], "the store has an older one");
  rollups.committed(rollups.takeDirty());
  t.equal(rollups.find(key)?.requests, 2);
});

t.test("a total that is replayed counts its sums by model as the store has them", async (t) => {
  const store = createMemoryStore();
  const key = `${totalPrefix("/")}2026-03-10`;
  await store.commit([
    {
      table: "rollups",
      key,
      value: rollupToStored({ ...emptyRollup(), requests: 9, models: 5 }, 1),
    },
    ...["a", "b"].map((model) => ({
      table: "rollups" as const,
      key: `${modelsPrefix("/")}2026-03-10${modelSuffix("openai", model)}`,
      value: rollupToStored({ ...emptyRollup(), requests: 1 }, 1),
    })),
  ]);
  for (const [replays, models] of [
    [true, 3],
    [false, 6],
  ] as const) {
    const onDamaged = (error: Error): void => void t.fail(error.message);
    const rollups = new Rollups({ store, labelsOf: () => [], onDamaged });
    const record = recordOn("/", { atMs: noonMs });
    if (replays) rollups.replay(record, 2);
    else rollups.add(record);
    t.match(rollups.inMemory(key), { requests: 10, models });
  }
});

async function storeWith(entries: Readonly<Record<string, readonly unknown[]>>): Promise<Store> {
  const store = createMemoryStore();
  await store.commit(
    Object.entries(entries).map(([key, value]) => ({ table: "rollups", key, value })),
  );
  return store;
}

t.test("a sum is read once, with the record up to which it holds all", async (t) => {
  const store = await storeWith({ a: rollupToStored({ ...emptyRollup(), requests: 3 }, 17) });
  const cells = new RollupCache(store, (error) => t.fail(error.message));
  t.equal(cells.sumInMemory("a"), undefined);
  t.equal(cells.findSum("a")?.requests, 3);
  t.equal(cells.sumInMemory("a"), undefined, "finding it doesn't keep it");
  t.match(cells.cellAt("a"), { isStored: true, restoredKey: 17, sum: { requests: 3 } });
  t.equal(cells.cellAt("a"), cells.cellInMemory("a"));
  t.match(cells.cellAt("b"), { isStored: false, restoredKey: 0, sum: { requests: 0 } });
  cells.discard(cells.cellAt("b")!);
  t.equal(cells.sumInMemory("b"), undefined);
});

t.test("a damaged sum is reported once and gives no cell", async (t) => {
  const reported: string[] = [];
  const cells = new RollupCache(await storeWith({ a: ["?"] }), ({ name }) => reported.push(name));
  t.equal(cells.cellAt("a"), null);
  t.equal(cells.cellAt("a"), null);
  t.same(reported, ["StoreUnreadableError"]);
  t.throws(() => cells.findSum("a"), { name: "StoreUnreadableError" });
});

t.test("what wasn't needed between two makings of room is forgotten", async (t) => {
  const cells = new RollupCache(createMemoryStore(), (error) => t.fail(error.message));
  const fill = (from: string): void => {
    for (let i = 0; i < rollupCellsMax; i++) cells.cellAt(`${from}${i}`);
  };
  t.notOk(cells.makeRoom(), "there is room");
  cells.cellAt("needed");
  cells.cellAt("unneeded");
  fill("x");
  t.ok(cells.makeRoom());
  t.ok(cells.sumInMemory("needed"), "the previous generation is still held");
  cells.cellInMemory("needed");
  fill("y");
  t.ok(cells.makeRoom());
  t.ok(cells.sumInMemory("needed"));
  t.equal(cells.sumInMemory("unneeded"), undefined);
});

t.test("while very many sums are in memory, each leaves it when it is written", async (t) => {
  const store = createMemoryStore();
  const dayTotal = (path: string): string => `${totalPrefix(path)}2026-03-10`;
  const rollups = new Rollups({ store, labelsOf: () => [], onDamaged: (e) => t.fail(e.message) });
  const flush = async (meanwhile = (): void => {}): Promise<void> => {
    const taken = rollups.takeDirty();
    const changes = rollups.changes(taken, 1);
    meanwhile();
    await store.commit(changes);
    rollups.committed(taken);
  };
  rollups.add(recordOn("/early", {}));
  await flush();
  t.equal(rollups.inMemory(dayTotal("/early"))?.requests, 1, "usually it stays");
  for (let i = 0; i < rollupCellsCrowded / 3; i++) rollups.add(recordOn(`/u${i}`, {}));
  await flush(() => rollups.add(recordOn("/u0", {})));
  t.same([...rollups.unstoredKeys()], []);
  t.equal(rollups.inMemory(dayTotal("/u1")), undefined);
  t.equal(rollups.inMemory(dayTotal("/u0"))?.requests, 2, "what has changed since stays");
  rollups.add(recordOn("/u1", {}));
  await flush();
  t.equal(rollups.find(dayTotal("/u1"))?.requests, 2, "and it is read again when needed");
  t.equal(rollups.find(dayTotal("/u0"))?.requests, 2);
  t.equal(rollups.find(dayTotal("/"))?.requests, 3 + Math.ceil(rollupCellsCrowded / 3));
});

t.test("room is made at the bound, and what isn't there takes none", async (t) => {
  const cells = new RollupCache(createMemoryStore(), (error) => t.fail(error.message));
  for (let i = 0; i < rollupCellsMax; i++) cells.cellInMemory(`nobody${i}`);
  t.equal(cells.makeRoom(), false);
  for (let i = 1; i < rollupCellsMax; i++) cells.cellAt(`x${i}`);
  t.equal(cells.makeRoom(), false, "one less");
  cells.cellAt("x1");
  t.equal(cells.makeRoom(), false, "the same again");
  cells.cellAt("x0");
  t.equal(cells.makeRoom(), true);
  t.equal(cells.makeRoom(), false);
});

t.test("what is no damage isn't taken for it", async (t) => {
  const store = createMemoryStore();
  const bug = new TypeError("a bug");
  store.get = () => {
    throw bug;
  };
  t.throws(() => new RollupCache(store, (error) => t.fail(error.message)).cellAt("a"), bug);
});

const day = "2026-03-10";
const plain = { provider: "openai", model: "gpt-4o", keyId: "" };

async function open(damaged: readonly string[] = []) {
  const store = createMemoryStore();
  await store.commit(damaged.map((key) => ({ table: "rollups", key, value: ["?"] })));
  let loads = 0;
  const { get } = store;
  store.get = (table, key) => {
    loads++;
    return get.call(store, table, key);
  };
  const cells = new RollupCache(store, () => {});
  const sums = new RollupsOfRecord({
    store,
    cells,
    labelsOf: (keyId) => (keyId === "" ? [] : ["prod", "eu"]),
  });
  return {
    sums,
    keysOf: (changes: object = {}, path = "/a"): string[] =>
      sums.sumsOf(recordOn(path, { ...plain, ...changes })).map(({ key }) => key),
    get loads() {
      return loads;
    },
  };
}

const ofPath = (path: string, suffix: string, on = day): string[] => [
  totalPrefix(path) + on,
  modelsPrefix(path) + on + suffix,
];

const origin = (path: string, suffix: string, keyId = "", on = day): string =>
  originKey(on, { userPath: path, keyId }, suffix);

t.test(
  "a record is added to path and ancestors, each by model too, and to its labels",
  async (t) => {
    const { keysOf } = await open();
    const suffix = modelSuffix("openai", "gpt-4o");
    t.same(keysOf({}, "/"), [...ofPath("/", suffix), origin("/", suffix)]);
    t.same(keysOf({}, "/a/b"), [
      ...["/a/b", "/a", "/"].flatMap((path) => ofPath(path, suffix)),
      origin("/a/b", suffix),
    ]);
    t.same(keysOf({ keyId: "key_1" }, "/"), [
      ...ofPath("/", suffix),
      origin("/", suffix, "key_1"),
      `l\nprod\n${day}`,
      `l\neu\n${day}`,
    ]);
  },
);

t.test("each kind of record has its own sums, also right after another one's", async (t) => {
  const opened = await open();
  const { keysOf } = opened;
  const first = keysOf();
  const { loads } = opened;
  t.same(keysOf(), first);
  t.equal(opened.loads, loads, "those at hand aren't looked for again");
  t.notSame(keysOf({ provider: "azure" }), first);
  t.notSame(keysOf({ model: "o3" }), first);
  t.notSame(keysOf({ keyId: "key_1" }), first);
  const suffix = modelSuffix("openai", "gpt-4o");
  t.same(keysOf({ atMs: noonMs + dayMs }), [
    ...["/a", "/"].flatMap((path) => ofPath(path, suffix, "2026-03-11")),
    origin("/a", suffix, "", "2026-03-11"),
  ]);
  const smart = keysOf({ requestedModel: "smart" });
  t.same(smart.slice(0, -1), first.slice(0, -1));
  t.equal(smart.at(-1), origin("/a", modelSuffix("", "smart")), "by the name that was asked for");
  t.same(keysOf(), first, "and the day before again");
});

t.test("more kinds of a path than are kept at hand are right all the same", async (t) => {
  const { keysOf } = await open();
  for (let round = 0; round < 2; round++)
    for (let i = 0; i < 40; i++)
      t.same(
        keysOf({ model: `m${i}` }, "/").slice(0, 2),
        ofPath("/", modelSuffix("openai", `m${i}`)),
      );
});

t.test("of models beyond a path's bound there is one sum by origin for each key", async (t) => {
  const store = createMemoryStore();
  const key = totalPrefix("/") + day;
  const full = { ...emptyRollup(), requests: 9, models: modelsPerDayMax };
  await store.commit([{ table: "rollups", key, value: rollupToStored(full, 1) }]);
  const cells = new RollupCache(store, () => {});
  const sums = new RollupsOfRecord({ store, cells, labelsOf: () => [] });
  const origins = ["a", "b"].flatMap((model) =>
    ["", "key_1"].map((keyId) => sums.sumsOf({ ...recordOn("/", { model }), keyId }).at(-1)!.key),
  );
  t.equal(new Set(origins).size, 2);
  t.match(origins[0], /\nother\nother$/);
});

t.test("what was kept at hand is forgotten with the sums", async (t) => {
  const { sums } = await open();
  const record = recordOn("/", plain);
  const before = sums.sumsOf(record);
  t.equal(sums.sumsOf(record), before);
  sums.clear();
  t.not(sums.sumsOf(record), before);
});

t.test("how many models a total has is taken from it, or counted after a crash", async (t) => {
  for (const [replaying, models] of [
    [false, 6],
    [true, 3],
  ] as const) {
    const store = createMemoryStore();
    const key = totalPrefix("/") + day;
    const sum = { ...emptyRollup(), requests: 9, models: 5 };
    await store.commit([
      { table: "rollups", key, value: rollupToStored(sum, 1) },
      ...["a", "b"].map((model) => ({
        table: "rollups" as const,
        key: modelsPrefix("/") + day + modelSuffix("openai", model),
        value: rollupToStored({ ...emptyRollup(), requests: 1 }, 1),
      })),
    ]);
    const cells = new RollupCache(store, () => {});
    const sums = new RollupsOfRecord({ store, cells, labelsOf: () => [] });
    if (replaying) sums.sumsOfReplayed(recordOn("/", plain));
    else sums.sumsOf(recordOn("/", plain));
    t.equal(cells.sumInMemory(key)?.models, models, "and one for this record's");
  }
});

t.test("a damaged sum is left out, and only that", async (t) => {
  const suffix = modelSuffix("openai", "gpt-4o");
  const all = [
    ...ofPath("/", suffix),
    origin("/", suffix, "key_1"),
    `l\nprod\n${day}`,
    `l\neu\n${day}`,
  ];
  for (const damaged of all) {
    const { keysOf } = await open([damaged]);
    t.same(
      keysOf({ keyId: "key_1" }, "/"),
      all.filter((key) => key !== damaged),
    );
  }
});

t.test("of very many paths, what was kept at hand is forgotten at a bound", async (t) => {
  const loads: string[] = [];
  const cells = {
    cellInMemory: () => undefined,
    loadCell: (key: string) => {
      loads.push(key);
      return null;
    },
    cellAt: () => null,
    discard: () => {},
  } as unknown as RollupCache;
  const sums = new RollupsOfRecord({ store: createMemoryStore(), cells, labelsOf: () => [] });
  const of = (path: string) => sums.sumsOf(recordOn(path, plain));
  const first = of("/0");
  for (let i = 1; i < rollupCellsMax; i++) of(`/${i}`);
  t.equal(of("/0"), first);
  of("/one-more");
  t.not(of("/0"), first);
  t.equal(of("/one-more"), of("/one-more"));
});
