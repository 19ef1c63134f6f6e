import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { verifyStoreFile } from "../../../limiterd/maintenance/verify-store-file.js";
import { migrateStore } from "../../../limiterd/store/lmdb/migrate-store.js";
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
  openLmdbStore(directory, list);

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

t.test(
  "an upgrade that was taken back and made again keeps the store from before the second",
  async (t) => {
    const directory = temporary(t);
    const file = await storeOfSchema1(directory);
    await (await opened(directory, migrations)).close();
    rmSync(file);
    renameSync(`${file}.schema-1`, file);
    writeFileSync(`${file}.schema-1`, "of an upgrade before");
    const back = await openLmdbStore(directory);
    await back.commit([put("rules", "c", 3)]);
    await back.close();
    await (await opened(directory, migrations)).close();
    rmSync(file);
    renameSync(`${file}.schema-1`, file);
    const again = await openLmdbStore(directory);
    t.same(read(again, "rules"), [
      ["a", [1]],
      ["b", [2]],
      ["c", [3]],
    ]);
    await again.close();
  },
);

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

t.test("only its owner may read the copy, and an unfinished one is made again", async (t) => {
  const directory = temporary(t);
  const file = await storeOfSchema1(directory);
  writeFileSync(`${file}.${process.pid}.backup`, "half of one");
  const mask = process.umask(0o022);
  t.teardown(() => process.umask(mask));
  const store = await opened(directory, migrations);
  t.equal(process.umask(), 0o022);
  await store.close();
  t.equal(statSync(`${file}.schema-1`).mode & 0o777, 0o600);
  t.notOk(existsSync(`${file}.${process.pid}.backup`));
});

t.test("of a copy that can't be finished nothing stays", async (t) => {
  const directory = temporary(t);
  const mask = process.umask(0o022);
  t.teardown(() => process.umask(mask));
  const full = {
    async backup(path: string) {
      writeFileSync(path, "half of one");
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    },
  };
  const schema = { get: () => Buffer.from("1") };
  await t.rejects(
    migrateStore(join(directory, "a.mdb"), { root: full, meta: schema } as never, migrations),
    { name: "StoreUnreadableError", message: /can't be written: .*no space left.* Nothing was/ },
  );
  t.same(readdirSync(directory), []);
  t.equal(process.umask(), 0o022);
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
