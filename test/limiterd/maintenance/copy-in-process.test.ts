import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { copyInProcess } from "../../../limiterd/maintenance/copy-in-process.js";
import { verifyStoreFile } from "../../../limiterd/maintenance/verify-store-file.js";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { put, read, temporary } from "../store/lmdb/store-fixture.js";

/** All pieces of a copy. */
async function bytesOf(copy: Awaited<ReturnType<typeof copyInProcess>["made"]>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < copy.bytes; ) {
    const piece = await copy.read(at, 100_000);
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces);
}

t.test(
  "a copy of a store that is written meanwhile is of one commit, and nothing of it is left",
  async (t) => {
    const directory = temporary(t);
    const store = await openLmdbStore(directory);
    let commits = 0;
    let copying = true;
    const write = async (): Promise<void> => {
      for (; copying; commits++)
        // Each commit writes all of them: a copy between two of them would have two numbers.
        await store.commit(
          Array.from({ length: 300 }, (_, n) => put("marks", `m${n}`, commits, "x".repeat(50))),
        );
    };
    const writing = write();
    for (let round = 0; round < 2; round++) {
      const copy = await copyInProcess(store.file).made;
      t.same(
        readdirSync(directory).filter((name) => name.endsWith(".backup")),
        [],
      );
      const target = temporary(t);
      writeFileSync(join(target, "limiterd.mdb"), await bytesOf(copy));
      copy.close();
      const copied = await openLmdbStore(target);
      const numbers = new Set([...copied.entries("marks")].map(({ value }) => value[0]));
      t.equal(numbers.size, 1, `of one commit: ${[...numbers].join(", ")}`);
      await copied.commit([put("rules", "a", 1)]);
      t.same(read(copied, "rules"), [["a", [1]]], "it can be written");
      await copied.close();
    }
    copying = false;
    await writing;
    t.ok(commits > 3);
    await store.close();
  },
);

t.test("a copy that is cancelled leaves nothing, and the store goes on", async (t) => {
  const directory = temporary(t);
  const store = await openLmdbStore(directory);
  await store.commit(
    Array.from({ length: 5000 }, (_, n) => put("objects", `o${n} ${"x".repeat(900)}`, "/", 1e12)),
  );
  const copying = copyInProcess(store.file);
  copying.cancel();
  await t.rejects(copying.made, { name: "StoreFailingError" });
  t.same(
    readdirSync(directory).filter((name) => name.includes("backup")),
    [],
  );
  await store.commit([put("rules", "a", 1)]);
  await store.close();
  t.match(await verifyStoreFile(store.file, () => {}), { entries: 5001 });
});

t.test("a store that isn't there isn't copied, and the reason is told", async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, "limiterd.mdb"), "no store at all");
  const copying = copyInProcess(join(directory, "limiterd.mdb"));
  await t.rejects(copying.made, { name: "StoreFailingError", message: /is not a Sluice store/ });
});
