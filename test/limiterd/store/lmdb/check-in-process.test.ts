import { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t from "tap";
import { problemOf } from "../../../../limiterd/store/lmdb/check-in-process.js";
import { openLmdbStore } from "../../../../limiterd/store/lmdb/open-lmdb-store.js";
import { isAsLeft } from "../../../../limiterd/store/lmdb/store-mark.js";
import { StoreUnreadableError } from "../../../../limiterd/store/store.js";
import { createRandom } from "../../../sim/random.js";
import { filledStore, inProcess, put, read, refusal, remove, temporary } from "./store-fixture.js";

t.test(
  "a store whose last pages were taken and given back in one commit is whole, though its file is shorter than it counts",
  async (t) => {
    const directory = temporary(t);
    const store = await openLmdbStore(directory);
    // A commit takes pages that the one before the last has freed.
    for (const n of [0, 1]) await store.commit([put("rules", "a", n)]);
    // As a snapshot that a slow disk held up: 900 settles, and the removal of their batch.
    await store.commit([put("journal", 1, "x".repeat(900 * 120)), remove("journal", 1)]);
    await store.close();
    const head = readFileSync(store.file).subarray(0, 8192);
    const pages = Math.max(
      Number(head.readBigUInt64LE(24 + 120)),
      Number(head.readBigUInt64LE(4096 + 24 + 120)),
    );
    t.ok(statSync(store.file).size < pages * 4096, "it is shorter");
    for (const name of ["with its mark", "without"]) {
      if (name === "without") rmSync(`${store.file}.mark`);
      const again = await openLmdbStore(directory);
      t.same(read(again, "rules"), [["a", [1]]], name);
      await again.commit([put("rules", "a", 1)]);
      await again.close();
    }
  },
);

t.test(
  "a copy that was made while the store was written is refused or whole, and never ends the process",
  async (t) => {
    const random = createRandom(3);
    const directory = temporary(t);
    const file = await filledStore(directory, 3000);
    const older = readFileSync(file);
    const store = await openLmdbStore(directory);
    for (let n = 0; n < 20; n++)
      await store.commit([put("windows", `w${n}`, n), put("journal", n, "x".repeat(n * 900))]);
    await store.close();
    const newer = readFileSync(file);
    let refused = 0;
    for (let round = 0; round < 8; round++) {
      const torn = Buffer.from(newer);
      for (let page = 2; page * 4096 < older.length; page++) {
        const at = page * 4096;
        const kind = random.int(0, 5);
        if (kind < 2) older.copy(torn, at, at, at + 4096);
        // What a copy holds where the file had not been written yet.
        else if (kind === 2 && round % 2 === 0) torn.fill(0, at, at + 4096);
      }
      const copy = temporary(t);
      // The mark of the one that was copied is beside it, too.
      copyFileSync(`${file}.mark`, join(copy, "limiterd.mdb.mark"));
      writeFileSync(join(copy, "limiterd.mdb"), torn);
      const why = await refusal(copy);
      if (why === null) continue;
      refused++;
      t.ok(why instanceof StoreUnreadableError, why.message);
      t.match(why.message, join(copy, "limiterd.mdb"));
    }
    t.ok(refused > 0);
  },
);

t.test("a file that is as its owner closed it isn't read again, any other is", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory, 3000);
  const mark = readFileSync(`${file}.mark`, "utf8");
  t.match(mark, /^closed \d+ \d+ \d+ \d+\n$/);
  truncateSync(file, 40_960);
  t.match(
    (await refusal(directory))?.message,
    /limiterd\.mdb can't be (read|opened)/,
    "cut short since then",
  );
  t.equal(readFileSync(`${file}.mark`, "utf8"), mark);
});

t.test("a store that was closed opens without a process that checks it", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  let started = 0;
  const spawn = Reflect.get(ChildProcess.prototype, "spawn") as (...args: unknown[]) => unknown;
  t.teardown(() => Object.assign(ChildProcess.prototype, { spawn }));
  Object.assign(ChildProcess.prototype, {
    spawn(this: ChildProcess, ...args: unknown[]): unknown {
      started++;
      return spawn.apply(this, args);
    },
  });
  t.equal(await refusal(directory), null);
  t.equal(started, 0);
  rmSync(`${file}.mark`);
  t.equal(await refusal(directory), null);
  t.equal(started, 1, "another one doesn't");
});

t.test(
  "the file of an owner that was killed isn't read again unless somebody wrote to it",
  async (t) => {
    const directory = temporary(t);
    const writer = inProcess(t, directory, "write");
    await writer.until(() => (writer.received.at(-1)?.written ?? 0) >= 20);
    writer.child.kill("SIGKILL");
    await once(writer.child, "exit");
    const file = join(directory, "limiterd.mdb");
    t.ok(isAsLeft(file));
    const mark = readFileSync(`${file}.mark`, "utf8");
    writeFileSync(`${file}.mark`, mark.replace(/in use \S+/, "in use another-boot"));
    t.notOk(isAsLeft(file), "the machine has gone down with it");
    writeFileSync(`${file}.mark`, mark);
    renameSync(file, `${file}.moved`);
    copyFileSync(`${file}.moved`, file);
    t.notOk(isAsLeft(file), "another file is in its place");
    t.equal(await refusal(directory), null, "which is whole");
  },
);

t.test("a file is whole only if its reader says so and ends well", async (t) => {
  const ended = /^\/x can't be read: it is damaged or incomplete: reading it ends the process/;
  for (const [said, code, problem] of [
    [{ readable: true }, 0, null],
    [{ readable: true }, 1, ended],
    [{ readable: true }, null, ended],
    [null, 0, ended],
    [null, null, ended],
    [{}, 0, ended],
    [{ problem: "torn" }, 0, "torn"],
    [{ problem: "torn" }, null, "torn"],
  ] as const) {
    const found = problemOf("/x", said, code);
    t.equal(found?.name ?? null, problem === null ? null : "StoreUnreadableError");
    t.match(found?.message ?? null, problem);
  }
});
