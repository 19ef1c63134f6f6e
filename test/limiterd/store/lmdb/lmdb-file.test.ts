import { statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  type Bytes,
  type Meta,
  openMeta,
  openRoot,
  openTables,
  storedSchema,
  tableSize,
  usedBytes,
} from "../../../../limiterd/store/lmdb/lmdb-file.js";
import { tables } from "../../../../limiterd/store/store.js";
import { filledStore, temporary } from "./store-fixture.js";

/** A table of which LMDB says this. */
const tableOf = (stats: Readonly<Record<string, number>>): Bytes =>
  ({ getStats: () => stats }) as unknown as Bytes;

t.test("a table takes its pages of every kind, and a store those of its tables", async (t) => {
  const stats = { entryCount: 7, treeBranchPageCount: 2, treeLeafPageCount: 30, pageSize: 4096 };
  const table = tableOf({ ...stats, overflowPages: 500 });
  t.same(tableSize(table), { entries: 7, bytes: 532 * 4096 });
  t.same(tableSize(tableOf(stats)), { entries: 7, bytes: 32 * 4096 });
  t.same(tableSize(tableOf({})), { entries: 0, bytes: 0 });
  const all = new Map([
    ["usage", table],
    ["rules", tableOf(stats)],
  ] as const);
  t.equal(usedBytes(all), 564 * 4096);
  t.equal(usedBytes(all, "usage"), 532 * 4096);
  t.equal(usedBytes(all, "rules"), 32 * 4096);
  t.equal(usedBytes(all, "keys"), 0);
});

t.test("a store without the number of its schema has lost it", async (t) => {
  const metaOf = (value: string | undefined): Meta =>
    ({ get: () => (value === undefined ? undefined : Buffer.from(value)) }) as unknown as Meta;
  t.equal(storedSchema("/x", metaOf("7")), 7);
  for (const value of [undefined, "", "0", "01", "q", "-1", "123456"])
    t.throws(() => storedSchema("/x", metaOf(value)), {
      name: "StoreUnreadableError",
      message:
        "/x can't be read: it has lost the number of its schema. Restore a backup that is whole",
    });
});

t.test("a table that is missing is made only where that is wanted", async (t) => {
  const file = join(temporary(t), "limiterd.mdb");
  const lacking = openRoot(file);
  for (const name of [file, `${file}-lock`])
    t.equal((statSync(name).mode & 0o777).toString(8), "600", name);
  lacking.openDB({ name: "rules", encoding: "binary" }).putSync("a", Buffer.of(1));
  for (const readOnly of [false, true]) {
    const root = openRoot(file, { readOnly });
    t.throws(() => openTables(file, root), {
      name: "StoreUnreadableError",
      message: /limiterd\.mdb can't be read: its table windows is missing\. Restore a backup/,
    });
    t.throws(() => openMeta(file, root), { message: /its table meta is missing/ });
    await root.close();
  }
  t.same([...lacking.getKeys()], ["rules"], "nor is one made by the look");
  t.same([...openTables(file, lacking, { make: true }).keys()], tables);
  openMeta(file, lacking, { make: true });
  t.same([...openTables(file, lacking).get("rules")!.getKeys()], [Buffer.from("a")]);
  openMeta(file, lacking);
  await lacking.close();
});

t.test("the files that a process makes afterwards are as its own mask says", async (t) => {
  const mask = process.umask(0o022);
  t.teardown(() => void process.umask(mask));
  const directory = temporary(t);
  await filledStore(directory);
  t.throws(() => openRoot(directory), { name: "StoreUnreadableError" });
  t.equal(process.umask(), 0o022);
});
