import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import t from "tap";
import { verifyStoreFile } from "../../../limiterd/maintenance/verify-store-file.js";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Migration } from "../../../limiterd/store/migrations.js";
import { put, read, remove, temporary } from "../store/lmdb/store-fixture.js";

/** To 2: a rule counts from 10 on. To 3: what is marked goes. */
const migrations: readonly Migration[] = [
  {
    to: 2,
    *changes(store) {
      for (const { key, value } of store.entries("rules"))
        yield put("rules", key, Number(value[0]) + 10);
    },
  },
  {
    to: 3,
    *changes(store) {
      for (const { key } of store.entries("marks")) yield remove("marks", key);
      for (const { key, value } of store.entries("rules"))
        yield put("rules", key, Number(value[0]) * 2);
    },
  },
];

async function storeOfSchema1(directory: string): Promise<string> {
  const store = await openLmdbStore(directory);
  await store.commit([put("rules", "a", 1), put("rules", "b", 2), put("marks", "m", 3)]);
  await store.close();
  return store.file;
}

const opened = (directory: string, list: readonly Migration[]): ReturnType<typeof openLmdbStore> =>
  openLmdbStore(directory, () => {}, list);

t.test("a store is brought from its schema to the newest, step by step, and once", async (t) => {
  const directory = temporary(t);
  const file = await storeOfSchema1(directory);
  for (const _ of ["first", "again"]) {
    const store = await opened(directory, migrations);
    t.same(read(store, "rules"), [
      ["a", [22]],
      ["b", [24]],
    ]);
    t.same(read(store, "marks"), []);
    await store.close();
  }
  await t.rejects(openLmdbStore(directory), {
    name: "StoreUnreadableError",
    message: /was written by a later release: it has the schema 3, and this Sluice reads up to 1/,
  });
  // What the release before needs, to go back to it.
  t.ok(existsSync(`${file}.schema-1`));
  rmSync(file);
  renameSync(`${file}.schema-1`, file);
  const before = await openLmdbStore(directory);
  t.same(read(before, "rules"), [
    ["a", [1]],
    ["b", [2]],
  ]);
  await before.close();
});

t.test("a migration that fails, or is killed, leaves the old schema or the new one", async (t) => {
  const directory = temporary(t);
  const file = await storeOfSchema1(directory);
  const failing: Migration = {
    to: 2,
    *changes() {
      yield put("rules", "a", 7);
      throw new Error("a rule that it can't read");
    },
  };
  await t.rejects(opened(directory, [failing]), /a rule that it can't read/);
  t.match(await verifyStoreFile(file, () => {}), { schema: 1 });
  const killed = temporary(t);
  await storeOfSchema1(killed);
  const script = fileURLToPath(
    new URL("../../support/processes/migrating-store.js", import.meta.url),
  );
  const child = spawn(process.execPath, [script, killed], { stdio: "ignore" });
  t.same(await once(child, "exit"), [null, "SIGKILL"]);
  const store = await opened(killed, migrations);
  t.same(read(store, "rules"), [
    ["a", [4]],
    ["b", [4]],
  ]);
  await store.close();
});

t.test("without a place for the copy nothing is converted", async (t) => {
  const directory = temporary(t);
  const file = await storeOfSchema1(directory);
  mkdirSync(`${file}.${process.pid}.backup`);
  mkdirSync(`${file}.${process.pid}.backup/x`);
  await t.rejects(opened(directory, migrations));
  rmSync(`${file}.${process.pid}.backup`, { recursive: true });
  const store = await openLmdbStore(directory);
  t.same(read(store, "rules").length, 2);
  await store.close();
  t.same(
    readdirSync(directory).filter((name) => name.includes("schema")),
    [],
  );
});
