import t from "tap";
import { plainReason } from "../../../../limiterd/store/lmdb/probe-disk.js";

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
