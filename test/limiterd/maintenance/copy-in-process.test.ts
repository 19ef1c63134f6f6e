import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { copyInProcess } from "../../../limiterd/maintenance/copy-in-process.js";
import { copyStore } from "../../../limiterd/maintenance/copy-store.js";
import { verifyStoreFile } from "../../../limiterd/maintenance/verify-store-file.js";
import { checkWholeStore } from "../../../limiterd/store/lmdb/check-store-file.js";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { filledStore, put, read, temporary } from "../store/lmdb/store-fixture.js";

/** All pieces of a copy. */
async function bytesOf(
  copy: Awaited<ReturnType<typeof copyInProcess>["finished"]>,
): Promise<Buffer> {
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
      for (; copying; commits++) {
        // Each commit writes all of them: a copy between two of them would have two numbers.
        await store.commit(
          Array.from({ length: 300 }, (_, n) => put("marks", `m${n}`, commits, "x".repeat(50))),
        );
        if (store.get("marks", "m299")?.[0] !== commits) throw new Error("a commit is lost");
      }
    };
    const writing = write();
    for (let round = 0; round < 2; round++) {
      const copy = await copyInProcess(store).finished;
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
  const copying = copyInProcess(store);
  copying.cancel();
  await t.rejects(copying.finished, { name: "StoreFailingError" });
  t.same(
    readdirSync(directory).filter((name) => name.includes("backup")),
    [],
  );
  await store.commit([put("rules", "a", 1)]);
  await store.close();
  t.match(await verifyStoreFile(store.file, () => {}), { entries: 5001 });
});

t.test(
  "a store is read for a copy without its lock file, which says what is committed",
  async (t) => {
    const directory = temporary(t);
    const file = await filledStore(directory);
    rmSync(`${file}-lock`);
    const before = readdirSync(directory);
    const mask = process.umask();
    await copyStore(file, `${file}.copy`);
    process.umask(mask);
    t.same(readdirSync(directory).sort(), [...before, "limiterd.mdb.copy"].sort());
  },
);

t.test(
  "a copy with values of all lengths is whole, also once it is a store of its own",
  async (t) => {
    const store = await openLmdbStore(temporary(t));
    // Beyond half a page a value has pages of its own.
    const lengths = [10, 1500, 2100, 5000, 90_000, 300_000];
    for (let n = 0; n < 30; n++)
      await store.commit(
        lengths.map((length) => put("marks", `m${n}-${length}`, "x".repeat(length))),
      );
    const copy = await copyInProcess(store).finished;
    const target = temporary(t);
    const file = join(target, "limiterd.mdb");
    writeFileSync(file, await bytesOf(copy));
    copy.close();
    await store.close();
    checkWholeStore(file);
    for (let life = 0; life < 3; life++) {
      const own = await openLmdbStore(target);
      t.equal([...own.entries("marks")].length, 30 * lengths.length + life);
      await own.commit([put("marks", `own${life}`, life)]);
      await own.close();
      checkWholeStore(file);
    }
  },
);

t.test("what is held isn't written over, and room is used again after that", async (t) => {
  const store = await openLmdbStore(temporary(t));
  t.teardown(() => store.close());
  const grownBy = async (commits: number): Promise<number> => {
    const before = store.sizeBytes()!;
    for (let n = 0; n < commits; n++) {
      const changes = Array.from({ length: 50 }, (_, i) =>
        put("marks", `m${i}`, n, "x".repeat(900)),
      );
      await store.commit(changes);
    }
    return store.sizeBytes()! - before;
  };
  await grownBy(20);
  const release = store.holdPages();
  const held = await grownBy(100);
  release();
  t.ok(held > 4_000_000, `${held} bytes for 100 commits`);
  const free = await grownBy(100);
  t.ok(free < held / 4, `${free} bytes for as many`);
});

t.test("a missing store isn't copied, and the error says why", async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, "limiterd.mdb"), "no store at all");
  const file = join(directory, "limiterd.mdb");
  let released = false;
  const holdPages = () => () => {
    released = true;
  };
  const copying = copyInProcess({ file, holdPages });
  await t.rejects(copying.finished, {
    name: "StoreFailingError",
    message: /is not a Sluice store/,
  });
  t.ok(released, "nothing is held for it any more");
});
