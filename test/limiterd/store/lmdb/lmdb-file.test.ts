import { statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  type Bytes,
  type Meta,
  openRoot,
  openTables,
  openTablesThere,
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

t.test("a store without the number of its schema has the first", async (t) => {
  const metaOf = (value: Buffer | undefined): Meta => ({ get: () => value }) as unknown as Meta;
  t.equal(storedSchema(metaOf(undefined)), 1);
  t.equal(storedSchema(metaOf(Buffer.from("7"))), 7);
});

t.test("of a file that is only read there are the tables that it has", async (t) => {
  const file = join(temporary(t), "limiterd.mdb");
  const old = openRoot(file);
  old.openDB({ name: "rules", encoding: "binary" }).putSync("a", Buffer.of(1));
  await old.close();
  for (const name of [file, `${file}-lock`])
    t.equal((statSync(name).mode & 0o777).toString(8), "600", name);
  const reading = openRoot(file, { readOnly: true });
  t.same([...openTablesThere(reading).keys()], ["rules"]);
  t.same([...openTablesThere(reading).get("rules")!.getKeys()], [Buffer.from("a")]);
  await reading.close();
  const whole = openRoot(await filledStore(temporary(t)));
  t.same([...openTablesThere(whole).keys()].sort(), [...tables].sort());
  t.same([...openTables(whole).keys()], tables);
  await whole.close();
});

t.test("the files that a process makes afterwards are as its own mask says", async (t) => {
  const mask = process.umask(0o022);
  t.teardown(() => void process.umask(mask));
  const directory = temporary(t);
  await filledStore(directory);
  t.throws(() => openRoot(directory), { name: "StoreUnreadableError" });
  t.equal(process.umask(), 0o022);
});
