import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  makeDataDirectory,
  openBackup,
  stageStore,
} from "../../../limiterd/maintenance/replace-store.js";

/** What begins as LMDB's files do, and takes several reads. */
function storeLike(): Buffer {
  const bytes = randomBytes(2_500_000);
  bytes.fill(0, 0, 4096);
  bytes.writeUInt32LE(0xbeefc0de, 16);
  bytes.writeUInt32LE(4096, 16 + 24);
  return bytes;
}

t.test("a staged backup is a new file for its owner alone, byte for byte", (t) => {
  const directory = t.testdir();
  const [backup, store] = [join(directory, "backup"), join(directory, "limiterd.mdb")];
  const bytes = storeLike();
  writeFileSync(backup, bytes, { mode: 0o644 });
  const opened = openBackup(backup);
  t.teardown(opened.close);
  const staged = stageStore(opened, store);
  t.ok(readFileSync(staged.file).equals(bytes));
  t.equal(statSync(staged.file).mode & 0o777, 0o600);
  staged.discard();
  t.notOk(statSync(staged.file, { throwIfNoEntry: false }));
  t.end();
});

t.test("a pipe is refused immediately", (t) => {
  const directory = t.testdir();
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]);
  t.throws(() => openBackup(pipe), {
    name: "StoreUnreadableError",
    message: `${pipe} can't be read: it is not a regular file`,
  });
  t.end();
});

t.test("directories that were made are taken back, those that were there or are used stay", (t) => {
  const directory = t.testdir({ there: {} });
  const data = join(directory, "there/a/b/data");
  makeDataDirectory(data)();
  t.notOk(existsSync(join(directory, "there/a")));
  t.ok(existsSync(join(directory, "there")));

  makeDataDirectory(join(directory, "there"))();
  t.ok(existsSync(join(directory, "there")), "it isn't of this restore");

  const takeBack = makeDataDirectory(data);
  mkdirSync(join(directory, "there/a/other"));
  takeBack();
  t.notOk(existsSync(join(directory, "there/a/b")));
  t.ok(existsSync(join(directory, "there/a/other")), "somebody else uses it");

  const placed = makeDataDirectory(data);
  writeFileSync(join(data, "limiterd.mdb"), "");
  placed();
  t.ok(existsSync(join(data, "limiterd.mdb")));
  t.end();
});
