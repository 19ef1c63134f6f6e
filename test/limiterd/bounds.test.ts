/** Holds the values on docs/reference/bounds.md to the bounds of the daemon. */
import { readFileSync } from "node:fs";
import t from "tap";
import {
  backupPieceBytes,
  backupSpareBytes,
  backupWaitMs,
  batchesPerTrimWhenFull,
} from "../../limiterd/bounds.js";

// The compiled test is three directories below the repository.
const page = readFileSync(new URL("../../../docs/reference/bounds.md", import.meta.url), "utf8");

t.test("the page on bounds has the values of the code", async (t) => {
  for (const row of [
    `| a piece of a backup | ${backupPieceBytes / 1024 ** 2} MiB |`,
    `| wait of an answer about a copy that is being made | ${backupWaitMs / 1000} s |`,
    `| room that a copy of the store leaves on the disk | ${backupSpareBytes / 1024 ** 2} MiB |`,
    `| batches of records that a full store gives up per second | ${batchesPerTrimWhenFull} |`,
  ])
    t.ok(page.includes(row), row);
});
