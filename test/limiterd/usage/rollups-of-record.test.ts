import t from "tap";
import { emptyRollup, rollupToStored } from "../../../limiterd/usage/rollup.js";
import { RollupCache } from "../../../limiterd/usage/rollup-cache.js";
import {
  modelSuffix,
  modelsPrefix,
  originKey,
  totalPrefix,
} from "../../../limiterd/usage/rollup-keys.js";
import { RollupsOfRecord } from "../../../limiterd/usage/rollups-of-record.js";
import { modelsPerDayMax, rollupCellsMax } from "../../../shared/bounds.js";
import { dayMs } from "../../../shared/utc-day.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { noonMs, recordOn } from "../lifecycle/flush-fixture.js";

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
      sums.of(recordOn(path, { ...plain, ...changes }), false).map(({ key }) => key),
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
    ["", "key_1"].map(
      (keyId) => sums.of({ ...recordOn("/", { model }), keyId }, false).at(-1)!.key,
    ),
  );
  t.equal(new Set(origins).size, 2);
  t.match(origins[0], /\nother\nother$/);
});

t.test("what was kept at hand is forgotten with the sums", async (t) => {
  const { sums } = await open();
  const record = recordOn("/", plain);
  const before = sums.of(record, false);
  t.equal(sums.of(record, false), before);
  sums.forget();
  t.not(sums.of(record, false), before);
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
    sums.of(recordOn("/", plain), replaying);
    t.equal(cells.held(key)?.models, models, "and one for this record's");
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
    known: () => undefined,
    load: (key: string) => {
      loads.push(key);
      return null;
    },
    get: () => null,
    discard: () => {},
  } as unknown as RollupCache;
  const sums = new RollupsOfRecord({ store: createMemoryStore(), cells, labelsOf: () => [] });
  const of = (path: string) => sums.of(recordOn(path, plain), false);
  const first = of("/0");
  for (let i = 1; i < rollupCellsMax; i++) of(`/${i}`);
  t.equal(of("/0"), first);
  of("/one-more");
  t.not(of("/0"), first);
  t.equal(of("/one-more"), of("/one-more"));
});
