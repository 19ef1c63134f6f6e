import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  isAsLeft,
  isUntouched,
  markClosed,
  markInUse,
  requireKeys,
  requireStoreOrNone,
  touchMark,
} from "../../../../limiterd/store/lmdb/store-mark.js";
import { temporary } from "./store-fixture.js";

const markUsed = (file: string): void => markInUse(file, false);

function madeFile(t: Test): { file: string; mark: string } {
  const file = join(temporary(t), "limiterd.mdb");
  writeFileSync(file, "content");
  return { file, mark: `${file}.mark` };
}

t.test("a file is as it was left until it is another one, or somebody writes to it", async (t) => {
  for (const [leave, change, expected] of [
    [markClosed, () => {}, true],
    [markUsed, () => {}, true],
    [markClosed, (file: string) => writeFileSync(file, "Content"), false],
    [markClosed, (file: string) => writeFileSync(file, "content, more"), false],
    [markClosed, (file: string) => utimesSync(file, 1, 1), false],
    [markUsed, (file: string) => utimesSync(file, 1, 1), true],
    [markClosed, replace, false],
    [markUsed, replace, false],
    [markClosed, (file: string) => rmSync(`${file}.mark`), false],
    [markUsed, (file: string) => rmSync(`${file}.mark`), false],
    [markUsed, (file: string) => writeFileSync(`${file}.mark`, "closed"), false],
    [markUsed, (file: string) => rmSync(file), false],
  ] as const) {
    const { file } = madeFile(t);
    // Long ago, so that what is written now has another time.
    utimesSync(file, 1000, 1000);
    leave(file);
    change(file);
    t.equal(isAsLeft(file), expected, `${leave.name}, then ${change}`);
  }
});

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

t.test(
  "a file that changed up to two seconds after its mark was touched by its owner",
  async (t) => {
    for (const [fileMs, markMs, expected] of [
      [1000, 1000, true],
      [500, 1000, true],
      [3000, 1000, true],
      [3001, 1000, false],
    ] as const)
      t.equal(isUntouched(fileMs, markMs), expected);
  },
);

t.test("a touch moves the mark's time, and makes no mark", async (t) => {
  const { file, mark } = madeFile(t);
  touchMark(file);
  t.notOk(existsSync(mark));
  markInUse(file, false);
  const text = readFileSync(mark, "utf8");
  utimesSync(mark, 1, 1);
  const beforeMs = Date.now();
  touchMark(file);
  t.ok(statSync(mark).mtimeMs >= beforeMs - 10);
  t.equal(readFileSync(mark, "utf8"), text);
  t.equal((statSync(mark).mode & 0o777).toString(8), "600");
});

t.test("only a directory that has a mark and no store has lost one", async (t) => {
  const { file, mark } = madeFile(t);
  const gone = /it is gone, though this directory has had a store/;
  requireStoreOrNone(file);
  markInUse(file, false);
  requireStoreOrNone(file);
  rmSync(file);
  t.throws(() => requireStoreOrNone(file), { name: "StoreUnreadableError", message: gone });
  rmSync(mark);
  requireStoreOrNone(file);
});

t.test("a mark that can't be written leaves the old one, and nothing fails", async (t) => {
  const { file, mark } = madeFile(t);
  markInUse(file, false);
  const text = readFileSync(mark, "utf8");
  mkdirSync(`${mark}.new`);
  markClosed(file);
  t.equal(readFileSync(mark, "utf8"), text);
});

t.test("that a store has had keys stays in its mark, however the store is left", async (t) => {
  const { file, mark } = madeFile(t);
  requireKeys(file, false);
  markInUse(file, false);
  requireKeys(file, false);
  markInUse(file, true);
  markClosed(file);
  t.ok(isAsLeft(file));
  markInUse(file, false);
  t.ok(isAsLeft(file));
  requireKeys(file, true);
  t.throws(() => requireKeys(file, false), {
    name: "StoreUnreadableError",
    message: `${file} has no keys, though this directory has had a store with some: a gateway that only they close would be open. Put a backup in its place with sluice restore, or, to go on without them, remove ${mark}`,
  });
  rmSync(mark);
  requireKeys(file, false);
});
