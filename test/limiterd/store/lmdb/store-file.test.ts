import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import {
  diskFault,
  fileBytes,
  inodeOf,
  placeStoreFile,
  prepareStoreFile,
  removeUnfinished,
  trialFile,
} from "../../../../limiterd/store/lmdb/store-file.js";
import { filledStore, refusal, temporary } from "./store-fixture.js";

t.test(
  "a first start that was interrupted is made good by the next one, and leaves nothing",
  async (t) => {
    const directory = temporary(t);
    for (const [name, content] of [
      ["limiterd.mdb.17.new", ""],
      ["limiterd.lock.17.x1y2", ""],
      ["limiterd.mdb.mark.new", ""],
      ["limiterd.mdb.17.new-lock", "x"],
      [`limiterd.mdb.${process.pid}.new`, "half"],
      ["limiterd.mdb-lock", ""],
    ] as const)
      writeFileSync(join(directory, name), content);
    t.equal(await refusal(directory), null);
    t.same(readdirSync(directory).sort(), [
      "limiterd.mdb",
      "limiterd.mdb-lock",
      "limiterd.mdb.mark",
    ]);
    t.equal((statSync(join(directory, "limiterd.mdb")).mode & 0o777).toString(8), "600");
  },
);

t.test("a data directory that can't be made is named, with the reason", async (t) => {
  const file = join(temporary(t), "file");
  writeFileSync(file, "");
  for (const directory of [file, join(file, "below")])
    await t.rejects(prepareStoreFile(directory), {
      name: "StoreUnreadableError",
      message: `the data directory ${directory} (limiter.data_dir) can't be made: not a directory`,
    });
});

t.test(
  "a start removes the trial of the disk within which another process was killed",
  async (t) => {
    const directory = temporary(t);
    await filledStore(directory);
    writeFileSync(join(directory, "limiterd.mdb.17.trial"), "x");
    t.equal(await refusal(directory), null);
    t.same(readdirSync(directory).sort(), [
      "limiterd.mdb",
      "limiterd.mdb-lock",
      "limiterd.mdb.mark",
    ]);
  },
);

t.test(
  "a first start on a full disk fails with that reason, and leaves nothing",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const directory = temporary(t);
    const script = fileURLToPath(
      new URL("../../../support/processes/store-process.js", import.meta.url),
    );
    const child = spawn("prlimit", ["--fsize=1", process.execPath, script, directory, "hold"], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [answer] = (await once(child, "message")) as [{ failed?: string }];
    t.equal(answer.failed, `StoreUnreadableError: ${directory} can't be written: file too large`);
    t.same(readdirSync(directory), []);
  },
);

t.test("a file is identified by its place on the disk, a missing one by nothing", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "limiterd.mdb");
  t.equal(inodeOf(file), null);
  t.equal(fileBytes(file), null);
  writeFileSync(file, "content");
  const { dev, ino } = statSync(file);
  t.equal(inodeOf(file), `${dev} ${ino}`);
  t.equal(fileBytes(file), 7);
});

t.test("a new store is put in its place complete, and over no other", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "limiterd.mdb");
  const make = (content: string) => async (fresh: string) => {
    t.notOk(existsSync(fresh), "what an earlier process has left is gone");
    t.notOk(existsSync(`${fresh}-lock`));
    writeFileSync(fresh, content);
    writeFileSync(`${fresh}-lock`, "");
  };
  await placeStoreFile(file, make("first"));
  t.equal(readFileSync(file, "utf8"), "first");
  await placeStoreFile(file, make("second"));
  t.equal(readFileSync(file, "utf8"), "first");
  // What can't be linked is moved, as where a file system has no links.
  const moved = join(directory, "moved.mdb");
  for (const content of ["first", "second"])
    await placeStoreFile(moved, async (fresh) => {
      mkdirSync(fresh);
      writeFileSync(join(fresh, content), "");
    });
  t.same(readdirSync(moved), ["first"]);
  rmSync(moved, { recursive: true });
  rmSync(`${moved}.${process.pid}.new`, { recursive: true });
  for (const name of ["limiterd.mdb.mark", "limiterd.mdb.schema-1", "other.mdb.17.new"])
    writeFileSync(join(directory, name), "");
  removeUnfinished(directory);
  t.same(readdirSync(directory).sort(), [
    "limiterd.mdb",
    "limiterd.mdb.mark",
    "limiterd.mdb.schema-1",
    "other.mdb.17.new",
  ]);
});

t.test("a disk is tried behind the store's end, and a first start needs its room", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "new", "limiterd.mdb");
  t.equal(await prepareStoreFile(join(directory, "new")), file);
  t.same(readdirSync(join(directory, "new")), []);
  t.equal(await diskFault(file), null);
  mkdirSync(trialFile(file));
  t.match(await diskFault(file), { code: "EISDIR" });
  await t.rejects(prepareStoreFile(join(directory, "new")), {
    name: "StoreUnreadableError",
    message: `${join(directory, "new")} can't be written: illegal operation on a directory`,
  });
  writeFileSync(`${file}-lock`, "");
  t.equal(await prepareStoreFile(join(directory, "new")), file, "a store that was opened before");
});
