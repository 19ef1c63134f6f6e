/** What a commit does that LMDB or the disk refuses, on a real file with a root that can fail. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  commitFailure,
  type Meta,
  openRoot,
  openTables,
  type Root,
} from "../../../../limiterd/store/lmdb/lmdb-file.js";
import { LmdbStore } from "../../../../limiterd/store/lmdb/lmdb-store.js";
import { writeOwner } from "../../../../limiterd/store/lmdb/open-lmdb-store.js";
import { trialFile } from "../../../../limiterd/store/lmdb/store-file.js";
import { ownerMark } from "../../../../limiterd/store/lmdb/store-owner.js";
import { StoreLockedError, StoreUnreadableError } from "../../../../limiterd/store/store.js";
import { filledStore, inProcess, put, read, remove, temporary } from "./store-fixture.js";

interface Bench {
  readonly store: LmdbStore;
  readonly meta: Meta;
  /** Where a trial of the disk writes. */
  readonly trial: string;
  /** Why commits fail from now on; null: they don't. */
  failure: unknown;
  /** Commits that reached LMDB. */
  batches: number;
}

async function bench(t: Test, isOwned = true): Promise<Bench> {
  const file = await filledStore(temporary(t));
  const root = openRoot(file);
  const meta: Meta = root.openDB({ name: "meta", encoding: "binary" });
  const failing = new Proxy(root, {
    get(target, name): unknown {
      if (name === "batch" && made.failure !== null) {
        made.batches++;
        return () => Promise.reject(made.failure);
      }
      if (name === "batch") made.batches++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  }) as Root;
  const tables = openTables(file, root);
  const store = new LmdbStore(file, { root: failing, meta, lock: null, isOwned, tables });
  t.teardown(() => store.close());
  const made: Bench = { store, meta, trial: trialFile(file), failure: null, batches: 0 };
  return made;
}

const ioError = Object.assign(new Error("MDB says so"), { code: 5 });
const noRoom = Object.assign(new Error("MDB says so"), { code: 28 });
const some = [put("rules", "a", 1)];

t.test("why a commit failed decides whether the store is given up", async (t) => {
  const broken =
    /limiterd\.mdb can't be trusted any more: the disk failed to write what it had taken \(i\/o error\)/;
  class Later extends Error {
    get commitError(): Promise<void> {
      return Promise.reject(ioError);
    }
  }
  const asDirectory = (trial: string): void => mkdirSync(trial);
  // Writing there is an I/O error.
  const asMemory = (trial: string): void => symlinkSync("/proc/self/mem", trial);
  for (const { failure, spoil, name, message } of [
    { failure: ioError, name: "StoreBrokenError", message: broken },
    { failure: new Later(), name: "StoreBrokenError", message: broken },
    { failure: ioError, spoil: asMemory, name: "StoreBrokenError", message: broken },
    {
      failure: ioError,
      spoil: asDirectory,
      name: "StoreFailingError",
      message: "illegal operation on a directory",
    },
    { failure: noRoom, name: "StoreFailingError", message: "no space left on device" },
    {
      failure: noRoom,
      spoil: asDirectory,
      name: "StoreFailingError",
      message: "illegal operation on a directory",
    },
    { failure: "odd", name: "StoreFailingError", message: "odd" },
  ]) {
    const made = await bench(t);
    made.failure = failure;
    spoil?.(made.trial);
    await t.rejects(made.store.commit(some), { name, message });
    made.failure = null;
    rmSync(made.trial, { recursive: true, force: true });
    t.same(read(made.store, "rules"), []);
  }
});

t.test(
  "while the disk fails, one commit in sixty reaches LMDB, and one that succeeds ends it",
  async (t) => {
    const made = await bench(t);
    made.failure = noRoom;
    mkdirSync(made.trial);
    for (let n = 0; n < 121; n++)
      await t.rejects(made.store.commit(some), { message: "illegal operation on a directory" });
    t.equal(made.batches, 3, "the first, the 61st, the 121st");
    made.failure = null;
    rmSync(made.trial, { recursive: true });
    await made.store.commit([remove("windows", "w0")]);
    t.equal(made.store.get("windows", "w0"), undefined, "a trial for what is removed, too");
    t.notOk(existsSync(made.trial), "which leaves nothing");
    mkdirSync(made.trial);
    await made.store.commit(some);
    t.same(read(made.store, "rules"), [["a", [1]]], "without a trial");
    rmSync(made.trial, { recursive: true });
    made.failure = noRoom;
    await t.rejects(made.store.commit(some), { message: "no space left on device" });
    made.failure = null;
    const large = "x".repeat(200_000);
    await made.store.commit([put("rules", "b", large), put("rules", "c", large)]);
    t.same(made.store.get("rules", "c"), [large], "a trial is as large as what is to be written");
  },
);

t.test(
  "a state that LMDB finds wrong is tried again twice, and longer on a bad disk",
  async (t) => {
    const wrong = Object.assign(new Error("MDB_BAD_TXN: no parent"), { code: -30782 });
    const again = { name: "StoreFailingError" };
    const given = {
      name: "StoreBrokenError",
      message:
        /LMDB can't go on with it \(MDB_BAD_TXN: no parent\)\. Keep a copy of the file, then/,
    };
    const made = await bench(t);
    made.failure = wrong;
    for (const expected of [again, again, given])
      await t.rejects(made.store.commit(some), expected);
    const healed = await bench(t);
    for (const failure of [wrong, wrong, null, wrong, wrong, noRoom]) {
      healed.failure = failure;
      if (failure === null) await healed.store.commit(some);
      else await t.rejects(healed.store.commit(some), again);
    }
    const full = await bench(t);
    full.failure = wrong;
    mkdirSync(full.trial);
    for (let n = 0; n < 61; n++) await t.rejects(full.store.commit(some), again);
  },
);

t.test("the first commit writes whose the store is where the start couldn't", async (t) => {
  for (const isOwned of [false, true]) {
    const made = await bench(t, isOwned);
    t.equal(made.meta.get("owner"), undefined);
    await made.store.commit(some);
    t.equal(made.meta.get("owner")?.toString(), isOwned ? undefined : ownerMark());
    await made.meta.remove("owner");
    await made.store.commit([put("rules", "b", 2)]);
    t.equal(made.meta.get("owner"), undefined, "once");
  }
});

t.test("a close takes back its own mark alone", async (t) => {
  const directory = temporary(t);
  for (const [mark, left] of [
    ["1 1", "1 1"],
    [ownerMark(), undefined],
  ] as const) {
    const file = await filledStore(directory);
    const root = openRoot(file);
    const meta: Meta = root.openDB({ name: "meta", encoding: "binary" });
    await meta.put("owner", Buffer.from(mark));
    const tables = openTables(file, root);
    await new LmdbStore(file, { root, meta, lock: null, isOwned: true, tables }).close();
    const again = openRoot(file);
    const found: Meta = again.openDB({ name: "meta", encoding: "binary" });
    t.equal(found.get("owner")?.toString(), left);
    await again.close();
  }
});

t.test("a commit's failure is what LMDB reports of it, or itself", async (t) => {
  for (const failure of [new Error("plain"), "odd", null, undefined, { commitError: "no promise" }])
    t.equal(await commitFailure(failure), failure);
  const kept = { commitError: Promise.resolve() };
  t.equal(await commitFailure(kept), kept);
  t.equal(await commitFailure({ commitError: Promise.reject(noRoom) }), noRoom);
});

t.test("a store that is written touches its mark, once in a second", async (t) => {
  const { store } = await bench(t);
  const mark = `${store.file}.mark`;
  const { now } = performance;
  t.teardown(() => Object.assign(performance, { now }));
  const touched = async (nowMs: number): Promise<boolean> => {
    Object.assign(performance, { now: () => nowMs });
    utimesSync(mark, 1, 1);
    await store.commit(some);
    return statSync(mark).mtimeMs > 1000;
  };
  t.same(
    [await touched(5000), await touched(5001), await touched(5999), await touched(6000)],
    [true, false, false, true],
  );
});

t.test(
  "whether the owner's mark must be written depends on the lock and on the disk",
  async (t) => {
    const full = new Error("no room");
    const asDirectory = (trial: string): void => mkdirSync(trial);
    const asMemory = (trial: string): void => symlinkSync("/proc/self/mem", trial);
    const lock = { isHeld: () => true, release() {} };
    for (const { by, spoil, failure, expected } of [
      { by: lock, expected: true },
      { by: null, expected: true },
      { by: lock, spoil: asDirectory, failure: full, expected: false },
      { by: lock, spoil: asMemory, failure: full, expected: full },
      { by: lock, failure: full, expected: full },
      { by: null, spoil: asDirectory, failure: full, expected: full },
      { by: lock, spoil: asDirectory, failure: new StoreLockedError("x"), expected: /^x$/ },
      { by: lock, spoil: asDirectory, failure: new StoreUnreadableError("y"), expected: /^y$/ },
    ]) {
      const file = join(temporary(t), "limiterd.mdb");
      spoil?.(trialFile(file));
      const marked = writeOwner(file, by, () => {
        if (failure !== undefined) throw failure;
      });
      if (typeof expected === "boolean") t.equal(await marked, expected);
      else await t.rejects(marked, expected instanceof RegExp ? { message: expected } : expected);
    }
  },
);

t.test(
  "a flush that fails is never tried again and trusted: the store is given up",
  { skip: spawnSync("strace", ["-V"]).status === 0 ? false : "needs strace" },
  async (t) => {
    const { child, received, until } = inProcess(t, temporary(t), "commit");
    const commit = async (bytes: number): Promise<unknown> => {
      const before = received.length;
      child.send(bytes);
      await until(() => received.length > before);
      return received.at(-1);
    };
    await until(() => received.length === 1);
    t.same(await commit(10), { committed: 10 });
    const args = ["-f", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO"];
    const strace = spawn("strace", [...args, "-p", String(child.pid)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    t.teardown(() => void strace.kill("SIGKILL"));
    await once(strace.stderr, "data");
    t.match(await commit(20), {
      refused:
        /^StoreBrokenError: .*limiterd\.mdb can't be trusted any more: the disk failed to write what it had taken \(i\/o error\)/,
    });
  },
);
