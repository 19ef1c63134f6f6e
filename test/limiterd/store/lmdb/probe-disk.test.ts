import { existsSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  isIoError,
  plainReason,
  probeDisk,
  untrustedDiskText,
} from "../../../../limiterd/store/lmdb/probe-disk.js";
import { temporary } from "./store-fixture.js";

t.test(
  "the words for an error are the operating system's, or LMDB's without its addresses",
  async (t) => {
    const failure = (message: string, fields: object): Error =>
      Object.assign(new Error(message), fields);
    for (const [error, words] of [
      [
        failure(
          "No space left on device: Attempting to write page at position 4096, size 8192, blocks 2, buffer sizes 4096 4096 987022336",
          { code: 28 },
        ),
        "no space left on device",
      ],
      [
        failure("ENOSPC: no space left on device, write", { code: "ENOSPC", errno: -28 }),
        "no space left on device",
      ],
      [
        failure("EROFS: read-only file system, open '/x'", { code: "EROFS", errno: -30 }),
        "read-only file system",
      ],
      [
        failure(
          "MDB_MAP_FULL: Environment mapsize limit reached: Attempting to write page at position 1, size 2, blocks 1, buffer sizes 1 2 3",
          { code: -30792 },
        ),
        "MDB_MAP_FULL: Environment mapsize limit reached",
      ],
      [new Error("Database is closed"), "Database is closed"],
      ["odd", "odd"],
    ] as const)
      t.equal(plainReason(error), words);
  },
);

t.test("an error is the disk's in LMDB's number and in Node's name", async (t) => {
  for (const [error, expected] of [
    [{ code: 5 }, true],
    [{ code: "EIO" }, true],
    [{ code: 28 }, false],
    [{ code: "ENOSPC" }, false],
    [{ code: 6 }, false],
    [new Error("EIO"), false],
    [null, false],
    [undefined, false],
    ["EIO", false],
  ] as const)
    t.equal(isIoError(error), expected);
});

t.test("a store isn't trusted after a lost write, nor when LMDB stays wrong", async (t) => {
  const failed = (code: unknown): Error => Object.assign(new Error("MDB says so"), { code });
  const lost = "the disk failed to write what it had taken (i/o error). Check the disk";
  const lostByNode = lost.replace("i/o error", "MDB says so");
  const wrong = "LMDB can't go on with it (MDB says so). Keep a copy of the file";
  const works = (): Promise<void> => Promise.resolve();
  const isFull = (): Promise<void> => Promise.reject(failed("ENOSPC"));
  const fails = (): Promise<void> => Promise.reject(failed("EIO"));
  for (const [code, failedBefore, tryDisk, why] of [
    [5, 0, works, lost],
    [5, 0, fails, lost],
    [5, 0, isFull, null],
    ["EIO", 7, works, lostByNode],
    [28, 7, works, null],
    [undefined, 7, fails, null],
    ...[-30797, -30796, -30795, -30782, -30779].flatMap(
      (state) =>
        [
          [state, 0, works, null],
          [state, 1, works, null],
          [state, 2, works, wrong],
          [state, 3, fails, wrong],
          [state, 3, isFull, null],
        ] as const,
    ),
    // Others of LMDB's own numbers are no such state, such as a full map.
    ...[-30799, -30798, -30794, -30792, -30783, -30781, -30780, -30778].map(
      (state) => [state, 9, works, null] as const,
    ),
  ] as const)
    t.equal(
      await untrustedDiskText(failed(code), { tryDisk, failedBefore }),
      why,
      `${code} after ${failedBefore}, the disk ${tryDisk.name}`,
    );
  for (const odd of [null, undefined, "odd"])
    t.equal(await untrustedDiskText(odd, { tryDisk: works, failedBefore: 9 }), null);
});

t.test("a trial is its owner's alone and leaves nothing, also when it is removed", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "trial");
  await probeDisk(file, { at: 10, bytes: 100 });
  t.same(readdirSync(directory), []);
  const trying = probeDisk(file, { at: 10, bytes: 100_000 });
  // The trial goes on when this has ended.
  while (!existsSync(file));
  t.equal((statSync(file).mode & 0o777).toString(8), "600");
  rmSync(file);
  await trying;
  const open = readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(file);
    } catch {
      return false;
    }
  });
  t.same(open, [], "nothing stays open");
});
