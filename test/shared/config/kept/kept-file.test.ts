import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readKept, writeKept } from "../../../../shared/config/kept/kept-file.js";

const bytes = Buffer.from("kept");

function ownDirectory(t: Test): string {
  const directory = join(t.testdir(), "data");
  mkdirSync(directory, { mode: 0o700 });
  return directory;
}

t.test("what is written is read again, by this user alone", async (t) => {
  const directory = join(t.testdir(), "data");
  t.equal(readKept(directory), null);
  await writeKept(directory, Buffer.from("before"));
  await writeKept(directory, bytes);
  t.same(readKept(directory), bytes);
  t.same(readdirSync(directory), ["configuration.kept"]);
  t.equal(statSync(join(directory, "configuration.kept")).mode & 0o777, 0o600);
});

t.test("what isn't a file of this user alone isn't read, and holds nothing up", async (t) => {
  for (const [what, make] of Object.entries<(file: string) => void>({
    "a file that others may read": (file) => writeFileSync(file, bytes, { mode: 0o640 }),
    "a link": (file) => {
      writeFileSync(`${file}.other`, bytes, { mode: 0o600 });
      symlinkSync(`${file}.other`, file);
    },
    "a directory": (file) => mkdirSync(file, { mode: 0o700 }),
    "a pipe": (file) => execFileSync("mkfifo", ["-m", "600", file]),
    "a file that is too large": (file) => {
      writeFileSync(file, "", { mode: 0o600 });
      truncateSync(file, 32 * 1024 * 1024 + 1);
    },
  })) {
    const directory = ownDirectory(t);
    make(join(directory, "configuration.kept"));
    t.equal(readKept(directory), null, what);
  }
});

t.test("nothing is written where others could exchange it", async (t) => {
  const directory = ownDirectory(t);
  chmodSync(directory, 0o770);
  await t.rejects(writeKept(directory, bytes), /isn't this user's alone/);
  const link = join(t.testdirName, "link");
  symlinkSync(directory, link);
  await t.rejects(writeKept(link, bytes), /isn't this user's alone/);
  await t.rejects(writeKept(join(t.testdirName, "none", "data"), bytes), { code: "ENOENT" });
  t.same(readdirSync(directory), []);
});

t.test("a write that fails leaves what was there", async (t) => {
  const directory = ownDirectory(t);
  await writeKept(directory, bytes);
  // Of another process that writes just now.
  const part = join(directory, "configuration.kept.part");
  writeFileSync(part, "half");
  await t.rejects(writeKept(directory, Buffer.from("new")), { code: "EEXIST" });
  t.same(readKept(directory), bytes);
  // Of one that was killed.
  utimesSync(part, 1, 1);
  await writeKept(directory, Buffer.from("new"));
  t.same(readKept(directory), Buffer.from("new"));
  t.notOk(existsSync(part));
});
