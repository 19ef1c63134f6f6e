import t, { type Test } from "tap";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { type Store, tables } from "../../../limiterd/store/store.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { put, read, remove, temporary } from "./lmdb/store-fixture.js";

const stores: readonly (readonly [name: string, make: (t: Test) => Promise<Store>])[] = [
  ["memory", async () => createMemoryStore()],
  [
    "LMDB",
    async (t) => {
      const store = await openLmdbStore(temporary(t));
      t.teardown(() => store.close());
      return store;
    },
  ],
];

for (const [name, make] of stores) {
  t.test(`${name}: a new store is empty in every table`, async (t) => {
    const store = await make(t);
    for (const table of tables) t.same(read(store, table), [], table);
  });

  t.test(
    `${name}: what is committed stands in its own table, in the order of the keys`,
    async (t) => {
      const store = await make(t);
      await store.commit([
        put("rules", "b", 1),
        put("rules", "a", 2),
        put("windows", "a", 3),
        put("rules", "a\nb", 4),
        put("rules", "ab", 5),
        put("proxies", "a", 6),
      ]);
      t.same(read(store, "rules"), [
        ["a", [2]],
        ["a\nb", [4]],
        ["ab", [5]],
        ["b", [1]],
      ]);
      t.same(read(store, "windows"), [["a", [3]]]);
      t.same(read(store, "proxies"), [["a", [6]]]);
      t.same(read(store, "journal"), []);
    },
  );

  t.test(`${name}: numbers as keys come back as numbers, in their order`, async (t) => {
    const store = await make(t);
    const keys = [10, 2, 1_000_001, 1, 2 ** 40, 100];
    await store.commit(keys.map((key) => put("journal", key, key)));
    t.same(
      read(store, "journal"),
      [...keys].sort((a, b) => a - b).map((key) => [key, [key]]),
    );
  });

  t.test(
    `${name}: one entry, a range of entries or of keys is read without the rest`,
    async (t) => {
      const store = await make(t);
      const keys = [
        "t\n/team\n\u00e9 t\u00e9\n2026-01-02",
        "t\n/team\na\n2026-01-01",
        "t\n/team\na\n2026-01-03",
        "t\n/team\na b\n2026-01-01",
        "t\n/team\na-b\n2026-01-01",
        "t\n/team\na\u{1f600}\n2026-01-01",
        "t\n/teams\na\n2026-01-01",
        "t\n\n\n2026-01-01",
      ];
      await store.commit([
        ...keys.map((key, i) => put("rollups", key, i)),
        ...[30, 10, 20, 2 ** 50].map((key) => put("usage", key, key)),
      ]);
      t.same(store.get("rollups", keys[3]!), [3]);
      t.equal(store.get("rollups", "t\n/team\na\n2026-01-02"), undefined);
      t.equal(store.get("usage", 11), undefined);
      t.same(store.get("usage", 2 ** 50), [2 ** 50]);
      const under = (prefix: string, limit = 100) =>
        store.keys("rollups", { from: prefix, before: `${prefix.slice(0, -1)}\u000b`, limit });
      t.same(under("t\n/team\na\n"), [keys[1], keys[2]], "and no name that begins with it");
      t.same(
        under("t\n/team\n"),
        [
          keys[1],
          keys[2],
          keys[3],
          keys[4],
          ...[keys[0]!, keys[5]!].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
        ],
        "all children, whatever they are called",
      );
      t.same(under("t\n\n\n"), [keys[7]]);
      t.same(under("t\n/team\n", 2), [keys[1], keys[2]]);
      t.same(
        store.range("rollups", {
          from: "t\n/team\na\n2026-01-01",
          before: "t\n/team\na\n2026-01-03",
          limit: 9,
        }),
        [{ key: keys[1], value: [1] }],
        "with its beginning, without its end",
      );
      t.same(store.range("usage", { from: 11, before: 2 ** 50, limit: 1 }), [
        { key: 20, value: [20] },
      ]);
      for (const [limit, found] of [
        [0, []],
        [1, [10]],
        [2, [10, 20]],
        [3, [10, 20]],
      ] as const) {
        const range = { from: 10, before: 30, limit };
        t.same(store.keys("usage", range), found);
        t.same(
          store.range("usage", range).map(({ key }) => key),
          found,
        );
      }
      t.same(store.keys("usage", { from: 31, before: 40, limit: 9 }), []);
      for (const [from, before, limit, found] of [
        [10, 30, 1, [20]],
        [10, 20, 9, [10]],
        [10, 21, 9, [20, 10]],
        [20, 25, 9, [20]],
        [0, 2 ** 50, 2, [30, 20]],
        [11, 20, 9, []],
        [31, 40, 9, []],
        [0, 10, 9, []],
        [10, 11, 0, []],
        [30, 10, 9, []],
      ] as const)
        t.same(store.lastKeys("usage", { from, before, limit }), found, `${from} to ${before}`);
    },
  );

  t.test(`${name}: values come back as they were, of every kind that we keep`, async (t) => {
    const store = await make(t);
    const values = [
      [],
      [null, true, false],
      [0, 1, -1, 64, 127, 2 ** 53 - 1, 0.5],
      ["", "é日🙂", "x".repeat(5000), "a\nb\u0000"],
      [
        ["p", 1],
        ["q", [2, [3]]],
      ],
      Array.from({ length: 2000 }, (_, i) => i),
    ];
    await store.commit(values.map((value, i) => put("windows", `v${i}`, ...value)));
    t.same(
      read(store, "windows"),
      values.map((value, i) => [`v${i}`, value]),
    );
  });

  t.test(
    `${name}: a later value replaces the earlier one, a removal takes it away, and removing nothing is no failure`,
    async (t) => {
      const store = await make(t);
      await store.commit([put("rules", "a", 1), put("rules", "b", 1)]);
      await store.commit([put("rules", "a", 2), remove("rules", "b"), remove("rules", "c")]);
      t.same(read(store, "rules"), [["a", [2]]]);
      await store.commit([
        put("rules", "d", 1),
        remove("rules", "d"),
        remove("rules", "a"),
        put("rules", "a", 3),
      ]);
      t.same(read(store, "rules"), [["a", [3]]], "changes of one commit apply in their order");
      await store.commit([]);
      t.same(read(store, "rules"), [["a", [3]]]);
    },
  );

  t.test(`${name}: commits that aren't waited for apply in their order`, async (t) => {
    const store = await make(t);
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        store.commit([
          put("windows", "a", n),
          n % 2 === 0 ? put("windows", "b", n) : remove("windows", "b"),
        ]),
      ),
    );
    t.same(read(store, "windows"), [["a", [49]]]);
  });

  t.test(
    `${name}: a value that is changed after its commit stays as it was committed`,
    async (t) => {
      const store = await make(t);
      const value = ["before"];
      const committed = store.commit([{ table: "rules", key: "a", value }]);
      value[0] = "after";
      await committed;
      value[0] = "later";
      t.same(read(store, "rules"), [["a", ["before"]]]);
    },
  );

  t.test(`${name}: a long list of changes is one commit`, async (t) => {
    const store = await make(t);
    await store.commit(
      Array.from({ length: 3000 }, (_, n) => put("windows", `w${String(n).padStart(5, "0")}`, n)),
    );
    t.equal([...store.entries("windows")].length, 3000);
  });

  t.test(`${name}: it has a name for messages, and a size`, async (t) => {
    const store = await make(t);
    t.match(store.file, /\S/);
    t.ok(store.sizeBytes()! >= 0);
  });
}
